"""What a host configures: one flat value, read by every node through the workbench (DESIGN: Interfaces)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, WithJsonSchema, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from zetetic.sources.web import AddressGuard
from zetetic.state.thresholds import Mode, Thresholds, thresholds_for
from zetetic.state.values import Loop

_NAME = WithJsonSchema({"type": "string"})
_NAME_OR_NONE = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})
ModelSpec = Annotated[Any, _NAME]
ModelSpecOrNone = Annotated[Any, _NAME_OR_NONE]
BOUNDS = tuple(Thresholds.model_fields)


def _describe_bounds(schema: dict[str, Any]) -> None:
    """Gives each bound in the configuration its meaning and unit, from the one place they stand in."""
    for name in BOUNDS:
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = Thresholds.model_fields[name].description


class Context(BaseSettings):
    """The configuration of a run. Every field may also come from the environment as ZETETIC_<FIELD>.

    `model` names a chat model ("offline", "openai:…", "ollama:…") or is one; `worker`, `evaluator` and `extractor`
    replace it for their role, `fallback` stands in where one of them fails. `documents` is a folder. Bounds left None
    take the mode's default.
    """

    model_config = SettingsConfigDict(
        env_prefix="ZETETIC_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
        json_schema_extra=_describe_bounds,
        protected_namespaces=(),
    )

    model: ModelSpec = Field(
        "offline", description="chat model for every role, such as openai:NAME; offline needs none"
    )
    worker: ModelSpecOrNone = Field(None, description="chat model that does the research, if not model")
    evaluator: ModelSpecOrNone = Field(None, description="chat model of the four arms, if not model")
    extractor: ModelSpecOrNone = Field(None, description="chat model that reads pages, if not model")
    fallback: ModelSpecOrNone = Field(None, description="chat model that is asked where another one fails for good")
    base_url: str | None = Field(None, description="address of an OpenAI-compatible server")
    api_key: SecretStr | None = Field(None, description="key for that server, if it wants one")
    documents: str | None = Field(None, description="folder of documents to search and read")
    search: Annotated[list[Any], NoDecode, WithJsonSchema({"type": "array", "items": {"type": "string"}})] = Field(
        default=[], description="search providers, by name; documents when a folder is given"
    )
    fetch: bool | None = Field(
        None,
        description="whether pages of the web are read; if not given, where search names more than documents",
    )
    fetch_allow: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="addresses read although they are not public, such as 127.0.0.1:8080, 10.0.0.0/8 or wiki.corp",
    )
    fetcher: Annotated[Any, _NAME_OR_NONE] = Field(
        None, description="a fetcher of the host's own, in place of the built-in"
    )
    database: str | None = Field(
        None,
        description="SQLite file of the log, home/zetetic.db if not given; or postgresql://… for log and checkpoints",
    )
    home: str = Field(".zetetic", description="folder for the databases and the run folders")
    mode: Mode = Field("bounded-research", description="loop mode; sets the defaults of the bounds")
    loop: Loop = Field(
        "investigative", description="investigative, or simple: the plain tool-calling loop, which verifies nothing"
    )
    user: str = Field("", description="whose run it is; part of the notes' file name")
    interactive: bool = Field(False, description="whether a person can be asked during the run")
    own_workers: int | None = Field(
        None, ge=1, description="workers of this process on its run, if fewer than max_parallel; others may join it"
    )
    write_files: bool = Field(True, description="whether the run folder is written under home")

    max_turns: int | None = None
    max_iterations: int | None = None
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    max_wall_time_seconds: float | None = None
    synthesis_reserve: float | None = None
    reserve_calls: int | None = None
    max_depth: int | None = None
    max_questions: int | None = None
    max_attempts: int | None = None
    max_parallel: int | None = None
    gate_priority: float | None = None
    contradiction_priority: float | None = None
    max_reopens: int | None = None
    max_hops: int | None = None
    attempt_turns: int | None = None
    attempt_seconds: float | None = None
    planning_turns: int | None = None
    conclusion_turns: int | None = None
    extraction_turns: int | None = None
    max_calls_per_turn: int | None = None
    unverified_streak_limit: int | None = None
    unproductive_streak_limit: int | None = None
    barren_rounds_limit: int | None = None
    plateau_records: int | None = None
    provider_error_limit: int | None = None
    min_sources: int | None = None
    min_domains: int | None = None
    min_independent_sources: int | None = None
    min_challenges: int | None = None
    max_challenges_per_target: int | None = None
    near_duplicate_share: float | None = None
    near_duplicate_question: float | None = None
    keep_turns: int | None = None
    window_max_tokens: int | None = None
    guide_after: int | None = None
    guided_searches: int | None = None
    extraction_threshold: int | None = None
    extraction_prompt_chars: int | None = None
    max_page_parts: int | None = None
    notes_max_tokens: int | None = None
    scratch_max_chars: int | None = None
    search_limit: int | None = None
    answer_max_tokens: int | None = None
    arm_max_tokens: int | None = None
    call_seconds: float | None = None
    cancel_grace_seconds: float | None = None
    arm_seconds: float | None = None
    tool_seconds: float | None = None
    call_retries: int | None = None
    arm_retries: int | None = None
    lease_seconds: float | None = None
    directive_max_chars: int | None = None
    query_max_chars: int | None = None

    @field_validator("home", "documents", "database", mode="after")
    @classmethod
    def _expanded(cls, value: str | None) -> str | None:
        """`~` is the user's home."""
        if value is None or "://" in value:
            return value
        return str(Path(value).expanduser())

    @field_validator("search", "fetch_allow", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """A comma-separated text is a list of names."""
        if isinstance(value, str):
            return [name.strip() for name in value.split(",") if name.strip()]
        return value

    @field_validator("fetch_allow", mode="after")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        """Each entry names an address; one that does not is said at once and not at the first page."""
        AddressGuard.of(value)
        return value

    @property
    def reads_web(self) -> bool:
        """Whether `fetch_page` goes to the web: as `fetch` says, else where a search provider is named that does."""
        if self.fetch is not None:
            return self.fetch
        return any(isinstance(name, str) and name != "documents" for name in self.search)

    def thresholds(self) -> Thresholds:
        """The bounds in force: the mode's defaults with this context's overrides (A17)."""
        return thresholds_for(self.mode, **{name: getattr(self, name) for name in BOUNDS})

    @property
    def database_path(self) -> str:
        """Where the log lives. It may hold a password: show `database_shown`."""
        return self.database or str(Path(self.home) / "zetetic.db")

    @property
    def database_shown(self) -> str:
        """Where the log lives, as it may be shown."""
        from zetetic.store.address import shown

        return shown(self.database_path)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The fields as they may be shown."""
        for name, value in super().__repr_args__():
            yield name, self.database_shown if name == "database" and value is not None else value
