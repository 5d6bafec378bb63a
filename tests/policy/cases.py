"""What the parity sweep runs, and through what (A18): every routing record that the bounds let a run reach, every way
in which one can be unreadable, and the three engines. All of it is derived from the bounds and the ladder's data."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jq

from zetetic.graph.ladder import UNREADABLE, ladder_graph
from zetetic.state import thresholds
from zetetic.state.policy import COUNTERS, FLAGS, LADDER, LIMITS, Rung, limits_of, route
from zetetic.state.policy_text import policy_jq
from zetetic.state.thresholds import Thresholds, thresholds_for

Signals = dict[str, Any]
Engine = Callable[[Sequence[Any]], Iterable[str]]

ALL_DIFFERENT = Thresholds(max_attempts=4, unverified_streak_limit=2, unproductive_streak_limit=3)
LIMIT_OF = {c[0]: c[1] for rung in LADDER for c in rung.when if isinstance(c, tuple)}
MISSING = object()
"""Stands for a field that is not there."""
NO_FLAGS: tuple[Any, ...] = (MISSING, None, 0, 1, "true", "", [], {})
NO_COUNTS: tuple[Any, ...] = (MISSING, None, True, False, 1.5, -1, "3", "", [], {})
NO_LIMITS: tuple[Any, ...] = (MISSING, None, [], "x", 3, True)
NO_RECORDS: tuple[Any, ...] = (None, {}, [], [{}], "", "retry", 0, 3, True, False, {"thresholds": {}})


def sets() -> dict[str, Thresholds]:
    """Each mode's bounds, and one set of which no two are alike. Read anew each time: a new mode is swept unasked."""
    return {mode: thresholds_for(mode) for mode in thresholds.MODES} | {"all different": ALL_DIFFERENT}


def reachable(bounds: Thresholds) -> Iterator[Signals]:
    """Both sides of every boolean, with every counter from 0 to one above its limit."""
    limits = limits_of(bounds)
    return _records(limits, [range(limits[LIMIT_OF[name]] + 2) for name in COUNTERS])


def corners(bounds: Thresholds) -> Iterator[Signals]:
    """Both sides of every boolean, with every counter at 0 and at its limit."""
    limits = limits_of(bounds)
    return _records(limits, [(0, limits[LIMIT_OF[name]]) for name in COUNTERS])


def _records(limits: dict[str, int], counts: Sequence[Iterable[int]]) -> Iterator[Signals]:
    for values in itertools.product(*[(False, True)] * len(FLAGS), *counts):
        yield {**dict(zip(FLAGS + COUNTERS, values, strict=True)), "thresholds": limits}


def spoilers() -> Iterator[tuple[str, Any]]:
    """Each field with each value that is none of its kind."""
    kinds = [(FLAGS, NO_FLAGS), (COUNTERS, NO_COUNTS), (("thresholds",), NO_LIMITS), (tuple(LIMITS), NO_COUNTS)]
    for names, values in kinds:
        yield from itertools.product(names, values)


def spoilt(record: Signals, field: str, value: Any) -> Signals:
    """The record with one field, which may be a limit, missing or replaced."""
    if field in LIMITS:
        return record | {"thresholds": _replaced(record["thresholds"], field, value)}
    return _replaced(record, field, value)


def _replaced(fields: Signals, name: str, value: Any) -> Signals:
    rest = {key: kept for key, kept in fields.items() if key != name}
    return rest if value is MISSING else rest | {name: value}


def unreadable(bounds: Thresholds) -> Iterator[Any]:
    """Each field spoilt in each way, in every corner of the others; and what is no record at all."""
    for field, value in spoilers():
        own = field in FLAGS + COUNTERS  # its own values make no difference once it is spoilt
        yield from (spoilt(record, field, value) for record in corners(bounds) if not own or not record[field])
    yield from NO_RECORDS


# The engines. Each gives the routes in the ledger's lower-case form.


def by_python(records: Sequence[Any], ladder: Sequence[Rung] = LADDER) -> Iterator[str]:
    return (route(record, ladder).lower() for record in records)


def by_graph(records: Sequence[Any], ladder: tuple[Rung, ...] = LADDER) -> Iterator[str]:
    """Complete runs of the compiled graph."""
    graph = ladder_graph(ladder)
    return (graph.invoke({"routing": record})["route"] for record in records)


def by_edge(records: Sequence[Any], ladder: tuple[Rung, ...] = LADDER) -> Iterator[str]:
    """The conditional edge that the compiled graph holds, without the run around it."""
    (branch,) = ladder_graph(ladder).builder.branches["__start__"].values()
    ends = (branch.path.invoke({"routing": record}) for record in records)
    return ("blocked" if end == UNREADABLE else end for end in ends)


def by_jq(records: Sequence[Any], program: str = "") -> list[str]:
    """One run of jq over all records, as JSON text."""
    text = "\n".join(map(json.dumps, records))
    return list(jq.compile(program or policy_jq()).input_text(text).all()) if records else []


def disagreement(records: Sequence[Any], one: Iterable[str], other: Iterable[str]) -> Any:
    """The first record on which two engines differ, or None."""
    answers = zip(records, one, other, strict=True)
    return next(((record, a, b) for record, a, b in answers if a != b), None)
