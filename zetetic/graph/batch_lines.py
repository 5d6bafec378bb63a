"""The lines of a batch: what each asks, and what it may set for itself (DESIGN: Interfaces)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zetetic.nodes.context import BOUNDS

OWN = (*("documents", "search", "fetch", "mode", "loop", "user"), *BOUNDS)
"""What of the context a line may set for itself, besides the names of models; never an address that gets the key, a
place to write to, or one that is not public."""
MODELS = ("model", "worker", "evaluator", "extractor", "fallback")


class Line(BaseModel):
    """One line of a batch: an objective, and what goes with it. Fields of the context stand in `settings`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = ""
    objective: str
    criteria: list[str] = Field(default_factory=list)
    scope: str = ""
    exclusions: list[str] = Field(default_factory=list)
    directives: list[str] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A line with its number in the file, and its place among equal ones; `fault` says why it cannot be run."""

    number: int
    line: Line | None = None
    place: int = 1
    fault: str = ""

    @property
    def label(self) -> str:
        """What it is called in messages: its own id, else its number."""
        return self.line.id if self.line is not None and self.line.id else f"line {self.number}"


def read_lines(lines: Iterable[str | Mapping[str, Any]]) -> list[Item]:
    """The lines of a batch: an objective, a JSON object, which begins with a brace, or a mapping. Empty ones are left
    out; equal ones are told apart by their order."""
    seen: Counter[str] = Counter()
    items: list[Item] = []
    for number, given in enumerate(lines, 1):
        if isinstance(given, str) and not given.strip():
            continue
        try:
            line = parse_line(given)
        except ValueError as fault:
            items.append(Item(number, fault=str(fault)))
            continue
        told = json.dumps(line.model_dump(), sort_keys=True)
        seen[told] += 1
        items.append(Item(number, line, seen[told]))
    return items


def parse_line(line: str | Mapping[str, Any]) -> Line:
    """One line as a value. Raises ValueError in words that say what to mend."""
    if isinstance(line, str) and not line.lstrip().startswith("{"):
        return _plain(line.strip())
    try:
        given = json.loads(line) if isinstance(line, str) else dict(line)
    except ValueError as error:
        raise ValueError(f"The line begins like a JSON object and is none ({error}): mend it.") from None
    settings = {name: given.pop(name) for name in (*OWN, *MODELS) if name in given}
    for name in BOUNDS:
        value = settings.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError(f"{name} is a number, and {value!r} is none.")
    for name in MODELS:
        if not isinstance(settings.get(name, ""), str):
            raise ValueError(f"{name} is the name of a model, as a text.")
    if not all(isinstance(one, str) for one in as_list(settings.get("search", ""))):
        raise ValueError("search is a list of names of search providers.")
    try:
        whole = Line.model_validate({**given, "settings": given.get("settings", settings)})
    except ValidationError as error:
        raise ValueError(in_words(error)) from None
    if "settings" in given or not whole.objective.strip():
        raise ValueError(
            "Write the fields of settings beside the objective."
            if "settings" in given
            else "The objective is empty: say what is to be found out."
        )
    return whole


def _plain(text: str) -> Line:
    """An objective as it stands. What is JSON and no object, or no text at all, was meant as something else."""
    if "\ufffd" in text:
        raise ValueError("The line is not UTF-8: save the file as UTF-8.")
    try:
        given = json.loads(text)
    except ValueError:
        return Line(objective=text)
    raise ValueError(f"The line is JSON ({type(given).__name__}) and no object: write a text, or an object.")


def in_words(error: ValidationError) -> str:
    """The first fault of a line in a sentence that names the field."""
    fault = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"The line has no {name}: say what is to be found out."
    if fault["type"] == "extra_forbidden":
        can = [field for field in Line.model_fields if field != "settings"]
        return f"{name} cannot be set on a line; {', '.join((*can, *OWN[:6], *MODELS))} and the bounds can."
    says = str(fault["msg"]).removeprefix("Input ").removeprefix("Value error, ")
    return f"{name}: {says}." if name else f"{says}."


def as_list(value: Any) -> list[Any]:
    """The value, if it is a list; else one with nothing but it."""
    return value if isinstance(value, list) else [value]
