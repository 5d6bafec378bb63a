"""DECIDE: renders the prompt, calls the model through the journal, and keeps what its answer asks for."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from zetetic.models import Call, ProviderError
from zetetic.state import events as ev
from zetetic.state.breakers import work_seconds
from zetetic.state.decision import Accepted, Decision
from zetetic.state.guiding import Step, due_step, is_guided
from zetetic.state.research import Research
from zetetic.state.turns import OUT_OF_TIME, allowed_tools
from zetetic.state.values import ROOT, PendingExtraction
from zetetic.state.wording import content_words
from zetetic.tools import tool_schemas
from zetetic.tools.reading import best_parts
from zetetic.tools.text import neutral

from .asking import Answer, BudgetSpent, ask, stored_answer
from .channels import Channels, TurnKeys
from .context import Context
from .guided import anchored, meant, reading_tool, step_tool
from .guided_prompts import GUIDED_EXTRACT_SYSTEM, GUIDED_SYSTEM, guided_text
from .keys import step_key, task_key
from .past_turns import is_refusal, read_results, result_texts, turn_messages
from .prompts import SYSTEM, base_text, now_text, since_part, since_text, task_text
from .small_prompts import (
    CONSOLIDATE_SYSTEM,
    EXTRACT_SYSTEM,
    SECTION_SYSTEM,
    consolidation_text,
    extraction_text,
    section_text,
)
from .windows import Prompt, Role, part_chars, smaller
from .workbench import Workbench, bench_of, known

OVER_BUDGET = "budget"
EXTRACT_TOOLS = ("notes_append",)
CONSOLIDATE_TOOLS = ("notes_update", "notes_scratch")
REPORT_TOOLS = ("finalize_report",)
OWN_STAGES = ("extracting", "consolidating")
"""Stages with a prompt and tools of their own, in which the worker has one thing to do."""
SINCE = "since"
"""Under which name a turn's answer keeps what its prompt told of new records; of a smaller prompt with its step."""
STEPS = ((None, 1), (0, 1), (0, 2), (1, 4), (1, 8), (2, 16))
"""Smaller and smaller prompts of the worker: turns left out of the window's least, and the part of the notes' size.
The first has the whole window."""


async def decide(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """One model call of the worker; a provider's trouble is a value that the turn carries on.

    It is cut off when the attempt's time or the ceiling's part is up, which is no provider's trouble (A21).
    """
    bench = await bench_of(runtime)
    r = await known(bench, channels)
    key = task_key(runtime)
    seconds = work_seconds(r, bench.clock())
    until = asyncio.get_running_loop().time() + seconds
    limit = asyncio.timeout_at(until)
    shown: list[str] = []
    step = due_step(r) if is_guided(r) else None
    try:
        async with limit:
            if step is not None:
                answer = await _step_by_step(bench, r, key, step, channels, until)
            elif r.turn.stage == "extracting":
                answer, shown = await _extract(bench, r, key, step_key(runtime), channels, until)
            elif r.turn.stage == "consolidating":
                asked = _stepwise(r, CONSOLIDATE_SYSTEM, consolidation_text)
                answer = await _ask_small(bench, r, key, "worker", asked, tool_schemas(CONSOLIDATE_TOOLS), until)
            elif in_sections(r):
                refused = [f"Note: {neutral(text)}" for text in channels.get("refusals") or []]
                asked = _stepwise(r, SECTION_SYSTEM, lambda now: "\n".join([section_text(now), *refused]))
                answer = await _ask_small(
                    bench, r, key, "worker", asked, tool_schemas(REPORT_TOOLS), until, choice=REPORT_TOOLS[0]
                )
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
        "shown": shown,
        "truncated": answer.truncated,
        "free": step is None and r.turn.stage not in OWN_STAGES and not in_sections(r),
    }
    await bench.store.put_effect(r.run_id, key, "calls", answer.text, json.dumps(kept, ensure_ascii=False))
    return {"turn": TurnKeys(answer=key), "trouble": ""}


