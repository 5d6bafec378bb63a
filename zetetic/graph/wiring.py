"""The graph as drawn: five steps of a turn, four arms side by side, one router (A2, R9)."""

from __future__ import annotations

from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from zetetic.nodes.act import act
from zetetic.nodes.channels import Channels, Input, Output
from zetetic.nodes.completeness import completeness
from zetetic.nodes.context import Context
from zetetic.nodes.critique import critique
from zetetic.nodes.decide import decide
from zetetic.nodes.forking import rooted
from zetetic.nodes.judge import judge
from zetetic.nodes.observe import observe
from zetetic.nodes.route import route
from zetetic.nodes.state import state
from zetetic.nodes.update import update
from zetetic.nodes.verify import verify

ARM_NODES = ("judge", "verify", "critique", "completeness")


def _after(channels: Channels) -> list[str]:
    """Where the loop goes next: what the last node wrote, and nothing else (LANGGRAPH: Building)."""
    where = channels.get("next") or "route"
    if where == "arms":
        return list(ARM_NODES)
    return [END if where == "end" else where]


def build_graph() -> StateGraph[Channels, Context, Input, Output]:
    """The research loop as a StateGraph, not compiled: compile it with your own saver, or use it as a node."""
    graph = StateGraph(Channels, context_schema=Context, input_schema=Input, output_schema=Output)
    _wire(graph)
    return graph


def build_crew() -> StateGraph[Channels, Context, Channels, Channels]:
    """The same loop as lead and workers of a fleet run it: told by its channels whose turns it takes (D51)."""
    graph = StateGraph(Channels, context_schema=Context)
    _wire(graph, END)  # a worker for which nothing is left ends before a turn begins
    return graph


def _wire(graph: Any, *also_after_state: str) -> None:
    for name, node in (
        ("state", state),
        ("decide", decide),
        ("act", act),
        ("observe", observe),
        ("update", update),
        ("judge", judge),
        ("verify", verify),
        ("critique", critique),
        ("completeness", completeness),
        ("route", route),
    ):
        at_home = rooted(node, beside_others=name in ARM_NODES)
        graph.add_node(name, cast(Any, at_home))  # langgraph types a node by protocols of its own
    graph.add_edge(START, "state")
    graph.add_conditional_edges("state", _after, ["decide", "state", *ARM_NODES, "route", *also_after_state])
    graph.add_edge("decide", "act")
    graph.add_edge("act", "observe")
    graph.add_edge("observe", "update")
    graph.add_conditional_edges("update", _after, ["state", *ARM_NODES, "route"])
    for arm in ARM_NODES:
        graph.add_edge(arm, "route")
    graph.add_conditional_edges("route", _after, ["state", END])
