"""STATE: opens the run, checks breakers, delivers directives, selects the question, decides the stage."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from zetetic.export import render_report
from zetetic.export.run_folder import write_receipts
from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision, Refusal
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.runs import decide_directives, decide_open, directive_fault
from zetetic.state.turns import FAN_OUT, IDLE, WAIT, decide_release, decide_turn, is_shared
from zetetic.state.values import ROOT, Loop
from zetetic.tools.reading import due_for_extraction, uncommitted

from .channels import Channels, as_directives
from .context import Context
from .folder import write_folder
from .keys import new_run_id, notes_id, step_key, task_key
from .lease import take_up, worker_lives
from .workbench import SetupError, Workbench, bench_of, checked_run_id

POLL_SECONDS = 0.1
"""How often a worker that waits for others looks whether there is something to do."""
WAIT_SECONDS = 5.0
"""How long one step waits; then the graph goes round, so that whoever wants to stop it can."""


def spoken(channels: Channels) -> tuple[str, str]:
    """The last human message's text and id, where the objective comes as a message."""
    for message in reversed(channels.get("messages") or []):
        if isinstance(message, HumanMessage):
            text = message.text
            return str(text).strip(), str(message.id or "")
    return "", ""


async def state(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Starts a turn. New input on an old thread starts a new run (LANGGRAPH: Replay and fork)."""
    bench = await bench_of(runtime)
    worker = channels.get("worker") or ""
    update = await open_run(channels, runtime, bench, "investigative") if not worker else {}
    run_id = update.get("run_id") or channels.get("run_id") or ""
    if not update and not worker:  # a run that was just opened has taken its directives with its objective
        update |= await take_directives(channels, runtime, bench, run_id)
    r, said = await _begin(bench, runtime, channels, run_id, bool(channels.get("fleet")))
    if not worker:
        await bench.store.restore_notes(run_id)
    folder = bench.run_folder(run_id)
    before = channels.get("attempt", 0)
    attempt = r.attempt.number if r.attempt else 0
    update |= {
        "phase": r.phase,
        "stage": r.turn.stage,
        "question_id": r.turn.question_id,
        "attempt": attempt,
        "log_head": r.version,
        "next": {WAIT: "state", IDLE: "end", FAN_OUT: "end"}.get(said) or _next(r),
        "fan_out": said == FAN_OUT,
        "turn": None,
        "trouble": "",
    }
    if attempt != before or update.get("run_id"):
        update["window"] = []
    if folder is not None and (attempt != before or "directives" in update):
        await asyncio.to_thread(write_receipts, r, folder)
    return update


async def _begin(
    bench: Workbench, runtime: Runtime[Context], channels: Channels, run_id: str, fleet: bool
) -> tuple[Research, str]:
    """Begins this worker's next turn, and what decide_turn says of it. Waits a while where others have to go first."""
    worker = channels.get("worker") or ""
    shown_in = channels.get("attempt", 0) if channels.get("window") else None

    def decided(r: Research) -> Decision:
        at = bench.clock()
        begun = decide_turn(r, at=at, render=render_report, fleet=fleet)
        due = _out_of_view(r, begun, shown_in, at)
        if due is None:
            return begun
        first = decide_turn(fold(r, (due,)), at=at, render=render_report, fleet=fleet)
        return Accepted((due, *first.events), first.message) if isinstance(first, Accepted) else first

    until = asyncio.get_running_loop().time() + WAIT_SECONDS
    seen = await bench.store.load(run_id, worker=worker, at_least=0)
    while is_shared(seen) and decided(seen).message == WAIT and asyncio.get_running_loop().time() < until:
        await free_the_gone(bench, seen)
        await asyncio.sleep(POLL_SECONDS)
        seen = await bench.store.load(run_id, worker=worker)
    done = await bench.store.execute(
        run_id, decided, effect=(task_key(runtime), "state"), worker=worker, step_key=step_key(runtime), reason="state"
    )
    return done.research, done.text


def _out_of_view(r: Research, begun: Decision, shown_in: int | None, at: datetime) -> ev.ExtractionDue | None:
    """The pages of the question at hand that gave nothing yet, where the turn that begins has no window to show them
    in: of an attempt that was gone on with without its checkpoint, in a fork, or after its worker was gone. They are
    paid for, so they are read from the store (D30). `shown_in` is the attempt whose turns stand in the window."""
    after = fold(r, begun.events) if isinstance(begun, Accepted) else r
    number = after.attempt.number if after.attempt is not None else 0
    if after.status != "running" or after.phase != "exploration" or after.pending or shown_in == number:
        return None
    question_id = after.attempt.question_id if after.attempt is not None else ROOT
    read = uncommitted(after, [s.id for s in after.sources.values() if s.question_id == question_id])
    items = [i for s in read for i in due_for_extraction(s, s.length, question_id, s.length, ())]
    return ev.ExtractionDue(at=at, items=tuple(items)) if items else None


async def free_the_gone(bench: Workbench, seen: Research) -> None:
    """Returns the questions of workers that are gone: killed, or of a process that is (D15, D51)."""
    for name in seen.attempts_under_way():
        if name in ("", seen.worker) or await worker_lives(bench, seen.run_id, name):
            continue
        await bench.store.execute(
            seen.run_id,
            lambda r: decide_release(r, "its worker is gone", at=bench.clock()),
            worker=name,
            reason="released",
        )


async def take_directives(
    channels: Channels, runtime: Runtime[Context], bench: Workbench, run_id: str
) -> dict[str, Any]:
    """Moves what stands in the channel to the log, once, and clears the channel; what is refused is told (A24)."""
    given = as_directives(channels.get("directives"))
    if not given:
        return {}
    who = bench.context.user or "user"
    done = await bench.store.execute(
        run_id,
        lambda r: decide_directives(r, given, who, at=bench.clock()),
        effect=(task_key(runtime), "directives"),
        step_key=step_key(runtime),
        reason="directive",
    )
    return {"directives": [], "account": done.text}


def _next(r: Research) -> str:
    if r.status != "running":
        return "route"
    if r.attempt is not None and r.attempt.ended:
        return "route" if r.attempt.blocked else "arms"
    return "decide"


async def open_run(channels: Channels, runtime: Runtime[Context], bench: Workbench, loop: Loop) -> dict[str, Any]:
    """The channels of a new run, where there is new input; nothing otherwise."""
    given = channels.get("objective") or ""
    if not isinstance(given, str):
        raise SetupError(f"The objective must be a text, not a {type(given).__name__}.")
    objective = given.strip()
    text, heard = spoken(channels)
    # A step that is run again after it had opened its run goes on with that run.
    opening = await bench.store.effect(task_key(runtime), "open")
    if opening is not None:
        await take_up(bench, runtime, opening.payload)
        return _opened(opening.payload, heard)
    known = channels.get("run_id") or ""
    fresh_message = bool(text) and heard != (channels.get("heard") or "")
    was_opened = known and (channels.get("log_head") or await bench.store.exists(known))
    if was_opened and not objective and not fresh_message:
        _must_be((await bench.store.load(known, at_least=0)).loop, loop, f"The run {known} is of")
        return {}
    _must_be(bench.context.loop, loop, "The context asks for")
    objective = objective or text
    if not objective:
        raise SetupError("The objective is empty: say what is to be found out.")
    directives = as_directives(channels.get("directives"))
    for text in directives:  # before anything is written or spent
        if fault := directive_fault(text, bench.thresholds):
            raise SetupError(fault)
    run_id = checked_run_id(known) if known and not await bench.store.exists(known) else new_run_id(runtime)
    await take_up(bench, runtime, run_id)
    at = bench.clock()
    opened = await bench.store.execute(
        run_id,
        lambda r: decide_open(
            r,
            run_id=run_id,
            objective=objective,
            notes_id=notes_id(runtime),
            criteria=channels.get("criteria") or [],
            scope=channels.get("scope") or "",
            exclusions=channels.get("exclusions") or [],
            directives=directives,
            user=bench.context.user,
            mode=bench.context.mode,
            loop=loop,
            model=bench.model_label,
            thresholds=bench.thresholds,
            holdings=bench.holdings(),
            at=at,
        ),
        effect=(task_key(runtime), "open"),
        payload=run_id,
        step_key=step_key(runtime),
        reason="open",
    )
    if isinstance(opened.decision, Refusal):
        raise SetupError(" ".join(opened.decision.missing))
    await write_folder(bench, opened.research)  # its ledger is there before the first attempt (L1)
    return _opened(run_id, heard)


def _must_be(wanted: Loop, loop: Loop, whose: str) -> None:
    """Raises SetupError where a graph is given what is another loop's (D53)."""
    if wanted != loop:
        build = "build_simple_graph" if wanted == "simple" else "build_graph"
        raise SetupError(f"{whose} the {wanted} loop, and this graph is the {loop} one: make it with {build}().")


def _opened(run_id: str, heard: str) -> dict[str, Any]:
    """The channels of a run that was just opened: nothing of the thread's last run stays, and the input is consumed."""
    return {
        "run_id": run_id,
        "heard": heard,
        "objective": "",
        "criteria": [],
        "scope": "",
        "exclusions": [],
        "directives": [],
        "report": "",
        "status": "running",
        "stop_reason": "",
        "account": f"run {run_id} opened",
        "attempt": 0,
        "arms": None,
    }
