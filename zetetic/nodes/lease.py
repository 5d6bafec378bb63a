"""One live invocation a run, and one a worker of it: taken before the first step, renewed while it works, given back at
the end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from zetetic.store import StoreError
from zetetic.store import lease_name as worker_lease

from .workbench import SetupError, Workbench

__all__ = ["lease_lives", "leased", "worker_lease", "worker_lives"]


def _owner() -> str:
    """Who holds a lease: host, process, and this invocation."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}"


def _is_gone(owner: str) -> bool:
    """Whether the holder was a process of this machine that lives no more: its lease need not run out first."""
    host, _, rest = owner.partition("/")
    pid = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@asynccontextmanager
async def leased(bench: Workbench, run_id: str) -> AsyncIterator[None]:
    """Holds the run's lease for the length of a block.

    Raises SetupError while another invocation works on the run. A holder that died is followed at once where it was a
    process of this machine, else when its lease has run out.
    """
    seconds = bench.thresholds.lease_seconds
    owner = _owner()
    store = bench.store
    if not await store.acquire_lease(run_id, owner, seconds, bench.clock()):
        holder = await store.lease_holder(run_id)
        if holder is None or not _is_gone(holder):
            raise SetupError(
                f"The run {run_id} is being worked on ({holder or 'by another process'}). Wait until it ends, or stop "
                f"it there; if it died on another machine, its lease runs out in at most {seconds:g} seconds."
            )
        await store.release_lease(run_id, holder)
        if not await store.acquire_lease(run_id, owner, seconds, bench.clock()):
            raise SetupError(f"The run {run_id} was taken up by another process just now.")
    renewing = asyncio.create_task(_renew(bench, run_id, owner, seconds))
    try:
        yield
    finally:
        renewing.cancel()
        # Where the database is gone the lease runs out by itself; what ended the block is what is told.
        with suppress(asyncio.CancelledError, StoreError):
            await renewing
        with suppress(StoreError):
            await store.release_lease(run_id, owner)


async def worker_lives(bench: Workbench, run_id: str, worker: str) -> bool:
    """Whether a worker still holds its lease; one whose process died on this machine does not."""
    return await lease_lives(bench, worker_lease(run_id, worker))


async def lease_lives(bench: Workbench, name: str) -> bool:
    """Whether somebody holds this lease, of a run or of a worker; a process of this machine that died does not."""
    probe = _owner()
    holder = await bench.store.lease_holder(name)
    if holder is None:
        return False
    if _is_gone(holder):
        await bench.store.release_lease(name, holder)
        return False
    if not await bench.store.acquire_lease(name, probe, bench.thresholds.lease_seconds, bench.clock()):
        return True
    await bench.store.release_lease(name, probe)
    return False


async def _renew(bench: Workbench, run_id: str, owner: str, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds / 3)
        with suppress(StoreError):  # a database that comes back must not find the run without its lease
            await bench.store.renew_lease(run_id, owner, seconds, bench.clock())
