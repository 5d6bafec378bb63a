"""The run folder on disk: a projection of the research, each file replaced as a whole or not at all (L2, LEDGER.md).

The functions block; call them in a thread. They raise OSError where the folder cannot be written.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from zetetic.state.research import Research
from zetetic.state.values import Directive, RunStatus
from zetetic.state.wording import one_line

from .contents import has_report
from .ledger import budget, iteration_records, loop_state, recovery, timestamp
from .report import PagePath, render_report


def write_run_folder(
    research: Research,
    folder: Path,
    at: datetime,
    *,
    page_path: PagePath | None = None,
    proof_ids: Sequence[str] = (),
    unproven: str = "",
) -> None:
    """Writes the folder's files; the ledger's records before its state, so that a state never counts ahead.

    `proof_ids` are cited as the proof of a success; `unproven` says why there is none to cite, although there should.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_records(folder / "iterations.jsonl", iteration_records(research, proof_ids, unproven))
    write_atomically(folder / "budget.json", _json(budget(research, at)))
    write_atomically(folder / "recovery.md", recovery(research, at, unproven))
    write_receipts(research, folder)
    if has_report(research):
        write_atomically(folder / "report.md", render_report(research, page_path))
    write_atomically(folder / "loop_state.json", _json(loop_state(research, unproven)))


def write_receipts(research: Research, folder: Path) -> None:
    """Writes `DIRECTIVES.md` alone, right after a directive was given or delivered; nothing where there is none."""
    if research.directives:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "DIRECTIVES.md", receipts(research.directives, research.status))


def receipts(directives: Sequence[Directive], status: RunStatus = "running") -> str:
    """`DIRECTIVES.md`: each directive as it was given, and in which attempt it was delivered or why it waits (A24)."""
    waiting = "Not yet delivered."
    if status == "complete":
        waiting = "Not delivered: the run was complete before another attempt began."
    elif status != "running":
        waiting = f"Not yet delivered: the run is {status}, and it waits for the first attempt after a resume."
    parts = ["# Directives"]
    for directive in directives:
        state = f"Delivered in attempt {directive.delivered_in}." if directive.delivered_in else waiting
        parts += [f"## {directive.number}: from {one_line(directive.who)}", directive.text]
        parts.append(f"Given {timestamp(directive.at)}. {state}")
    return "\n\n".join(parts) + "\n"


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file: temporary file beside it, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Appends what is new, as whole lines, when the file holds the earlier records; otherwise replaces it.

    A torn last line, from a process that died while writing, is replaced with the whole file.
    """
    lines = [json.dumps(record, allow_nan=False) + "\n" for record in records]
    held = "" if path.is_symlink() or not path.exists() else path.read_bytes().decode("utf-8", "replace")
    whole = "".join(lines)
    if held == whole and path.exists():
        return
    done = held.count("\n")
    if not held or held != "".join(lines[:done]):
        write_atomically(path, whole)
        return
    with path.open("ab") as file:
        file.write("".join(lines[done:]).encode())
        file.flush()
        os.fsync(file.fileno())


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
