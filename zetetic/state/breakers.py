"""Hard budgets, and what is left of them (D46)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .allowance import arm_allowance
from .research import Research
from .values import Frozen

Breaker = Literal["iterations", "tokens", "cost", "wall_clock"]


class BudgetLeft(Frozen):
    """What a phase may still spend; None where a budget is unlimited. Turns, tokens, US dollars, seconds."""

    turns: int
    records: int
    tokens: int | None
    usd: float | None
    seconds: float


def budget_left(research: Research, at: datetime, *, whole: bool = False) -> BudgetLeft:
    """What the phase under way may still spend; `whole` counts the synthesis' reserve in (D46)."""
    t, used = research.thresholds, research.usage
    all_of_it = whole or research.phase == "synthesis"
    kept = 0.0 if all_of_it else t.synthesis_reserve
    turns = t.max_turns if all_of_it else t.exploration_turns()
    records = t.max_iterations - (0 if all_of_it else 1)  # one record is kept for the report (L4)
    # A share of a small budget may be less than one call costs: the reserve holds some calls at least.
    calls = 0 if all_of_it else t.reserve_calls
    kept_tokens = max(t.max_total_tokens * kept, calls * used.largest)
    kept_usd = max(t.max_cost_usd * kept, calls * used.dearest)
    return BudgetLeft(
        turns=max(0, turns - research.turns),
        records=max(0, records - len(research.evaluations)),
        tokens=None if not t.max_total_tokens else max(0, int(t.max_total_tokens - kept_tokens) - used.tokens),
        usd=None if not t.max_cost_usd else max(0.0, t.max_cost_usd - kept_usd - used.usd),
        seconds=max(0.0, t.max_wall_time_seconds * (1.0 - kept) - research.elapsed(at)),
    )


def breaker(research: Research, at: datetime) -> Breaker | None:
    """The budget that the next call would overrun, checked before every model call (D3, D46).

    What the next call takes is not known; the largest so far stands for it. Under an attempt its evaluation is kept
    free as well, so that no budget runs out between the two (A27).
    """
    left, used = budget_left(research, at), research.usage
    tokens, usd = kept_for_evaluation(research)
    if left.turns <= 0 or left.records <= 0:
        return "iterations"
    if left.tokens is not None and (left.tokens <= 0 or left.tokens < used.largest + tokens):
        return "tokens"
    if left.usd is not None and (left.usd <= 0 or left.usd < used.dearest + usd):
        return "cost"
    if left.seconds <= 0:
        return "wall_clock"
    return None


def covers(research: Research, tokens: int, at: datetime) -> bool:
    """Whether what the whole run has left covers a call of about so many tokens (CASES 12).

    A call within an attempt leaves its evaluation what that needs (A27).
    """
    left = budget_left(research, at, whole=True)
    kept, kept_usd = kept_for_evaluation(research)
    return (left.tokens is None or left.tokens >= tokens + kept) and (left.usd is None or left.usd > kept_usd)


def ceiling_passed(research: Research, at: datetime) -> bool:
    """Whether the wall-clock ceiling of the whole run has passed (A21)."""
    return budget_left(research, at, whole=True).seconds <= 0


def time_is_up(research: Research, at: datetime) -> bool:
    """Whether the phase under way has used up its part of the wall-clock ceiling (A21, D46)."""
    return budget_left(research, at).seconds <= 0


def work_seconds(research: Research, at: datetime) -> float:
    """Seconds until what is under way is cut off: the attempt's own time or the ceiling's part, if that is less (A21).

    A report has the whole reserve.
    """
    left = budget_left(research, at).seconds
    attempt = research.attempt
    if attempt is None or attempt.kind == "report":
        return left
    used = (at - attempt.started_at).total_seconds() - attempt.paused_seconds
    return max(0.0, min(left, research.thresholds.attempt_seconds - used))


def evaluation_seconds(research: Research, at: datetime) -> float:
    """Seconds that one arm may take: an evaluation's allowance, and no more than is left (A21, A23).

    An attempt that ended with exploration's time is evaluated all the same, from the reserve: for as long as one of
    the calls that the reserve holds at least, beside the others (A20, A27).
    """
    left = budget_left(research, at).seconds
    if research.phase == "exploration":
        calls = research.thresholds.reserve_calls
        left = max(left, budget_left(research, at, whole=True).seconds / (1 + calls))
    return arm_allowance(research.thresholds, left).seconds


def arms_allowance(research: Research) -> int:
    """Tokens to keep free for one evaluation before an attempt begins: a call of each arm (A27)."""
    from .evaluation import ARMS  # which reads this module

    return len(ARMS) * arm_allowance(research.thresholds).tokens


def kept_for_evaluation(research: Research) -> tuple[int, float]:
    """Tokens and US dollars kept free for the evaluation of the attempt under way; nothing where there is none (A27).

    A report needs none: one that nobody could evaluate goes out as reported.
    """
    attempt = research.attempt
    if attempt is None or attempt.ended or attempt.kind == "report":
        return 0, 0.0
    return arms_allowance(research), _arms_usd(research)


def _arms_usd(research: Research) -> float:
    """What an evaluation costs at the run's price of a token so far."""
    used = research.usage
    return arms_allowance(research) * used.usd / used.tokens if used.tokens else 0.0


def attempt_affordable(research: Research, at: datetime) -> bool:
    """Whether the budget left covers an attempt and its evaluation (A27).

    Attempts of other workers that are under way will each write a record, so they are counted as written (L4).
    """
    left = budget_left(research, at)
    if left.turns <= 0 or left.records <= len(research.attempts_under_way()) or left.seconds <= 0:
        return False
    if left.tokens is not None and left.tokens <= arms_allowance(research) + research.usage.largest:
        return False
    return left.usd is None or left.usd > _arms_usd(research) + research.usage.dearest
