"""What one model call may take: a worker's, and from it an evaluation's, which can only be less (A23)."""

from __future__ import annotations

from .thresholds import Thresholds
from .values import Frozen


class Allowance(Frozen):
    """Bounds of one call: output in tokens, time in seconds, and retries by its client."""

    tokens: int
    seconds: float
    retries: int


def worker_allowance(thresholds: Thresholds) -> Allowance:
    """What one call of the run's worker may take."""
    return Allowance(
        tokens=thresholds.answer_max_tokens, seconds=thresholds.call_seconds, retries=thresholds.call_retries
    )


def narrowed(
    given: Allowance, *, tokens: float | None = None, seconds: float | None = None, retries: float | None = None
) -> Allowance:
    """The allowance with what is asked for where that is less; whatever is asked, nothing of it grows (A23)."""
    return Allowance(
        tokens=int(_least(given.tokens, tokens, floor=min(1, given.tokens))),
        seconds=float(_least(given.seconds, seconds)),
        retries=int(_least(given.retries, retries)),
    )


def _least(given: float, asked: float | None, floor: float = 0) -> float:
    # In this order a NaN, which compares as False, leaves what was given.
    return given if asked is None or not asked < given else max(floor, asked)


def arm_allowance(thresholds: Thresholds, seconds_left: float | None = None) -> Allowance:
    """What one evaluation arm may take of a worker's call, and of the time that is left (A21, A23)."""
    t = thresholds
    arm = narrowed(worker_allowance(t), tokens=t.arm_max_tokens, seconds=t.arm_seconds, retries=t.arm_retries)
    return narrowed(arm, seconds=seconds_left)
