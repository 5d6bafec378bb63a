"""What goes to the terminal: results to stdout, everything else to stderr, and no secret to either."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHORTEST_SECRET = 6
"""A shorter value is no key, and would blot out ordinary words (characters)."""


class UserError(Exception):
    """What the person who typed the command must mend, in one sentence; ends the command with exit code 2."""


def plain(text: str) -> str:
    """Text without control characters: what a page or a model says moves no cursor."""
    return _CONTROL.sub("", text)


def redacted(text: str) -> str:
    """Text without the keys that stand in the environment."""
    for name, value in os.environ.items():
        if name.upper().endswith(("_API_KEY", "_TOKEN", "_SECRET")) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "[secret]")
    return text


def say(text: str) -> None:
    """Writes a line to stderr. That nobody reads it is no reason to stop."""
    with contextlib.suppress(OSError, ValueError):
        print(redacted(plain(text)), file=sys.stderr, flush=True)


def give(text: str) -> None:
    """Writes a result to stdout, as text that ends in one newline. Raises BrokenPipeError when nobody reads it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.stdout.write(f"{plain(text).rstrip()}\n")
    sys.stdout.flush()


def give_json(value: Any) -> None:
    """Writes one JSON value to stdout."""
    give(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def give_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes rows in aligned columns; the last column runs to its end."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head) - 1)]
    give("\n".join("  ".join([*map(str.ljust, line[:-1], widths), line[-1]]).rstrip() for line in lines))


def deaf_stdout() -> None:
    """After a broken pipe: what Python still flushes when it ends goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def as_typed(text: str) -> str:
    """An argument of the command line as valid text: bytes that are no UTF-8 become the replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def typed_or_read(text: str) -> str:
    """The argument, or all of stdin where it is `-`."""
    if text != "-":
        return as_typed(text)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    except OSError as error:
        raise UserError(f"Standard input cannot be read: {error.strerror or error}.") from error
