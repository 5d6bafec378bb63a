"""What can happen to a research: a closed union, discriminated by `event` (D1).

An event states a fact that was decided; it is never refused. `v` is the version of its shape. Times are arguments of
the decision that made it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .thresholds import Mode, Thresholds
from .values import (
    Action,
    Actor,
    Challenge,
    Claim,
    ClaimStatus,
    Evaluation,
    Evidence,
    Extension,
    Frozen,
    Gap,
    Holdings,
    Loop,
    Outcome,
    PendingExtraction,
    Phase,
    QueryRecord,
    Question,
    QuestionStatus,
    RunStatus,
    Source,
    Stage,
    Trigger,
)


class Base(Frozen):
    """Common to all events."""

    v: Literal[1] = 1
    at: datetime


class RunOpened(Base):
    event: Literal["run_opened"] = "run_opened"
    run_id: str
    objective: str
    scope: str = ""
    exclusions: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    user: str = ""
    notes_id: str
    mode: Mode = "bounded-research"
    loop: Loop = "investigative"
    model: str = ""
    thresholds: Thresholds = Thresholds()
    holdings: Holdings = Holdings()
    forked_from: str = ""
    forked_at: datetime | None = None


class RunResumed(Base):
    event: Literal["run_resumed"] = "run_resumed"
    paused_seconds: float = 0.0
    extension: Extension | None = None
    thresholds: Thresholds | None = None


class CriteriaSet(Base):
    event: Literal["criteria_set"] = "criteria_set"
    criteria: tuple[str, ...]
    actor: Actor = "agent"


class StateRecorded(Base):
    """A turn begins (D50). `seq` numbers the recorded states of the run."""

    event: Literal["state_recorded"] = "state_recorded"
    seq: int
    stage: Stage
    question_id: str = ""
    detail: str = ""
    forced_tool: str = ""
    is_turn: bool = True
    """Whether a model turn of the worker begins, which counts against `max_turns`."""


class TurnClosed(Base):
    """A turn ended. `action` is what the model did, in the terms of R3."""

    event: Literal["turn_closed"] = "turn_closed"
    action: Action | None = None
    called_tools: bool = True
    provider_failed: bool = False
    wasted: bool = False
    """Whether nothing came of what the model was free to do: it called nothing, or all that it called was refused."""


class QuestionAdded(Base):
    event: Literal["question_added"] = "question_added"
    question: Question
    actor: Actor
    reason: str = ""
    caused_by: str = ""


class QuestionMoved(Base):
    """One row of the transition log: a change of status, or of priority when both statuses are equal (D15)."""

    event: Literal["question_moved"] = "question_moved"
    question_id: str
    from_status: QuestionStatus
    to_status: QuestionStatus
    trigger: Trigger
    actor: Actor
    reason: str = ""
    priority: float
    attempts: int
    caused_by: str = ""
    worker: str = ""


class QuestionRewritten(Base):
    event: Literal["question_rewritten"] = "question_rewritten"
    question_id: str
    question: str
    validation_criteria: str
    why: str


class QuestionAnswered(Base):
    """The answer, assumption or reason that goes with a terminal status."""

    event: Literal["question_answered"] = "question_answered"
    question_id: str
    answer: str
    claim_ids: tuple[str, ...] = ()
    why_unverified: str = ""
    why_unchallenged: str = ""
    why_no_refuting: str = ""


class DependencyAdded(Base):
    event: Literal["dependency_added"] = "dependency_added"
    question_id: str
    depends_on_id: str


class DependencyDropped(Base):
    event: Literal["dependency_dropped"] = "dependency_dropped"
    question_id: str
    depends_on_id: str
    why: str = ""


class AtomicDeclared(Base):
    event: Literal["atomic_declared"] = "atomic_declared"
    reason: str
    actor: Actor = "agent"


class QueryLogged(Base):
    event: Literal["query_logged"] = "query_logged"
    record: QueryRecord


class SourceRegistered(Base):
    event: Literal["source_registered"] = "source_registered"
    source: Source


class SourceNoted(Base):
    event: Literal["source_noted"] = "source_noted"
    source_id: str
    note: str


class UrlRejected(Base):
    """A page that cannot be used, with the reason (R6)."""

    event: Literal["url_rejected"] = "url_rejected"
    canonical: str
    reason: str


class ExtractionDue(Base):
    event: Literal["extraction_due"] = "extraction_due"
    items: tuple[PendingExtraction, ...]


class ExtractionTried(Base):
    """An extraction turn ended. `done` texts leave the prompt, the others are shown once more (D30)."""

    event: Literal["extraction_tried"] = "extraction_tried"
    done: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


class ClaimRecorded(Base):
    event: Literal["claim_recorded"] = "claim_recorded"
    claim: Claim


class EvidenceAdded(Base):
    event: Literal["evidence_added"] = "evidence_added"
    claim_id: str
    evidence: Evidence


class ClaimMoved(Base):
    event: Literal["claim_moved"] = "claim_moved"
    claim_id: str
    status: ClaimStatus
    actor: Actor
    why: str = ""
    caused_by: str = ""


class ClaimAmended(Base):
    event: Literal["claim_amended"] = "claim_amended"
    claim_id: str
    text: str
    why: str = ""


class ClaimsLinked(Base):
    """Two claims support or contradict each other; a contradiction names the question it spawned (D34)."""

    event: Literal["claims_linked"] = "claims_linked"
    claim_id: str
    other_id: str
    relation: Literal["supports", "contradicts"]
    question_id: str = ""
    why: str = ""


class GapNoted(Base):
    event: Literal["gap_noted"] = "gap_noted"
    gap: Gap


class ScratchWritten(Base):
    event: Literal["scratch_written"] = "scratch_written"
    text: str
    append: bool = True


class ConclusionStated(Base):
    event: Literal["conclusion_stated"] = "conclusion_stated"
    text: str


class ConclusionExplained(Base):
    """Why the conclusion goes out although no challenge came to a verdict (D40)."""

    event: Literal["conclusion_explained"] = "conclusion_explained"
    why: str


class ChallengeRegistered(Base):
    event: Literal["challenge_registered"] = "challenge_registered"
    challenge: Challenge


class ChallengeExecuted(Base):
    event: Literal["challenge_executed"] = "challenge_executed"
    challenge_id: str
    status: Literal["ok", "no_results", "not_configured", "unknown", "quota", "rate_limited", "failed"]


class ChallengeClosed(Base):
    event: Literal["challenge_closed"] = "challenge_closed"
    challenge_id: str
    outcome: Outcome
    evidence: str
    source_ids: tuple[str, ...] = ()
    result_claim_id: str = ""


class AttemptStarted(Base):
    event: Literal["attempt_started"] = "attempt_started"
    number: int
    kind: Literal["question", "report"]
    question_id: str


class AttemptEnded(Base):
    """The pass is over and waits for its evaluation (A26). `answer` is proposed, nothing more (D17)."""

    event: Literal["attempt_ended"] = "attempt_ended"
    outcome: Literal[
        "resolved",
        "retried",
        "finished",
        "finalized",
        "pruned",
        "turns",
        "time",
        "ceiling",
        "blocked",
        "breaker",
    ]
    answer: str = ""
    claim_ids: tuple[str, ...] = ()
    why_unverified: str = ""
    why_unchallenged: str = ""
    why_no_refuting: str = ""
    next_query: str = ""
    why: str = ""
    assumption: str = ""
    blocked: str = ""
    expired: bool = False


class AttemptEvaluated(Base):
    """The arms' answers were merged and the ladder ran; a record of the ledger (A10, A25)."""

    event: Literal["attempt_evaluated"] = "attempt_evaluated"
    evaluation: Evaluation
    diversified_streak: Literal["", "unverified", "unproductive"] = ""


