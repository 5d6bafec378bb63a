"""Reading the files of a run folder: bytes without following links, and JSON that forgets nothing it should not.

Nothing raises for what a folder holds: what cannot be read is a fault.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .fault import RECORDS, Fault

LARGEST_FILE = 1 << 28
"""A ledger file above this is not read: no run writes one, and reading takes memory (bytes)."""
SHOWN = 60
"""Characters of a value that a message repeats."""


class Doubled(dict[str, Any]):
    """A JSON object in which keys stood twice; `keys_twice` names them."""

    keys_twice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of `iterations.jsonl`, from 1. One that could not be read `is_json` not, which is a fault already."""

    number: int
    value: Any
    is_json: bool


def read_file(folder: Path, name: str) -> bytes | Fault:
    """The bytes of a file of the folder; a fault where it is missing, a link, no file, too large or not readable."""
    path = folder / name
    try:
        held = path.lstat()
        if stat.S_ISLNK(held.st_mode):
            return Fault(name, "", "is a link; a run folder holds its files itself, so that it can be moved")
        if not stat.S_ISREG(held.st_mode):
            return Fault(name, "", "is no file; remove it, and `zetetic resume` writes the file anew")
        if held.st_size > LARGEST_FILE:
            return Fault(name, "", f"has {held.st_size:,} bytes; no run writes more than {LARGEST_FILE:,}")
        return path.read_bytes()
    except FileNotFoundError:
        return Fault(name, "", "is missing; `zetetic resume` writes the folder anew from the database")
    except OSError as error:
        return Fault(name, "", f"cannot be read: {error.strerror or error}; make it readable")


def read_value(folder: Path, name: str) -> tuple[Any, list[Fault]]:
    """The JSON value of a file, and what is wrong with it as JSON; None where there is none."""
    data = read_file(folder, name)
    if isinstance(data, Fault):
        return None, [data]
    return parse(data, name)


def read_lines(folder: Path) -> tuple[list[Line] | None, list[Fault]]:
    """The records of `iterations.jsonl`, a JSON value a line; None where there is no such file to read."""
    data = read_file(folder, RECORDS)
    if isinstance(data, Fault):
        return None, [data]
    lines: list[Line] = []
    faults: list[Fault] = []
    whole, piece = split_torn(data)
    for number, text in enumerate(whole, 1):
        value, wrong = parse(text, RECORDS, number)
        lines.append(Line(number, value, is_json=value is not None or not wrong))
        faults += wrong
    if piece:
        what = f"is torn: {len(piece):,} bytes without a line break at the end"
        mend = "`zetetic validate DIR --repair` cuts them off and keeps a copy"
        faults.append(Fault(RECORDS, f"line {len(whole) + 1}", f"{what}; {mend}"))
    return lines, faults


def split_torn(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines, without their breaks, and what stands after the last break: b'' unless the file is torn."""
    *whole, piece = data.split(b"\n")
    return whole, piece


# JSON.


def parse(data: bytes, file: str, line: int = 0) -> tuple[Any, list[Fault]]:
    """A JSON value with its faults as JSON: where it ends to be any, doubled keys, and numbers that are none.

    `line` is the line of a file that holds a value a line; 0 for a file that holds one. Infinities and NaN stay in the
    value, for whoever checks its types to leave out.
    """

    def fault(where: str, message: str) -> Fault:
        return Fault(file, ", ".join(filter(None, (f"line {line}" if line else "", where))), message)

    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        place = "" if line else f"line {1 + data[: error.start].count(10)}"
        return None, [fault(place, f"is no UTF-8: byte {error.start + 1} is {data[error.start]:#04x}")]
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if line else f"line {error.lineno}, column {error.colno}"
        what = "is empty; it must hold a JSON object" if not data.strip() else f"is no JSON: {_reason(error)}"
        return None, [fault(place if data.strip() else "", what)]
    except RecursionError:
        return None, [fault("", "is nested too deeply to be a ledger")]
    return value, [fault(where, message) for where, message in _faults_within(value)]


def _reason(error: json.JSONDecodeError) -> str:
    if error.doc.startswith("\ufeff"):
        return "a byte order mark stands at its start"
    return error.msg[:1].lower() + error.msg[1:]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) == len(pairs):
        return held
    names = [name for name, _ in pairs]
    doubled = Doubled(held)
    doubled.keys_twice = tuple(name for name in held if names.count(name) > 1)
    return doubled


def _whole(text: str) -> int | float:
    """A whole number as JSON has it; -0 is none, and one with thousands of digits is beyond all bounds."""
    if text == "-0":
        return -0.0
    try:
        return int(text)
    except ValueError:
        return float("-inf") if text.startswith("-") else float("inf")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_whole)


def _faults_within(value: Any) -> Iterator[tuple[str, str]]:
    """Doubled keys and numbers that JSON does not have, anywhere in a value; without recursion, for it may be deep."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        where, held = waiting.pop()
        if isinstance(held, Doubled):
            for name in held.keys_twice:
                yield field(where, name), "stands twice in one object; keep one of them"
        if isinstance(held, dict):
            waiting += [(field(where, name), inner) for name, inner in reversed(held.items())]
        elif isinstance(held, list):
            waiting += [(f"{where}[{n}]", inner) for n, inner in reversed(list(enumerate(held)))]
        elif is_no_number(held):
            yield where, f"is {held}, which is no number; give a finite one"


def is_no_number(value: Any) -> bool:
    """Whether a value is NaN or an infinity, as Python's reader of JSON lets them in."""
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def field(where: str, name: str) -> str:
    """The path of a field within a value, such as `budget_delta.tokens`."""
    shown = name if name.isidentifier() else json.dumps(name[:SHOWN])
    return f"{where}.{shown}" if where else shown


def shown(value: Any) -> str:
    """A value as a message repeats it."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            text = json.dumps(value[: SHOWN + 1], ensure_ascii=False)
            return text if len(value) <= SHOWN else f'{text[:SHOWN]}…"'
        case _:
            return json.dumps(value)


# Links.


def through_link(folder: Path, parts: tuple[str, ...]) -> str:
    """The first part of a path below the folder that is a link, or ''. Raises OSError where a part is missing."""
    place = folder
    for part in parts:
        place = place / part
        if stat.S_ISLNK(os.lstat(place).st_mode):
            return place.relative_to(folder).as_posix()
    return ""
