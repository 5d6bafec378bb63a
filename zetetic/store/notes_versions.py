"""The versions of a run's notes (D26 to D28): a whole text now and then, and what changed from version to version.

A whole text is due once the differences since the last one have come to its length. So what a change costs does not
grow with the notes, and reading a version takes at most twice its length.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select

from zetetic.state.notes import notes_of, render_notes
from zetetic.state.research import Research

from .errors import StoreError
from .recent import Recent
from .schema import notes_versions

KEPT_NOTES = 64
COMPARED_LINES = 2000
"""Lines that are compared one by one; a longer stretch that differs is replaced as a whole."""


@dataclass(frozen=True, slots=True)
class NotesVersion:
    """The notes after one write: what wrote them, and at which event and recorded state."""

    seq: int
    event_seq: int
    state_seq: int
    reason: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest version of a run, and the characters of the differences since the last whole text."""

    seq: int
    text: str
    differing: int


class NotesLog:
    """Reads and adds versions within a transaction of the caller's. Only committed ones are kept: see `keep`."""

    def __init__(self) -> None:
        self._heads: Recent[str, Kept] = Recent(KEPT_NOTES)

    def keep(self, run_id: str, kept: Kept) -> None:
        """Keeps the newest version of a run, once it is committed."""
        known = self._heads.get(run_id)
        if known is None or known.seq < kept.seq:
            self._heads.put(run_id, kept)

    def at_head(self, connection: Connection, run_id: str) -> Kept | None:
        """The newest version of a run's notes."""
        table = notes_versions
        newest = connection.execute(select(func.max(table.c.seq)).where(table.c.run_id == run_id)).scalar()
        if newest is None:
            return None
        kept = self._heads.get(run_id)
        if kept is not None and kept.seq == newest:
            return kept
        whole = select(func.max(table.c.seq)).where(table.c.run_id == run_id, table.c.whole)
        chain = (
            select(table).where(table.c.run_id == run_id, table.c.seq >= whole.scalar_subquery()).order_by(table.c.seq)
        )
        rows = [row._mapping for row in connection.execute(chain)]
        versions = _read(rows)
        return Kept(newest, versions[-1].text, sum(len(row["text"]) for row in rows[1:]))

    def add(
        self,
        connection: Connection,
        research: Research,
        text: str,
        reason: str,
        at: datetime,
        *,
        always: bool = False,
    ) -> Kept | None:
        """Adds a version when the text differs from the newest one, or `always`, and gives it; else None."""
        before = self.at_head(connection, research.run_id)
        if before is None:
            kept, stored, whole = Kept(1, text, 0), text, True
        elif before.text == text and not always:
            return None
        else:
            change = difference(before.text, text)
            differing = before.differing + len(change)
            whole = differing > len(text)
            kept = Kept(before.seq + 1, text, 0 if whole else differing)
            stored = text if whole else change
        row = {
            "run_id": research.run_id,
            "seq": kept.seq,
            "event_seq": research.version,
            "state_seq": research.turn.seq,
            "reason": reason,
            "text": stored,
            "created_at": at,
            "whole": whole,
        }
        connection.execute(insert(notes_versions), row)
        return kept


def rendered(research: Research) -> str:
    """The notes of a research as text."""
    return render_notes(notes_of(research))


def versions(connection: Connection, run_id: str) -> list[NotesVersion]:
    """All versions of a run's notes, each with its whole text, oldest first."""
    table = notes_versions
    rows = connection.execute(select(table).where(table.c.run_id == run_id).order_by(table.c.seq))
    return _read(row._mapping for row in rows)


def _read(rows: Iterable[RowMapping]) -> list[NotesVersion]:
    """The versions of rows that follow one another, from a whole text on."""
    found: list[NotesVersion] = []
    for row in rows:
        given: dict[str, Any] = {name: value for name, value in row.items() if name not in ("run_id", "whole")}
        if not row["whole"]:
            if not found or found[-1].seq != row["seq"] - 1:
                raise StoreError(
                    f"Version {row['seq']} of the notes of run {row['run_id']} lacks the one before it. Restore the "
                    "database from a copy."
                )
            given["text"] = changed(found[-1].text, row["text"])
        found.append(NotesVersion(**given))
    return found


# differences


def difference(before: str, after: str) -> str:
    """What makes one text of another: JSON of [start, end, new text] in characters of the first, from its start on."""
    return json.dumps(_edits(before, after), ensure_ascii=False, separators=(",", ":"))


def changed(before: str, change: str) -> str:
    """The text that a difference makes of the one before."""
    parts: list[str] = []
    at = 0
    for start, end, new in json.loads(change):
        parts += [before[at:start], new]
        at = end
    return "".join([*parts, before[at:]])


def _edits(before: str, after: str) -> list[tuple[int, int, str]]:
    start, end = _alike(before, after)
    # Whole lines are compared, so what is alike at the ends is cut to whole lines too.
    start = before.rfind("\n", 0, start) + 1
    cut = before.find("\n", len(before) - end)
    end = len(before) - cut if cut >= 0 else 0
    old = before[start : len(before) - end].splitlines(keepends=True)
    new = after[start : len(after) - end].splitlines(keepends=True)
    if len(old) > COMPARED_LINES or len(new) > COMPARED_LINES:
        return [(start, len(before) - end, after[start : len(after) - end])]
    places = [start]
    for line in old:
        places.append(places[-1] + len(line))
    edits = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            edits.append(_trimmed(places[a], "".join(old[a:b]), "".join(new[c:d])))
    return edits


def _trimmed(start: int, old: str, new: str) -> tuple[int, int, str]:
    """An edit without the characters that stay as they are at its ends."""
    first, last = _alike(old, new)
    return start + first, start + len(old) - last, new[first : len(new) - last]


def _alike(a: str, b: str) -> tuple[int, int]:
    """How many characters two texts share at the start, and how many of the rest at the end."""
    first = _shared(a, b)
    return first, _shared(a[first:][::-1], b[first:][::-1])


def _shared(a: str, b: str) -> int:
    """The length of the common start, by halving: comparing slices is quick, one character after another is not."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
