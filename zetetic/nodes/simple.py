"""The simple loop: ask the model, carry out its calls, append the results, ask again (D53).

The baseline that the investigative loop is compared with. It has the same models, sources, budgets, journal and
effects, and on purpose nothing else: no frontier, notes, claims, challenges, arms or gates. So a run of it is never
`complete`, whatever its report says: no gate was passed (D54).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from zetetic.export.simple_report import simple_report, stated_gaps
from zetetic.models import ProviderError
from zetetic.state import events as ev
from zetetic.state.breakers import breaker, budget_left, work_seconds
from zetetic.state.decision import Accepted, Decision
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.turns import OUT_OF_TIME, action_of
from zetetic.state.values import ROOT, Gap, RunStatus
from zetetic.tools import READS, read_args
from zetetic.tools.reading import ReadResult, observed

from .asking import Answer, BudgetSpent, ask
from .channels import Channels, TurnKeys
from .context import Context
from .decide import OVER_BUDGET
from .folder import write_folder
from .keys import step_key, task_key
from .past_turns import kept_answer, read_results, result_texts
from .route import outputs
from .simple_prompt import (
    ELSEWHERE,
    FINALIZE,
    LAST,
    SimpleReport,
    conversation,
    fitted,
    page_text,
    simple_tools,
    size_of,
)
from .state import open_run, take_directives
from .update import account_of, all_failed
from .workbench import Workbench, bench_of, known

SMALLER_STEPS = 4
"""How often the list of messages is halved where a model's window does not hold it."""