class AttemptClosed(Base):
    """An attempt ended without an evaluation of its own: a refusing provider, charged to nobody (A11, A12)."""

    event: Literal["attempt_closed"] = "attempt_closed"
    reason: str


class DirectiveGiven(Base):
    event: Literal["directive_given"] = "directive_given"
    number: int
    text: str
    who: str = "user"


class DirectiveDelivered(Base):
    event: Literal["directive_delivered"] = "directive_delivered"
    number: int
    attempt: int


class UsageRecorded(Base):
    """A model call that is paid for; `repairs` counts what its answer needed, `stood_in` names the fallback if it was
    the one that answered (D47)."""

    event: Literal["usage_recorded"] = "usage_recorded"
    role: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0
    repairs: int = 0
    stood_in: str = ""


class PhaseChanged(Base):
    """Exploration ended, or synthesis reopened it (D41, D46, A28)."""

    event: Literal["phase_changed"] = "phase_changed"
    phase: Phase
    reason: str
    detail: str = ""
    gate_passed: bool = False
    missing: tuple[str, ...] = ()


class ReportDrafted(Base):
    event: Literal["report_drafted"] = "report_drafted"
    text: str
    rendered_by_code: bool = False


class ReportPlanned(Base):
    """The report is written in sections, each on some questions (CASES 14)."""

    event: Literal["report_planned"] = "report_planned"
    plan: tuple[tuple[str, ...], ...]


class ReportPartWritten(Base):
    """The next section of the plan."""

    event: Literal["report_part_written"] = "report_part_written"
    text: str


class RunEnded(Base):
    event: Literal["run_ended"] = "run_ended"
    status: RunStatus
    stop_reason: str
    detail: str = ""
    report: str = ""


class AbortRecorded(Base):
    """The model asked to stop; recorded, and never success (R11)."""

    event: Literal["abort_recorded"] = "abort_recorded"
    reason: str


class BudgetAsked(Base):
    event: Literal["budget_asked"] = "budget_asked"
    reason: str
    granted: bool = False


Event = Annotated[
    RunOpened
    | RunResumed
    | CriteriaSet
    | StateRecorded
    | TurnClosed
    | QuestionAdded
    | QuestionMoved
    | QuestionRewritten
    | QuestionAnswered
    | DependencyAdded
    | DependencyDropped
    | AtomicDeclared
    | QueryLogged
    | SourceRegistered
    | SourceNoted
    | UrlRejected
    | ExtractionDue
    | ExtractionTried
    | ClaimRecorded
    | EvidenceAdded
    | ClaimMoved
    | ClaimAmended
    | ClaimsLinked
    | GapNoted
    | ScratchWritten
    | ConclusionStated
    | ConclusionExplained
    | ChallengeRegistered
    | ChallengeExecuted
    | ChallengeClosed
    | AttemptStarted
    | AttemptEnded
    | AttemptEvaluated
    | AttemptClosed
    | DirectiveGiven
    | DirectiveDelivered
    | UsageRecorded
    | PhaseChanged
    | ReportPlanned
    | ReportPartWritten
    | ReportDrafted
    | RunEnded
    | AbortRecorded
    | BudgetAsked,
    Field(discriminator="event"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
