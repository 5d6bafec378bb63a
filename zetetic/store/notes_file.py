"""The notes of a run: every version as a row, the latest as a file (D26 to D28)."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import RowMapping, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from zetetic.state.notes import notes_of, render_notes
from zetetic.state.research import Research

from . import schema

_LOG = logging.getLogger(__name__)
USER_LENGTH = 64


@dataclass(frozen=True, slots=True)
class NotesVersion:
    """The notes after one write: what wrote them, and at which event and recorded state."""

    seq: int
    event_seq: int
    state_seq: int
    reason: str
    text: str
    created_at: datetime


class NotesFiles:
    """The files of all runs below one folder. A file is a copy: the versions in the database are the record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, research: Research) -> Path:
        """Where the notes of a run are: `<run>/notes_<user>_<run>_<notes_id>.md` (D28)."""
        run = _safe(research.run_id)
        name = f"notes_{_safe(research.user)[:USER_LENGTH]}_{run}_{_safe(research.notes_id)}.md"
        return self.folder / run / name

    def write(self, research: Research, text: str) -> Path:
        """Replaces the file as a whole, by a temporary file in the same folder. Raises OSError."""
        path = self.path(research)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".notes_", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    def copy(self, research: Research, text: str) -> None:
        """Writes the file after a commit. What is in the database stands also where the file cannot be written."""
        try:
            self.write(research, text)
        except OSError as error:
            _LOG.warning("The notes of run %s are stored, but not as a file: %s", research.run_id, error)


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return safe if safe.strip(".") else "_" * len(safe)  # `..` is a folder above


def rendered(research: Research) -> str:
    """The notes of a research as text."""
    return render_notes(notes_of(research))


async def latest(connection: AsyncConnection, run_id: str) -> NotesVersion | None:
    """The newest version of a run's notes."""
    table = schema.notes_versions
    newest = select(table).where(table.c.run_id == run_id).order_by(table.c.seq.desc()).limit(1)
    row = (await connection.execute(newest)).one_or_none()
    return None if row is None else _version(row._mapping)


async def versions(connection: AsyncConnection, run_id: str) -> list[NotesVersion]:
    """All versions of a run's notes, oldest first."""
    table = schema.notes_versions
    rows = await connection.execute(select(table).where(table.c.run_id == run_id).order_by(table.c.seq))
    return [_version(row._mapping) for row in rows]


def _version(row: RowMapping) -> NotesVersion:
    return NotesVersion(**{name: value for name, value in row.items() if name != "run_id"})


async def add_version(
    connection: AsyncConnection, research: Research, text: str, reason: str, at: datetime, *, always: bool = False
) -> bool:
    """Adds a version when the text differs from the newest one, or `always`. Tells whether it did."""
    before = await latest(connection, research.run_id)
    if before is not None and before.text == text and not always:
        return False
    row = {
        "run_id": research.run_id,
        "seq": 1 if before is None else before.seq + 1,
        "event_seq": research.version,
        "state_seq": research.turn.seq,
        "reason": reason,
        "text": text,
        "created_at": at,
    }
    await connection.execute(insert(schema.notes_versions), row)
    return True
