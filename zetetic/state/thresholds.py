"""Every bound of a run, in one value (A17).

A number that decides when something stops, starts or counts stands here and nowhere else. A run records the value it
was opened with, so what a run decided can be recomputed from its log alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .values import Strategy

Mode = Literal["monitor", "bounded-research", "implementation-support", "panel-loop", "recovery"]
MODES: tuple[Mode, ...] = get_args(Mode)

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Positive = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0.0, le=31_536_000.0)]


class Thresholds(BaseModel):
    """All bounds of one run. Frozen; every decision reads the one recorded with its run (A17, D46, D52).

    A description ends in the unit, in parentheses. Bounds that together could never work are refused in one sentence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # The run as a whole.
    max_turns: Positive = Field(60, description="model turns of the worker, both phases together (turns)")
    max_iterations: Positive = Field(
        60, description="ledger records, one an attempt, the last kept for the report (records)"
    )
    max_total_tokens: Count = Field(0, description="input and output tokens of the run; 0 is unlimited (tokens)")
    max_cost_usd: float = Field(0.0, ge=0.0, description="money the run may cost; 0 is unlimited (US dollars)")
    max_wall_time_seconds: Seconds = Field(7200.0, description="wall-clock ceiling of the run (seconds)")
    synthesis_reserve: Share = Field(0.15, description="share of each run budget kept for the report (0 to 1)")
    reserve_calls: Positive = Field(
        2, description="calls as large as the largest that the reserve holds at least (calls)"
    )

    # The frontier.
    max_depth: Count = Field(3, description="deepest question; the root is 0 (levels)")
    max_questions: Positive = Field(40, description="questions a run may hold, the root included (questions)")
    max_attempts: Positive = Field(4, description="attempts at one question, and the ladder's attempt cap (attempts)")
    max_parallel: Positive = Field(1, description="questions in progress at once, and child workers (questions)")
    gate_priority: Share = Field(
        0.5, description="priority from which questions must be closed before the report (0 to 1)"
    )
    contradiction_priority: Share = Field(
        0.9, description="priority of a question that code spawns for a conflict (0 to 1)"
    )
    max_reopens: Count = Field(1, description="times synthesis may go back to exploration (times)")
    max_hops: Positive = Field(20, description="link distance of a page from a search hit (links)")

    # One attempt.
    attempt_turns: Positive = Field(14, description="turns of one attempt (turns)")
    attempt_seconds: Seconds = Field(900.0, description="wall-clock budget of one attempt (seconds)")
    planning_turns: Positive = Field(3, description="turns in a row spent on planning before code decides (turns)")
    conclusion_turns: Positive = Field(
        8, description="turns in a row on the conclusion before code ends exploration (turns)"
    )
    guide_after: Count = Field(
        2, description="turns in a row that came to nothing before a worker gets one step at a time; 0: always (turns)"
    )
    guided_searches: Positive = Field(
        4, description="queries of such a worker on a question before it is answered or given up for now (queries)"
    )
    extraction_turns: Positive = Field(2, description="turns spent on one text before it counts as read (turns)")
    max_calls_per_turn: Positive = Field(16, description="tool calls executed of one model answer (calls)")

    # The ladder and the stop rules.
    unverified_streak_limit: Positive = Field(
        2, description="attempts in a row not verified before a new approach (attempts)"
    )
    unproductive_streak_limit: Positive = Field(
        2, description="attempts in a row judged Restart before a new approach (attempts)"
    )
    barren_rounds_limit: Positive = Field(
        2, description="rounds in a row without new evidence before a stop, R10 (rounds)"
    )
    plateau_records: Positive = Field(
        3, description="records in a row in which nothing moves before a stop, L11 (records)"
    )
    provider_error_limit: Positive = Field(
        2, description="turns in a row in which every call failed before blocked (turns)"
    )

    # Evidence.
    min_sources: Count = Field(5, description="sources read before the report (sources)")
    min_domains: Count = Field(3, description="registrable domains read before the report (domains)")
    min_independent_sources: Positive = Field(
        2, description="independent supporting sources of a verified claim (sources)"
    )
    min_challenges: Count = Field(1, description="survived challenges of a verified claim (challenges)")
    max_challenges_per_target: Positive = Field(3, description="challenges of one target (challenges)")
    near_duplicate_share: Share = Field(
        0.4, description="share of common word runs from which two texts are one (0 to 1)"
    )
    near_duplicate_question: Share = Field(
        0.9, description="share of common words from which two questions are one (0 to 1)"
    )

    # The prompt.
    keep_turns: Positive = Field(2, description="last turns shown in the prompt as they were (turns)")
    window_max_tokens: Positive = Field(3000, description="size of those turns before they are cut (tokens)")
    extraction_threshold: Positive = Field(4000, description="size from which a result is extracted (characters)")
    extraction_prompt_chars: Positive = Field(16000, description="page text in one extraction prompt (characters)")
    max_page_parts: Positive = Field(3, description="parts of one long page that are read, best first (parts)")
    notes_max_tokens: Positive = Field(6000, description="size of the notes in the prompt (tokens)")
    scratch_max_chars: Positive = Field(4000, description="size of the notes' Scratch (characters)")
    search_limit: Positive = Field(10, description="hits asked of one search (hits)")

    # One call.
    answer_max_tokens: Positive = Field(4096, description="output of one worker call (tokens)")
    arm_max_tokens: Positive = Field(1024, description="output of one evaluation call (tokens)")
    call_seconds: Seconds = Field(120.0, description="time of one worker call (seconds)")
    cancel_grace_seconds: Seconds = Field(5.0, description="time to store a paid answer when cancelled (seconds)")
    arm_seconds: Seconds = Field(60.0, description="time of one evaluation arm (seconds)")
    tool_seconds: Seconds = Field(60.0, description="time of one tool call (seconds)")
    call_retries: Count = Field(2, description="retries of one worker call by its client (retries)")
    arm_retries: Count = Field(1, description="retries of one evaluation call by its client (retries)")
    lease_seconds: Seconds = Field(60.0, description="time after which a silent invocation gives up its run (seconds)")
    directive_max_chars: Positive = Field(2000, description="length of one directive (characters)")
    query_max_chars: Positive = Field(400, description="length of one query (characters)")

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        """Refuses what no run could ever satisfy, in a sentence for whoever set it."""
        strategies = len(get_args(Strategy))  # each is used once on a target (D36)
        if self.synthesis_reserve >= 1.0:
            raise ValueError(
                "synthesis_reserve 1 keeps everything for the report: give less, so that some is researched"
            )
        if self.min_challenges > self.max_challenges_per_target:
            raise ValueError(
                f"min_challenges {self.min_challenges} is more than max_challenges_per_target "
                f"{self.max_challenges_per_target} allows: no claim could ever be verified"
            )
        if self.min_challenges > strategies:
            raise ValueError(
                f"min_challenges {self.min_challenges} is more than the {strategies} strategies of a challenge, each "
                "used once: no claim could ever be verified"
            )
        if self.near_duplicate_share <= 0.0 and self.min_independent_sources > 1:
            raise ValueError(
                "near_duplicate_share 0 makes any two sources one: "
                f"min_independent_sources {self.min_independent_sources} could never be reached"
            )
        if self.near_duplicate_question <= 0.0:
            raise ValueError(
                "near_duplicate_question 0 makes any two questions one: none could be added after the first"
            )
        return self

    # The synthesis' own share of a budget, and the exploration's.
    def reserve_turns(self) -> int:
        """Turns that only synthesis may spend (D46): at least one, at most half."""
        return min(max(1, round(self.max_turns * self.synthesis_reserve)), max(1, self.max_turns // 2))

    def exploration_turns(self) -> int:
        """Turns that exploration may spend (D46: 51 of 60)."""
        return self.max_turns - self.reserve_turns() if self.max_turns > 1 else 0

    def exploration_share(self) -> float:
        """The share of tokens, money and time that exploration may spend (D46)."""
        return 1.0 - self.synthesis_reserve


_PER_MODE: dict[Mode, dict[str, Any]] = {
    # The stored queries again, and bounded research on what changed: often one page, so no more is asked than what
    # verifies a claim. With two attempts the second must not repeat a direction that was judged Restart.
    "monitor": {
        "max_turns": 20,
        "max_iterations": 10,
        "max_wall_time_seconds": 1800.0,
        "max_questions": 10,
        "max_attempts": 2,
        "attempt_turns": 6,
        "unproductive_streak_limit": 1,
        "min_sources": 2,
        "min_domains": 2,
    },
    "bounded-research": {},
    # Local files have no domain, and one file is proof of what it says.
    "implementation-support": {"min_domains": 0, "min_sources": 1, "min_independent_sources": 1},
    # Each of the workers has room for a whole attempt before the reserve begins.
    "panel-loop": {"max_parallel": 4, "attempt_turns": 12, "unverified_streak_limit": 3},
    # One recorded action. Records and questions are counted over the whole run that is taken up, so they stay.
    "recovery": {
        "max_turns": 10,
        "max_wall_time_seconds": 1800.0,
        "max_attempts": 2,
        "attempt_turns": 6,
        "conclusion_turns": 4,
        "unproductive_streak_limit": 1,
    },
}


def thresholds_for(mode: Mode = "bounded-research", **overrides: Any) -> Thresholds:
    """The mode's defaults with the given fields replaced; None leaves a field alone.

    Raises pydantic.ValidationError for an unknown field, a value out of range, or values that could never work.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    return Thresholds(**{**_PER_MODE[mode], **given})
