"""Between the model and the loop: what the answer asks for, mended where that is safe, refused where it is not.

Pure. `repair` never raises, whatever the model sent: a call is either in `calls`, ready to be run, or in `errors` with
a sentence that says what to do instead (CASES 1 to 7). Nothing incomplete is ever in `calls`, and nothing is ever
taken out of thoughts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call

from zetetic.models.asked import Asked, asked_in_text, known_name
from zetetic.models.invented import without_invented
from zetetic.models.json_text import CutOff, Found, complete_lists, parse_arguments, storable, without_thoughts
from zetetic.models.raw_calls import raw_calls

_CUT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_FILTERED = {"content_filter", "safety", "refusal", "blocklist", "prohibited_content", "recitation", "spii"}
_QUERY_KEYS = ("query", "new_query")
_ACCEPTABLE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

CUT_OFF = "The call was cut off before its end, so it was not run. Send it again, whole; make it shorter if need be."

REST_CUT_OFF = "The call was cut off: its whole entries were taken, the rest was not. Send only the rest, in short."


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that may be run: a known tool, allowed now, with whole arguments."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallError:
    """A tool call that is not run, with the sentence that answers it."""

    id: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """One answer, read.

    `text` has no thoughts and no tool calls in it. `repairs` names each mending, one entry each, for the counts in
    the report. `truncated` and `filtered` say how the provider ended the answer.
    """

    calls: tuple[Call, ...] = ()
    errors: tuple[CallError, ...] = ()
    text: str = ""
    repairs: tuple[str, ...] = ()
    truncated: bool = False
    filtered: bool = False

    @property
    def empty(self) -> bool:
        """Neither a call, an error nor a text: the case for the one repair turn (CASES 1)."""
        return not (self.calls or self.errors or self.text)


@dataclass(slots=True)
class _Reading:
    """One answer while it is read."""

    allowed: frozenset[str]
    known: frozenset[str]
    key: str
    schemas: Mapping[str, Any]
    in_parts: frozenset[str]
    calls: list[Call] = field(default_factory=list)
    errors: list[CallError] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def refuse(self, call_id: str, name: str, message: str) -> None:
        self.errors.append(CallError(call_id, name, message))


def repair(
    answer: AIMessage,
    *,
    allowed: Collection[str],
    known: Collection[str],
    key: str,
    schemas: Mapping[str, Any] | None = None,
    in_parts: Collection[str] = (),
) -> Repaired:
    """Read one answer of a model.

    `known` are all tools there are, `allowed` those of this stage. `key` is the task key: ids that are missing, empty
    or repeated are derived from it and the call's index, so that a replay has the same ones. `schemas` are the JSON
    schemas of the tools' arguments by name. Of the tools `in_parts`, whose arguments are lists of entries that stand
    each for itself, the whole entries of a call that was cut off are run (CASES 4); of all others nothing is.
    """
    tools = frozenset(known) | frozenset(allowed)
    reading = _Reading(frozenset(allowed), tools, key, schemas or {}, frozenset(in_parts))
    reason = _finish_reason(answer)
    truncated, filtered = reason in _CUT, reason in _FILTERED
    sent = storable(_text_of(answer))
    text = without_thoughts(sent)
    if text != sent.strip():
        reading.repairs.append("thoughts stripped")
    asked = list(_asked_for(answer, truncated))
    if not asked:
        asked, text, cut = asked_in_text(text, reading.known)
        truncated = truncated or cut
        if asked:
            reading.repairs.append("tool call found in text")
    own = {one.id for one in asked if _usable_id(one.id)}
    for index, one in enumerate(asked):
        call_id = _id_for(one, index, own, reading)
        if filtered:
            reading.refuse(call_id, one.name, "The provider's content filter ended this answer, so nothing was run.")
            continue
        truncated = _read_call(one, call_id, reading) or truncated
    return Repaired(
        tuple(reading.calls),
        tuple(reading.errors),
        text,
        tuple(reading.repairs),
        truncated=truncated,
        filtered=filtered,
    )


def acceptable_history(answer: AIMessage, repaired: Repaired) -> AIMessage:
    """The message to keep, so that the next request is accepted (CASES 6, 7).

    Every call and every error stands in it with an id, a name of the wire's alphabet and arguments that are a JSON
    object, and is to be answered by one tool message. Thoughts are gone, the content is text.
    """
    asked = [(call.id, call.name, call.args) for call in repaired.calls]
    asked += [(error.id, error.name, {}) for error in repaired.errors]
    return AIMessage(
        content=repaired.text,
        id=answer.id,
        tool_calls=[tool_call(id=call_id, name=_acceptable_name(name), args=args) for call_id, name, args in asked],
        usage_metadata=answer.usage_metadata,
        response_metadata=answer.response_metadata,
    )


def _asked_for(answer: AIMessage, truncated: bool) -> Iterator[Asked]:
    """The structured calls, from the raw text where the model class keeps it."""
    raw = raw_calls(answer)
    if raw is not None:
        for call in raw:
            # No arguments at all in an answer that was cut off: they had not been written yet.
            unwritten = truncated and not (call.get("args") or "").strip()
            yield Asked(call.get("id"), _name_text(call.get("name")), call.get("args") or "", doubtful=unwritten)
        return
    last = len(answer.tool_calls) - 1
    for index, parsed in enumerate(answer.tool_calls):
        doubtful = truncated and index == last and not answer.invalid_tool_calls
        yield Asked(parsed["id"], _name_text(parsed["name"]), parsed["args"], doubtful=doubtful)
    for invalid in answer.invalid_tool_calls:
        yield Asked(invalid["id"], _name_text(invalid["name"]), invalid["args"] or "", doubtful=False)


def _read_call(one: Asked, call_id: str, reading: _Reading) -> bool:
    """Sort one call into `calls` or `errors`; True when it had been cut off."""
    name = known_name(one.name, reading.known)
    choice = f"Tools allowed now: {', '.join(sorted(reading.allowed)) or 'none'}."
    if name is None:
        shown = one.name[:64]
        what = f"There is no tool named {shown!r}." if shown else "The call names no tool."
        reading.refuse(call_id, shown, f"{what} {choice}")
        return one.doubtful
    if name != one.name:
        reading.repairs.append("tool name mended")
    if one.doubtful:
        reading.refuse(call_id, name, CUT_OFF)
        return True
    if name not in reading.allowed:
        reading.refuse(call_id, name, f"The tool {name} is not allowed now. {choice}")
        return False
    args = parse_arguments(one.arguments) if isinstance(one.arguments, str) else Found(one.arguments, 0, 0)
    if isinstance(args, CutOff):
        _read_part(one, call_id, name, reading)
        return True
    value = None if args is None else args.value
    mended = one.mended or (args is not None and args.mended)
    if isinstance(value, list) and len(value) == 1:
        value, mended = value[0], True
    if not isinstance(value, dict):
        several = "a list: make one call for each item" if isinstance(value, list) else "not readable"
        reading.refuse(call_id, name, f"The arguments of {name} must be one JSON object; they were {several}.")
        return False
    try:
        clean: dict[str, Any] = storable(value)
    except RecursionError:
        reading.refuse(call_id, name, f"The arguments of {name} are nested too deeply. Send a flat JSON object.")
        return False
    for key in _QUERY_KEYS:
        query = clean.get(key)
        if isinstance(query, str) and (kept := without_thoughts(query)) != query.strip():
            clean[key] = kept
            reading.repairs.append("thoughts stripped from a query")
    if mended:
        reading.repairs.append("arguments mended")
    clean, invented = without_invented(clean, reading.schemas.get(name))
    if invented:
        reading.repairs.append("invented keys left out")
    reading.calls.append(Call(call_id, name, clean))
    return False


def _read_part(one: Asked, call_id: str, name: str, reading: _Reading) -> None:
    """A call that was cut off: refused, or its whole entries taken and the rest asked for (CASES 4, 5)."""
    lists = complete_lists(one.arguments) if name in reading.in_parts and isinstance(one.arguments, str) else {}
    if not any(lists.values()):
        reading.refuse(call_id, name, CUT_OFF)
        return
    clean, _ = without_invented(storable(lists), reading.schemas.get(name))
    reading.calls.append(Call(call_id, name, clean))
    reading.repairs.append("whole entries of a cut-off call taken")
    rest = _derived_id(reading.key, -1 - len(reading.errors), len(reading.taken))
    reading.taken.add(rest)
    reading.refuse(rest, name, REST_CUT_OFF)


def _id_for(one: Asked, index: int, own: set[str | None], reading: _Reading) -> str:
    """The call's own id when it can be used and is new, else one derived from the key and the index."""
    if _usable_id(one.id) and one.id not in reading.taken:
        call_id = str(one.id)
    else:
        reading.repairs.append("call id given")
        salt = 0
        call_id = _derived_id(reading.key, index, salt)
        while call_id in reading.taken or call_id in own:
            salt += 1
            call_id = _derived_id(reading.key, index, salt)
    reading.taken.add(call_id)
    return call_id


def _derived_id(key: str, index: int, salt: int) -> str:
    seed = f"{key}\n{index}" if salt == 0 else f"{key}\n{index}\n{salt}"
    return "call_" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:24]


def _usable_id(call_id: Any) -> bool:
    return (
        isinstance(call_id, str)
        and call_id.isascii()
        and call_id.isprintable()
        and call_id == "".join(call_id.split()) != ""
    )


def _acceptable_name(name: str) -> str:
    if _ACCEPTABLE_NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed_tool"


def _name_text(name: Any) -> str:
    return name if isinstance(name, str) else ""


def _text_of(answer: AIMessage) -> str:
    if isinstance(answer.content, str):
        return answer.content
    parts = (part if isinstance(part, str) else _block_text(part) for part in answer.content)
    return "".join(part for part in parts)


def _block_text(block: dict[str, Any]) -> str:
    text = block.get("text") if block.get("type") in (None, "text", "output_text") else None
    return text if isinstance(text, str) else ""


def _finish_reason(answer: AIMessage) -> str:
    metadata = answer.response_metadata
    for name in ("finish_reason", "stop_reason", "done_reason"):
        if isinstance(metadata.get(name), str):
            return str(metadata[name]).casefold()
    return ""
