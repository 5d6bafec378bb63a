"""What the model can call: names, arguments and descriptions. Strict; every text is capped in length."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zetetic.state.frontier_commands import MAX_CRITERIA, MIN_CRITERIA
from zetetic.state.values import Outcome, QuestionKind, Stance, Strategy, TargetType

LINE = 600
"""Characters of a text argument unless its schema names another length; the system text says so once for all."""
Line = Annotated[str, Field(max_length=LINE)]
Short = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=4000)]
ID = 20
"""Characters of an id; what ids look like is said in the system text as well."""
Id = Annotated[str, Field(max_length=ID)]
QuestionId = Id
ClaimId = Id
SourceId = Id
Priority = Annotated[float, Field(ge=0, le=1)]


class Args(BaseModel):
    """Base of all arguments: unknown ones are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FrontierNext(Args):
    """Take the next question. With atomic_reason: the objective needs no sub-questions, because ..."""

    atomic_reason: Line = ""


class FrontierView(Args):
    """Look at the questions of one status, or at one question with its query log."""

    status: Literal["", "pending", "in_progress", "resolved", "blocked", "unresolvable", "pruned"] = ""
    id: Id = ""


class AddQuestion(Args):
    """Add a sub-question with what an acceptable answer must contain."""

    parent_id: QuestionId
    question: Line
    rationale: Line
    priority: Priority
    validation_criteria: Line
    target_sources: list[Short] = Field(default=[], max_length=6)
    depends_on: list[QuestionId] = Field(default=[], max_length=10)
    kind: QuestionKind = "question"
    blocks_current: bool = Field(False, description="the current question must wait for this one")


class RetryQuestion(Args):
    """End an inconclusive attempt; the next starts from a query with other words."""

    id: QuestionId
    new_query: Annotated[str, Field(max_length=400)]
    why: Line
    assumption: Line = Field("", description="what to assume if attempts run out")


class ResolveQuestion(Args):
    """Propose the answer of the current question, citing claims like [c_001]."""

    id: QuestionId
    answer: Annotated[str, Field(max_length=3000)]
    claim_ids: list[ClaimId] = Field(default=[], max_length=40)
    why_unverified: Line = ""
    why_unchallenged: Line = ""
    why_no_refuting: Line = ""


class ReopenQuestion(Args):
    """Return a resolved question to the queue because a later finding speaks against its answer."""

    id: QuestionId
    why: Line
    priority: Priority | None = None


class SetPriority(Args):
    """Change how much a question matters."""

    id: QuestionId
    priority: Priority
    why: Line


class PruneBranch(Args):
    """Drop a question whose answer would not alter the conclusion, with what hangs below it."""

    id: QuestionId
    reason: Line


class RewriteQuestion(Args):
    """Put a question in other words, or free a blocked one."""

    id: QuestionId
    question: Line
    validation_criteria: Line
    why: Line


class DropDependency(Args):
    """Say that a question need not wait for another."""

    id: QuestionId
    depends_on_id: QuestionId
    why: Line


class ClaimEntry(Args):
    """One self-contained assertion, and the passage that says so, copied word for word."""

    text: Line
    quote: Line
    source_id: SourceId
    question_id: Id = Field("", description="if not the current question")


class DatapointEntry(Args):
    """One number: its value as it stands in the quote, unit, what it measures, and the quote word for word."""

    value: Short
    unit: Short = ""
    context: Line
    quote: Line
    source_id: SourceId
    question_id: Id = ""


class NotesAppend(Args):
    """Record findings: claims and datapoints with verbatim quotes, gaps, or sources with nothing relevant."""

    claims: list[ClaimEntry] = Field(default=[], max_length=40)
    datapoints: list[DatapointEntry] = Field(default=[], max_length=40)
    gaps: list[Line] = Field(default=[], max_length=10)
    nothing_relevant: list[SourceId] = Field(default=[], max_length=20)


class AddSource(Args):
    """Another source for or against a claim; independence says why it does not stem from the others."""

    source_id: SourceId
    stance: Stance = "supports"
    quote: Line
    independence: Line = ""


class Amend(Args):
    """Other words for a claim."""

    text: Line
    why: Line


class Link(Args):
    """This claim supports or contradicts another one."""

    relation: Literal["supports", "contradicts"]
    claim_id: ClaimId


class NotesUpdate(Args):
    """Change one claim: status, add_source, amend, retract (why), or link. Several at once are done in this order:
    add_source, link, amend, status, retract."""

    id: ClaimId
    status: Literal["", "VERIFIED", "UNVERIFIED", "REFUTED"] = ""
    why: Line = ""
    add_source: AddSource | None = None
    amend: Amend | None = None
    retract: Line = Field("", description="why the claim is withdrawn")
    link: Link | None = None


class NotesScratch(Args):
    """Note a thought; conclusion states the run's conclusion in a few sentences."""

    text: Text = ""
    conclusion: Annotated[str, Field(max_length=2000)] | None = None


class NotesRead(Args):
    """Read the whole notes."""


class ChallengeArgs(Args):
    """Attack a claim, the drafted answer (target_text) or the conclusion. Runs nothing: run the query afterwards."""

    target_type: TargetType
    target_id: Id = ""
    target_text: Annotated[str, Field(max_length=3000)] = ""
    negation: Line = Field(description="the belief turned round")
    strategy: Strategy
    expected_if_false: Line = Field(description="what would be found if the belief were wrong")
    query: Annotated[str, Field(max_length=400)] = Field(description="built from the negation, not the claim's words")


class RecordResult(Args):
    """Close a challenge with its verdict, after its query was run."""

    challenge_id: Id
    outcome: Outcome
    evidence: Line
    source_ids: list[SourceId] = Field(default=[], max_length=20)
    result_claim_id: Id = ""
    amended_text: Annotated[str, Field(max_length=2000)] = ""


