"""The ladder: what happens after an attempt, once, as data (A10, A14, A18)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

FLAGS = tuple(dict.fromkeys(c for rung in LADDER for c in rung.when if isinstance(c, str)))
COUNTERS = tuple(dict.fromkeys(c[0] for rung in LADDER for c in rung.when if isinstance(c, tuple)))
EXACT = 2**53 - 1
"""The largest whole number that every reader of JSON holds exactly; no run counts so far."""


def limits_of(thresholds: Thresholds) -> dict[str, int]:
    """The three bounds the ladder reads, under the names of the ledger (LEDGER.md)."""
    return {name: int(getattr(thresholds, field)) for name, field in LIMITS.items()}


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0 on. 2.0 is one: JSON, and with it jq, knows one kind of number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= EXACT and value == int(value)


def is_readable(signals: object) -> bool:
    """Whether signals are a routing record of which no field is missing, null or of the wrong kind (A18)."""
    if not isinstance(signals, dict) or not isinstance(limits := signals.get("thresholds"), dict):
        return False
    counts = [*(signals.get(name) for name in COUNTERS), *(limits.get(name) for name in LIMITS)]
    return all(isinstance(signals.get(name), bool) for name in FLAGS) and all(map(is_count, counts))


def rung_for(signals: Any, ladder: Sequence[Rung] = LADDER) -> Rung | None:
    """The first rung that holds, or None where the signals cannot be read: then Blocked stands in (`parse_default`)."""
    if not is_readable(signals):
        return None

    def holds(condition: str | tuple[str, str]) -> bool:
        if isinstance(condition, tuple):
            counter, limit = condition
            return bool(signals[counter] >= signals["thresholds"][limit])
        return bool(signals[condition])

    return next((rung for rung in ladder if all(map(holds, rung.when))), None)


def route(signals: Any, ladder: Sequence[Rung] = LADDER) -> Route:
    """The route for one attempt's signals. A missing or null field gives Blocked, on purpose (A18)."""
    rung = rung_for(signals, ladder)
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
