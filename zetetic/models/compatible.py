"""`CompatibleChat`: ChatOpenAI that keeps what the server literally sent as tool arguments.

langchain's streaming path completes cut-off JSON by itself (`{"query": "lon` becomes `{"query": "lon"}`), and a
message built from it no longer shows that anything was missing. A truncated call must never be executed (CASES 5), so
the raw text travels in `additional_kwargs[RAW_CALLS]`, and `repair` reads that first. Arguments that are not text
(some servers send an object) are written as JSON before langchain, which would raise on them, sees them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

import openai
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from zetetic.models.raw_calls import RAW_CALLS, RawCall


class CompatibleChat(ChatOpenAI):
    """Chat completions of OpenAI or of any server that speaks like it."""

    leaves_retries: ClassVar[bool] = True
    """Its client is made to try once; `call_model` tries again, since it also reads waits that are told in words and
    streams that break off."""

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        # Servers other than OpenAI's own often ignore the newer name, and then answer without a bound.
        if "max_completion_tokens" in payload and not _is_openai(self.openai_api_base):
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        if isinstance(response, openai.BaseModel):
            response = response.model_dump(warnings=False)
        raw: list[list[RawCall]] = []
        if isinstance(response, dict):
            for choice in response.get("choices") or []:
                message = choice.get("message") or {}
                # Taken away from langchain, which raises on arguments that are JSON but no object.
                raw.append([_plain(call) for call in message.pop("tool_calls", None) or []])
        result = super()._create_chat_result(response, generation_info)
        for generation, calls in zip(result.generations, raw, strict=False):
            if calls and isinstance(generation.message, AIMessage):
                _attach(generation.message, calls)
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        for choice in chunk.get("choices") or []:
            for position, call in enumerate((choice.get("delta") or {}).get("tool_calls") or []):
                _plain(call)
                if call.get("index") is None:
                    call["index"] = position
        return super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        seen: dict[int, RawCall] = {}
        held: ChatGenerationChunk | None = None
        async for chunk in super()._astream(*args, **kwargs):
            if held is not None:
                yield held
            _collect(chunk, seen)
            held = chunk
        if held is not None:
            yield _with_raw(held, seen)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        seen: dict[int, RawCall] = {}
        held: ChatGenerationChunk | None = None
        for chunk in super()._stream(*args, **kwargs):
            if held is not None:
                yield held
            _collect(chunk, seen)
            held = chunk
        if held is not None:
            yield _with_raw(held, seen)


def _attach(message: AIMessage, calls: list[RawCall]) -> None:
    """Put the calls of a whole answer into the message: readable ones as tool calls, the others as invalid ones."""
    message.additional_kwargs[RAW_CALLS] = calls
    for call in calls:
        try:
            args = json.loads(call["args"] or "", strict=False)
        except (ValueError, RecursionError):
            args = None
        if isinstance(args, dict):
            message.tool_calls.append(tool_call(name=call["name"] or "", args=args, id=call["id"]))
        else:
            message.invalid_tool_calls.append(
                invalid_tool_call(name=call["name"], args=call["args"], id=call["id"], error="no JSON object")
            )


def _is_openai(base_url: str | None) -> bool:
    return base_url is None or (urlsplit(base_url).hostname or "").endswith("openai.com")


def _plain(call: Any) -> RawCall:
    """Make one tool call of the wire safe for langchain, in place, and return its raw form."""
    if not isinstance(call, dict):
        return {"id": None, "name": None, "args": json.dumps(call)}
    function = call.get("function")
    if not isinstance(function, dict):
        function = call["function"] = {"name": None, "arguments": "" if function is None else json.dumps(function)}
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        function["arguments"] = json.dumps(arguments)
    for holder, key in ((function, "name"), (call, "id")):
        if holder.get(key) is not None and not isinstance(holder[key], str):
            holder[key] = str(holder[key])
    return {"id": call.get("id"), "name": function.get("name"), "args": function.get("arguments")}


def _collect(chunk: ChatGenerationChunk, seen: dict[int, RawCall]) -> None:
    if not isinstance(chunk.message, AIMessageChunk):
        return
    for part in chunk.message.tool_call_chunks:
        index = part["index"]
        call = seen.setdefault(index if isinstance(index, int) else len(seen), {"id": None, "name": None, "args": None})
        for key, value in (("id", part["id"]), ("name", part["name"]), ("args", part["args"])):
            if value:
                call[key] = value if key == "id" else (call[key] or "") + value


def _with_raw(last: ChatGenerationChunk, seen: dict[int, RawCall]) -> ChatGenerationChunk:
    if seen:
        last.message.additional_kwargs[RAW_CALLS] = [seen[index] for index in sorted(seen)]
    return last
