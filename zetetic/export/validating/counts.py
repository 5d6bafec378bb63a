"""Counts, sums and times across the files, and a loop that runs although a budget is used up (L4, L13)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .fault import BUDGET, RECORDS, STATE, Fault
from .held import CONTINUING, TERMINAL, Held

ROUNDING = 1e-6
"""What sums of many fractions may be off by, as a share of the sum."""
SPENT = (("tokens", "max_tokens", "spent_tokens"), ("usd", "max_usd", "spent_usd"))
"""The field of a record, the budget, and what the run has spent of it."""


def count_faults(held: Held) -> Iterator[Fault]:
    """What does not agree between the files."""
    yield from _counted(held)
    yield from _summed(held)
    yield from _timed(held)
    yield from _status(held)
    yield from _exhausted(held)


def _counted(held: Held) -> Iterator[Fault]:
    if held.records is None:
        return
    count = len(held.records)
    for file, name, said in (
        (STATE, "last_iteration", held.told("last_iteration")),
        (BUDGET, "spent_iterations", held.bound("spent_iterations")),
    ):
        if said is not None and said != count:
            yield Fault(file, name, f"is {said}, but {RECORDS} holds {count} records; give {count}")
    for record in held.records:
        cap = held.cap_at("max_iterations", "iterations", record.get("timestamp"))
        if cap is None:
            continue
        if record.line > cap:
            yield record.fault("", f"is one more than the {cap} records allowed (max_iterations) when it was written")
        elif record.line == cap and record.get("decision") in CONTINUING:
            what = f"is {record.get('decision')}, but this is the last record allowed (max_iterations {cap})"
            yield record.fault("decision", f"{what}; it must be stop or blocked")


def _summed(held: Held) -> Iterator[Fault]:
    """What the records used is part of what the run spent; between attempts it spends too."""
    for name, _, spent_name in SPENT:
        spent = held.bound(spent_name)
        deltas = [record.within("budget_delta", name) for record in held.records or ()]
        if spent is None or None in deltas:
            continue
        total = sum(deltas)
        if total > spent * (1 + ROUNDING) + ROUNDING:
            yield Fault(BUDGET, spent_name, f"is {spent:.15g}, but the records used {total:.15g}; give that or more")


def _timed(held: Held) -> Iterator[Fault]:
    created = [(file, told("created_at")) for file, told in ((STATE, held.told), (BUDGET, held.bound))]
    if None not in (both := [at for _, at in created]) and both[0] != both[1]:
        yield Fault(BUDGET, "created_at", f"is another time than that of {STATE}; they are one run's")
    first = next((record for record in held.records or () if record.get("timestamp")), None)
    extensions = held.bound("extensions") or []
    for file, start in created:
        if start and first is not None and first.get("timestamp") < start:
            yield Fault(file, "created_at", "is later than the first record")
    for file, told in ((STATE, held.told), (BUDGET, held.bound)):
        end = told("updated_at")
        if end is None:
            continue
        known: list[tuple[str, datetime | None]] = [("created_at", told("created_at"))]
        known += [(f"the record of {RECORDS}, line {r.line}", r.get("timestamp")) for r in (held.records or ())[-1:]]
        known += [("the last of the extensions", extension["at"]) for extension in extensions[-1:]]
        for what, at in known:
            if at is not None and at > end:
                yield Fault(file, "updated_at", f"is earlier than {what}")
    start = held.bound("created_at")
    for number, extension in enumerate(extensions):
        earlier = extensions[number - 1]["at"] if number else start
        if earlier is not None and extension["at"] < earlier:
            yield Fault(BUDGET, f"extensions[{number}].at", "is earlier than what came before it")


def _status(held: Held) -> Iterator[Fault]:
    """The status against the last record."""
    status, last = held.told("status"), held.last
    if status is None or held.records is None:
        return
    if status == "initialized":
        if held.records:
            count = len(held.records)
            yield Fault(
                STATE, "status", f"is initialized, but {RECORDS} holds {count} records; give running or stopped"
            )
        return
    decision = last.get("decision") if last is not None else None
    if last is None or decision is None:
        return
    if status == "running":
        if decision in TERMINAL and held.extended_between(last.get("timestamp")) is False:
            right = "stopped" if decision == "stop" else "blocked"
            yield Fault(STATE, "status", f"is running, but the last record is {decision}; give {right}")
    elif (status == "blocked") != (decision == "blocked") or decision in CONTINUING:
        right = {"stop": "stopped", "blocked": "blocked"}.get(decision, "running")
        yield Fault(STATE, "status", f"is {status}, but the last record says {decision}; give {right}")


def _exhausted(held: Held) -> Iterator[Fault]:
    """A loop that is running, or went on, with a budget used up."""
    if held.told("status") in ("running", "initialized"):
        for what in _used_up(held):
            yield Fault(STATE, "status", f"is {held.told('status')}, but {what}; give stopped, or extend the run")
    records = held.records or ()
    if held.workers > 1:  # what others had under way when the budget was used up ends as a record
        return
    for name, bound, _ in SPENT:
        used = 0.0
        for number, record in enumerate(records):
            delta, now = record.within("budget_delta", name), record.get("timestamp")
            if delta is None:
                break
            used += delta
            cap = held.cap_at(bound, name, now)
            following = records[number + 1] if number + 1 < len(records) else None
            if following is None or not held.bound(bound) or cap is None or used < cap:
                continue
            if held.extended_between(now, following.get("timestamp")) is False:
                what = f"stands after a record at which {bound} ({cap:.15g}) was used up"
                yield following.fault("", f"{what}, without an extension in between")


def _used_up(held: Held) -> Iterator[str]:
    bounds = [("max_iterations", "spent_iterations"), ("max_turns", "spent_turns")]
    bounds += [(bound, spent) for _, bound, spent in SPENT if held.bound(bound)]
    for bound, name in bounds:
        cap, spent = held.bound(bound), held.bound(name)
        if cap is not None and spent is not None and spent >= cap:
            yield f"{bound} is used up ({spent:.15g} of {cap:.15g})"
    deltas = [record.within("budget_delta", "wall_time_seconds") for record in held.records or ()]
    cap = held.bound("max_wall_time_seconds")
    # attempts side by side share the time, so this is the least that passed
    if cap is not None and None not in deltas and sum(deltas) / held.workers > cap * (1 + ROUNDING):
        yield f"max_wall_time_seconds is used up by the records alone ({cap:.15g})"
