"""Each record by itself and after the one before: numbers, times, route, decision and what it obliges to (L4, L10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zetetic.state.policy import is_readable, rung_for
from zetetic.state.wording import folded

from ..ledger import decision_for
from .fault import Fault
from .held import CONTINUING, TERMINAL, Held, Record

SAME_BLOCKER = 3
"""Records in a row with one blocker, at which the loop stops (L10)."""


def order_faults(held: Held) -> Iterator[Fault]:
    """What is wrong with the records one by one and in their order."""
    records = held.records or ()
    before: Record | None = None
    for record in records:
        yield from _follows(before, record)
        yield from _obliged(record)
        yield from _routed(held, record)
        before = record
    yield from _counters(held)
    yield from _same_blocker(held)


def _follows(before: Record | None, record: Record) -> Iterator[Fault]:
    number = record.get("iteration")
    expected = 1 if before is None else before.get("iteration") and before.get("iteration") + 1
    if number is not None and expected and number != expected:
        after = f"after {expected - 1}" if before else "at the start"
        yield record.fault("iteration", f"is {number}; {after} comes {expected}")
    now, then = record.get("timestamp"), before.get("timestamp") if before else None
    if now is not None and then is not None and now < then:
        yield record.fault(
            "timestamp", "is earlier than the record's before; records stand in the order of their times"
        )


def _obliged(record: Record) -> Iterator[Fault]:
    """What a decision must have beside it, and what it must not."""
    decision = record.get("decision")
    following, reason, blocker = (record.get(name) for name in ("next_objective", "stop_reason", "blocker"))
    if decision in CONTINUING:
        if following is not None and not following.strip():
            yield record.fault("next_objective", f"is empty; {decision} needs the objective that comes next")
        if reason:
            yield record.fault("stop_reason", f"stands beside {decision}, which does not stop; leave it empty")
    elif decision in TERMINAL and following:
        yield record.fault("next_objective", f"stands beside {decision}, after which nothing comes; leave it empty")
    if decision == "stop" and reason is not None and not reason.strip():
        yield record.fault("stop_reason", "is empty; a stop says why")
    if decision == "blocked" and reason and not reason.startswith("blocked:"):
        yield record.fault("stop_reason", "stands beside blocked; give blocked:<what>, or leave it empty")
    if blocker is None or decision is None or not record.route:
        return
    needed = "blocked" in (decision, record.route)
    if needed and not blocker.strip():
        yield record.fault("blocker", "is empty; what is blocked names its blocker")
    if not needed and blocker:
        yield record.fault("blocker", f"is named, but neither the decision ({decision}) nor the route is blocked")


def _routed(held: Held, record: Record) -> Iterator[Fault]:
    """The route against the ladder, and the decision against the route."""
    routing = record.get("routing")
    if routing is None or not is_readable(routing):
        return
    rung = rung_for(routing)
    right = "blocked" if rung is None else rung.route.lower()
    if record.route and record.route != right:
        yield record.fault("routing.route", f"is {record.route}, but the ladder gives {right} for these signals")
    for gate in record.get("gates") or ():
        if gate["gate"] == "verified" and gate["passed"] is not routing["verified"]:
            right = str(routing["verified"]).lower()
            yield record.fault("gates", f"say {str(gate['passed']).lower()} of verified, and routing says {right}")
    decision, is_report = record.get("decision"), record.is_report
    if decision is None or is_report is None or not record.route:
        return
    fitting = decision_for(record.route, is_report, held.workers)
    # a record may end the loop whatever its route: at its cap, or as the last one of a run that ended (L4)
    if decision == fitting or decision in TERMINAL or held.bound("max_child_workers") is None:
        return
    what = "the report" if is_report else "a question"
    yield record.fault("decision", f"is {decision}; the route {record.route} of {what} gives {fitting}")


def _counters(held: Held) -> Iterator[Fault]:
    """Attempts and streaks of each question and of the report, which count on from one record to the next (A13)."""
    known: dict[tuple[str, bool], Record | None] = {}
    lost = False
    for record in held.records or ():
        refs, is_report, routing = record.get("input_refs"), record.is_report, record.get("routing")
        if not refs or is_report is None:  # it may be of any question
            known, lost = {}, True
            continue
        key = (refs[0], is_report)
        before = known.get(key)
        counts = is_readable(routing) and not routing["blocked"]  # what is blocked was not charged (A11)
        if counts and (before is not None or (key not in known and not lost)):
            yield from _counted(before, record)
        known[key] = record if counts else None


def _counted(before: Record | None, record: Record) -> Iterator[Fault]:
    now: dict[str, Any] = record.get("routing")
    then: dict[str, Any] = before.get("routing") if before else {}
    attempts = then.get("attempts", 0)
    if now["attempts"] not in (1, attempts + 1):  # 1 again once it was reopened, or the run extended
        told = f"1 or {attempts + 1}" if attempts else "1"
        yield record.fault("routing.attempts", f"is {now['attempts']}, but {attempts} were counted before; give {told}")
        return
    afresh = now["attempts"] == 1
    rung = rung_for(then) if then and not afresh else None
    for name, goes_on in (("unverified", not now["verified"]), ("unproductive", None)):
        streak = now[f"{name}_streak"]
        had = 0 if afresh or (rung and rung.resets == name) else then.get(f"{name}_streak", 0)
        right = {0, had + 1} if goes_on is None else {had + 1} if goes_on else {0}
        if streak not in right:
            told = " or ".join(map(str, sorted(right)))
            yield record.fault(f"routing.{name}_streak", f"is {streak}; after {had} comes {told}")


def _same_blocker(held: Held) -> Iterator[Fault]:
    """The same blocker three times running stops the loop (L10)."""
    running, last = 0, ""
    for record in held.records or ():
        blocker = folded(record.get("blocker") or "")
        running = running + 1 if blocker and blocker == last else int(bool(blocker))
        last = blocker
        if running >= SAME_BLOCKER and record.get("decision") in CONTINUING:
            yield record.fault("decision", f"goes on although the same blocker stands {running} times running; stop")
