"""DECIDE: renders the prompt, calls the model through the journal, and keeps what its answer asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.runtime import Runtime

from zetetic.models import ProviderError
from zetetic.state.breakers import work_seconds
from zetetic.state.research import Research
from zetetic.state.turns import OUT_OF_TIME, allowed_tools
from zetetic.state.values import PendingExtraction
from zetetic.tools import tool_schemas
from zetetic.tools.text import neutral

from .asking import Answer, BudgetSpent, ask
from .channels import Channels, TurnKeys
from .context import Context
from .keys import task_key
from .prompts import SYSTEM, base_text, now_text, since_part, since_text, task_text
from .small_prompts import (
    CONSOLIDATE_SYSTEM,
    EXTRACT_SYSTEM,
    SECTION_SYSTEM,
    consolidation_text,
    extraction_text,
    section_text,
)
from .workbench import Role, Workbench, bench_of

OVER_BUDGET = "budget"
EXTRACT_TOOLS = ("notes_append",)
CONSOLIDATE_TOOLS = ("notes_update", "notes_scratch")
REPORT_TOOLS = ("finalize_report",)
SINCE = "since"
"""Under which name a turn's answer keeps what its prompt told of new records."""


async def decide(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """One model call of the worker; a provider's trouble is a value that the turn carries on.

    It is cut off when the attempt's time or the ceiling's part is up, which is no provider's trouble (A21).
    """
    bench = await bench_of(runtime)
    r = await bench.store.load(channels["run_id"], worker=channels.get("worker") or "")
    key = task_key(runtime)
    seconds = work_seconds(r, bench.clock())
    until = asyncio.get_running_loop().time() + seconds
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            if r.turn.stage == "extracting":
                answer = await _extract(bench, r, key, channels, until)
            elif r.turn.stage == "consolidating":
                asked = CONSOLIDATE_SYSTEM, consolidation_text(r)
                answer = await _ask_small(bench, r, key, "worker", asked, CONSOLIDATE_TOOLS, until)
            elif in_sections(r):
                refused = "\n".join(f"Note: {neutral(text)}" for text in channels.get("refusals") or [])
                asked = SECTION_SYSTEM, "\n".join(filter(None, [section_text(r), refused]))
                answer = await _ask_small(bench, r, key, "worker", asked, REPORT_TOOLS, until, choice=REPORT_TOOLS[0])
            else:
                answer = await _ask_worker(bench, r, key, channels, until)
    except TimeoutError:
        if not limit.expired():
            raise
        return {"turn": TurnKeys(answer=""), "trouble": f"{OUT_OF_TIME}: cut off after the {seconds:.3g} s left"}
    except BudgetSpent as spent:
        return {"turn": TurnKeys(answer=""), "trouble": f"{OVER_BUDGET}: {spent}"}
    except ProviderError as error:
        return {"turn": TurnKeys(answer=""), "trouble": f"model:{error.kind}: {error}"}
    kept = {
        "calls": [asdict(call) for call in answer.calls],
        "errors": [asdict(fault) for fault in answer.errors],
        "text": answer.text,
        "journal": answer.key,
        "stage": r.turn.stage,
        "own_prompt": r.turn.stage == "extracting" or in_sections(r),
        "shown": [item.key for item in shown_items(r)] if r.turn.stage == "extracting" else [],
    }
    await bench.store.put_effect(r.run_id, key, "calls", answer.text, json.dumps(kept, ensure_ascii=False))
    return {"turn": TurnKeys(answer=key), "trouble": ""}


async def _ask_worker(bench: Workbench, r: Research, key: str, channels: Channels, until: float) -> Answer:
    base = r
    if r.attempt is not None and r.attempt.base_version < r.version:
        base = await bench.store.load(r.run_id, as_of=r.attempt.base_version, worker=r.worker)
    question_id = r.current.id if r.current is not None else ""
    known = base_text(base, question_id)
    messages: list[BaseMessage] = [SystemMessage(SYSTEM), HumanMessage(f"{task_text(r)}\n\n{known}")]
    told: list[str] = []
    for turn in channels.get("window") or []:
        since = await bench.store.effect(turn.answer, SINCE) if turn.answer else None
        if since is not None:
            told.append(since.text)
            messages.append(HumanMessage(since_part(since.text)))
        messages += await turn_messages(bench, turn)
    due = ""
    if new := since_text(base, r, told):
        told.append((await bench.store.put_effect(r.run_id, key, SINCE, new)).text)
        due = since_part(told[-1]) + "\n\n"
    messages.append(HumanMessage(due + now_text(base, r, bench.clock(), [known, *told])))
    forced = r.turn.forced_tool
    return await ask(
        bench,
        r.run_id,
        key,
        "worker",
        messages,
        tool_schemas(),
        allowed=allowed_tools(r),
        choice=forced or None,
        seconds=r.thresholds.call_seconds,
        must_call=bool(forced),
        until=until,
        worker=r.worker,
    )


def shown_items(r: Research) -> tuple[PendingExtraction, ...]:
    """The texts one extraction prompt holds: as many as fit, of one question, at least one (D30)."""
    room = r.thresholds.extraction_prompt_chars
    chosen: list[PendingExtraction] = []
    for item in r.pending:
        size = item.end - item.start
        if chosen and (size > room or item.question_id != chosen[0].question_id):
            break
        chosen.append(item)
        room -= size
    return tuple(chosen)


async def _extract(bench: Workbench, r: Research, key: str, channels: Channels, until: float) -> Answer:
    items = shown_items(r)
    texts = {}
    for item in items:
        page = await bench.store.page(item.sha256)
        texts[item.sha256] = page.text if page is not None else ""
    refusals = [text for item in items if item.tries for text in channels.get("refusals") or []][:6]
    asked = EXTRACT_SYSTEM, extraction_text(r, items, texts, refusals)
    return await _ask_small(bench, r, key, "extractor", asked, EXTRACT_TOOLS, until, choice=EXTRACT_TOOLS[0])


def in_sections(r: Research) -> bool:
    """Whether this turn writes a part of the report that has a prompt of its own (CASES 14)."""
    return r.turn.stage == "synthesizing" and bool(r.turn.detail)


async def _ask_small(
    bench: Workbench,
    r: Research,
    key: str,
    role: Role,
    asked: tuple[str, str],
    tools: tuple[str, ...],
    until: float,
    choice: str | None = None,
) -> Answer:
    """One call with a small prompt of its own and the few tools that it is about (D55)."""
    system, prompt = asked
    return await ask(
        bench,
        r.run_id,
        key,
        role,
        [SystemMessage(system), HumanMessage(prompt)],
        tool_schemas(tools),
        allowed=frozenset(tools),
        choice=choice,
        seconds=r.thresholds.call_seconds,
        must_call=choice is not None,
        until=until,
        worker=r.worker,
    )


async def kept_answer(bench: Workbench, key: str) -> dict[str, Any]:
    """What DECIDE kept of the answer under a key: calls, errors, text; nothing where no answer came."""
    stored = await bench.store.effect(key, "calls") if key else None
    if stored is None:
        return {"calls": [], "errors": [], "text": "", "journal": "", "stage": "", "own_prompt": False, "shown": []}
    kept: dict[str, Any] = json.loads(stored.payload)
    return kept


async def result_texts(bench: Workbench, turn: TurnKeys) -> dict[str, str]:
    """What the model was told of each call of a turn, by call id."""
    told: dict[str, str] = {}
    for key in (turn.act, turn.observe):
        if key:
            told |= {
                call_id: stored.text for call_id, stored in (await bench.store.effects(key)).items() if stored.text
            }
    return told


async def turn_messages(bench: Workbench, turn: TurnKeys) -> Sequence[BaseMessage]:
    """A past turn as it was: the answer and each call's result, rebuilt from journal and effects."""
    kept = await kept_answer(bench, turn.answer)
    told = await result_texts(bench, turn)
    asked = [*kept["calls"], *({"id": e["id"], "name": e["name"] or "unknown", "args": {}} for e in kept["errors"])]
    if not asked:
        return [AIMessage(kept["text"] or "(no tool was called)")]
    calls = [{"name": c["name"], "args": c["args"], "id": c["id"], "type": "tool_call"} for c in asked]
    messages: list[BaseMessage] = [AIMessage(kept["text"], tool_calls=calls)]
    faults = {e["id"]: e["message"] for e in kept["errors"]}
    for call in asked:
        text = faults.get(call["id"]) or told.get(call["id"]) or "not executed"
        messages.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))
    return messages
