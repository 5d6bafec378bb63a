"""The ladder as a graph of its own: a second engine for the same data (A18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from zetetic.state.policy import COUNTERS, FLAGS, LADDER, LIMITS, ROUTES, Rung, is_count, parse_route
from zetetic.state.values import Route

UNREADABLE = "unreadable"
"""The node through which signals that cannot be read come to `blocked`."""

Ladder = tuple[Rung, ...]
Edge = Callable[["LadderState"], str]


class LadderState(TypedDict, total=False):
    """`routing` is the field of that name of a record (LEDGER.md); the rest is what the graph says of it."""

    routing: object
    route: str
    """In the ledger's lower-case form."""
    parse_default: bool
    """Whether Blocked stands in for a route because a field is missing or cannot be read."""


def ladder_edge(ladder: Ladder = LADDER) -> Edge:
    """The conditional edge: the name of the node to go to, one test a rung, generated from the rungs."""
    tests = [(tuple(map(_test, rung.when)), rung.route.lower()) for rung in ladder]

    def edge(state: LadderState) -> str:
        read = _read(state.get("routing"))
        if read is None:
            return UNREADABLE
        for conditions, route in tests:
            if all(holds(read) for holds in conditions):
                return route
        return UNREADABLE

    return edge


def _read(routing: object) -> dict[str, Any] | None:
    """The fields of a routing record with its limits beside them; None where one cannot be read."""
    if not isinstance(routing, dict):
        return None
    limits = routing.get("thresholds")
    if not isinstance(limits, dict):
        return None
    read = {name: routing.get(name) for name in FLAGS + COUNTERS} | {name: limits.get(name) for name in LIMITS}
    fits = all(value is True or value is False if name in FLAGS else is_count(value) for name, value in read.items())
    return read if fits else None


def _test(condition: str | tuple[str, str]) -> Callable[[dict[str, Any]], bool]:
    if isinstance(condition, str):
        return lambda read: bool(read[condition])
    counter, limit = condition
    return lambda read: bool(read[counter] >= read[limit])


@dataclass(frozen=True, slots=True)
class _End:
    """The end node of one route."""

    route: str

    def __call__(self, state: LadderState) -> LadderState:
        return {"route": self.route, "parse_default": state.get("parse_default", False)}


def _unreadable(state: LadderState) -> LadderState:
    return {"parse_default": True}


@cache
def ladder_graph(ladder: Ladder = LADDER) -> CompiledStateGraph[LadderState]:
    """The ladder compiled: one conditional edge, and an end node for each route."""
    graph = StateGraph(LadderState)
    ends = [route.lower() for route in ROUTES]
    for name in ends:
        graph.add_node(name, _End(name))
        graph.add_edge(name, END)
    graph.add_node(UNREADABLE, _unreadable)
    graph.add_edge(UNREADABLE, "blocked")
    graph.add_conditional_edges(START, ladder_edge(ladder), [*ends, UNREADABLE])
    return graph.compile(name="ladder")


def route_by_graph(signals: object, ladder: Ladder = LADDER) -> Route:
    """The route for one attempt's signals, found by running the graph; the same as `policy.route` finds."""
    ended = ladder_graph(ladder).invoke({"routing": signals})
    return parse_route(ended.get("route"))[0]
