"""The fork rule: a step that goes on from an earlier checkpoint works on a run of its own (LANGGRAPH: Replay and fork).

A checkpoint carries the position of the log that it saw. Where this worker's log goes on beyond it under another step,
somebody went back in time: by an edited state, by a checkpoint's id, in Studio. What the run did later stays as it is,
and the step gets a copy of the log up to that position. A step that is run again after a crash has the key it had.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from langgraph.runtime import Runtime

from .channels import Channels
from .context import Context
from .keys import step_key
from .lease import at_work, let_go
from .workbench import Workbench, bench_of

Node = Callable[[Channels, Runtime[Context]], Awaitable[dict[str, Any]]]


def rooted(node: Node, *, beside_others: bool = False) -> Node:
    """A node that looks first whether it has to work on a fork, and leaves word of how far the log was.

    `beside_others`: it runs side by side with other nodes, which must not all write one channel.
    """

    @wraps(node)
    async def run(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
        bench = await bench_of(runtime)
        try:
            forked, update = await _at_home(node, bench, channels, runtime)
        except BaseException:
            await let_go(bench, runtime)  # in all likelihood it is the invocation's end
            raise
        if forked:
            update.setdefault("run_id", forked)
        if runtime.drain_requested or update.get("status", "running") != "running":
            await let_go(bench, runtime)
        run_id = update.get("run_id") or channels.get("run_id") or ""
        if run_id and not beside_others and "log_head" not in update:
            update["log_head"] = (await bench.store.load(run_id, at_least=0)).version
        return update

    return run


async def _at_home(
    node: Node, bench: Workbench, channels: Channels, runtime: Runtime[Context]
) -> tuple[str, dict[str, Any]]:
    """The fork that the node has to work on, or '', and its update. The lease of a worker's run is its lead's."""
    known, step = channels.get("run_id") or "", step_key(runtime)
    if channels.get("worker"):
        forked = await fork_of(bench, channels, step)
        return forked, await node({**channels, "run_id": forked} if forked else channels, runtime)
    if not known or (channels.get("objective") or "").strip():
        return "", await node(channels, runtime)
    async with at_work(bench, runtime, known):
        forked = await fork_of(bench, channels, step)
        if not forked:
            return "", await node(channels, runtime)
    await let_go(bench, runtime, known)
    async with at_work(bench, runtime, forked):
        return forked, await node({**channels, "run_id": forked}, runtime)


async def fork_of(bench: Workbench, channels: Channels, step: str) -> str:
    """The run to work on in place of the one in the channels, opened if it is not yet; '' where there is no fork.

    Its id follows from where it branches off and under which step, so that a step that is killed and run again finds
    it, and workers or arms of one step find the same.
    """
    run_id, head = channels.get("run_id") or "", channels.get("log_head") or 0
    if not run_id or not head or (channels.get("objective") or "").strip():
        return ""
    if not await bench.store.has_gone_on(run_id, head, channels.get("worker") or "", step):
        return ""
    new_id = uuid5(NAMESPACE_URL, f"zetetic-fork:{run_id}@{head}|{step}").hex[:16]
    await bench.store.fork(run_id, head, new_id)
    return new_id