async def _ask_worker(bench: Workbench, r: Research, key: str, channels: Channels, until: float) -> Answer:
    base = r
    if r.attempt is not None and r.attempt.base_version < r.version:
        base = await bench.store.load(r.run_id, as_of=r.attempt.base_version, worker=r.worker)
    window = channels.get("window") or []

    async def prompt(step: int) -> Sequence[BaseMessage] | None:
        if step >= len(STEPS):
            return None
        left_out, part = STEPS[step]
        turns = len(window) if left_out is None else max(0, r.thresholds.keep_turns - left_out)
        notes = max(1, r.thresholds.notes_max_tokens // part)
        return await _worker_prompt(bench, base, r, key, window[max(0, len(window) - turns) :], step, notes)

    forced = r.turn.forced_tool
    return await ask(
        bench,
        r.run_id,
        key,
        "worker",
        prompt,
        tool_schemas(),
        allowed=allowed_tools(r),
        choice=forced or None,
        seconds=r.thresholds.call_seconds,
        must_call=bool(forced),
        until=until,
        worker=r.worker,
    )


async def _step_by_step(
    bench: Workbench, r: Research, key: str, step: Step, channels: Channels, until: float
) -> Answer:
    """The calls that the step due comes to: what leaves no choice without asking the model at all."""
    if step.kind == "done":
        made = tuple(Call(id=_call_id(key, n), name=call.name, args=call.args) for n, call in enumerate(step.calls))
        return Answer(key="", calls=made, errors=(), text="", message=AIMessage(""))
    window = channels.get("window") or []
    hits = {
        hit.url: hit
        for turn in window
        for result in await read_results(bench, turn)
        for hit in (result.search.hits if result.search is not None else ())
    }
    refused = [text for text in (await result_texts(bench, window[-1])).values() if is_refusal(text)] if window else []
    tool = step_tool(step)
    asked = _stepwise(r, GUIDED_SYSTEM, lambda now: guided_text(now, step, hits, refused))
    answer = await _ask_small(bench, r, key, "worker", asked, [tool], until, choice=tool["function"]["name"])
    calls = [call for said in answer.calls for call in meant(r, step, said.args, bench.clock())]
    made = tuple(Call(id=_call_id(key, n), name=name, args=args) for n, (name, args) in enumerate(calls))
    return replace(answer, calls=made, errors=())


async def _worker_prompt(
    bench: Workbench, base: Research, r: Research, key: str, turns: Sequence[TurnKeys], step: int, notes: int
) -> list[BaseMessage]:
    """The prompt of a turn with these turns of the window and notes of so many tokens (D2, D55)."""
    known = base_text(base, r.current.id if r.current is not None else "", notes)
    messages: list[BaseMessage] = [SystemMessage(SYSTEM), HumanMessage(f"{task_text(r)}\n\n{known}")]
    told: list[str] = []
    for turn in turns:
        if since := await _told_in(bench, turn.answer):
            told.append(since)
            messages.append(HumanMessage(since_part(since)))
        messages += await turn_messages(bench, turn)
    due = ""
    if new := since_text(base, r, told):
        name = f"{SINCE}:{step}" if step else SINCE
        told.append((await bench.store.put_effect(r.run_id, key, name, new)).text)
        due = since_part(told[-1]) + "\n\n"
    messages.append(HumanMessage(due + now_text(base, r, bench.clock(), [known, *told])))
    return messages


async def _told_in(bench: Workbench, key: str) -> str:
    """What the prompt of a past turn told of new records; of one that was made smaller, what the last step told."""
    told = {name: stored.text for name, stored in (await bench.store.effects(key)).items()} if key else {}
    return next(
        (told[name] for step in range(len(STEPS), 0, -1) if (name := f"{SINCE}:{step}") in told), ""
    ) or told.get(SINCE, "")


def shown_items(r: Research, room: int) -> tuple[PendingExtraction, ...]:
    """The texts one extraction prompt holds: as many as fit into so many characters, of one question, at least one
    (D30)."""
    chosen: list[PendingExtraction] = []
    for item in r.pending:
        size = item.end - item.start
        if chosen and (size > room or item.question_id != chosen[0].question_id):
            break
        chosen.append(item)
        room -= size
    return tuple(chosen)


async def _extract(
    bench: Workbench, r: Research, key: str, step_key: str, channels: Channels, until: float
) -> tuple[Answer, list[str]]:
    """The answer, and the keys of the texts that its prompt showed."""
    shown: list[str] = []
    quoted: dict[str, str] = {}
    # An answer that was stored before a crash is to the texts that were shown then.
    before = await bench.store.effects(key) if await stored_answer(bench, key) is not None else {}

    async def prompt(step: int) -> Sequence[BaseMessage] | None:
        now = smaller(r, step)
        if now is None:
            return None
        chars = min(
            now.thresholds.extraction_prompt_chars, part_chars(bench.rooms, r.thresholds.extraction_prompt_chars)
        )
        now = await _in_parts(bench, r, key, step_key, chars)
        items = shown_items(now, chars)
        texts = {item.sha256: await _page_text(bench, item.sha256) for item in items}
        shown[:] = [item.key for item in items]
        await bench.store.put_effect(r.run_id, key, f"shown:{step}", "", json.dumps(shown))
        quoted.update({item.source_id: texts[item.sha256] for item in items})
        refusals = (channels.get("refusals") or [])[:6] if any(item.tries for item in items) else []
        system = GUIDED_EXTRACT_SYSTEM if is_guided(r) else EXTRACT_SYSTEM
        return [SystemMessage(system), HumanMessage(extraction_text(now, items, texts, refusals))]

    ids = sorted({item.source_id for item in r.pending})
    tools = [reading_tool(ids)] if is_guided(r) else tool_schemas(EXTRACT_TOOLS)
    answer = await _ask_small(bench, r, key, "extractor", prompt, tools, until, choice=EXTRACT_TOOLS[0])
    if is_guided(r):
        answer = replace(answer, calls=tuple(replace(c, args=anchored(c.args, quoted)) for c in answer.calls))
    if last := max((name for name in before if name.startswith("shown:")), default=""):
        shown = json.loads(before[last].payload)
    return answer, shown


async def _in_parts(bench: Workbench, r: Research, key: str, step_key: str, chars: int) -> Research:
    """The research after a first pending text of more characters became parts of at most so many, cut at line or
    sentence ends; the best are kept, as of any long page (D30)."""
    while (first := r.pending[0]).end - first.start > chars:
        text = (await _page_text(bench, first.sha256))[first.start : first.end]
        question = r.questions[first.question_id or ROOT]
        wanted = content_words(f"{question.question} {question.validation_criteria} {r.objective}")
        parts = best_parts(text, wanted, chars, r.thresholds.max_page_parts)
        items = tuple(
            first.model_copy(
                update={"key": f"{first.key}+{start}", "start": first.start + start, "end": first.start + end}
            )
            for start, end in parts
        )
        done = await bench.store.execute(
            r.run_id,
            _split(first.key, items, bench.clock()),
            effect=(key, f"parts:{first.key}"),
            worker=r.worker,
            step_key=step_key,
            reason="decide",
        )
        r = done.research
    return r


def _call_id(key: str, number: int) -> str:
    """The id of a call that no model gave one, the same at a replay."""
    return f"call_{hashlib.sha256(key.encode()).hexdigest()[:12]}_{number}"


def _split(key: str, items: tuple[PendingExtraction, ...], at: datetime) -> Callable[[Research], Decision]:
    return lambda _: Accepted(
        (ev.ExtractionTried(at=at, done=(key,), again=()), ev.ExtractionDue(at=at, items=items)), "in parts"
    )


async def _page_text(bench: Workbench, sha256: str) -> str:
    page = await bench.store.page(sha256)
    return page.text if page is not None else ""


def _stepwise(r: Research, system: str, text: Callable[[Research], str]) -> Prompt:
    """A small prompt whose texts are halved in number at each step."""

    async def prompt(step: int) -> Sequence[BaseMessage] | None:
        now = smaller(r, step)
        return None if now is None else [SystemMessage(system), HumanMessage(text(now))]

    return prompt


def in_sections(r: Research) -> bool:
    """Whether this turn writes a part of the report that has a prompt of its own (CASES 14)."""
    return r.turn.stage == "synthesizing" and bool(r.turn.detail)


async def _ask_small(
    bench: Workbench,
    r: Research,
    key: str,
    role: Role,
    asked: Prompt,
    tools: Sequence[dict[str, Any]],
    until: float,
    choice: str | None = None,
) -> Answer:
    """One call with a small prompt of its own and the few tools that it is about (D55)."""
    return await ask(
        bench,
        r.run_id,
        key,
        role,
        asked,
        tools,
        allowed=frozenset(tool["function"]["name"] for tool in tools),
        choice=choice,
        seconds=r.thresholds.call_seconds,
        must_call=choice is not None,
        until=until,
        worker=r.worker,
    )
