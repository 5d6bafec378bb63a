"""The graph for LangGraph Studio and its server, which bring their own checkpointer."""

from __future__ import annotations

from zetetic.nodes.workbench import recursion_limit
from zetetic.state.thresholds import Thresholds

from .wiring import build_graph

# A user may widen the bounds in Studio, so the limit leaves ten times the room of the defaults.
graph = build_graph().compile(name="zetetic").with_config({"recursion_limit": 10 * recursion_limit(Thresholds())})
