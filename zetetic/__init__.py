"""zetetic: a deep-research agent on LangGraph that has to prove what it reports."""

from zetetic.graph.checkpointers import sqlite_saver
from zetetic.graph.result import ResearchResult
from zetetic.graph.run import aresearch, aresume, open_store, research, resume
from zetetic.graph.wiring import build_graph
from zetetic.models import ModelError
from zetetic.nodes.context import Context
from zetetic.nodes.workbench import SetupError, workbench
from zetetic.sources import DocumentsError
from zetetic.state.thresholds import Thresholds
from zetetic.store import Store, StoreError

__all__ = [
    "Context",
    "DocumentsError",
    "ModelError",
    "ResearchResult",
    "SetupError",
    "Store",
    "StoreError",
    "Thresholds",
    "aresearch",
    "aresume",
    "build_graph",
    "open_store",
    "research",
    "resume",
    "sqlite_saver",
    "workbench",
]
