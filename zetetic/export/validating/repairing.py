"""Mending the one thing that can be mended from the folder alone: a torn last line of `iterations.jsonl` (L13)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .fault import BUDGET, RECORDS, Fault
from .reading import parse, read_file, read_value, split_torn


def repair_torn_line(folder: Path) -> Path | None:
    """Cuts the torn piece off, after the file was copied to `iterations.jsonl.torn-<n>`; gives the copy's path.

    A piece that is a whole record which the budget counts lacks its line break only, and gets it. None where nothing is
    torn: then nothing is touched. Raises OSError where the folder cannot be written.
    """
    data = read_file(folder, RECORDS)
    if isinstance(data, Fault):
        return None
    whole, piece = split_torn(data)
    if not piece:
        return None
    copy = _kept(folder, data)
    is_whole = _is_counted(folder, piece, len(whole) + 1)
    with (folder / RECORDS).open("r+b") as file:
        if is_whole:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        else:
            file.truncate(len(data) - len(piece))
        file.flush()
        os.fsync(file.fileno())
    return copy


def _is_counted(folder: Path, piece: bytes, number: int) -> bool:
    value, _ = parse(piece, RECORDS, number)
    budget, _ = read_value(folder, BUDGET)
    return isinstance(value, dict) and isinstance(budget, dict) and _reaches(budget.get("spent_iterations"), number)


def _reaches(count: Any, number: int) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and count >= number


def _kept(folder: Path, data: bytes) -> Path:
    number = 1
    while True:
        copy = folder / f"{RECORDS}.torn-{number}"
        try:
            file = copy.open("xb")
        except FileExistsError:
            number += 1
            continue
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return copy
