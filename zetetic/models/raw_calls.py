"""Tool calls as the server literally sent them, kept beside what langchain made of them."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AIMessageChunk

RAW_CALLS = "raw_tool_calls"
"""Key in `AIMessage.additional_kwargs`: a list of `{"id", "name", "args"}`, args being the text as it was sent."""

RawCall = dict[str, str | None]


def raw_calls(answer: AIMessage) -> list[RawCall] | None:
    """What the server literally sent as tool calls, or None where the model class does not tell."""
    kept = answer.additional_kwargs.get(RAW_CALLS)
    if isinstance(kept, list):
        return [call for call in kept if isinstance(call, dict)]
    if isinstance(answer, AIMessageChunk) and answer.tool_call_chunks:
        return [{"id": c["id"], "name": c["name"], "args": c["args"]} for c in answer.tool_call_chunks]
    return None
