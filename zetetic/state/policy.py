"""The ladder: what happens after an attempt, once, as data (A10, A14, A18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from .thresholds import Thresholds
from .values import Route, Routing, Verdict

ROUTES: tuple[Route, ...] = get_args(Route)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LIMITS = {
    "attempt_cap": "max_attempts",
    "unverified_streak_limit": "unverified_streak_limit",
    "unproductive_streak_limit": "unproductive_streak_limit",
}


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder: `route` if all conditions hold.

    A condition is a boolean field's name, or (counter, limit): the counter has reached the limit (>=, A13).
    """

    number: str
    route: Route
    when: tuple[str | tuple[str, str], ...]
    resets: str = ""
    """The streak a Diversify of this rung resets (A13)."""


LADDER: tuple[Rung, ...] = (
    Rung("1", "Blocked", ("blocked",)),
    Rung("1b", "Reported", ("expired",)),
    Rung("2", "Answered", ("verified", "complete")),
    Rung("3", "Reported", (("attempts", "attempt_cap"),)),
    Rung("4", "Diversify", ("verified",)),
    Rung("5", "Diversify", (("unverified_streak", "unverified_streak_limit"),), resets="unverified"),
    Rung("6", "Diversify", (("unproductive_streak", "unproductive_streak_limit"),), resets="unproductive"),
    Rung("7", "Retry", ()),
)

_BOOLEANS = ("blocked", "expired", "verified", "complete")
_COUNTERS = ("attempts", "unverified_streak", "unproductive_streak")


def limits_of(thresholds: Thresholds) -> dict[str, int]:
    """The three bounds the ladder reads, under the names of the ledger (LEDGER.md)."""
    return {name: int(getattr(thresholds, field)) for name, field in LIMITS.items()}


def rung_for(signals: dict[str, Any]) -> Rung | None:
    """The first rung that holds, or None where a field is missing or of the wrong kind."""
    limits = signals.get("thresholds")
    if not isinstance(limits, dict):
        return None
    if any(type(signals.get(name)) is not bool for name in _BOOLEANS):
        return None
    if any(type(signals.get(name)) is not int for name in _COUNTERS) or any(
        type(limits.get(name)) is not int for name in LIMITS
    ):
        return None

    def holds(condition: str | tuple[str, str]) -> bool:
        if isinstance(condition, tuple):
            counter, limit = condition
            return bool(signals[counter] >= limits[limit])
        return bool(signals[condition])

    return next(rung for rung in LADDER if all(holds(c) for c in rung.when))


def route(signals: dict[str, Any]) -> Route:
    """The route for one attempt's signals. A missing or null field gives Blocked, on purpose (A18)."""
    rung = rung_for(signals)
    return "Blocked" if rung is None else rung.route


def routing_of(
    thresholds: Thresholds,
    *,
    blocked: bool,
    expired: bool,
    verified: bool,
    complete: bool,
    attempts: int,
    unverified_streak: int,
    unproductive_streak: int,
) -> tuple[Routing, str]:
    """The record of one routing decision, and the streak it resets ('' if none)."""
    signals: dict[str, Any] = {
        "blocked": blocked,
        "expired": expired,
        "verified": verified,
        "complete": complete,
        "attempts": attempts,
        "unverified_streak": unverified_streak,
        "unproductive_streak": unproductive_streak,
        "thresholds": limits_of(thresholds),
    }
    rung = rung_for(signals)
    return Routing(**signals, route=route(signals)), rung.resets if rung else ""


def _parser(values: tuple[Any, ...], default: str) -> Callable[[object], tuple[Any, bool]]:
    known = {str(v).casefold(): v for v in values}

    def parse(text: object) -> tuple[Any, bool]:
        key = text.strip().casefold() if isinstance(text, str) else ""
        return (known[key], False) if key in known else (default, True)

    return parse


def parse_verdict(text: object) -> tuple[Verdict, bool]:
    """The verdict a text names, and whether the conservative Restart had to stand in for it (A8)."""
    value, defaulted = _parser(VERDICTS, "Restart")(text)
    return value, defaulted


def parse_route(text: object) -> tuple[Route, bool]:
    """The route a text names, and whether the conservative Blocked had to stand in for it (A8)."""
    value, defaulted = _parser(ROUTES, "Blocked")(text)
    return value, defaulted
