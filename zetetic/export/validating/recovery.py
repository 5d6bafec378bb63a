"""`recovery.md` against the other files (L9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from zetetic.state.wording import one_line

from ..ledger import BULLETS, COMPLETE, RECOVERY_TITLE
from .fault import RECOVERY, Fault
from .held import Held, Record
from .reading import shown
from .stopping import refuted

_STATUS = re.compile(r"(?P<status>\w+)(?: \((?P<reason>[^()]+)\))?")
_LEFT = re.compile(
    r"(?P<records>\d+) iterations, (?P<turns>\d+) turns, (?P<tokens>\d+|unlimited) tokens, "
    r"(?P<usd>\d+\.\d{4}|unlimited) US dollars, (?P<seconds>\d+) seconds"
)


def read_recovery(data: bytes) -> tuple[Mapping[str, str], list[Fault]]:
    """The bullets by name, and what is wrong with the form."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = 1 + data[: error.start].count(10)
        return {}, [Fault(RECOVERY, f"line {at}", f"is no UTF-8: byte {error.start + 1} is {data[error.start]:#04x}")]
    faults: list[Fault] = []
    title, *lines = text.split("\n")
    if title.rstrip() != RECOVERY_TITLE:
        faults.append(Fault(RECOVERY, "line 1", f"is {shown(title)}; give {RECOVERY_TITLE}"))
    bullets: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        name, colon, value = line.removeprefix("- ").partition(":")
        if not line.startswith("- ") or not colon or name not in BULLETS:
            faults.append(Fault(RECOVERY, f"line {number}", f"is {shown(line)}; give a bullet: {', '.join(BULLETS)}"))
        elif name in bullets:
            faults.append(Fault(RECOVERY, f"line {number}", f"is a second bullet {name}; keep one"))
        else:
            bullets[name] = value.strip()
    for name in BULLETS:
        if name not in bullets:
            faults.append(Fault(RECOVERY, name, f"is missing; give a line `- {name}: …`"))
        elif not bullets[name]:
            faults.append(Fault(RECOVERY, name, "is empty; say none where there is nothing"))
    if list(bullets) != [name for name in BULLETS if name in bullets]:
        faults.append(Fault(RECOVERY, "", f"has its bullets in another order than {', '.join(BULLETS)}"))
    return {name: value for name, value in bullets.items() if value}, faults


def recovery_faults(held: Held, bullets: Mapping[str, str]) -> Iterator[Fault]:
    """What the bullets say against the state, the budget and the records."""
    goal = held.told("goal")
    if goal is not None and "Goal" in bullets and bullets["Goal"] != one_line(_as_written(goal)).strip():
        yield Fault(RECOVERY, "Goal", "is not the goal of loop_state.json")
    if held.records is not None and (last := bullets.get("Last completed iteration")) is not None:
        count = len(held.records)
        if last != str(count):
            yield Fault(RECOVERY, "Last completed iteration", f"is {shown(last)}, but there are {count} records")
    if "Status" in bullets:
        yield from _status(held, bullets["Status"])
    yield from _action(held, bullets)
    if "Budget remaining" in bullets:
        yield from _left(held, bullets["Budget remaining"])


def _as_written(text: str) -> str:
    """A text as files of text hold it: what no UTF-8 can say is escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _status(held: Held, told: str) -> Iterator[Fault]:
    found = _STATUS.fullmatch(told)
    status, last = held.told("status"), held.last
    if found is None or (status is not None and found["status"] != status):
        right = f"{status}, with its reason in parentheses" if status else "a status, with its reason in parentheses"
        yield Fault(RECOVERY, "Status", f"is {shown(told)}; give {right}")
        return
    if status not in ("stopped", "blocked"):  # before, the reason is exploration's and the report is still to come
        return
    reason = found["reason"] or ""
    if not reason:
        yield Fault(RECOVERY, "Status", f"gives no reason; give {status} (<reason>)")
    elif status == "blocked":
        if not reason.startswith("blocked:"):
            yield Fault(RECOVERY, "Status", f"is blocked for {shown(reason)}; give blocked:<what>")
    elif held.records == []:
        if wrong := refuted(held, [Record(0, {"stop_reason": reason})], is_last=True):
            yield Fault(RECOVERY, "Status", f"gives the reason {reason}, but {wrong}")
    elif last is not None and last.get("decision") == "stop" and last.reason and not last.succeeds:
        if reason != last.reason:
            yield Fault(RECOVERY, "Status", f"gives the reason {reason}, but the last record stopped for {last.reason}")
    elif last is not None and last.succeeds and reason not in ("finalized", "frontier_exhausted"):
        yield Fault(RECOVERY, "Status", f"gives the reason {reason}, but the last record stopped for success")


def _action(held: Held, bullets: Mapping[str, str]) -> Iterator[Fault]:
    status, last = held.told("status"), held.last
    action, blockers = bullets.get("Next safe action"), bullets.get("Active blockers")
    if held.records is not None and action is not None and (last is None or last.get("decision") is not None):
        is_complete = last is not None and (last.succeeds or last.reason == "no_change")
        if is_complete != (action == COMPLETE):
            right = COMPLETE if is_complete else "what may be done, for the run is not complete"
            yield Fault(RECOVERY, "Next safe action", f"is {shown(action)}; give {right}")
    if status == "blocked" and blockers == "none":
        yield Fault(RECOVERY, "Active blockers", "is none, but the run is blocked; name the blocker")


def _left(held: Held, told: str) -> Iterator[Fault]:
    found = _LEFT.fullmatch(told)
    if found is None:
        wanted = (
            "N iterations, N turns, N tokens, N.NNNN US dollars, N seconds (tokens and US dollars may be unlimited)"
        )
        yield Fault(RECOVERY, "Budget remaining", f"is {shown(told)}; give {wanted}")
        return
    for name, cap, spent, form, has_none in (
        ("records", "max_iterations", "spent_iterations", "d", False),
        ("turns", "max_turns", "spent_turns", "d", False),
        ("tokens", "max_tokens", "spent_tokens", "d", True),
        ("usd", "max_usd", "spent_usd", ".4f", True),
    ):
        most, used = held.bound(cap), held.bound(spent)
        if most is None or used is None:
            continue
        right = "unlimited" if has_none and not most else format(max(0, most - used), form)
        if found[name] != right:
            yield Fault(RECOVERY, "Budget remaining", f"has {found[name]} {name}, but budget.json leaves {right}")
    most = held.bound("max_wall_time_seconds")
    if most is not None and int(found["seconds"]) > most + 1:
        yield Fault(RECOVERY, "Budget remaining", f"has {found['seconds']} seconds, but all of the run has {most:.0f}")
