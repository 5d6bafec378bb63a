"""Running a research from Python: start, resume, stop, in async and in plain code."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.graph import StateGraph
from langgraph.runtime import RunControl

from zetetic.export import result_claims, result_gaps, result_sources
from zetetic.export.validating import validate_folder
from zetetic.nodes.channels import Channels, Input, Output
from zetetic.nodes.context import Context
from zetetic.nodes.folder import write_folder
from zetetic.nodes.lease import leased
from zetetic.nodes.workbench import SetupError, Workbench, checked_run_id, recursion_limit, workbench
from zetetic.state.decision import Refusal
from zetetic.state.loop_view import loop_view
from zetetic.state.research import Research
from zetetic.state.runs import decide_resume, decide_stop
from zetetic.state.values import Loop
from zetetic.store import Store

from .checkpointers import checkpoints_path as checkpoints_path
from .checkpointers import saver_of
from .fleet import build_fleet
from .result import ResearchResult
from .simple import build_simple_graph
from .wiring import build_graph

Progress = Callable[[dict[str, Any], Research], None]
"""Called after each node that closed a turn or an attempt, with its channel update and the research as it stands."""

T = TypeVar("T")
_log = logging.getLogger(__name__)

TURN_ENDS = frozenset({"state", "update", "route"})


def new_id() -> str:
    """A run id for a person to type: 12 hexadecimal digits."""
    return uuid4().hex[:12]


def graph_of(loop: Loop, workers: int = 1) -> StateGraph[Channels, Context, Input, Output]:
    """The graph of a loop, not compiled (D53); with several workers it is the fleet's (D51)."""
    if loop == "simple":
        return build_simple_graph()
    return build_fleet() if workers > 1 else build_graph()


async def aresearch(
    objective: str,
    *,
    context: Context | None = None,
    criteria: Sequence[str] = (),
    scope: str = "",
    exclusions: Sequence[str] = (),
    directives: Sequence[str] = (),
    run_id: str | None = None,
    control: RunControl | None = None,
    progress: Progress | None = None,
) -> ResearchResult:
    """Researches an objective to its end and gives report, claims, sources and gaps.

    Raises SetupError, ModelError, DocumentsError or StoreError before anything is spent, each saying what to do. A
    `control` whose drain is requested ends the step under way; the run is then `stopped` and can be resumed.
    """
    if not objective.strip():
        raise SetupError("The objective is empty: say what is to be found out.")
    given: Input = {
        "objective": objective,
        "criteria": list(criteria),
        "scope": scope,
        "exclusions": list(exclusions),
        "directives": list(directives),
    }
    chosen = checked_run_id(run_id) if run_id is not None else new_id()
    start = cast(Any, {**given, "run_id": chosen})
    async with workbench(context or Context()) as bench:
        if await bench.store.exists(chosen):
            raise SetupError(f"There is a run {chosen!r} already: resume it, or take another id.")
        control = control or RunControl()
        async with leased(bench, chosen, control):
            return await drive(bench, chosen, start, control, progress)


async def aresume(
    run_id: str,
    *,
    context: Context | None = None,
    turns: int = 0,
    iterations: int = 0,
    tokens: int = 0,
    usd: float = 0.0,
    seconds: float = 0.0,
    control: RunControl | None = None,
    progress: Progress | None = None,
) -> ResearchResult:
    """Lets a run go on after a stop, a crash or a block; a reported one needs room (D54). Of one that is complete, and
    is given no room either, the result: whoever was killed at the very end gets what there is.

    The run folder is validated first; one that does not agree with the log is written anew from it (L9).
    """
    async with workbench(context or Context()) as bench:
        if not await bench.store.exists(run_id):
            raise SetupError(f"There is no run {run_id!r} in {bench.store.place}: `zetetic runs` lists them.")
        control = control or RunControl()
        async with leased(bench, run_id, control):
            await mend_folder(bench, run_id)
            done = await bench.store.execute(
                run_id,
                lambda r: decide_resume(
                    r,
                    at=bench.clock(),
                    by=bench.context.user or "user",
                    turns=turns,
                    iterations=iterations,
                    tokens=tokens,
                    usd=usd,
                    seconds=seconds,
                ),
                reason="resume",
            )
            if isinstance(done.decision, Refusal) and not await is_cut_off(bench, run_id):
                if done.research.status == "complete" and not any((turns, iterations, tokens, usd, seconds)):
                    return await load_result(bench, run_id)
                raise SetupError(" ".join(done.decision.missing))
            return await drive(bench, run_id, None, control, progress)


