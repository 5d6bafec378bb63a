"""The frozen records of a research: questions, sources, claims, challenges, attempts (D7)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

QuestionStatus = Literal["pending", "in_progress", "resolved", "blocked", "unresolvable", "pruned"]
QuestionKind = Literal["question", "hypothesis"]
Actor = Literal["agent", "code", "person"]
Trigger = Literal[
    "created",
    "selected",
    "resolved",
    "retried",
    "attempts_exhausted",
    "reopened",
    "dependency_failed",
    "dependency_met",
    "dependency_added",
    "prerequisite_missing",
    "prerequisite_met",
    "released",
    "reprioritized",
    "pruned_branch",
    "pruned_depth",
    "pruned_scope",
    "contradiction",
    "rewritten",
]
ClaimStatus = Literal["UNVERIFIED", "VERIFIED", "REFUTED", "RETRACTED"]
ClaimKind = Literal["claim", "datapoint"]
Stance = Literal["supports", "contradicts"]
TargetType = Literal["claim", "question_answer", "conclusion"]
Strategy = Literal[
    "negation",
    "discrepancy",
    "criticism",
    "alternative_method",
    "scope_limit",
    "primary_source",
    "staleness",
]
Outcome = Literal["survived", "weakened", "refuted", "inconclusive"]
Loop = Literal["investigative", "simple"]
Phase = Literal["exploration", "synthesis"]
Stage = Literal[
    "planning",
    "selecting",
    "acting",
    "extracting",
    "verifying",
    "challenging",
    "consolidating",
    "evaluating",
    "synthesizing",
]
RunStatus = Literal["running", "complete", "reported", "blocked", "stopped", "failed"]
Verdict = Literal["Proceed", "Steer", "Restart"]
Route = Literal["Answered", "Reported", "Retry", "Diversify", "Blocked"]
NextAction = Literal["search_more", "fetch_more", "finalize", "escalate_budget", "abort"]
SearchOutcome = Literal["ok", "no_results", "not_configured", "unknown", "quota", "rate_limited", "failed"]

TERMINAL: frozenset[QuestionStatus] = frozenset({"resolved", "unresolvable", "pruned"})
OPEN: frozenset[QuestionStatus] = frozenset({"pending", "in_progress", "blocked"})
ROOT = "q_001"
NOTHING_RELEVANT = "read, nothing relevant"
"""The note of a source that was read and gave nothing (D30)."""


class Frozen(BaseModel):
    """Base of every value in the core: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(Frozen):
    """A node of the frontier (D7, D8, D13). `answer` holds the answer, the assumption or the reason for pruning."""

    id: str
    parent_id: str | None = None
    depth: int = 0
    kind: QuestionKind = "question"
    question: str
    rationale: str = ""
    priority: float = 0.5
    status: QuestionStatus = "pending"
    validation_criteria: str = ""
    target_sources: tuple[str, ...] = ()
    answer: str = ""
    claim_ids: tuple[str, ...] = ()
    why_unverified: str = ""
    why_unchallenged: str = ""
    why_no_refuting: str = ""
    pair: tuple[str, ...] = ()
    """The two claims (or claim and challenge) a question spawned by code is about; empty for the agent's (D34)."""
    spawned_by: Actor = "agent"
    attempts: int = 0
    """Ended passes since creation or the last reopening (D10)."""
    unverified_streak: int = 0
    unproductive_streak: int = 0
    steer: str = ""
    partial: str = ""
    """The best answer of an attempt that was not accepted; the assumption's source when attempts run out (D21)."""
    worker: str = ""
    created_at: datetime
    updated_at: datetime


class QueryRecord(Frozen):
    """One executed query on a question (D10). `urls` are the addresses it discovered."""

    question_id: str
    seq: int
    query: str
    tool: str
    outcome: str = ""
    status: SearchOutcome = "ok"
    challenge_id: str = ""
    attempt: int = 0
    urls: tuple[str, ...] = ()
    at: datetime


class Source(Frozen):
    """A page that was read (D33). `sha256` names its stored text; `sketch` stands for the text in comparisons."""

    id: str
    url: str
    canonical: str
    final_url: str = ""
    domain: str
    title: str = ""
    published: str = ""
    note: str = ""
    sha256: str = ""
    length: int = 0
    work_id: str = ""
    sketch: tuple[int, ...] = ()
    location: str = ""
    question_id: str = ""
    at: datetime

    def with_nothing(self) -> str:
        """The note with this, that it was read and gave nothing (D30)."""
        return "; ".join(dict.fromkeys([*filter(None, self.note.split("; ")), NOTHING_RELEVANT]))

    def without_nothing(self) -> str:
        """The note without that."""
        return "; ".join(part for part in self.note.split("; ") if part != NOTHING_RELEVANT)


class Evidence(Frozen):
    """A link from a claim to a source, with the verbatim quote and where it stands in the stored text (D31, D49)."""

    source_id: str
    stance: Stance = "supports"
    quote: str
    sha256: str = ""
    start: int = 0
    end: int = 0
    independence: str = ""
    """Why this source is independent of those linked before; the first link needs none (D33)."""


class Claim(Frozen):
    """An atomic assertion or a datapoint, with its evidence (D31)."""

    id: str
    kind: ClaimKind = "claim"
    text: str
    value: str = ""
    unit: str = ""
    context: str = ""
    status: ClaimStatus = "UNVERIFIED"
    question_id: str = ""
    evidence: tuple[Evidence, ...] = ()
    supports: tuple[str, ...] = ()
    check: str = ""
    """What would verify it, or why it was retracted."""
    at: datetime

    def links(self, stance: Stance) -> tuple[Evidence, ...]:
        """The claim's evidence of one stance, in the order it was recorded."""
        return tuple(link for link in self.evidence if link.stance == stance)


