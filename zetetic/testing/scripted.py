"""`ScriptedModel`: a chat model that answers from a script, for tests without a provider."""

from __future__ import annotations

import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, SkipValidation

Reply = AIMessage | str | Exception
"""One scripted answer; an exception is raised in its place."""

Script = Callable[[list[BaseMessage], list[dict[str, Any]]], Reply]
"""An answer from the prompt and the tools (in OpenAI's form)."""

_ids = itertools.count(1)


class ScriptExhausted(AssertionError):
    """The model was asked more often than the script has answers."""


def call(name: str, /, **args: Any) -> ToolCall:
    """A tool call with an id of its own."""
    return tool_call(name=name, args=args, id=f"call_{next(_ids)}")


def turn(*calls: ToolCall, text: str = "") -> AIMessage:
    """An answer of the model: these tool calls, and this text."""
    return AIMessage(content=text, tool_calls=list(calls))


class ScriptedModel(BaseChatModel):
    """Answers from `script`: a list, taken in order, or a function of the prompt and the tools.

    `prompts` holds the messages of every call, `offered` the tools and `choices` the tool choice. Usage is estimated
    where an answer brings none. Safe to use from several threads and tasks at once.
    """

    script: SkipValidation[Sequence[Reply] | Script]
    model_name: str = "scripted"
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[list[dict[str, Any]]] = Field(default_factory=list)
    choices: list[str | None] = Field(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._answer(messages, kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(self._answer(messages, kwargs)):
            yield chunk

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        tools: list[dict[str, Any]] = bound.get("tools") or []
        with self._lock:
            self.prompts.append(list(messages))
            self.offered.append(tools)
            self.choices.append(bound.get("tool_choice"))
            asked = len(self.prompts)
            if callable(self.script):
                reply: Reply = self.script(list(messages), tools)
            elif asked <= len(self.script):
                reply = self.script[asked - 1]
            else:
                raise ScriptExhausted(f"The script has {len(self.script)} answers; this is call {asked}.")
        if isinstance(reply, Exception):
            raise reply
        answer = AIMessage(content=reply) if isinstance(reply, str) else reply.model_copy(deep=True)
        if answer.usage_metadata is None:
            taken, given = count_tokens_approximately(messages, tools=list(tools)), count_tokens_approximately([answer])
            answer.usage_metadata = UsageMetadata(input_tokens=taken, output_tokens=given, total_tokens=taken + given)
        answer.response_metadata = {"model_name": self.model_name, "finish_reason": "stop", **answer.response_metadata}
        return answer


def _chunks(answer: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The answer in two parts: its text, then the rest with the usage."""
    text = answer.content if isinstance(answer.content, str) else ""
    if text:
        yield ChatGenerationChunk(message=AIMessageChunk(content=text))
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="" if text else answer.content,
            tool_calls=answer.tool_calls,
            invalid_tool_calls=answer.invalid_tool_calls,
            usage_metadata=answer.usage_metadata,
            response_metadata=answer.response_metadata,
            additional_kwargs=answer.additional_kwargs,
            chunk_position="last",
        )
    )
