"""Records that end the loop: what may follow them, and whether their reason holds (L5, L10, L11, D48, D54).

A reason is recomputed from the folder as far as the folder goes: in full for the caps on records and turns, for a
plateau and a stall; of tokens, money and time it holds the limits and the sums, not the size of the call that did not
fit any more, so there the limit must exist and be in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .fault import Fault
from .held import Held, Record

WITH_GAPS = ("finalized", "frontier_exhausted", "aborted", "user_stop")
"""Reasons of a run that ended without success and without a bound (D48, D54)."""
KNOWN = (
    "success_criteria_met, breaker:iterations, breaker:tokens, breaker:cost, breaker:wall_clock, breaker:attempts, "
    f"stalled, plateau, no_change, {', '.join(WITH_GAPS)}"
)


def stop_faults(held: Held, proven: frozenset[str]) -> Iterator[Fault]:
    """What is wrong with the ends of the loop. `proven` are the ids of the proof artifacts that hold."""
    records = held.records or ()
    for number, record in enumerate(records):
        if not record.ends:
            continue
        following = records[number + 1] if number + 1 < len(records) else None
        then = following.get("timestamp") if following is not None else None
        if following is not None and then and held.extended_between(record.get("timestamp"), then) is False:
            what = f"stands after the {record.get('decision')} of line {record.line} without an extension in between"
            yield following.fault("", f"{what} (extensions of budget.json)")
        if record.get("decision") == "stop" and record.reason.strip():
            yield from _reason(held, records[: number + 1], proven, is_last=following is None)


def _reason(held: Held, records: Sequence[Record], proven: frozenset[str], *, is_last: bool) -> Iterator[Fault]:
    record = records[-1]
    if record.succeeds:
        yield from _success(record, proven)
    elif wrong := refuted(held, records, is_last=is_last):
        yield record.fault("stop_reason", f"is {record.reason}, but {wrong}")


def _success(record: Record, proven: frozenset[str]) -> Iterator[Fault]:
    cited = record.within("evidence_checked", "evidence_ids")
    if cited is not None and not proven.intersection(cited):
        what = "names no proof artifact that holds" if cited else "is empty"
        yield record.fault("evidence_checked.evidence_ids", f"{what}; a stop for success cites its proof (L5)")
    if record.route and record.route != "answered":
        yield record.fault("stop_reason", f"is {record.reason}, but the route is {record.route}, not answered")
    if record.is_report is False:
        yield record.fault("stop_reason", f"is {record.reason}, but the record is a question's and not the report's")
    for gate in record.get("gates") or ():
        if not gate["passed"]:  # which leads to another attempt, not to success (L7)
            yield record.fault("stop_reason", f"is {record.reason}, but the gate {gate['gate']} did not pass")


def refuted(held: Held, records: Sequence[Record], *, is_last: bool) -> str:
    """Why the reason of the last of these records does not hold, or ''."""
    record = records[-1]
    reason = record.reason
    match reason.partition(":"):
        case "breaker", ":", what:
            return _breaker(held, record, what, is_last=is_last)
        case "plateau", "", "":
            return _plateau(held, records)
        case "stalled", "", "":
            return _stalled(held, records)
        case "no_change", "", "":
            mode = record.get("mode")
            return "" if mode in (None, "monitor") else f"only a run that monitors ends so, and the mode is {mode}"
        case "reported", "", "":  # how a report's record reads once the run was extended (D54)
            if record.is_report is False or (record.route and record.route not in ("answered", "reported")):
                return "the record is of no report that went out"
            return "the last record of a run that ended says why it ended" if is_last else ""
        case (("finalized" | "frontier_exhausted"), "", ""):
            return "the report was answered and its gates passed, which is success" if is_whole_success(record) else ""
    return "" if reason in WITH_GAPS else f"that is no reason to stop early; give one of {KNOWN}"


def is_whole_success(record: Record) -> bool:
    """Whether a record is of a report that was accepted after exploration had passed its gate (D54)."""
    gates = {gate["gate"]: gate["passed"] for gate in record.get("gates") or ()}
    return record.route == "answered" and bool(gates.get("exploration"))


def _breaker(held: Held, record: Record, what: str, *, is_last: bool) -> str:
    match what:
        case "iterations":
            return _iterations(held, record, is_last=is_last)
        case "tokens":
            return "max_tokens is 0, which is unlimited" if held.bound("max_tokens") == 0 else ""
        case "cost":
            if held.bound("max_usd") == 0:
                return "max_usd is 0, which is unlimited"
            return "spent_usd is 0" if held.bound("spent_usd") == 0 else ""
        case "wall_clock":
            return _wall_clock(held, record)
        case "attempts":
            routing = record.get("routing") or {}
            attempts, cap = routing.get("attempts"), (routing.get("thresholds") or {}).get("attempt_cap")
            if attempts is None or cap is None or attempts >= cap:
                return ""
            return f"{attempts} of {cap} attempts were made"
    return f"there is no such budget; give one of {KNOWN}"


def _iterations(held: Held, record: Record, *, is_last: bool) -> str:
    """Records but for the one kept for the report, or exploration's turns (L4, D46)."""
    cap = held.cap_at("max_iterations", "iterations", record.get("timestamp"))
    if cap is None or record.line >= cap - 1:
        return ""
    turns, spent = held.exploration_turns(), held.bound("spent_turns")
    if turns is not None and spent is not None and spent >= turns:
        return ""
    told = f"{record.line} of {cap} records stood"
    if not is_last or turns is None or spent is None:
        return told if is_last else f"{told} when it was written"
    return f"{told}, and {spent} of exploration's {turns} turns were spent"


