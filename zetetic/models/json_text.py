"""JSON as models write it: after thoughts, inside fences, before prose, with bad escapes, or cut off.

Reading is tolerant of form and strict about the end: a value whose brackets never close is `CutOff`, and is never
completed by guessing (CASES 2 to 5). Pure; nothing here raises for any text.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TAG = re.compile(
    r"(?P<opening><(?:seed:)?(?:think|thinking|thought|thoughts|reasoning)(?:\s[^<>]{0,100})?>"
    r"|◁think▷|\[THINK\]|<\|channel\|>analysis<\|message\|>)"
    r"|(?P<closing></(?:seed:)?(?:think|thinking|thought|thoughts|reasoning)\s*>"
    r"|◁/think▷|\[/THINK\]|(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>)"
    r"|(?P<ending><\|end\|>)",
    re.IGNORECASE,
)
_START = re.compile(r"""\{(?=\s*["'}])|\[(?=\s*(?:["'{\[\]\-\d]|true|false|null))""")
_TOKEN = re.compile(r'["\\{}\[\]]')
_REPAIRABLE = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.)|$)', re.DOTALL)
_SPACE = re.compile(r"\s*")
_KEY = re.compile(r'[\s,]*"([^"\\]{1,64})"\s*:\s*')
_ITEM = re.compile(r"[\s,]*(?=[{\"])")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MAX_LITERAL = 20_000
"""Characters of a Python literal that is read: bounds the work on hostile text."""
_MAX_FAILED_STARTS = 64
"""How many opening brackets that lead nowhere are tried in one text: bounds the work on hostile text."""


@dataclass(frozen=True, slots=True)
class Found:
    """One JSON value in a text: its characters `start:end`, and whether its form had to be mended."""

    value: Any
    start: int
    end: int
    mended: bool = False


@dataclass(frozen=True, slots=True)
class CutOff:
    """A JSON value that opens at `start` and never closes."""

    start: int


def without_thoughts(text: str) -> str:
    """The text without reasoning: what stands between tags, after an unclosed one, and before a closing tag that was
    never opened (chat templates swallow the opening one)."""
    kept: list[str] = []
    thinking = False
    position = 0
    for tag in _TAG.finditer(text):
        if not thinking:
            kept.append(text[position : tag.start()])
        if tag["opening"]:
            thinking = True
        elif tag["closing"] and not thinking:
            kept.clear()
        else:
            thinking = False
        position = tag.end()
    if not thinking:
        kept.append(text[position:])
    return "".join(kept).strip()


def values_in(text: str) -> Iterator[Found | CutOff]:
    """Every outermost JSON object or array in the text, in order; one that never closes ends the walk."""
    position = failed = 0
    while failed < _MAX_FAILED_STARTS and (opening := _START.search(text, position)) is not None:
        start = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = _balanced_end(text, start)
            if end < 0:
                yield CutOff(start)
                return
            mended = _mend(text[start:end])
            if mended is None:
                failed += 1
                position = start + 1
                continue
            yield Found(mended[0], start, end, mended=True)
        else:
            yield Found(value, start, end)
        position = end


def first_json(text: str) -> Any | None:
    """The first balanced JSON object or array after the thoughts, or None (CASES 2, 3).

    An array of numbers only, such as a reference `[1]` in prose, is passed over when anything better follows.
    """
    fallback: Any | None = None
    for found in values_in(without_thoughts(text)):
        if isinstance(found, CutOff):
            break
        value = found.value
        if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
            fallback = value if fallback is None else fallback
            continue
        return value
    return fallback


def complete_lists(text: str) -> dict[str, list[Any]]:
    """The lists of a JSON object that is cut off, each with its whole items: what can be kept while the rest is asked
    for again (CASES 4). What is not a list, or not whole, is left out."""
    lists: dict[str, list[Any]] = {}
    position = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text[position : position + 1] != "{":
        return lists
    position += 1
    while (key := _KEY.match(text, position)) is not None:
        position = key.end()
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            if text[position : position + 1] == "[":
                lists[key[1]] = _whole_items(text, position + 1)
            break
        if isinstance(value, list):
            lists[key[1]] = value
    return lists


def _whole_items(text: str, position: int) -> list[Any]:
    """The objects and texts of an array that stand whole from here on."""
    items: list[Any] = []
    while (opening := _ITEM.match(text, position)) is not None:
        try:
            value, position = _DECODER.raw_decode(text, opening.end())
        except (ValueError, RecursionError):
            break
        items.append(value)
    return items


def parse_arguments(text: str) -> Found | CutOff | None:
    """Tool arguments as they were sent: the JSON value in them, `CutOff`, or None when there is none.

    Double encoding is undone, at most three times. Empty text is an empty object: models send it for tools without
    arguments.
    """
    stripped = text.strip()
    if not stripped:
        return Found({}, 0, 0)
    for _ in range(3):
        try:
            value = json.loads(stripped, strict=False, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, str):
            return Found(value, 0, len(text), mended=stripped != text.strip())
        stripped = value.strip()
    if stripped.startswith('"'):
        return CutOff(0) if not _closes(stripped) else None
    found = next(values_in(stripped), None)
    if isinstance(found, Found):
        return Found(found.value, 0, len(text), mended=True)
    return found


def storable(value: Any) -> Any:
    """The value without what no database or wire accepts: NUL and lone surrogates, and numbers that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    return value


def _balanced_end(text: str, start: int) -> int:
    """Where the bracket at `start` is closed (exclusive), reading JSON strings as such; -1 if it never is."""
    depth = 0
    in_string = False
    position = start
    while (token := _TOKEN.search(text, position)) is not None:
        mark, position = token.group(), token.end()
        if mark == "\\":
            position += 1 if in_string else 0
        elif mark == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif mark in "{[":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return position
    return -1


def _closes(text: str) -> bool:
    return re.fullmatch(r'"(?:[^"\\]|\\.)*"\s*', text, re.DOTALL) is not None


def _mend(span: str) -> tuple[Any] | None:
    """The value of a balanced span whose JSON is only malformed: bad escapes, trailing commas, Python literals."""

    def mend_token(token: re.Match[str]) -> str:
        return "" if token.group() == "," else _BAD_ESCAPE.sub(mend_escape, token.group())

    def mend_escape(escape: re.Match[str]) -> str:
        if escape[1]:
            return escape.group()
        return "'" if escape[2] == "'" else "\\\\" + (escape[2] or "")

    try:
        return (_DECODER.decode(_REPAIRABLE.sub(mend_token, span)),)
    except (ValueError, RecursionError):
        pass
    if "\x00" in span or len(span) > _MAX_LITERAL or not set(_ESCAPE.findall(span)) <= set("nrt'\"\\"):
        return None  # an escape that the two languages read differently is not guessed at
    try:
        value = ast.literal_eval(span)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, SyntaxWarning):
        return None
    return (value,) if isinstance(value, dict | list) else None
