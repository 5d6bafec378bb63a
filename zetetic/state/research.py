"""One run as a frozen value, and the plain questions about it that many rules share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import Field

from .thresholds import Mode, Thresholds
from .values import (
    OPEN,
    ROOT,
    Action,
    Attempt,
    Challenge,
    Claim,
    Conclusion,
    Contradiction,
    Directive,
    Evaluation,
    Extension,
    Frozen,
    Gap,
    Holdings,
    Loop,
    PendingExtraction,
    Phase,
    QueryRecord,
    Question,
    ReportState,
    RunStatus,
    Source,
    Turn,
    Usage,
)


class Lane(Frozen):
    """What is one worker's own: its attempt, its turn, and what it has to read next (D51)."""

    attempt: Attempt | None = None
    turn: Turn = Turn()
    pending: tuple[PendingExtraction, ...] = ()
    stage_streak: int = 0
    provider_errors: int = 0
    reminders: int = 0
    wasted: int = 0
    guided: bool = False
    action: Action = Action()


class Research(Frozen):
    """One run: everything the decisions read. Built by `evolve` from events, never edited (D1).

    Several workers share it (D51). Each sees it with its own lane in place: `seen_by` puts another worker's there.
    """

    worker: str = ""
    """Whose lane the fields of `Lane` hold here; '' is the one that plans, concludes and reports."""
    lanes: dict[str, Lane] = Field(default_factory=dict)
    """The other workers' lanes, by worker; a lane with nothing in it is left out."""

    run_id: str = ""
    version: int = 0
    objective: str = ""
    scope: str = ""
    exclusions: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    user: str = ""
    notes_id: str = ""
    mode: Mode = "bounded-research"
    loop: Loop = "investigative"
    model: str = ""
    thresholds: Thresholds = Thresholds()
    holdings: Holdings = Holdings()
    forked_from: str = ""
    forked_at: datetime | None = None
    """When the fork was made; what it took over from the other run keeps its times, `opened_at` too."""
    opened_at: datetime | None = None
    updated_at: datetime | None = None
    paused_seconds: float = 0.0
    """Time between a process that ended and the one that resumed; not counted against the wall clock."""

    status: RunStatus = "running"
    phase: Phase = "exploration"
    stop_reason: str = ""
    stop_detail: str = ""
    exploration_missing: tuple[str, ...] = ()
    """What the exploration gate still lacked when exploration ended; empty when it passed (D43)."""
    gate_passed: bool = False
    exploration_stop: str = ""
    exploration_detail: str = ""
    """Why exploration ended, kept while synthesis is stopped and resumed (D54)."""
    reopens: int = 0
    atomic_reason: str = ""

    questions: dict[str, Question] = Field(default_factory=dict)
    dependencies: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    queries: dict[str, tuple[QueryRecord, ...]] = Field(default_factory=dict)
    sources: dict[str, Source] = Field(default_factory=dict)
    bad_urls: dict[str, str] = Field(default_factory=dict)
    claims: dict[str, Claim] = Field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    gaps: tuple[Gap, ...] = ()
    scratch: str = ""
    conclusion: Conclusion = Conclusion()
    challenges: dict[str, Challenge] = Field(default_factory=dict)
    pending: tuple[PendingExtraction, ...] = ()
    attempt: Attempt | None = None
    attempts: int = 0
    evaluations: tuple[Evaluation, ...] = ()
    report: ReportState = ReportState()
    directives: tuple[Directive, ...] = ()
    extensions: tuple[Extension, ...] = ()
    usage: Usage = Usage()
    turn: Turn = Turn()
    turns: int = 0
    """Worker turns spent, both phases."""
    states: int = 0
    """Recorded states of all workers (D50)."""
    stage_streak: int = 0
    """Turns since an attempt was last under way: planning or conclusion, which no attempt bounds."""
    consolidated: int = 0
    """Size of the notes, in tokens, when they were last consolidated (D29)."""
    provider_errors: int = 0
    barren_rounds: int = 0
    still_rounds: int = 0
    """Records since a question or claim last changed status (L11)."""
    reminders: int = 0
    wasted: int = 0
    """Turns in a row of which nothing came, without those a provider failed in."""
    guided: bool = False
    """Whether the worker gets one step at a time, since its turns came to nothing."""
    lost: int = 0
    """How often that began."""
    action: Action = Action()
    parse_defaults: tuple[str, ...] = ()

    def seen_by(self, worker: str) -> Research:
        """The same research with this worker's lane in place; nothing else differs (D51)."""
        if worker == self.worker:
            return self
        own = {name: getattr(self, name) for name in Lane.model_fields}
        lanes = {name: lane for name, lane in self.lanes.items() if name != worker}
        if (parked := Lane(**own)) != NO_LANE:
            lanes[self.worker] = parked
        found = self.lanes.get(worker, NO_LANE)
        swapped = {name: getattr(found, name) for name in Lane.model_fields}
        return self.model_copy(update={**swapped, "worker": worker, "lanes": dict(sorted(lanes.items()))})

    def attempts_under_way(self) -> dict[str, Attempt]:
        """The attempt of each worker that has one."""
        others = {name: lane.attempt for name, lane in self.lanes.items() if lane.attempt is not None}
        return others | ({self.worker: self.attempt} if self.attempt is not None else {})

    @property
    def root(self) -> Question:
        """The objective as a question (D7). Raises KeyError before the run is opened."""
        return self.questions[ROOT]

    @property
    def current(self) -> Question | None:
        """The question of the attempt under way, if it is one on a question."""
        if self.attempt is None or self.attempt.kind != "question":
            return None
        return self.questions.get(self.attempt.question_id)

    def children(self, question_id: str) -> tuple[Question, ...]:
        """Direct children in the order of their creation."""
        return tuple(q for q in self.questions.values() if q.parent_id == question_id)

    def descendants(self, question_id: str) -> tuple[Question, ...]:
        """All questions below one, parents before children."""
        below: dict[str, Question] = {}
        inside = {question_id}
        for question in self.questions.values():  # ids grow, so a parent always comes before its children
            if question.parent_id in inside:
                inside.add(question.id)
                below[question.id] = question
        return tuple(below.values())

    def open_questions(self) -> tuple[Question, ...]:
        """Questions not terminal: the gaps of R5."""
        return tuple(q for q in self.questions.values() if q.status in OPEN)

    def claims_of(self, question_id: str) -> tuple[Claim, ...]:
        """Claims recorded while working on a question, or cited by its answer."""
        cited = set(self.questions[question_id].claim_ids) if question_id in self.questions else set()
        return tuple(c for c in self.claims.values() if c.question_id == question_id or c.id in cited)

    def challenges_on(self, target_type: str, target_id: str = "") -> tuple[Challenge, ...]:
        """Challenges of one target, oldest first."""
        return tuple(c for c in self.challenges.values() if c.target_type == target_type and c.target_id == target_id)

    def open_challenges(self) -> tuple[Challenge, ...]:
        """Challenges without a verdict (D39)."""
        return tuple(c for c in self.challenges.values() if c.status == "open")

    def all_queries(self) -> tuple[QueryRecord, ...]:
        """Every executed query of the run, by question and in order."""
        return tuple(record for log in self.queries.values() for record in log)

    def source_of(self, canonical: str) -> Source | None:
        """The source with this canonical URL (R6)."""
        return next((s for s in self.sources.values() if s.canonical == canonical), None)

    def elapsed(self, at: datetime) -> float:
        """Seconds of wall clock the run has used, without the time no process was working on it."""
        return 0.0 if self.opened_at is None else max(0.0, (at - self.opened_at).total_seconds() - self.paused_seconds)


NO_LANE = Lane()


def next_id(prefix: str, taken: Iterable[str], offset: int = 0) -> str:
    """The next id of a kind: `q_001`, `q_002`, … (D7). `offset` counts ids given in the same decision."""
    numbers = [int(name.split("_", 1)[1]) for name in taken if name.startswith(f"{prefix}_")]
    return f"{prefix}_{max(numbers, default=0) + 1 + offset:03d}"
