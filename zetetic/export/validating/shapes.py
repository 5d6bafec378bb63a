"""The shape of each file: fields with their types and bounds (LEDGER.md), as data.

A shape reads a JSON value: it gives back what is well formed, and notes what is not. Fields that it does not know are
let be: a folder may be annotated, and a later 1.x may say more. None that it knows may be missing, so a misspelt name
shows all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from zetetic.state.policy import COUNTERS, EXACT, FLAGS, LIMITS, ROUTES
from zetetic.state.thresholds import MODES

from ..ledger import SCHEMA_VERSION, LoopDecision, LoopStatus
from .reading import field, is_no_number, shown

ABSENT: Any = object()
"""What a shape gives for a value that it cannot use."""
Notes = list[tuple[str, str]]
"""Where in a value, and what is wrong there; '' where that is said already."""
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
ARTIFACTS = ("python-verifier", "lean", "coq", "isabelle", "agda", "sagemath", "external-verifier")
DECISIONS = get_args(LoopDecision)
STATUSES = get_args(LoopStatus)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be. `read(value, where, notes)` gives the usable value or ABSENT."""

    wanted: str
    read: Callable[[Any, str, Notes], Any]


def _simple(wanted: str, take: Callable[[Any], Any]) -> Shape:
    """A shape of one value; `take` gives ABSENT for one that does not do."""

    def read(value: Any, where: str, notes: Notes) -> Any:
        taken = take(value)
        if taken is ABSENT:  # of what is no number it was said when the file was read
            notes.append((where, "" if is_no_number(value) else f"is {shown(value)}; give {wanted}"))
        return taken

    return Shape(wanted, read)


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else ABSENT


def _filled(value: Any) -> Any:
    return value if isinstance(value, str) and value.strip() else ABSENT


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(least: int = 0, most: int = EXACT) -> Shape:
    bounds = f"from {least:,} on" if most == EXACT else f"from {least:,} to {most:,}" if least < most else ""
    wanted = f"a whole number {bounds}" if bounds else f"the whole number {least}"
    return _simple(wanted, lambda v: v if _is_int(v) and least <= v <= most else ABSENT)


def _number(above: bool = False) -> Shape:
    def take(value: Any) -> Any:
        if not (_is_int(value) or isinstance(value, float)) or is_no_number(value):
            return ABSENT
        return float(value) if (value > 0 if above else value >= 0) and value <= EXACT else ABSENT

    return _simple("a number above 0" if above else "a number from 0 on", take)


def _one_of(names: tuple[str, ...]) -> Shape:
    wanted = f"one of {', '.join(names)}" if len(names) > 1 else f'"{names[0]}"'
    return _simple(wanted, lambda v: v if isinstance(v, str) and v in names else ABSENT)


def _exactly(flag: bool) -> Shape:
    return _simple(str(flag).lower(), lambda v: v if v is flag else ABSENT)


def _matching(pattern: re.Pattern[str], wanted: str) -> Shape:
    return _simple(wanted, lambda v: v if isinstance(v, str) and pattern.fullmatch(v) else ABSENT)


def _moment_of(value: Any) -> Any:
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return ABSENT
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return ABSENT


def _list(item: Shape, least: int = 0) -> Shape:
    wanted = "a list" if not least else "a list that is not empty"

    def read(value: Any, where: str, notes: Notes) -> Any:
        if not isinstance(value, list) or len(value) < least:
            notes.append((where, f"is {'empty' if value == [] else shown(value)}; give {wanted}, each {item.wanted}"))
            return ABSENT
        before = len(notes)
        taken = [item.read(inner, f"{where}[{n}]", notes) for n, inner in enumerate(value)]
        return ABSENT if ABSENT in taken or len(notes) > before else taken

    return Shape(wanted, read)