async def mend_folder(bench: Workbench, run_id: str) -> None:
    """Reads and validates the run folder, and writes it anew where it has faults: a process that was killed, or a hand,
    left it behind or ahead of the log, which is what a run goes on from (L9)."""
    folder = bench.run_folder(run_id)
    if folder is None:
        return
    faults = await asyncio.to_thread(validate_folder, folder)
    if faults:
        await write_folder(bench, await bench.store.load(run_id))
        _log.warning("%s did not agree with the log and was written anew: %s", folder, "; ".join(map(str, faults[:3])))


async def is_cut_off(bench: Workbench, run_id: str) -> bool:
    """Whether a step is left to do: a process that died right after its run had ended in the log leaves the last one,
    which writes the run folder."""
    async with saver_of(bench.context) as saver:
        r = await bench.store.load(run_id)
        graph = graph_of(r.loop, r.thresholds.max_parallel).compile(checkpointer=saver)
        return bool((await graph.aget_state({"configurable": {"thread_id": run_id}})).tasks)


async def drive(
    bench: Workbench,
    run_id: str,
    start: Any,
    control: RunControl | None,
    progress: Progress | None,
) -> ResearchResult:
    """Takes a run that is leased to its end, from `start` or from where its thread stands."""
    # The bounds of a run that was opened are the run's own, extensions included (A17).
    known = await bench.store.load(run_id) if await bench.store.exists(run_id) else None
    bounds = known.thresholds if known is not None else bench.thresholds
    loop = known.loop if known is not None else bench.context.loop
    config: RunnableConfig = {
        "configurable": {"thread_id": run_id},
        "recursion_limit": recursion_limit(bounds),
    }
    async with saver_of(bench.context) as saver:
        graph = graph_of(loop, bounds.max_parallel).compile(checkpointer=saver, name="zetetic")
        snapshot = await graph.aget_state(config)
        # `next` leaves out a task whose results are stored, although its step was not closed yet.
        if start is None and not snapshot.tasks:
            # The last invocation came to an end, or never began: go on from the log with a step of its own.
            start = {"run_id": run_id}
        try:
            async for *_, mode, chunk in graph.astream(
                start,
                config,
                context=bench.context,
                stream_mode=["updates"],
                subgraphs=bounds.max_parallel > 1,  # a fleet's turns are its workers'
                durability="sync",
                control=control,
            ):
                if progress is not None and mode == "updates":
                    await _tell(bench, run_id, chunk, progress)
        except GraphDrained:
            return await _stopped(bench, run_id)
    return await load_result(bench, run_id)


async def _tell(bench: Workbench, run_id: str, chunk: Any, progress: Progress) -> None:
    for node, update in chunk.items():
        if node in TURN_ENDS and isinstance(update, dict):
            progress(update, await bench.store.load(run_id, at_least=0))


async def _stopped(bench: Workbench, run_id: str) -> ResearchResult:
    if await bench.store.exists(run_id):
        done = await bench.store.execute(run_id, lambda r: decide_stop(r, at=bench.clock()), reason="stop")
        await write_folder(bench, done.research)
    return await load_result(bench, run_id)


async def load_result(bench: Workbench, run_id: str) -> ResearchResult:
    """The result of a run as it stands in the store."""
    return result_of(await bench.store.load(run_id), bench)


def result_of(r: Research, bench: Workbench) -> ResearchResult:
    """The result value of a research."""
    return result_at(r, bench.clock())


def result_at(r: Research, at: datetime) -> ResearchResult:
    """The result value of a research as it stands at a time; nothing has to be open for it."""
    return ResearchResult(
        run_id=r.run_id,
        status=r.status,
        stop_reason=r.stop_reason,
        report=r.report.final,
        claims=result_claims(r),
        sources=result_sources(r),
        gaps=result_gaps(r),
        usage=r.usage.totals(),
        loop=loop_view(r, at),
        research=r,
    )


def research(objective: str, **options: Any) -> ResearchResult:
    """`aresearch` for code without an event loop; takes the same arguments.

    Raises RuntimeError inside a running loop: await `aresearch` there.
    """
    return in_new_loop(lambda: aresearch(objective, **options), "aresearch")


def resume(run_id: str, **options: Any) -> ResearchResult:
    """`aresume` for code without an event loop; takes the same arguments."""
    return in_new_loop(lambda: aresume(run_id, **options), "aresume")


def in_new_loop(work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
    """What `work` brings, for code without an event loop. Raises RuntimeError inside one, naming what to await."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    raise RuntimeError(f"An event loop is running here: use `await zetetic.{name}(…)`.")


@asynccontextmanager
async def open_store(context: Context | None = None) -> AsyncIterator[Store]:
    """The store of a context, for reading what runs left behind."""
    chosen = context or Context()
    async with await Store.open(chosen.database_path) as store:
        yield store