async def state(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Starts a turn: opens the run, checks the budgets, delivers directives. New input starts a new run."""
    bench = await bench_of(runtime)
    update = await open_run(channels, runtime, bench, "simple")
    run_id = update.get("run_id") or channels.get("run_id") or ""
    answered = 0 if update else len(channels.get("window") or [])
    if update:
        update["window"] = []
    else:
        update = await take_directives(channels, runtime, bench, run_id)
    done = await bench.store.execute(
        run_id,
        lambda r: decide_simple_turn(r, answered, bench, bench.clock()),
        effect=(task_key(runtime), "state"),
        step_key=step_key(runtime),
        reason="state",
    )
    r = done.research
    return update | {
        "phase": r.phase,
        "stage": r.turn.stage,
        "question_id": r.turn.question_id,
        "log_head": r.version,
        "next": "decide" if r.status == "running" else "report",
        "turn": None,
        "trouble": "",
    }


def decide_simple_turn(r: Research, answered: int, bench: Workbench, at: datetime) -> Decision:
    """A turn begins, or none does. A breaker leaves one thing to do from the reserve, the report (D46)."""
    if r.status != "running":
        return Accepted((), "nothing to start")
    happened: list[ev.Event] = []
    fired = breaker(r, at)
    if fired is not None and r.phase == "exploration":
        happened.append(ev.PhaseChanged(at=at, phase="synthesis", reason=f"breaker:{fired}"))
        fired = breaker(fold(r, happened), at)
    now = fold(r, happened)
    if fired is not None:
        return Accepted((*happened, *_out_of_reserve(now, fired, bench, at)), "the reserve is used up")
    happened += [
        ev.DirectiveDelivered(at=at, number=d.number, attempt=answered + 1)
        for d in now.directives
        if not d.delivered_in
    ]
    last = now.phase == "synthesis"
    recorded = ev.StateRecorded(
        at=at,
        seq=now.states + 1,
        stage="synthesizing" if last else "acting",
        question_id=ROOT,
        forced_tool=FINALIZE if last else "",
    )
    return Accepted((*happened, recorded), recorded.stage)


async def decide(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """One model call with the whole list of messages; a provider's trouble is a value that the turn carries on."""
    bench = await bench_of(runtime)
    r = await known(bench, channels)
    key = task_key(runtime)
    seconds = work_seconds(r, bench.clock())
    until = asyncio.get_running_loop().time() + seconds
    limit = asyncio.timeout_at(until)
    try:
        messages = await conversation(bench, r, channels.get("window") or [])
        async with limit:
            answer = await _ask(bench, r, key, messages, until)
    except TimeoutError:
        if not limit.expired():
            raise
        return {"turn": TurnKeys(answer=""), "trouble": f"{OUT_OF_TIME}: cut off after the {seconds:.3g} s left"}
    except BudgetSpent as spent:
        return {"turn": TurnKeys(answer=""), "trouble": f"{OVER_BUDGET}: {spent}"}
    except ProviderError as error:
        return {"turn": TurnKeys(answer=""), "trouble": f"model:{error.kind}: {error}"}
    await bench.store.put_effect(r.run_id, key, "calls", answer.text, json.dumps(_kept(answer, r), ensure_ascii=False))
    return {"turn": TurnKeys(answer=key), "trouble": ""}


async def _ask(bench: Workbench, r: Research, key: str, messages: list[BaseMessage], until: float) -> Answer:
    last = bool(r.turn.forced_tool)
    left = budget_left(r, bench.clock()).tokens
    if last:
        messages = [*messages, HumanMessage(LAST)]
        if left is not None:
            messages = fitted(messages, left - r.thresholds.answer_max_tokens)
    elif left is not None and size_of(messages) > left and await bench.store.journal(key) is None:
        raise BudgetSpent("the next prompt is larger than what is left beside the reserve")

    async def prompt(step: int) -> Sequence[BaseMessage] | None:
        """All of it; where the model's window is too small, without its oldest results."""
        return None if step > SMALLER_STEPS else fitted(messages, size_of(messages) >> step) if step else messages

    return await ask(
        bench,
        r.run_id,
        key,
        "worker",
        prompt,
        simple_tools(),
        allowed=frozenset({FINALIZE}) if last else READS | {FINALIZE},
        choice=FINALIZE if last else None,
        seconds=r.thresholds.call_seconds,
        until=until,
    )


def _kept(answer: Answer, r: Research) -> dict[str, Any]:
    """What the turn does with an answer. The report ends the loop, so what is asked for beside it is not carried out;
    text without a call is the report, as such loops have it."""
    report = "" if answer.calls or answer.errors else answer.text.strip()
    errors = [asdict(fault) for fault in answer.errors]
    for call in answer.calls:
        if call.name == FINALIZE and not report:
            args = read_args(FINALIZE, call.args, SimpleReport)
            if isinstance(args, SimpleReport) and args.report.strip():
                report = args.report
            else:
                fault = args if isinstance(args, str) else "The report is empty: write it in Markdown."
                errors.append({"id": call.id, "name": call.name, "message": fault})
    reads = [] if report else [asdict(call) for call in answer.calls if call.name in READS]
    return {
        "calls": reads,
        "errors": errors,
        "text": answer.text,
        "journal": answer.key,
        "stage": r.turn.stage,
        "shown": [],
        "report": report,
    }


async def update(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Closes the turn in one transaction: what was read is logged and registered, and the report ends the run."""
    bench = await bench_of(runtime)
    run_id = channels["run_id"]
    turn = channels.get("turn") or TurnKeys(answer="")
    key = task_key(runtime)
    kept = await kept_answer(bench, turn.answer)
    brought = {result.call_id: result for result in await read_results(bench, turn)}
    results = [brought[call["id"]] for call in kept["calls"] if call["id"] in brought]  # not as they came in
    trouble = channels.get("trouble") or ""
    failed = _failed(trouble, kept["calls"], results, await result_texts(bench, turn))

    def decision(r: Research) -> Decision:
        at = bench.clock()
        happened, told = observed(r, results, at=at)
        sources = {e.source.sha256: e.source.id for e in happened if isinstance(e, ev.SourceRegistered)}
        closed = _closed(fold(r, happened), kept, results, failed, trouble, bench, at)
        return Accepted((*happened, *closed), json.dumps({"told": told, "sources": sources}, ensure_ascii=False))

    done = await bench.store.execute(
        run_id, decision, effect=(key, "update"), step_key=step_key(runtime), reason="update"
    )
    r = done.research
    await _tell(bench, r, key, results, json.loads(done.text))
    window = list(channels.get("window") or [])
    if turn.answer and not kept.get("report"):
        window.append(turn.model_copy(update={"observe": key}))
    names = [call["name"] for call in kept["calls"]] or ([FINALIZE] if kept.get("report") else [])
    return {
        "next": "state" if r.status == "running" else "report",
        "window": window,
        "log_head": r.version,
        "account": account_of(r, names, results, trouble),
        "usage": r.usage.totals(),
    }


def _failed(trouble: str, calls: list[dict[str, Any]], results: list[ReadResult], told: Mapping[str, str]) -> str:
    """The provider of which every call failed in this turn, or '' (A12)."""
    if trouble:
        return "" if trouble.startswith((OVER_BUDGET, OUT_OF_TIME)) else trouble.split(": ", 1)[0]
    return all_failed(calls, results, told)


def _closed(
    r: Research,
    kept: Mapping[str, Any],
    results: Sequence[ReadResult],
    failed: str,
    trouble: str,
    bench: Workbench,
    at: datetime,
) -> tuple[ev.Event, ...]:
    """The end of the turn, and of the run where a rule says so (D48, D54)."""
    report = str(kept.get("report") or "")
    called = [*(call["name"] for call in kept["calls"]), *([FINALIZE] if report else [])]
    queries = tuple(x.query for x in results if x.tool == "web_search")
    urls = tuple(x.query for x in results if x.tool == "fetch_page")
    closed = ev.TurnClosed(
        at=at,
        action=action_of(called, queries, urls),
        called_tools=bool(called or kept["errors"] or trouble),
        provider_failed=bool(failed),
    )
    r = fold(r, (closed,))
    t = r.thresholds
    if report:
        return (closed, *_ended(r, report, "reported", r.stop_reason or "finalized", bench, at))
    if failed and r.provider_errors >= t.provider_error_limit:
        return (closed, ev.RunEnded(at=at, status="blocked", stop_reason=f"blocked:{failed}", detail=trouble))
    if trouble.startswith(OVER_BUDGET):
        if r.phase == "synthesis":
            return (closed, *_out_of_reserve(r, "tokens", bench, at))
        return (closed, ev.PhaseChanged(at=at, phase="synthesis", reason="breaker:tokens"))
    if r.phase == "synthesis" and not trouble:  # the one thing that was asked for did not come
        return (closed, *_ended(r, "", "reported", r.stop_reason, bench, at))
    if r.phase == "exploration" and r.reminders >= t.barren_rounds_limit:  # answers without a word or a call
        return (closed, ev.PhaseChanged(at=at, phase="synthesis", reason="stalled"))
    return (closed,)


def _ended(
    r: Research, text: str, status: RunStatus, reason: str, bench: Workbench, at: datetime, detail: str = ""
) -> tuple[ev.Event, ...]:
    """The end with a report: the gaps that the text names are recorded, the rest is written by code."""
    known = {gap.text for gap in r.gaps}
    gaps = tuple(ev.GapNoted(at=at, gap=Gap(text=told)) for told in stated_gaps(text) if told not in known)
    ended = ev.RunEnded(at=at, status=status, stop_reason=reason, detail=detail)
    rendered = simple_report(fold(r, (*gaps, ended)), text, bench.identity)
    return (*gaps, ended.model_copy(update={"report": rendered}))


def _out_of_reserve(r: Research, fired: str, bench: Workbench, at: datetime) -> tuple[ev.Event, ...]:
    """The end without a report of the model's: there was nothing left to ask for it with (D46)."""
    detail = "the reserve for the report was used up"
    return _ended(r, "", "failed", r.stop_reason or f"breaker:{fired}", bench, at, detail)


async def _tell(
    bench: Workbench, r: Research, key: str, results: Sequence[ReadResult], noted: Mapping[str, Mapping[str, str]]
) -> None:
    """Stores what the model is told of each reading: a page's text in place of a word about its extraction."""
    said: dict[str, tuple[str, str]] = {}
    for result in results:
        text = noted["told"].get(result.call_id, "")
        if result.seen:
            text = ELSEWHERE
        elif result.page is not None:
            source = r.sources.get(noted["sources"].get(result.page.sha256, ""))
            page = await bench.store.page(result.page.sha256)
            text = page_text(r, source, page.text) if source is not None and page is not None else ELSEWHERE
        said[result.call_id] = text, ""
    await bench.store.put_effects(r.run_id, key, said)


async def report(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """The end: the run folder, and what the graph gives."""
    bench = await bench_of(runtime)
    r = await known(bench, channels)
    await write_folder(bench, r)
    return {"next": "end", "log_head": r.version} | outputs(r, bench)
