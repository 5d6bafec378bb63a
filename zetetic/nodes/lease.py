"""One live invocation a run, and one a worker of it.

`zetetic` and `aresearch` take a run's lease before the first step and give it back at the end. A graph that is invoked
by itself, by LangGraph's server or as a node of another graph, has no such block around it: each node takes the lease
for its invocation, which LangGraph's RunControl marks, and the last one known gives it back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.runtime import RunControl, Runtime

from zetetic.store import lease_name as worker_lease

from .context import Context
from .holds import Hold, is_gone
from .workbench import Workbench

__all__ = ["at_work", "lease_lives", "leased", "let_go", "take_up", "worker_lease", "worker_lives"]


@asynccontextmanager
async def leased(bench: Workbench, name: str, control: RunControl | None = None) -> AsyncIterator[None]:
    """Holds a lease, of a run or a worker, for the length of a block; the nodes that are invoked with `control` work
    under it. Raises SetupError while another invocation holds it."""
    hold = _hold(bench, name)
    await hold.take()
    if control is not None:
        bench.holds[control, name] = hold
    try:
        with hold.used():
            yield
    finally:
        if control is not None:
            del bench.holds[control, name]
        await hold.give_back()


@asynccontextmanager
async def at_work(bench: Workbench, runtime: Runtime[Context], run_id: str) -> AsyncIterator[None]:
    """Holds a run's lease for this invocation while a node works, and leaves it to the next node. Raises SetupError
    while another invocation works on the run."""
    with (await take_up(bench, runtime, run_id)).used():
        yield


async def take_up(bench: Workbench, runtime: Runtime[Context], run_id: str) -> Hold:
    """Takes a run's lease for this invocation, if it has not got it. Raises SetupError as `at_work` does."""
    hold = bench.holds.setdefault((runtime.control, run_id), _hold(bench, run_id))
    try:
        await hold.take()
    except BaseException:
        if not hold.is_used:
            bench.holds.pop((runtime.control, run_id), None)
        raise
    return hold


async def let_go(bench: Workbench, runtime: Runtime[Context], run_id: str = "") -> None:
    """Gives back what this invocation holds and none of its nodes works under: this run's lease, or every one."""
    for (control, name), hold in list(bench.holds.items()):
        if control is runtime.control and run_id in ("", name) and not hold.is_used:
            del bench.holds[control, name]
            await hold.give_back()


async def worker_lives(bench: Workbench, run_id: str, worker: str) -> bool:
    """Whether a worker still holds its lease; one whose process died on this machine does not."""
    return await lease_lives(bench, worker_lease(run_id, worker))


async def lease_lives(bench: Workbench, name: str) -> bool:
    """Whether somebody holds this lease, of a run or of a worker; a process of this machine that died does not."""
    holder = await bench.store.lease_holder(name, bench.clock())
    return holder is not None and not is_gone(holder)


def _hold(bench: Workbench, name: str) -> Hold:
    return Hold(bench.store, name, bench.thresholds.lease_seconds, bench.clock)
