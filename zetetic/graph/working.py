"""Workers that join a run which another process leads (D51).

Each takes questions as the run's own workers do, under a lease of its own, and keeps no checkpoint: what it holds when
it is stopped it gives back, and when it is killed the question returns to the queue once its lease is over.
"""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from typing import Any, cast

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from zetetic.nodes.context import Context
from zetetic.nodes.lease import lease_lives, leased, worker_lease
from zetetic.nodes.state import WAIT_SECONDS, free_the_gone
from zetetic.nodes.workbench import SetupError, Workbench, recursion_limit, workbench
from zetetic.state.research import Research
from zetetic.state.turns import decide_release
from zetetic.store import StoreError

from .fleet import ROUNDS, crew, give_up
from .run import TURN_ENDS, Progress, open_store

IDLE_SECONDS = 0.5
"""How often a worker for which there was nothing asks again."""


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What workers did for a run: attempts of theirs that were evaluated, and why they left."""

    run_id: str
    workers: tuple[str, ...]
    attempts: int
    left_because: str

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "run_id": self.run_id,
            "workers": list(self.workers),
            "attempts": self.attempts,
            "left_because": self.left_because,
        }


def cannot_join(r: Research) -> str:
    """Why nobody can join a run, in words that say what to do, or ''."""
    if r.loop != "investigative":
        return f"The run {r.run_id} is of the {r.loop} loop, which has no questions to share."
    if r.status != "running":
        return f"The run {r.run_id} is {r.status}: workers join one that is at work. `zetetic resume` lets it go on."
    if r.phase != "exploration":
        return f"The run {r.run_id} writes its report: there are no questions left to take."
    if r.thresholds.max_parallel < 2:
        return (
            f"The run {r.run_id} works on one question at a time (max_parallel 1), so nobody can join: start one with "
            "--max-parallel N."
        )
    return ""


async def awork(
    run_id: str,
    *,
    context: Context | None = None,
    workers: int = 1,
    control: RunControl | None = None,
    progress: Progress | None = None,
) -> WorkDone:
    """Joins a run that another process leads, with so many workers, until exploration is over.

    All workers of the run together hold at most its `max_parallel` questions. The bounds are the run's; no file is
    written. A drain requested of `control`, or a cancellation, gives back what they hold. Raises SetupError where the
    run is unknown or nobody can join it, and StoreError where its database fails.
    """
    if workers < 1:
        raise SetupError(f"workers is at least 1, not {workers}.")
    given = context or Context()
    async with open_store(given) as store:
        if not await store.exists(run_id):
            raise SetupError(f"There is no run {run_id!r} in {store.place}: `zetetic runs` lists them.")
        r = await store.load(run_id)
    if refused := cannot_join(r):
        raise SetupError(refused)
    # Only the leading process writes the run folder, of which another machine has none.
    bounds = {**r.thresholds.model_dump(), "mode": r.mode, "write_files": False}
    async with workbench(given.model_copy(update=bounds)) as bench:
        names = tuple(f"{socket.gethostname()}-{os.getpid()}-w{n}" for n in range(1, workers + 1))
        joined = _Joined(bench, run_id, control or RunControl(), progress)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(joined.work(name)) for name in names]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        log = await bench.store.log(run_id, r.version)
        attempts = sum(e.worker in names and e.event.event == "attempt_evaluated" for e in log)
        return WorkDone(run_id, names, attempts, "; ".join(dict.fromkeys(task.result() for task in tasks)))


class _Joined:
    """Workers of this process on one run."""

    def __init__(self, bench: Workbench, run_id: str, control: RunControl, progress: Progress | None) -> None:
        self._bench = bench
        self._run_id = run_id
        self._control = control
        self._progress = progress
        self._looked = float("-inf")

    async def work(self, name: str) -> str:
        """One worker, until there is nothing more to come; says why it left."""
        bench, run_id = self._bench, self._run_id
        failed = 0
        async with leased(bench, worker_lease(run_id, name)):
            try:
                while not (over := await self._over(name)):
                    try:
                        await self._take(name)
                        failed = 0
                    except GraphDrained:
                        return "stopped"
                    except StoreError:
                        raise
                    except Exception as error:
                        why = f"{type(error).__name__}: {error}"[:300]
                        await give_up(bench, run_id, name, why)
                        failed += 1
                        if failed >= bench.thresholds.provider_error_limit:
                            return f"failed {failed} times in a row: {why}"
                    if self._control.drain_requested:
                        return "stopped"
                    await asyncio.sleep(IDLE_SECONDS)
                return over
            finally:
                await self._given_back(name)

    async def _take(self, name: str) -> None:
        """Takes questions one after another until there is none for this worker."""
        bench = self._bench
        given = {"run_id": self._run_id, "worker": name, "log_head": await bench.store.head(self._run_id)}
        config: Any = {"recursion_limit": recursion_limit(bench.thresholds) + ROUNDS}
        async for _, chunk in crew().astream(
            cast(Any, given),
            config,
            context=bench.context,
            stream_mode=["updates"],
            control=self._control,
        ):
            for node, update in cast("dict[str, Any]", chunk).items():
                if self._progress is not None and node in TURN_ENDS and isinstance(update, dict):
                    self._progress(update, await bench.store.load(self._run_id, worker=name))

    async def _over(self, name: str) -> str:
        """Why there is nothing more to come, or ''. A run whose lead is gone has nobody who would plan or conclude."""
        bench = self._bench
        r = await bench.store.load(self._run_id, worker=name)
        if r.status != "running":
            return f"the run is {r.status}"
        if r.phase != "exploration":
            return "exploration is over"
        now = asyncio.get_running_loop().time()
        if now - self._looked < WAIT_SECONDS:
            return ""
        self._looked = now
        await free_the_gone(bench, r)
        if not await lease_lives(bench, self._run_id):
            return f"nobody leads the run: zetetic resume {self._run_id}"
        return ""

    async def _given_back(self, name: str) -> None:
        bench = self._bench
        if (await bench.store.load(self._run_id, worker=name)).attempt is not None:
            await bench.store.execute(
                self._run_id,
                lambda r: decide_release(r, "its worker was stopped", at=bench.clock()),
                worker=name,
                reason="released",
            )
