"""zetetic: a deep-research agent on LangGraph that has to prove what it reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zetetic.graph.batch import abatch
    from zetetic.graph.checkpointers import postgres_saver, sqlite_saver
    from zetetic.graph.fleet import build_fleet
    from zetetic.graph.forking import afork, fork
    from zetetic.graph.result import ResearchResult
    from zetetic.graph.run import aresearch, aresume, open_store, research, resume
    from zetetic.graph.simple import build_simple_graph
    from zetetic.graph.wiring import build_graph
    from zetetic.graph.working import awork
    from zetetic.models import ModelError
    from zetetic.nodes.context import Context
    from zetetic.nodes.workbench import SetupError, workbench
    from zetetic.sources import DocumentsError
    from zetetic.sources.providers import McpServer
    from zetetic.state.thresholds import Thresholds
    from zetetic.store import Store, StoreError

_HOMES = {
    "Context": "nodes.context",
    "DocumentsError": "sources",
    "McpServer": "sources.providers",
    "ModelError": "models",
    "ResearchResult": "graph.result",
    "SetupError": "nodes.workbench",
    "Store": "store",
    "StoreError": "store",
    "Thresholds": "state.thresholds",
    "abatch": "graph.batch",
    "afork": "graph.forking",
    "aresearch": "graph.run",
    "aresume": "graph.run",
    "awork": "graph.working",
    "build_fleet": "graph.fleet",
    "build_graph": "graph.wiring",
    "build_simple_graph": "graph.simple",
    "fork": "graph.forking",
    "open_store": "graph.run",
    "postgres_saver": "graph.checkpointers",
    "research": "graph.run",
    "resume": "graph.run",
    "sqlite_saver": "graph.checkpointers",
    "workbench": "nodes.workbench",
}
"""Where each name of the API is; imported when it is first asked for, so that `zetetic --help` is quick."""

__all__ = [
    "Context",
    "DocumentsError",
    "McpServer",
    "ModelError",
    "ResearchResult",
    "SetupError",
    "Store",
    "StoreError",
    "Thresholds",
    "abatch",
    "afork",
    "aresearch",
    "aresume",
    "awork",
    "build_fleet",
    "build_graph",
    "build_simple_graph",
    "fork",
    "open_store",
    "postgres_saver",
    "research",
    "resume",
    "sqlite_saver",
    "workbench",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'zetetic' has no attribute {name!r}")
    return getattr(import_module(f"zetetic.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
