"""Asking a model through the journal: one shielded task with the call, stored before anything acts on it (D47)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any

from langchain_core.language_models import BaseChatModel
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

from zetetic.models import (
    Call,
    CallError,
    ProviderError,
    Repaired,
    acceptable_history,
    call_model,
    model_name,
    repair,
    usage_of,
)
from zetetic.state.breakers import covers
from zetetic.store import STOOD_IN, JournalEntry

from .roles import allowance_of, with_less_output
from .windows import Prompt, Role, fitted, one_size
from .workbench import Workbench

IN_PARTS = ("notes_append",)
"""Tools whose arguments are entries that stand each for itself: of a call that was cut off the whole ones are taken."""


class BudgetSpent(Exception):
    """The run's budget does not cover the call that is due; nothing was asked (D46)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer after repair. `message` is what the history keeps; `truncated`: the provider cut it off."""

    key: str
    calls: tuple[Call, ...]
    errors: tuple[CallError, ...]
    text: str
    message: AIMessage
    truncated: bool = False


def _fingerprint(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]], choice: str | None) -> str:
    told = json.dumps([messages_to_dict(list(messages)), list(tools), choice], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Request:
    """One call as it is asked for. `seconds` bounds it, `until` is when the caller's time is up (event loop's time)."""

    role: Role
    messages: Sequence[BaseMessage]
    tools: Sequence[dict[str, Any]]
    allowed: Collection[str]
    choice: str | None
    seconds: float
    until: float
    worker: str

    def read(self, answer: AIMessage, key: str) -> Repaired:
        """What an answer asks for, mended where that is safe."""
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in self.tools}
        return repair(answer, allowed=self.allowed, known=[*schemas], key=key, schemas=schemas, in_parts=IN_PARTS)


async def journaled(bench: Workbench, run_id: str, key: str, asked: _Request, repairs: Sequence[str] = ()) -> AIMessage:
    """The answer stored under `key`, or a new one, stored as soon as it is there even if the caller is cancelled.

    A caller that is cancelled before its time is up waits for the answer for as long as cancel_grace_seconds; one that
    only waits for a rate limit lets go at once. After its time it goes on at once, and the call has that long beside
    it (A21). Raises ProviderError for a provider's trouble, and the fallback's beside it; nothing is stored then.
    """
    stored = await bench.store.journal(key)
    if stored is not None:
        return _message(stored)
    r = await bench.store.load(run_id, worker=asked.worker)
    size = count_tokens_approximately(list(asked.messages), tools=list(asked.tools))
    if not covers(r, size, bench.clock()):
        raise BudgetSpent(f"the budget left does not cover a call of about {size} tokens")
    given_up = asyncio.Event()

    async def call_and_store() -> AIMessage:
        began = monotonic()
        model, answer, stood_in = await _answered(bench, asked, given_up)
        name = model_name(model)
        used = usage_of(asked.messages, answer, name, tools=asked.tools)
        mended = asked.read(answer, key).repairs
        entry = JournalEntry(
            run_id=run_id,
            key=key,
            role=asked.role,
            model=name,
            fingerprint=_fingerprint(asked.messages, asked.tools, asked.choice),
            at=bench.clock(),
            answer=json.dumps(messages_to_dict([answer])[0], ensure_ascii=False, default=dumps),
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cached_tokens,
            usd=used.usd,
            latency_seconds=monotonic() - began,
            repairs=json.dumps([*([STOOD_IN] if stood_in else []), *repairs, *mended]),
        )
        return _message(await bench.store.record_call(entry, worker=asked.worker))

    task = asyncio.ensure_future(call_and_store())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # The answer may be paid for already: give it a moment to be written down before letting go.
        given_up.set()
        bench.let_go(task)
        if asyncio.get_running_loop().time() < asked.until:
            await asyncio.wait({task})
        raise


async def _answered(
    bench: Workbench, asked: _Request, given_up: asyncio.Event
) -> tuple[BaseChatModel, AIMessage, bool]:
    """The model that answered, its answer, and whether it is the fallback, which is asked where the role's own model
    failed for good. Only after both failed is it trouble (A12)."""
    role = asked.role
    allowed, room = allowance_of(role, bench.thresholds), bench.rooms.get(role)

    async def call(model: BaseChatModel) -> tuple[BaseChatModel, AIMessage]:
        model = model if room is None else with_less_output(model, room.answer)
        answer = await call_model(
            model,
            asked.messages,
            tools=asked.tools,
            tool_choice=asked.choice,
            timeout=asked.seconds,
            retries=allowed.retries,
            until=asked.until,
            given_up=given_up,
        )
        return model, answer

    second = bench.fallbacks.get(role)
    if second is None:
        return *await call(bench.models[role]), False
    first = bench.shut_out.get(role)
    if first is None:
        try:
            return *await call(bench.models[role]), False
        except ProviderError as error:
            if error.has_to_shrink or given_up.is_set():
                raise
            first = error
            if error.kind == "auth":  # no further try would find the door open
                bench.shut_out[role] = error
    try:
        return *await call(second), True
    except ProviderError as error:
        if error.has_to_shrink:
            raise
        both = f"{first.message} The fallback {model_name(second)} failed too: {error.message}"
        raise ProviderError(error.kind, both, error.retry_after) from None


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
    messages: Sequence[BaseMessage] | Prompt,
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

    A prompt in steps is made smaller where the model's window is too small for it. `until` is when the caller's own
    time is up, in the event loop's time.
    """
    prompt = messages if callable(messages) else one_size(messages)

    async def asked(of_this_size: Sequence[BaseMessage]) -> Answer:
        request = _Request(role, of_this_size, tools, allowed, choice, seconds, until, worker)
        return await _ask(bench, run_id, key, request, must_call)

    return await fitted(bench.rooms, role, prompt, tools, allowance_of(role, bench.thresholds).tokens, asked)


async def _ask(bench: Workbench, run_id: str, key: str, asked: _Request, must_call: bool) -> Answer:
    answer = await journaled(bench, run_id, key, asked)
    read = asked.read(answer, key)
    if read.calls or not (read.errors or must_call):
        return _answer(key, answer, read)
    history = acceptable_history(answer, read)
    again: list[BaseMessage] = [*asked.messages, history]
    again += [ToolMessage(e.message, tool_call_id=e.id, name=e.name or "unknown", status="error") for e in read.errors]
    again.append(HumanMessage(f"Nothing was executed. Call one of: {', '.join(sorted(asked.allowed))}."))
    second_key = f"{key}#repair"
    try:
        second = await journaled(bench, run_id, second_key, replace(asked, messages=again), ("repair_turn",))
    except (BudgetSpent, ProviderError):  # the first answer stands, and is paid for
        return _answer(key, answer, read)
    return _answer(second_key, second, asked.read(second, second_key))


def _answer(key: str, message: AIMessage, read: Repaired) -> Answer:
    return Answer(
        key=key,
        calls=read.calls,
        errors=read.errors,
        text=read.text,
        message=acceptable_history(message, read),
        truncated=read.truncated,
    )
