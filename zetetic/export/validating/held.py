"""What a run folder holds, as far as it is well formed: what the checks across files read.

A field that is missing or malformed is a fault already and is absent here; a check that needs it says nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zetetic.state.thresholds import Thresholds

from ..ledger import plateau_numbers
from .fault import RECORDS, Fault
from .reading import Line
from .shapes import ABSENT, RECORD_SHAPE, Notes, Shape

CONTINUING = ("continue", "revise", "delegate")
TERMINAL = ("stop", "blocked")
SUCCESS = frozenset({"success", "success_criteria_met", "proof", "proof_found"})


@dataclass(frozen=True, slots=True)
class Record:
    """One line of `iterations.jsonl`."""

    line: int
    values: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """A field, or None where it cannot be used."""
        return self.values.get(name)

    def within(self, outer: str, inner: str) -> Any:
        """A field of an inner object, or None."""
        return (self.values.get(outer) or {}).get(inner)

    def fault(self, where: str, message: str) -> Fault:
        """A fault in this record."""
        return Fault(RECORDS, f"line {self.line}, {where}" if where else f"line {self.line}", message)

    @property
    def ends(self) -> bool:
        """Whether its decision is to stop or that it is blocked."""
        return self.get("decision") in TERMINAL

    @property
    def route(self) -> str:
        """The route it names, in lower case; '' where it cannot be read."""
        return self.within("routing", "route") or ""

    @property
    def is_report(self) -> bool | None:
        """Whether the attempt was the report: only its records have exploration's gate. None where gates are unread."""
        gates = self.get("gates")
        return None if gates is None else any(gate["gate"] == "exploration" for gate in gates)

    @property
    def reason(self) -> str:
        """The reason for its stop."""
        return self.get("stop_reason") or ""

    @property
    def succeeds(self) -> bool:
        """Whether it stops for success, in any of the ways to write it."""
        return self.get("decision") == "stop" and is_success(self.reason)


def is_success(reason: str) -> bool:
    """Whether a reason is one of success; case, '-' and ' ' do not matter."""
    return reason.strip().casefold().replace("-", "_").replace(" ", "_") in SUCCESS


@dataclass(frozen=True, slots=True)
class Held:
    """The well-formed part of `loop_state.json`, `budget.json`, `iterations.jsonl`; None for a file that is unread."""

    state: Mapping[str, Any] | None
    budget: Mapping[str, Any] | None
    records: Sequence[Record] | None

    def bound(self, name: str) -> Any:
        """A field of `budget.json`, or None."""
        return None if self.budget is None else self.budget.get(name)

    def told(self, name: str) -> Any:
        """A field of `loop_state.json`, or None."""
        return None if self.state is None else self.state.get(name)

    @property
    def last(self) -> Record | None:
        """The last record."""
        return self.records[-1] if self.records else None

    @property
    def workers(self) -> int:
        """How many attempts may be under way at once."""
        return self.bound("max_child_workers") or 1

    def extended_between(self, start: datetime | None, end: datetime | None = None) -> bool | None:
        """Whether room was added in a stretch of time; None where that cannot be read."""
        extensions = self.bound("extensions")
        if extensions is None or start is None:
            return None
        return any(start <= e["at"] and (end is None or e["at"] <= end) for e in extensions)

    def cap_at(self, name: str, added: str, at: datetime | None) -> Any:
        """A budget as it was at a time: later extensions do not count (L4). None where it cannot be read."""
        cap, extensions = self.bound(name), self.bound("extensions")
        if cap is None or extensions is None or at is None:
            return None
        return cap - sum(e[added] for e in extensions if e["at"] > at)

    def exploration_turns(self) -> int | None:
        """The turns that exploration may spend (D46), or None where the folder does not say."""
        turns, reserve = self.bound("max_turns"), self.bound("synthesis_reserve")
        if turns is None or reserve is None:
            return None
        return Thresholds.model_construct(max_turns=turns, synthesis_reserve=reserve).exploration_turns()

    def plateau(self) -> tuple[int, int] | None:
        """Records in a row without a change, and without new evidence, before a stop (L11, R10)."""
        rule = self.told("plateau_rule")
        return None if rule is None else plateau_numbers(rule)


def shaped(value: Any, shape: Shape, file: str, faults: list[Fault], line: int = 0) -> Mapping[str, Any]:
    """The well-formed part of a value; what is not goes to `faults`."""
    notes: Notes = []
    taken = shape.read(value, "", notes)
    prefix = f"line {line}" if line else ""
    faults += [Fault(file, ", ".join(filter(None, (prefix, where))), message) for where, message in notes if message]
    return {} if taken is ABSENT else taken


def records_of(lines: Sequence[Line], faults: list[Fault]) -> list[Record]:
    """The records of lines; one that could not be read is empty, so that the others keep their places."""
    return [
        Record(line.number, {} if not line.is_json else shaped(line.value, RECORD_SHAPE, RECORDS, faults, line.number))
        for line in lines
    ]