class Contradiction(Frozen):
    """Two claims that cannot both hold, and the question code spawned for them (D34)."""

    claim_id: str
    other_id: str
    question_id: str


class Gap(Frozen):
    """Something the research did not find out, in the words of whoever noticed."""

    text: str
    question_id: str = ""


class Conclusion(Frozen):
    """The run's conclusion; its version grows when the text changes (D40)."""

    text: str = ""
    version: int = 0
    explanation: str = ""


class Challenge(Frozen):
    """An adversarial query against a claim, an answer or the conclusion (D35 to D40)."""

    id: str
    question_id: str
    target_type: TargetType
    target_id: str = ""
    target_text: str
    version: int = 0
    """The conclusion's version; 0 for other targets."""
    negation: str
    strategy: Strategy
    expected_if_false: str
    query: str
    executed: bool = False
    search_status: SearchOutcome = "unknown"
    status: Literal["open", "closed"] = "open"
    outcome: Outcome | None = None
    evidence: str = ""
    source_ids: tuple[str, ...] = ()
    result_claim_id: str = ""
    at: datetime


class PendingExtraction(Frozen):
    """A text that must be read before anything else (D30). A page has a source; a bulky result has none."""

    key: str
    source_id: str = ""
    sha256: str
    start: int = 0
    end: int = 0
    question_id: str = ""
    tries: int = 0


class Attempt(Frozen):
    """One pass on one question, or on the report (A26)."""

    number: int
    kind: Literal["question", "report"] = "question"
    question_id: str
    started_at: datetime
    base_version: int
    """Log position at the start; the stable part of the prompt is rendered as of here (D55)."""
    turns: int = 0
    ended: bool = False
    outcome: str = ""
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
    tokens: int = 0
    usd: float = 0.0
    paused_seconds: float = 0.0
    """Time no process was working on it; not counted against the attempt's time (seconds)."""
    new_evidence: int = 0
    searched: bool = False


class Routing(Frozen):
    """What the ladder read and what it gave; enough to recompute a route with no program of ours (LEDGER.md)."""

    blocked: bool
    expired: bool
    verified: bool
    complete: bool
    attempts: int
    unverified_streak: int
    unproductive_streak: int
    thresholds: dict[str, int]
    route: Route


class GateResult(Frozen):
    """One evidence gate and why it failed (L7)."""

    gate: str
    passed: bool
    why: str = ""


class Evaluation(Frozen):
    """What the four arms and the ladder made of one attempt; one line of the ledger."""

    number: int
    kind: Literal["question", "report"] = "question"
    question_id: str
    objective: str = ""
    outcome: str = ""
    output: str = ""
    verdict: Verdict | None = None
    guidance: str = ""
    verified: bool = False
    failures: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    satisfied: bool = False
    missing: str = ""
    parse_defaults: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()
    routing: Routing
    gates: tuple[GateResult, ...] = ()
    steer: str = ""
    source_ids: tuple[str, ...] = ()
    claim_ids: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    remaining_gaps: tuple[str, ...] = ()
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    new_evidence: int = 0
    at: datetime


class Directive(Frozen):
    """A person's words to the next attempt (A24)."""

    number: int
    text: str
    who: str = "user"
    delivered_in: int = 0
    """The attempt that got it; 0 while it waits."""
    at: datetime


class Usage(Frozen):
    """A monotonic count of recorded model calls (D47). Money is in US dollars."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0
    largest: int = 0
    """Tokens of the largest call so far: what the next one may take."""
    dearest: float = 0.0
    """US dollars of the dearest call so far."""
    repairs: int = 0
    """How often an answer had to be mended before it could be used."""
    stood_in: tuple[str, ...] = ()
    """The fallback's name for each call that it answered."""

    def totals(self) -> dict[str, float]:
        """What a run is told to have spent: calls, tokens, US dollars; and how often an answer had to be mended."""
        return self.model_dump(exclude={"largest", "dearest", "stood_in"})

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class Extension(Frozen):
    """Room added when a run was resumed (D54)."""

    at: datetime
    by: str
    iterations: int = 0
    turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class Turn(Frozen):
    """The turn under way or just closed (D50). `seq` counts recorded states."""

    seq: int = 0
    stage: Stage = "planning"
    question_id: str = ""
    detail: str = ""
    forced_tool: str = ""


class Action(Frozen):
    """What the model did last, in the vocabulary of R3."""

    next_action: NextAction = "search_more"
    next_queries: tuple[str, ...] | None = None
    next_urls_to_fetch: tuple[str, ...] | None = None


class ReportState(Frozen):
    """The report as the thing synthesis attempts: counters like a question's, draft and outcome (A13, A28)."""

    attempts: int = 0
    unverified_streak: int = 0
    unproductive_streak: int = 0
    steer: str = ""
    draft: str = ""
    plan: tuple[tuple[str, ...], ...] = ()
    """The questions of each section, where the attempt under way writes the report in sections."""
    parts: tuple[str, ...] = ()
    """The sections written so far, in the plan's order."""
    accepted: bool = False
    rendered_by_code: bool = False
    final: str = ""


class Holdings(Frozen):
    """What local documents can give at most (D42). `local_only`: nothing but the folder can be searched."""

    local_only: bool = False
    sources: int = 0
    domains: int = 0
    tables: str = ""
    """The tables that can be queried, as the prompt lists them."""
