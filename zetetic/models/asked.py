"""Tool calls as a model asks for them: the name that is meant, and calls that were written as JSON in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from zetetic.models.json_text import CutOff, values_in

_NAME_KEYS = ("name", "tool", "tool_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "action_input", "tool_input", "input")
_TAGGED = re.compile(r"<(?:tool_call|function_call|tool)>|<function=(?P<name>[\w.\-]{1,64})>", re.IGNORECASE)
_TAGS = re.compile(
    r"</?(?:tool_call|function_call|tool)>|</?function(?:=[\w.\-]{1,64})?>|\[TOOL_CALLS\]", re.IGNORECASE
)
_FENCE = re.compile(r"```[\w-]*\s*```")
_NAMED = re.compile(r'"(?:name|tool|tool_name|action)"\s*:\s*"([^"]{1,64})"')


@dataclass(slots=True)
class Asked:
    """A call as the model asked for it.

    `arguments` is text as sent, or a value that was already parsed. `doubtful`: it may be cut off, and is not to be
    run. `mended`: its JSON was malformed.
    """

    id: str | None
    name: str
    arguments: Any
    doubtful: bool = False
    mended: bool = False


def asked_in_text(text: str, known: frozenset[str]) -> tuple[list[Asked], str, bool]:
    """Calls written as JSON in the text, the text without them, and whether one was cut off (CASES 5)."""
    asked: list[Asked] = []
    spans: list[tuple[int, int]] = []
    for found in values_in(text):
        start = found.start
        before = text[max(0, start - 80) : start].rstrip()
        tags = list(_TAGGED.finditer(before))
        tag = tags[-1] if tags and tags[-1].end() == len(before) else None
        function = tag["name"] if tag else None
        if isinstance(found, CutOff):
            name = _NAMED.search(text, start)
            cut_name = function or (name[1] if name else "")
            if tag or (cut_name and known_name(cut_name, known)):
                asked.append(Asked(None, cut_name, None, doubtful=True))
                return asked, _clean(text, [*spans, (start, len(text))]), True
            continue
        if function:
            these: list[Asked | None] = [Asked(None, function, found.value)]
        else:
            items = found.value if isinstance(found.value, list) else [found.value]
            these = [_call_shape(item, known, tagged=tag is not None) for item in items]
        calls = [one for one in these if one is not None]
        if calls and len(calls) == len(these):
            asked += [replace(one, mended=found.mended) for one in calls]
            spans.append((start, found.end))
    return asked, _clean(text, spans) if spans else text, False


def _call_shape(item: Any, known: frozenset[str], *, tagged: bool) -> Asked | None:
    """The call that a JSON object in text spells, or None: it needs a name and arguments, and a known tool unless it
    stood in a tool-call tag."""
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("function"), dict):
        item = item["function"]
    name = next((item[key] for key in _NAME_KEYS if isinstance(item.get(key), str)), None)
    if name is None:
        return None
    if known_name(name, known) is None and not tagged:
        return None
    for key in _ARGUMENT_KEYS:
        if key in item:
            return Asked(None, name, item[key])
    return Asked(None, name, {}) if tagged else None


def known_name(name: str, known: frozenset[str]) -> str | None:
    """The tool that is meant: as written, without a namespace, with another case, or written twice (CASES 7)."""
    bare = re.split(r"[.:/]", name.strip())[-1]
    for candidate in (name, name.strip(), bare):
        if candidate in known:
            return candidate
    for tool in sorted(known):
        if tool.casefold() == bare.casefold():
            return tool
        if tool and len(bare) > len(tool) and bare == tool * (len(bare) // len(tool)):
            return tool
    return None


def _clean(text: str, spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    position = 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return _FENCE.sub("", _TAGS.sub("", "".join(kept))).strip().removesuffix("```json").removesuffix("```").strip()
