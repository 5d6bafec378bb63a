"""Under which keys a node's work is stored, so that a node that is run again finds it (LANGGRAPH: Replay and fork)."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from langgraph.runtime import Runtime

from .context import Context


def task_key(runtime: Runtime[Context]) -> str:
    """The key of this task: the same when it is run again after a crash, another after time travel or new input."""
    info = runtime.execution_info
    if info is None:
        raise RuntimeError("zetetic's nodes run inside a LangGraph graph only.")
    return f"{info.thread_id or '-'}|{info.checkpoint_ns}"


def step_key(runtime: Runtime[Context]) -> str:
    """The key of this superstep."""
    info = runtime.execution_info
    return info.checkpoint_id if info is not None else ""


def new_run_id(runtime: Runtime[Context]) -> str:
    """A run id that a repeated task makes again: 16 hexadecimal digits."""
    return uuid5(NAMESPACE_URL, task_key(runtime)).hex[:16]


def notes_id(runtime: Runtime[Context]) -> str:
    """The 128-bit id in the notes' file name (D28): as random as the checkpoint, and the same for a repeated task."""
    return uuid5(NAMESPACE_URL, f"notes:{task_key(runtime)}:{step_key(runtime)}").hex
