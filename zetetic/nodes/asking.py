"""Asking a model through the journal: one shielded task with the call, stored before anything acts on it (D47)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

from langchain_core.load import dumps
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.messages.utils import count_tokens_approximately

from zetetic.models import Call, CallError, Repaired, acceptable_history, call_model, model_name, repair, usage_of
from zetetic.state.breakers import covers
from zetetic.store import JournalEntry

from .workbench import Role, Workbench


class BudgetSpent(Exception):
    """The run's budget does not cover the call that is due; nothing was asked (D46)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer after repair. `message` is what the history keeps."""

    key: str
    calls: tuple[Call, ...]
    errors: tuple[CallError, ...]
    text: str
    message: AIMessage


def _fingerprint(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]], choice: str | None) -> str:
    told = json.dumps([messages_to_dict(list(messages)), list(tools), choice], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


async def journaled(
    bench: Workbench,
    run_id: str,
    key: str,
    role: Role,
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    choice: str | None,
    seconds: float,
    repairs: Sequence[str] = (),
    until: float = inf,
    worker: str = "",
) -> AIMessage:
    """The answer stored under `key`, or a new one, stored as soon as it is there even if the caller is cancelled.

    A caller that is cancelled before `until`, in the event loop's time, waits for the answer for as long as
    cancel_grace_seconds. From then on its time is up: it goes on at once, and the call has that long beside it (A21).
    Raises ProviderError for a provider's trouble; nothing is stored then.
    """
    stored = await bench.store.journal(key)
    if stored is not None:
        return _message(stored)
    r = await bench.store.load(run_id, worker=worker)
    asked = count_tokens_approximately(list(messages), tools=list(tools))
    if not covers(r, asked, bench.clock()):
        raise BudgetSpent(f"the budget left does not cover a call of about {asked} tokens")
    model = bench.models[role]

    async def call_and_store() -> AIMessage:
        began = monotonic()
        answer = await call_model(model, messages, tools=tools, tool_choice=choice, timeout=seconds)
        name = model_name(model)
        used = usage_of(messages, answer, name)
        entry = JournalEntry(
            run_id=run_id,
            key=key,
            role=role,
            model=name,
            fingerprint=_fingerprint(messages, tools, choice),
            at=bench.clock(),
            answer=json.dumps(messages_to_dict([answer])[0], ensure_ascii=False, default=dumps),
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cached_tokens,
            usd=used.usd,
            latency_seconds=monotonic() - began,
            repairs=json.dumps(list(repairs)),
        )
        return _message(await bench.store.record_call(entry, worker=worker))

    task = asyncio.ensure_future(call_and_store())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # The answer may be paid for already: give it a moment to be written down before letting go.
        bench.let_go(task)
        if asyncio.get_running_loop().time() < until:
            await asyncio.wait({task})
        raise


def _message(entry: JournalEntry) -> AIMessage:
    (message,) = messages_from_dict([json.loads(entry.answer)])
    assert isinstance(message, AIMessage)
    return message


async def stored_answer(bench: Workbench, key: str) -> AIMessage | None:
    """The journal's answer under a key, if there is one."""
    entry = await bench.store.journal(key)
    return _message(entry) if entry is not None else None


async def ask(
    bench: Workbench,
    run_id: str,
    key: str,
    role: Role,
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    *,
    allowed: Collection[str],
    choice: str | None = None,
    seconds: float,
    must_call: bool = False,
    until: float = inf,
    worker: str = "",
) -> Answer:
    """Asks once, and once more with the faults named where nothing could be executed (one bounded repair turn).

    `until` is when the caller's own time is up, see `journaled`.
    """
    known = [tool["function"]["name"] for tool in tools]
    answer = await journaled(bench, run_id, key, role, messages, tools, choice, seconds, until=until, worker=worker)
    read = repair(answer, allowed=allowed, known=known, key=key)
    if read.calls or not (read.errors or must_call):
        return _answer(key, answer, read)
    history = acceptable_history(answer, read)
    again: list[BaseMessage] = [*messages, history]
    again += [ToolMessage(e.message, tool_call_id=e.id, name=e.name or "unknown", status="error") for e in read.errors]
    again.append(HumanMessage(f"Nothing was executed. Call one of: {', '.join(sorted(allowed))}."))
    second_key = f"{key}#repair"
    try:
        repairs = ("repair_turn",)
        second = await journaled(bench, run_id, second_key, role, again, tools, choice, seconds, repairs, until, worker)
    except BudgetSpent:
        return _answer(key, answer, read)
    return _answer(second_key, second, repair(second, allowed=allowed, known=known, key=second_key))


def _answer(key: str, message: AIMessage, read: Repaired) -> Answer:
    return Answer(
        key=key,
        calls=read.calls,
        errors=read.errors,
        text=read.text,
        message=acceptable_history(message, read),
    )
