"""Hard budgets, and what is left of them (D46)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

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

    What the next call takes is not known; the largest so far stands for it.
    """
    left = budget_left(research, at)
    if left.turns <= 0 or left.records <= 0:
        return "iterations"
    if left.tokens is not None and (left.tokens <= 0 or left.tokens < research.usage.largest):
        return "tokens"
    if left.usd is not None and (left.usd <= 0 or left.usd < research.usage.dearest):
        return "cost"
    if left.seconds <= 0:
        return "wall_clock"
    return None


def covers(research: Research, tokens: int, at: datetime) -> bool:
    """Whether what the whole run has left covers a call of about so many tokens (CASES 12)."""
    left = budget_left(research, at, whole=True)
    return (left.tokens is None or left.tokens >= tokens) and (left.usd is None or left.usd > 0.0)


def ceiling_passed(research: Research, at: datetime) -> bool:
    """Whether the wall-clock ceiling of the whole run has passed (A21)."""
    return budget_left(research, at, whole=True).seconds <= 0


def arms_allowance(research: Research) -> int:
    """Tokens to keep free for one evaluation before an attempt begins (A27)."""
    return 2 * research.thresholds.arm_max_tokens


def attempt_affordable(research: Research, at: datetime) -> bool:
    """Whether the budget left covers an attempt and its evaluation (A27)."""
    left = budget_left(research, at)
    if left.turns <= 0 or left.records <= 0 or left.seconds <= 0:
        return False
    if left.tokens is not None and left.tokens <= arms_allowance(research):
        return False
    return left.usd is None or left.usd > 0