def _wall_clock(held: Held, record: Record) -> str:
    """Exploration's part of the ceiling; pauses are in what passed, so this is the most that can have been used."""
    cap = held.cap_at("max_wall_time_seconds", "seconds", record.get("timestamp"))
    reserve, start, end = (held.bound(name) for name in ("synthesis_reserve", "created_at", "updated_at"))
    if cap is None or reserve is None or start is None or end is None:
        return ""
    passed, due = (end - start).total_seconds(), cap * (1 - reserve)
    return f"{passed:.0f} seconds passed of exploration's {due:.0f}" if passed < due else ""


# What did not move.


def _questions(held: Held, records: Sequence[Record], length: int) -> Iterator[Sequence[Record]]:
    """The stretches of `length` records of questions that may have ended exploration.

    What workers beside had under way then may stand after it.
    """
    asked = [record for record in records if record.is_report is not True]
    for late in range(held.workers):
        stretch = asked[len(asked) - length - late : len(asked) - late] if len(asked) >= length + late else []
        if len(stretch) == length:
            yield stretch


def _plateau(held: Held, records: Sequence[Record]) -> str:
    numbers = held.plateau()
    if numbers is None:
        return ""
    length = numbers[0]
    if not record_keeping(records):
        return ""
    if any(_is_still(stretch) for stretch in _questions(held, records, length)):
        return ""
    return f"in the last {length} records of questions a gap was closed, or there are fewer"


def record_keeping(records: Sequence[Record]) -> bool:
    """Whether there are records to recompute a reason from; the simple loop writes none (D53)."""
    return any(record.line for record in records)


def _is_still(stretch: Sequence[Record]) -> bool:
    """Whether no question was closed in a stretch, as far as its records tell."""
    closed = any(record.route in ("answered", "reported") for record in stretch)
    gaps = [_gap_ids(record) for record in stretch]
    shrinks = any(a is not None and b is not None and not a <= b for a, b in pairwise(gaps))
    return not closed and not shrinks


def _gap_ids(record: Record) -> set[str] | None:
    gaps = record.get("remaining_gaps")
    return None if gaps is None else {gap.split(":", 1)[0] for gap in gaps}


def _stalled(held: Held, records: Sequence[Record]) -> str:
    numbers = held.plateau()
    if numbers is None:
        return ""
    length = numbers[1]
    if not record_keeping(records):
        return ""
    for stretch in _questions(held, records, length):
        if all(record.get("new_evidence") in (None, 0) for record in stretch):
            return ""
    return f"the last {length} records of questions are not without new evidence"
