"""The graphs for LangGraph Studio and its server, which bring their own checkpointer."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from zetetic.nodes.channels import Channels, Input, Output
from zetetic.nodes.context import Context
from zetetic.nodes.workbench import recursion_limit
from zetetic.state.thresholds import Thresholds

from .fleet import build_fleet
from .simple import build_simple_graph
from .wiring import build_graph


def _served(built: StateGraph[Channels, Context, Input, Output]) -> Any:
    """A user may widen the bounds in Studio, so the limit leaves ten times the room of the defaults."""
    return built.compile(name="zetetic").with_config({"recursion_limit": 10 * recursion_limit(Thresholds())})


graph = _served(build_graph())
fleet = _served(build_fleet())
simple = _served(build_simple_graph())
