"""The offline model: a chat model by extractive rules. It reads the prompt like any other, and has no other way in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from . import acting, composing, consolidating, evaluating, extracting, simple
from .challenging import Calls
from .reading import read_prompt

__all__ = ["OfflineModel"]

_ARMS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "judge": ("judge_attempt", evaluating.judge),
    "verify": ("verify_answer", evaluating.verify),
    "critique": ("list_objections", evaluating.critique),
    "completeness": ("judge_completeness", evaluating.completeness),
}


class OfflineModel(BaseChatModel):
    """Answers zetetic's prompts with tool calls by fixed rules: no network, no key, the same answer every time.

    It decomposes the objective at its sentences, searches by keywords, picks sentences as claims, compares them across
    sources, challenges by strategy, and composes the report from the claims' own words. To any other prompt it says
    what it is.
    """

    model_name: str = "offline"

    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Binds tools in any form langchain knows."""
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs.get("tools") or []))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, kwargs.get("tools") or [])
        chunk = AIMessageChunk(
            content=answer.content, tool_calls=answer.tool_calls, usage_metadata=answer.usage_metadata, id=answer.id
        )
        yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            yield chunk

    def _answer(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        offered = {t["function"]["name"] for t in tools}
        asked = [(name, args) for name, args in answer_to(messages) if not offered or name in offered]
        seed = sha256("\n".join(m.text for m in messages).encode()).hexdigest()[:12]
        calls = [
            ToolCall(name=name, args=args, id=f"call_{seed}_{n}", type="tool_call")
            for n, (name, args) in enumerate(asked)
        ]
        text = (
            "" if calls else "I am zetetic's offline model: I answer the prompts of a research run, and nothing else."
        )
        answer = AIMessage(text, tool_calls=calls)
        taken = count_tokens_approximately(messages, tools=list(tools))
        given = count_tokens_approximately([answer])
        answer.usage_metadata = {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}
        return answer


def answer_to(messages: Sequence[BaseMessage]) -> Calls:
    """The tool calls for a prompt; none for a prompt that is not one of zetetic's."""
    if not messages:
        return []
    system, last = messages[0].text, messages[-1].text
    arm = re.match(r"^Stage: (\w+)", system)
    if arm and arm[1] == "simple":
        return simple.answer(messages)
    if arm and arm[1] in _ARMS:
        name, evaluate = _ARMS[arm[1]]
        return [(name, evaluate(last))]
    stage = re.search(r"^Stage: (\w+)", last, re.M)
    if stage is None:
        return []
    if stage[1] == "extracting":
        return [("notes_append", extracting.extract(last))]
    if stage[1] == "consolidating":
        return consolidating.merged(last)
    seen = read_prompt(messages)
    match seen.stage:
        case "planning":
            return acting.plan(seen)
        case "synthesizing":
            return [("finalize_report", composing.report(seen))]
        case _:
            concluding = "resolve_question" not in seen.allowed
            return acting.conclude(seen) if concluding else acting.work(seen)
