"""One call of a chat model, and what a provider's trouble means for whoever must act on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable
from langgraph.errors import GraphBubbleUp

from zetetic.models.trouble import ProviderError, ProviderErrorKind, provider_error

__all__ = ["ProviderError", "ProviderErrorKind", "call_model", "window_for"]

_WINDOWS = (2048, 4096, 8192, 16384, 32768)
"""Context windows, in tokens, that self-hosted servers are commonly started with."""


_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
"""Seconds between two tries where nobody says how long to wait: doubled from the first to the longest."""
_PASSING = {"rate_limit", "connection", "server", "bad_answer"}
"""What may be gone at the next try. A time-out is not among them: the call's time is used up."""


async def call_model(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    tools: Sequence[dict[str, Any]] = (),
    tool_choice: str | None = None,
    timeout: float,
    retries: int = 0,
    until: float = inf,
    given_up: asyncio.Event | None = None,
) -> AIMessage:
    """Ask the model, with these tools, in at most `timeout` seconds, all tries and the waits between them included.

    `tool_choice` is a tool's name, `"any"`, `"none"`, or None to leave the choice to the model. What may pass is tried
    again, `retries` times at most: after the wait that the provider names, in a header or in words (CASES 15), if it
    ends before the call's time and `until`, in the event loop's time; else after a pause. A model whose client tries
    again by itself is only waited for where a wait is named. A wait ends at once when `given_up` is set.

    Raises `ProviderError` for every failure of provider or wire. Cancellation and LangGraph's own signals pass
    through untouched.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeout
    for tried in range(retries + 1):
        try:
            return await _once(model, messages, tools, tool_choice, end - clock(), timeout)
        except ProviderError as error:
            wait = _wait_before_next(error, model, tried)
            if wait is None or tried == retries or clock() + wait >= min(end, until):
                raise
            if await _given_up_within(wait, given_up):
                raise
    raise AssertionError("unreachable")


def _wait_before_next(error: ProviderError, model: BaseChatModel, tried: int) -> float | None:
    """Seconds until the same request may be sent again, or None where that is no use."""
    if error.too_large or error.kind not in _PASSING:
        return None
    if error.retry_after is not None:
        return error.retry_after
    if not getattr(model, "leaves_retries", False):
        return None
    return float(min(_FIRST_PAUSE * 2**tried, _LONGEST_PAUSE))


async def _given_up_within(seconds: float, given_up: asyncio.Event | None) -> bool:
    """Waits so long; True, and at once, if nobody wants the answer any more."""
    if given_up is None:
        await asyncio.sleep(seconds)
        return False
    try:
        await asyncio.wait_for(given_up.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _once(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    tool_choice: str | None,
    left: float,
    timeout: float,
) -> AIMessage:
    tokens = count_tokens_approximately(list(messages), tools=list(tools))
    try:
        async with asyncio.timeout(left):
            answer = await _bound(model, tools, tool_choice).ainvoke(list(messages))
    except GraphBubbleUp:
        raise
    except Exception as error:
        raise provider_error(error, model, tokens, timeout, tool_choice=tool_choice) from None
    if not isinstance(answer, AIMessage):
        raise ProviderError("bad_answer", f"The model answered with a {type(answer).__name__}, not a message.")
    if (window := _window_that_cut(model, answer, tokens)) is not None:
        raise ProviderError(
            "context",
            f"The server read {window} tokens of a request of about {tokens}: it was started with a smaller context"
            f" window and dropped the rest. Start it with a window of at least {window_for(tokens)} tokens.",
            window=window,
        )
    return answer


def _bound(
    model: BaseChatModel, tools: Sequence[dict[str, Any]], tool_choice: str | None
) -> Runnable[LanguageModelInput, Any]:
    if not tools:
        return model
    return model.bind_tools(list(tools), tool_choice=tool_choice)


def window_for(tokens: int) -> int:
    """The window to ask for: the request, a quarter more for the answer, up to a whole 1,024 (tokens)."""
    return -(-tokens * 5 // 4 // 1024) * 1024


def _window_that_cut(model: BaseChatModel, answer: AIMessage, tokens: int) -> int | None:
    """How many tokens a self-hosted server read when it silently cut the request to its window (CASES 9).

    Recognised by a count just under a common window while the request was far larger; a hosted provider refuses
    instead, so only models with a server address of their own are looked at.
    """
    if getattr(model, "openai_api_base", None) is None:
        return None
    read = answer.usage_metadata["input_tokens"] if answer.usage_metadata else 0
    if tokens < read * 1.6:
        return None
    return read if any(window * 0.75 <= read <= window for window in _WINDOWS) else None