def _object(fields: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    more = dict(optional or {})

    def read(value: Any, where: str, notes: Notes) -> Any:
        if not isinstance(value, dict):
            notes.append((where, f"is {shown(value)}; give an object with {', '.join(fields)}"))
            return ABSENT
        held: dict[str, Any] = {}
        for name, shape in (*fields.items(), *more.items()):
            if name in value:
                held[name] = shape.read(value[name], field(where, name), notes)
            elif name in fields:
                notes.append((field(where, name), f"is missing; give {shape.wanted}"))
        return {name: taken for name, taken in held.items() if taken is not ABSENT}

    return Shape("an object", read)


TEXT = _simple("a text", _text)
FILLED = _simple("a text that is not empty", _filled)
FLAG = _simple("true or false", lambda v: v if isinstance(v, bool) else ABSENT)
COUNT = _count()
NUMBER = _number()
MOMENT = _simple("a time in UTC, such as 2026-01-01T00:00:00Z", _moment_of)
VERSION = _one_of((SCHEMA_VERSION,))
NAME = _matching(ID, "an id of letters, digits, _ . and -, a letter or digit first, at most 128")
PATHLIKE = _simple("a path within the folder, with / between its parts", _filled)

STATE_SHAPE = _object(
    {
        "schema_version": VERSION,
        "run_id": FILLED,
        "goal": FILLED,
        "success_criteria": _list(FILLED, least=1),
        "scope": FILLED,
        "exclusions": _list(FILLED),
        "default_mode": _one_of(MODES),
        "status": _one_of(STATUSES),
        "stop_flags": _object(
            dict.fromkeys(("stop_on_guard_fail", "stop_on_missing_evidence", "stop_on_scope_change"), _exactly(True))
        ),
        "plateau_rule": FILLED,
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "last_iteration": COUNT,
    }
)
BUDGET_SHAPE = _object(
    {
        "schema_version": VERSION,
        "budget_owner": _one_of(("user",)),
        "max_iterations": _count(1),
        "max_wall_time_seconds": _number(above=True),
        "max_tokens": COUNT,
        "max_usd": NUMBER,
        "max_depth": COUNT,
        "max_hops": _count(1),
        "max_child_workers": _count(1),
        "spent_iterations": COUNT,
        "spent_tokens": COUNT,
        "spent_usd": NUMBER,
        "extensions": _list(
            _object(
                {"at": MOMENT, "by": FILLED, "iterations": COUNT, "tokens": COUNT, "usd": NUMBER, "seconds": NUMBER}
            )
        ),
        "created_at": MOMENT,
        "updated_at": MOMENT,
    },
    optional={"max_turns": _count(1), "spent_turns": COUNT, "synthesis_reserve": NUMBER},
)
ROUTING_SHAPE = _object(
    {
        **dict.fromkeys(FLAGS, FLAG),
        **dict.fromkeys(COUNTERS, COUNT),
        "thresholds": _object(dict.fromkeys(LIMITS, _count(1))),
        "route": _one_of(tuple(route.lower() for route in ROUTES)),
    }
)
RECORD_SHAPE = _object(
    {
        "schema_version": VERSION,
        "iteration": _count(1),
        "timestamp": MOMENT,
        "mode": _one_of(MODES),
        "objective": FILLED,
        "input_refs": _list(FILLED),
        "evidence_checked": _object(
            dict.fromkeys(("source_ids", "claim_ids", "evidence_ids", "guard_refs"), _list(NAME)),
        ),
        "actions_taken": _list(FILLED),
        "output": TEXT,
        "remaining_gaps": _list(FILLED),
        "budget_delta": _object(
            {"iterations": _count(1, 1), "tokens": COUNT, "usd": NUMBER, "wall_time_seconds": NUMBER}
        ),
        "decision": _one_of(DECISIONS),
        "next_objective": TEXT,
        "blocker": TEXT,
        "stop_reason": TEXT,
        "gates": _list(_object({"gate": FILLED, "passed": FLAG, "why": TEXT})),
        "routing": ROUTING_SHAPE,
    },
    optional={"new_evidence": COUNT},
)
ARTIFACT_SHAPE = _object(
    {
        "schema_version": VERSION,
        "id": NAME,
        "artifact_type": _one_of(ARTIFACTS),
        "machine_checkable": _exactly(True),
        "target": FILLED,
        "proof_path": PATHLIKE,
        "proof_sha256": _matching(_SHA256, "64 hexadecimal digits in lower case"),
        "checker": _object({"name": FILLED, "version": FILLED, "status": _one_of(("passed",)), "command": FILLED}),
    }
)
