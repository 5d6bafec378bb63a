"""A research brought to where its four arms are due, and the arms on their own in a real graph."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from time import perf_counter
from typing import Any

from graph.rig import OBJECTIVE
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from zetetic import Context, build_graph
from zetetic.nodes.channels import Channels
from zetetic.nodes.completeness import completeness
from zetetic.nodes.critique import critique
from zetetic.nodes.judge import judge
from zetetic.nodes.verify import verify
from zetetic.nodes.workbench import Workbench
from zetetic.state.evaluation import ARMS, ArmResult
from zetetic.state.research import Research

NODES = {"judge": judge, "verify": verify, "critique": critique, "completeness": completeness}


async def up_to_the_arms(bench: Workbench, run_id: str = "run-1") -> Research:
    """Runs a research until its first attempt has ended, and gives it as it then stands."""
    graph = build_graph().compile(checkpointer=InMemorySaver(), interrupt_before=list(ARMS))
    config = {"configurable": {"thread_id": run_id}, "recursion_limit": 200}
    await graph.ainvoke({"objective": OBJECTIVE, "run_id": run_id}, config, context=bench.context)  # type: ignore[call-overload]
    r = await bench.store.load(run_id)
    assert r.attempt is not None
    assert r.attempt.ended
    return r


@cache
def only_arms() -> Any:
    """The four arms side by side, and nothing else."""
    graph = StateGraph(Channels, context_schema=Context)
    for name, node in NODES.items():
        graph.add_node(name, node)  # type: ignore[call-overload]
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile()


async def answered_by(bench: Workbench, run_id: str = "run-1", thread: str = "") -> dict[str, ArmResult]:
    """What the four arms say of the attempt that has ended."""
    config = {"configurable": {"thread_id": thread or run_id}}
    done = await only_arms().ainvoke({"run_id": run_id}, config, context=bench.context)
    said: dict[str, ArmResult] = done["arms"]
    return said


class Lag:
    """How late the event loop was at worst (seconds), so that a busy machine is not taken for an overrun."""

    worst = 0.0


@asynccontextmanager
async def lag(every: float = 0.01) -> AsyncIterator[Lag]:
    """Watches the event loop for the length of a block."""
    seen = Lag()

    async def watch() -> None:
        while True:
            before = perf_counter()
            await asyncio.sleep(every)
            seen.worst = max(seen.worst, perf_counter() - before - every)

    task = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        task.cancel()
