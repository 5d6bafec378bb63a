"""The simple loop as drawn: one circle of four steps, and the end (D53)."""

from __future__ import annotations

from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from zetetic.nodes import simple
from zetetic.nodes.act import act
from zetetic.nodes.channels import Channels, Input, Output
from zetetic.nodes.context import Context
from zetetic.nodes.forking import rooted


def _after(channels: Channels) -> str:
    """Where the loop goes next: what the last node wrote, and nothing else (LANGGRAPH: Building)."""
    return channels.get("next") or "report"


def build_simple_graph() -> StateGraph[Channels, Context, Input, Output]:
    """The plain tool-calling loop as a StateGraph, not compiled: the baseline of the comparison (D53)."""
    graph = StateGraph(Channels, context_schema=Context, input_schema=Input, output_schema=Output)
    for name, node in (
        ("state", simple.state),
        ("decide", simple.decide),
        ("act", act),
        ("update", simple.update),
        ("report", simple.report),
    ):
        graph.add_node(name, cast(Any, rooted(node)))  # langgraph types a node by protocols of its own
    graph.add_edge(START, "state")
    graph.add_conditional_edges("state", _after, ["decide", "report"])
    graph.add_edge("decide", "act")
    graph.add_edge("act", "update")
    graph.add_conditional_edges("update", _after, ["state", "report"])
    graph.add_edge("report", END)
    return graph