class ChallengesView(Args):
    """List challenges of one target or status."""

    target_id: Id = ""
    status: Literal["", "open", "closed"] = ""


class WebSearch(Args):
    """Search. With challenge_id it runs that challenge's registered query."""

    query: Annotated[str, Field(min_length=1, max_length=400)]
    challenge_id: Id = ""


class FetchPage(Args):
    """Read a page that a search or a page gave; several calls in one turn read several."""

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    challenge_id: Id = ""


class Query(Args):
    """Run one read-only SQL statement (DuckDB's dialect) over the tables listed under # Tables. Its answer is a source
    whose rows can be quoted; the query's own words cannot."""

    sql: Annotated[str, Field(min_length=1, max_length=4000)]


class SetCriteria(Args):
    """Three to five binary, observable statements the finished report is judged by."""

    criteria: list[Line] = Field(min_length=MIN_CRITERIA, max_length=MAX_CRITERIA)


class FinishExploration(Args):
    """End the exploration; refused with a list of what is missing. why: for a conclusion no challenge could settle."""

    why: Line = ""


class Reopen(Args):
    """A resolved question that must be worked on once more."""

    question_id: QuestionId
    why: Line


class FinalizeReport(Args):
    """Hand in the report in Markdown: '## Summary', '## Details', '## Gaps'. Every sentence cites claims like [c_001];
    no URLs, no list of sources. reopen instead, if a hole would change the conclusion."""

    report: Annotated[str, Field(max_length=60000)] = ""
    reopen: Reopen | None = None


class EscalateBudget(Args):
    """Ask for more room."""

    reason: Line
    turns: Annotated[int, Field(ge=0, le=1000)] = 0
    tokens: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    usd: Annotated[float, Field(ge=0, le=10_000)] = 0.0


class Abort(Args):
    """Give up exploring; the report is written from what there is."""

    reason: Line


TOOLS: dict[str, type[Args]] = {
    "frontier_next": FrontierNext,
    "frontier_view": FrontierView,
    "add_question": AddQuestion,
    "retry_question": RetryQuestion,
    "resolve_question": ResolveQuestion,
    "reopen_question": ReopenQuestion,
    "set_priority": SetPriority,
    "prune_branch": PruneBranch,
    "rewrite_question": RewriteQuestion,
    "drop_dependency": DropDependency,
    "notes_append": NotesAppend,
    "notes_update": NotesUpdate,
    "notes_scratch": NotesScratch,
    "notes_read": NotesRead,
    "challenge": ChallengeArgs,
    "record_challenge_result": RecordResult,
    "challenges_view": ChallengesView,
    "web_search": WebSearch,
    "fetch_page": FetchPage,
    "query": Query,
    "set_criteria": SetCriteria,
    "finish_exploration": FinishExploration,
    "finalize_report": FinalizeReport,
    "escalate_budget": EscalateBudget,
    "abort": Abort,
}
READS = frozenset({"web_search", "fetch_page", "query"})
"""Tools that reach outside; the others are decisions on the research, or views of it."""


_UNSAID = ("title", "$defs", "additionalProperties", "minLength", "maxItems")
"""What a prompt pays for at every turn and no model acts on; the values check it all the same."""


def _concise(schema: dict[str, Any]) -> Any:
    """A JSON schema in few words: references resolved, and nothing that goes without saying."""
    definitions = schema.get("$defs", {})

    def walk(node: Any, *, top: bool = False, names: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if names:  # the keys are the arguments' own names
            return {name: walk(value) for name, value in node.items()}
        if "$ref" in node:
            node = {**definitions[node["$ref"].rsplit("/", 1)[-1]], **{k: v for k, v in node.items() if k != "$ref"}}
        choices = [choice for choice in node.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1:  # an argument that may be left out need not be null as well
            return walk({**choices[0], **{k: v for k, v in node.items() if k != "anyOf"}})
        kept = {k: v for k, v in node.items() if k not in _UNSAID and not (top and k == "description")}
        if not kept.get("default", True):
            del kept["default"]
        if kept.get("maxLength") in (LINE, ID):
            del kept["maxLength"]
        if "enum" in kept:
            kept["enum"] = [value for value in kept["enum"] if value != ""]
        return {k: walk(v, names=k == "properties") for k, v in kept.items()}

    return walk(schema, top=True)


def tool_schema(name: str, args: type[BaseModel]) -> dict[str, Any]:
    """One tool in the chat-completions form."""
    made: dict[str, Any] = json.loads(_schema_text(name, args))
    return made


@cache
def _schema_text(name: str, args: type[BaseModel]) -> str:
    description = " ".join((args.__doc__ or "").split())
    parameters = _concise(args.model_json_schema())
    function = {"name": name, "description": description, "parameters": parameters}
    return json.dumps({"type": "function", "function": function})


def tool_schemas(names: tuple[str, ...] = tuple(TOOLS)) -> list[dict[str, Any]]:
    """The tools of these names, in this order: one list for all turns, so that the prompt's start stays as it is."""
    return [tool_schema(name, TOOLS[name]) for name in names]


def read_args(name: str, args: dict[str, Any], schema: type[Args] | None = None) -> Args | str:
    """The arguments as a value, or one sentence that says what to do instead."""
    model = schema or TOOLS[name]
    try:
        return model.model_validate(args)
    except ValidationError as error:
        faults = []
        for fault in error.errors()[:4]:
            place = ".".join(str(p) for p in fault["loc"]) or "arguments"
            faults.append(f"{place}: {fault['msg'].removeprefix('Value error, ')}")
        known = ", ".join(model.model_fields)
        return f"{name} was not executed: {'; '.join(faults)}. Its arguments are {known}."
