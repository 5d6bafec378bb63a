"""A run that branches off from the end of a turn of another one, with bounds and words of its own (D49, D54)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from langgraph.runtime import RunControl
from pydantic import ValidationError

from zetetic.nodes.context import Context
from zetetic.nodes.lease import leased
from zetetic.nodes.workbench import SetupError, Workbench, checked_run_id, workbench
from zetetic.state.branches import decide_branch
from zetetic.state.decision import Refusal
from zetetic.state.research import Research
from zetetic.state.runs import decide_directives, directive_fault
from zetetic.state.thresholds import Thresholds
from zetetic.store import LogEntry, Store

from .checkpointers import saver_of
from .result import ResearchResult
from .run import Progress, drive, graph_of, in_new_loop, new_id, open_store

CARRIED = ("window", "attempt", "refusals")
"""What of the channels a branch goes on with; all else is in the log."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a run branches off: the position in the log, the research as of there, and the bounds from there on."""

    position: int
    research: Research
    bounds: Thresholds


def turn_end(log: Sequence[LogEntry], turn: int) -> int:
    """The position in a log at which a turn was over: closed, and evaluated where its attempt ended with it.

    0 is the run's start. Of several workers the turn is the one that began as the `turn`-th. Raises ValueError for a
    turn that was never closed, with the last one that was.
    """
    begun = [entry for entry in log if _begins_turn(entry)]
    if turn == 0:
        return begun[0].seq - 1 if begun else log[-1].seq
    ends = [_closed(log, entry) for entry in begun]
    if not (1 <= turn <= len(ends)) or not ends[turn - 1]:
        last = max((number for number, end in enumerate(ends, 1) if end), default=0)
        raise ValueError(last)
    return ends[turn - 1]


def _begins_turn(entry: LogEntry) -> bool:
    return entry.event.event == "state_recorded" and entry.event.is_turn


def _closed(log: Sequence[LogEntry], begun: LogEntry) -> int:
    """Where the turn that this event began was over; 0 if it never was. What was decided together has one time; a
    person's words, stop and new start come after the turn."""
    own = [entry for entry in log[begun.seq :] if entry.worker == begun.worker]
    end = 0
    for _, decided in groupby(own, key=lambda entry: entry.event.at):
        entries = list(decided)
        names = {entry.event.event for entry in entries}
        if any(map(_begins_turn, entries)) or "run_resumed" in names or any(map(_is_users_stop, entries)):
            break
        if "turn_closed" in names or (end and "directive_given" not in names):
            end = entries[-1].seq
    return end


def _is_users_stop(entry: LogEntry) -> bool:
    return entry.event.event == "run_ended" and entry.event.stop_reason == "user_stop"


async def branch_of(
    store: Store, run_id: str, *, at: int, bounds: Mapping[str, Any] | None = None, directives: Sequence[str] = ()
) -> Branch:
    """Where a run branches off at the end of turn `at`, looked at only. Raises SetupError where it cannot go on from
    there, saying what to do."""
    if not await store.exists(run_id):
        raise SetupError(f"There is no run {run_id!r} in {store.place}: `zetetic runs` lists them.")
    try:
        position = turn_end(await store.log(run_id), at)
    except ValueError as last:
        raise SetupError(f"The run {run_id} has {last} finished turns: there is no turn {at} to go on from.") from None
    r = await store.load(run_id, as_of=position)
    wider = _with_bounds(r.thresholds, bounds or {})
    for text in directives:
        if fault := directive_fault(text, wider):
            raise SetupError(fault)
    assert r.updated_at is not None
    refused = decide_branch(r, wider, at=r.updated_at)
    if isinstance(refused, Refusal):
        raise SetupError(" ".join(refused.missing))
    return Branch(position, r, wider)


def _with_bounds(had: Thresholds, given: Mapping[str, Any]) -> Thresholds:
    if unknown := [name for name in given if name not in Thresholds.model_fields]:
        raise SetupError(f"There is no bound {unknown[0]!r}: `zetetic policy` lists them.")
    try:
        return Thresholds(**{**had.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in fault["loc"])
        says = str(fault["msg"]).removeprefix("Value error, ")
        raise SetupError(f"{name}: {says} (given: {fault['input']!r})." if name else f"{says}.") from None


async def afork(
    run_id: str,
    *,
    at: int,
    context: Context | None = None,
    bounds: Mapping[str, Any] | None = None,
    directives: Sequence[str] = (),
    new_run_id: str | None = None,
    control: RunControl | None = None,
    progress: Progress | None = None,
) -> ResearchResult:
    """Goes on from the end of turn `at` of a run (0: from its start) as a new run, and takes that to its end.

    The old run stays as it is, and nothing is shared afterwards. `bounds` are new values of the run's own bounds, by
    name; those of the context do not count. Raises SetupError for an unknown run, a turn it has not, or where there is
    nothing to go on with; ModelError, DocumentsError or StoreError as `aresearch` does.
    """
    given = context or Context()
    chosen = checked_run_id(new_run_id) if new_run_id is not None else new_id()
    async with open_store(given) as store:
        branch = await branch_of(store, run_id, at=at, bounds=bounds, directives=directives)
        if await store.exists(chosen):
            raise SetupError(f"There is a run {chosen!r} already: take another id.")
    own = given.model_copy(update={**branch.bounds.model_dump(), "mode": branch.research.mode})
    control = control or RunControl()
    async with workbench(own) as bench, leased(bench, chosen, control):
        by = own.user or "user"
        await bench.store.fork(run_id, branch.position, chosen)
        await bench.store.execute(
            chosen, lambda r: decide_branch(r, branch.bounds, at=bench.clock(), by=by), reason="fork"
        )
        if directives:
            await bench.store.execute(
                chosen, lambda r: decide_directives(r, directives, by, at=bench.clock()), reason="directive"
            )
        await _with_window(bench, run_id, branch, chosen)
        return await drive(bench, chosen, None, control, progress)


async def _with_window(bench: Workbench, run_id: str, branch: Branch, chosen: str) -> None:
    """Starts the new run's thread with what the model had in view at the branch, where a checkpoint tells it (D2)."""
    async with saver_of(bench.context) as saver:
        seen = await _channels_at(bench, saver, run_id, branch)
        if not seen:
            return
        given = {"run_id": chosen, "next": "state", **{name: seen[name] for name in CARRIED if name in seen}}
        workers = branch.bounds.max_parallel
        graph = graph_of(branch.research.loop, workers).compile(checkpointer=saver)
        before = "update" if branch.research.loop == "simple" else "worker" if workers > 1 else "route"
        await graph.aupdate_state({"configurable": {"thread_id": chosen}}, given, as_node=before)


async def _channels_at(bench: Workbench, saver: Any, run_id: str, branch: Branch) -> dict[str, Any]:
    """The channels of the run as of the branch: on its own thread, or on that of the run it was forked from itself."""
    origin, _, position = (await bench.store.load(run_id)).forked_from.partition("@")
    if origin and branch.position <= int(position):
        return await _channels_at(bench, saver, origin, branch)
    async for found in saver.alist({"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}):
        values: dict[str, Any] = found.checkpoint["channel_values"]
        if values.get("run_id") == run_id and values.get("log_head") == branch.position:
            return values
    return {}


def fork(run_id: str, **options: Any) -> ResearchResult:
    """`afork` for code without an event loop; takes the same arguments."""
    return in_new_loop(lambda: afork(run_id, **options), "afork")
