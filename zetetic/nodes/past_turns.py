"""Reading back what a past turn asked for and what came of it, from journal and effects (D55)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from zetetic.tools.reading import ReadResult

from .channels import TurnKeys
from .workbench import Workbench


async def kept_answer(bench: Workbench, key: str) -> dict[str, Any]:
    """What DECIDE kept of the answer under a key: calls, errors, text; nothing where no answer came."""
    stored = await bench.store.effect(key, "calls") if key else None
    if stored is None:
        return {"calls": [], "errors": [], "text": "", "journal": "", "stage": "", "own_prompt": False, "shown": []}
    kept: dict[str, Any] = json.loads(stored.payload)
    return kept


async def result_texts(bench: Workbench, turn: TurnKeys) -> dict[str, str]:
    """What the model was told of each call of a turn, by call id."""
    told: dict[str, str] = {}
    for key in (turn.act, turn.observe):
        if key:
            told |= {
                call_id: stored.text for call_id, stored in (await bench.store.effects(key)).items() if stored.text
            }
    return told


async def turn_messages(bench: Workbench, turn: TurnKeys) -> Sequence[BaseMessage]:
    """A past turn as it was: the answer and each call's result, rebuilt from journal and effects."""
    kept = await kept_answer(bench, turn.answer)
    told = await result_texts(bench, turn)
    asked = [*kept["calls"], *({"id": e["id"], "name": e["name"] or "unknown", "args": {}} for e in kept["errors"])]
    if not asked:
        return [AIMessage(kept["text"] or "(no tool was called)")]
    calls = [{"name": c["name"], "args": c["args"], "id": c["id"], "type": "tool_call"} for c in asked]
    messages: list[BaseMessage] = [AIMessage(kept["text"], tool_calls=calls)]
    faults = {e["id"]: e["message"] for e in kept["errors"]}
    for call in asked:
        text = faults.get(call["id"]) or told.get(call["id"]) or "not executed"
        messages.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))
    return messages


async def read_results(bench: Workbench, turn: TurnKeys) -> list[ReadResult]:
    """What the readings of a turn brought."""
    if not turn.act:
        return []
    stored = await bench.store.effects(turn.act)
    return [ReadResult.model_validate_json(s.payload) for s in stored.values() if s.payload]


def is_refusal(text: str) -> bool:
    """Whether what the model was told of a call says that nothing was done."""
    return text.startswith(("Refused", "Not executed")) or "was not executed" in text
