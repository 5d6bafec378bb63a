"""One call of a chat model, and what a provider's trouble means for whoever must act on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable
from langgraph.errors import GraphBubbleUp

from zetetic.models.trouble import ProviderError, ProviderErrorKind, provider_error

__all__ = ["ProviderError", "ProviderErrorKind", "call_model"]

_WINDOWS = (2048, 4096, 8192, 16384, 32768)
"""Context windows, in tokens, that self-hosted servers are commonly started with."""


async def call_model(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    tools: Sequence[dict[str, Any]] = (),
    tool_choice: str | None = None,
    timeout: float,
) -> AIMessage:
    """Ask the model once, with these tools, in at most `timeout` seconds.

    `tool_choice` is a tool's name, `"any"`, `"none"`, or None to leave the choice to the model.

    Raises `ProviderError` for every failure of provider or wire. Cancellation and LangGraph's own signals pass
    through untouched.
    """
    tokens = count_tokens_approximately(list(messages), tools=list(tools))
    try:
        async with asyncio.timeout(timeout):
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
            f" window and dropped the rest. Start it with a window of at least {_needed(tokens)} tokens.",
        )
    return answer


def _bound(
    model: BaseChatModel, tools: Sequence[dict[str, Any]], tool_choice: str | None
) -> Runnable[LanguageModelInput, Any]:
    if not tools:
        return model
    return model.bind_tools(list(tools), tool_choice=tool_choice)


def _needed(tokens: int) -> int:
    """The window to ask for: the request, a quarter more for the answer, up to a whole 1,024."""
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
