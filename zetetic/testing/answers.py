"""What a `ChatCompletionsServer` answers: each way in which a real server answers, or does not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langchain_core.messages import AIMessage

_ids = itertools.count(1)


@dataclass(frozen=True, slots=True)
class WireCall:
    """A tool call as it goes over the wire. `arguments` is text exactly as sent, or any JSON value to send unencoded,
    as some servers do; `id` and `name` may be empty or None."""

    name: str | None
    arguments: Any
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer. Without arguments it is an empty assistant message.

    `finish_reason` is `tool_calls` or `stop` unless given; `None` in `usage` means estimated, `{}` none at all.
    `status` other than 200 sends `message` as the error text with `headers`. `stall` waits that many seconds first.
    `hang_up` closes the connection: `"at_once"` before a byte, `"midway"` in the middle of the body. `body` replaces
    the whole body. `error_event` ends a stream with an error object in place of the finish.
    """

    text: str | None = None
    calls: tuple[WireCall, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    status: int = 200
    message: str = ""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stall: float = 0.0
    hang_up: Literal["at_once", "midway"] | None = None
    body: bytes | None = None
    error_event: str | None = None

    def ending(self, finish_reason: str) -> Answer:
        """The same answer with another finish reason, such as `length` or `content_filter`."""
        return replace(self, finish_reason=finish_reason)

    def after(self, seconds: float) -> Answer:
        """The same answer, that many seconds later."""
        return replace(self, stall=seconds)

    def costing(self, prompt: int, completion: int, cached: int = 0) -> Answer:
        """The same answer with this usage, in tokens."""
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        return replace(self, usage=usage)


def says(text: str, *, reasoning: str | None = None) -> Answer:
    """A plain text answer."""
    return Answer(text=text, reasoning=reasoning)


def wire_call(name: str, /, **args: Any) -> WireCall:
    """A well-formed tool call."""
    return WireCall(name, json.dumps(args), f"call_{next(_ids)}")


def calls(*asked: WireCall, text: str | None = None) -> Answer:
    """An answer that asks for these tool calls."""
    return Answer(text=text, calls=asked)


def refuses(status: int, message: str = "refused", *, code: str | None = None, **headers: str) -> Answer:
    """An HTTP error; header names are written with underscores (`retry_after="2"`)."""
    return Answer(
        status=status,
        message=message,
        code=code,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def stalls(seconds: float = 30.0) -> Answer:
    """Nothing for so many seconds (the server's end cuts it short), then an empty answer."""
    return Answer(stall=seconds)


def hangs_up(*, midway: bool = False) -> Answer:
    """A closed connection, before the first byte or in the middle of an answer."""
    return Answer(text="This answer is never finished, " * 20, hang_up="midway" if midway else "at_once")


def garbles(body: bytes = b"<html><body>Bad gateway</body></html>") -> Answer:
    """A body that is no chat completion, with status 200."""
    return Answer(body=body)


def from_message(message: AIMessage) -> Answer:
    """The wire form of a LangChain message."""
    usage: dict[str, Any] | None = None
    if message.usage_metadata:
        reported = message.usage_metadata
        usage = {
            "prompt_tokens": reported["input_tokens"],
            "completion_tokens": reported["output_tokens"],
            "total_tokens": reported["total_tokens"],
            "prompt_tokens_details": {
                "cached_tokens": (reported.get("input_token_details") or {}).get("cache_read") or 0
            },
        }
    asked = [WireCall(one["name"], json.dumps(one["args"]), one["id"]) for one in message.tool_calls]
    asked += [WireCall(one["name"], one["args"], one["id"]) for one in message.invalid_tool_calls]
    reason = message.response_metadata.get("finish_reason")
    return Answer(
        text=str(message.text) or None,
        calls=tuple(asked),
        usage=usage,
        finish_reason=None if reason in (None, "stop") else str(reason),
    )
