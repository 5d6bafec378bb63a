"""The graph's channels: small, since all of them are stored at every step. The research is in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from zetetic.state.evaluation import ArmResult, merge_arms


class TurnKeys(BaseModel):
    """Where one turn's answer and results stand in journal and effects."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: str
    act: str = ""
    observe: str = ""


class Usage(TypedDict, total=False):
    """What the run has spent: calls, tokens, US dollars."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float


def pending_directives(left: Sequence[Any] | str | None, right: Sequence[Any] | str | None) -> list[Any]:
    """Directives that the loop has yet to take (A24): nothing on the right clears, the list grown on is the whole list
    (an edit in Studio), anything else is added."""
    waiting, given = as_directives(left), as_directives(right)
    if not given or given[: len(waiting)] == waiting:
        return given
    return waiting + given


def as_directives(given: Sequence[Any] | str | None) -> list[Any]:
    """The channel's value as a list, also where a person typed one text."""
    return [given] if isinstance(given, str) else list(given or ())


def run_in_hand(left: str | None, right: str | None) -> str:
    """The run that a thread works on: the one named last. Workers and arms that fork together name the same."""
    return right or left or ""


class Input(TypedDict, total=False):
    """What a run is asked: the objective, or the last human message if there is none."""

    objective: str
    messages: Annotated[list[AnyMessage], add_messages]
    criteria: list[str]
    scope: str
    exclusions: list[str]
    directives: Annotated[list[str], pending_directives]
    run_id: Annotated[str, run_in_hand]
    """An id of the caller's own for a new run; chosen by code if not given."""


class Output(TypedDict, total=False):
    """What a run gives."""

    report: str
    status: str
    stop_reason: str
    run_id: Annotated[str, run_in_hand]
    claims: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    usage: Usage
    loop: dict[str, Any]
    messages: Annotated[list[AnyMessage], add_messages]


class Channels(TypedDict, total=False):
    """All channels. Keys and ids, one line of account, the arms' results, and the output at the end."""

    objective: str
    messages: Annotated[list[AnyMessage], add_messages]
    criteria: list[str]
    scope: str
    exclusions: list[str]
    directives: Annotated[list[str], pending_directives]

    run_id: Annotated[str, run_in_hand]
    worker: str
    """Whose turns these are; '' is the lead, the only one where there is no fleet (D51)."""
    fleet: bool
    """Whether the lead hands questions to workers."""
    heard: str
    phase: str
    stage: str
    question_id: str
    attempt: int
    log_head: int
    crew: list[str]
    """The workers of a fleet, by name."""
    fan_out: bool
    """Whether the lead has questions that workers should take now."""
    next: str
    """Where the loop goes after this node; edges only read it."""
    turn: TurnKeys | None
    trouble: str
    window: list[TurnKeys]
    account: str
    refusals: list[str]
    """What the last extraction was refused, for its second try."""
    arms: Annotated[dict[str, ArmResult], merge_arms]
    route: str

    report: str
    status: str
    stop_reason: str
    claims: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    usage: Usage
    loop: dict[str, Any]
