"""Several workers on one frontier: a lead that plans, concludes and reports, and workers that take questions (D51).

The lead and every worker are the same graph. The lead runs until there are questions to hand out; then workers, as
tasks of the graph, each take one after another until none is left; then the lead goes on. A worker that fails costs its
own attempt; the question of one that is killed returns to the queue when its lease is over.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from zetetic.nodes.channels import Channels, Input, Output
from zetetic.nodes.context import Context
from zetetic.nodes.forking import fork_of
from zetetic.nodes.keys import step_key, task_key
from zetetic.nodes.lease import at_work, leased, let_go, worker_lease
from zetetic.nodes.workbench import Workbench, bench_of, recursion_limit
from zetetic.state.answers import decide_bound
from zetetic.state.evaluation import decide_route
from zetetic.state.turns import decide_release

from .wiring import build_crew

ROUNDS = 1_000
"""Supersteps besides its turns that a worker may take while it waits for others."""


@cache
def crew() -> CompiledStateGraph[Channels, Context, Channels, Channels]:
    """The graph that the lead and each worker run; held by the module, so that its state can be looked at."""
    return build_crew().compile(name="zetetic-crew")


async def lead(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """The lead's turns: until it has questions for workers, or the run is over."""
    bench = await bench_of(runtime)
    given = {**channels, "fleet": True, "worker": ""}
    config: Any = {"recursion_limit": recursion_limit(bench.thresholds) + ROUNDS}
    done = await crew().ainvoke(cast(Any, given), config, context=bench.context)
    kept = {name: value for name, value in done.items() if name in KEPT}
    most = bench.thresholds.max_parallel  # of which other processes may have some
    return kept | {"crew": [f"w{n}" for n in range(1, min(most, bench.context.own_workers or most) + 1)]}


_INPUT = frozenset(Input.__annotations__) | {"heard"}
_POSITION = frozenset({"run_id", "log_head", "attempt", "account", "fan_out"})
KEPT = frozenset(Output.__annotations__) | _INPUT | _POSITION
"""What of the lead's channels is the fleet's too."""


async def worker(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """One worker: takes questions until there is none for it; what goes wrong costs its own attempt (CASES 29)."""
    bench = await bench_of(runtime)
    known, name = channels["run_id"], channels["worker"]
    try:
        async with at_work(bench, runtime, known):
            run_id = await _home(bench, channels, task_key(runtime), step_key(runtime))
            if run_id == known:
                await _worked(bench, run_id, name)
                return {"run_id": run_id}
        await let_go(bench, runtime, known)
        async with at_work(bench, runtime, run_id):
            await _worked(bench, run_id, name)
    except BaseException:
        await let_go(bench, runtime)
        raise
    return {"run_id": run_id}


async def _worked(bench: Workbench, run_id: str, name: str) -> None:
    config: Any = {"recursion_limit": recursion_limit(bench.thresholds) + ROUNDS}
    try:
        async with leased(bench, worker_lease(run_id, name)):
            given: Channels = {"run_id": run_id, "worker": name, "log_head": await bench.store.head(run_id)}
            await crew().ainvoke(cast(Any, given), config, context=bench.context)
    except GraphBubbleUp:
        raise
    except Exception as error:
        await give_up(bench, run_id, name, f"{type(error).__name__}: {error}"[:300])


async def _home(bench: Workbench, channels: Channels, task: str, step: str) -> str:
    """The run a worker works on: a fork, the same for all that were sent with it, where the past was gone back to.

    Its own log goes on under its inner steps, so it leaves a mark that tells a step that is run again from a fork.
    """
    run_id, mark = channels["run_id"], "sent"
    known = await bench.store.effect(task, mark)
    if known is None:
        run_id = await fork_of(bench, channels, step) or run_id
        known = await bench.store.put_effect(run_id, task, mark, run_id)
    return known.text


async def give_up(bench: Workbench, run_id: str, name: str, why: str) -> None:
    """The attempt of a worker that failed is over, charged and without an answer; its question goes back."""

    def over(r: Any) -> Any:
        return decide_bound(r, "time", at=bench.clock())

    r = await bench.store.load(run_id, worker=name)
    if r.attempt is None or r.status != "running":
        return
    if not r.attempt.ended:
        await bench.store.execute(run_id, over, worker=name, reason="released")
    await bench.store.execute(
        run_id, lambda now: decide_route(now, {}, at=bench.clock()), worker=name, reason="released"
    )
    left = await bench.store.load(run_id, worker=name)
    if left.attempt is not None:
        await bench.store.execute(run_id, lambda now: decide_release(now, why, at=bench.clock()), worker=name)


def _sent(channels: Channels) -> list[Send] | str:
    """The workers that take questions now, or the end."""
    if not channels.get("fan_out"):
        return END
    sent = {"run_id": channels["run_id"], "log_head": channels.get("log_head") or 0}
    return [Send("worker", {**sent, "worker": name}) for name in channels.get("crew") or []]


def build_fleet() -> StateGraph[Channels, Context, Input, Output]:
    """The fleet as a StateGraph, not compiled: compile it with your own saver, or use it as a node (D51).

    `max_parallel` of the run says how many workers there are; with 1 it is the plain loop with a lead of its own.
    """
    graph = StateGraph(Channels, context_schema=Context, input_schema=Input, output_schema=Output)
    graph.add_node("lead", cast(Any, lead))
    graph.add_node("worker", cast(Any, worker))
    graph.add_edge(START, "lead")
    graph.add_conditional_edges("lead", _sent, ["worker", END])
    graph.add_edge("worker", "lead")
    return graph
