"""The event log of a run: reading it back as a research, and appending to it (D1).

What a load costs does not grow with the run: a snapshot every `SNAPSHOT_EVERY` events, of which older ones are thinned
out, and the last researches kept in memory, so that only new events are read. So is the one that an attempt began with,
for which each of its turns asks: read from a snapshot it would share no record with the head, which takes the room of a
second research, and all that is made of records would be made twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, bindparam, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from zetetic.state.events import EVENT, Event
from zetetic.state.evolve import evolve
from zetetic.state.research import Research

from . import schema, storage
from .errors import Conflict, StoreError
from .projection import moved_questions, project
from .recent import Recent
from .rows import write

SNAPSHOT_EVERY = 200
"""Events between two snapshots."""
KEPT_RUNS = 64
"""As many as a process may well have under way: a run that is not kept is read anew at every step."""
KEPT_PASTS = 128
# What every step asks is made once: SQLAlchemy takes longer to make a statement than SQLite to answer it.
_HEAD = select(func.max(storage.events.c.seq)).where(storage.events.c.run_id == bindparam("of_run"))


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An event where it stands in the log, and who wrote it under which step key (LANGGRAPH.md)."""

    seq: int
    event: Event
    worker: str
    step_key: str
    at: datetime


class Log:
    """Reads and appends within a transaction of the caller's. Only committed researches are kept: see `keep`."""

    def __init__(self) -> None:
        self._heads: Recent[str, Research] = Recent(KEPT_RUNS)
        self._pasts: Recent[tuple[str, int], Research] = Recent(KEPT_PASTS)
        self._keeping = Lock()

    def keep(self, run_id: str, research: Research) -> None:
        """Keeps the research at the head of a run, once it is committed."""
        with self._keeping:
            known = self._heads.get(run_id)
            if known is None or known.version < research.version:
                self._heads.put(run_id, research)
                attempt = research.attempt
                if known is not None and attempt is not None and attempt.base_version >= known.version:
                    self._pasts.put((run_id, known.version), known)

    def kept(self, run_id: str, as_of: int | None, at_least: int | None) -> Research | None:
        """The research in memory: the one as of an event, which never changes, or one that has come at least so far."""
        head = self._heads.get(run_id)
        if as_of is None:
            return head if head is not None and at_least is not None and head.version >= at_least else None
        return head if head is not None and head.version == as_of else self._pasts.get((run_id, as_of))

    def head(self, connection: Connection, run_id: str) -> int:
        """The sequence number of a run's last event; 0 when there is none."""
        return connection.execute(_HEAD, {"of_run": run_id}).scalar() or 0

    def at_head(self, connection: Connection, run_id: str) -> Research:
        """The research of a run now; an empty one when it has no events."""
        head = self.head(connection, run_id)
        return self._as_of(connection, run_id, head) if head else Research()

    def load(self, connection: Connection, run_id: str, as_of: int | None) -> Research:
        """The research as of an event, or now. Raises StoreError for an unknown run or a position not reached."""
        head = self.head(connection, run_id)
        if head == 0:
            raise StoreError(f"There is no run {run_id!r} in this database. `zetetic runs` lists those there are.")
        position = head if as_of is None else as_of
        if not 0 <= position <= head:
            raise StoreError(f"Run {run_id} has {head} events; there is no position {position}.")
        research = self._as_of(connection, run_id, position)
        if position == head:
            self.keep(run_id, research)
        else:
            self._pasts.put((run_id, position), research)
        return research

    def _as_of(self, connection: Connection, run_id: str, position: int) -> Research:
        kept = self._heads.get(run_id)
        if kept is not None and kept.version > position:
            before = [past for (run, seq), past in self._pasts.items() if run == run_id and seq <= position]
            kept = max(before, key=lambda past: past.version, default=None)
        if kept is not None and kept.version == position:
            return kept
        if kept is None or position - kept.version > SNAPSHOT_EVERY:
            snapshot = self._snapshot(connection, run_id, position)
            kept = snapshot if kept is None or snapshot.version > kept.version else kept
        entries = self.entries(connection, run_id, kept.version, position)
        research = kept
        for entry in entries:
            if entry.event.event == "attempt_started":
                self._pasts.put((run_id, research.version), research)
            research = evolve(research.seen_by(entry.worker), entry.event)
        if research.version != position:
            raise StoreError(
                f"The log of run {run_id} lacks events before {position}. Restore the database from a copy."
            )
        return research

    def _snapshot(self, connection: Connection, run_id: str, position: int) -> Research:
        table = storage.snapshots
        newest = (
            select(table.c.body)
            .where(table.c.run_id == run_id, table.c.seq <= position, table.c.shape == _shape())
            .order_by(table.c.seq.desc())
            .limit(1)
        )
        body = connection.execute(newest).scalar()
        return Research() if body is None else Research.model_validate_json(body)

    def entries(self, connection: Connection, run_id: str, after: int = 0, until: int | None = None) -> list[LogEntry]:
        """The events of a run after one, in order, up to and with another."""
        table = storage.events
        found = select(table).where(table.c.run_id == run_id, table.c.seq > after).order_by(table.c.seq)
        if until is not None:
            found = found.where(table.c.seq <= until)
        rows = connection.execute(found).all()
        return [LogEntry(r.seq, _event(run_id, r.seq, r.body), r.worker, r.step_key, r.at) for r in rows]

    def append(
        self,
        connection: Connection,
        run_id: str,
        before: Research,
        happened: Sequence[Event],
        *,
        worker: str = "",
        step_key: str = "",
    ) -> tuple[Research, tuple[Event, ...]]:
        """Writes events after `before`, with their projection, and gives the research after them and what was stored.

        Raises Conflict when another writer appended since `before`, StoreError when an event cannot be read back.
        """
        if before.version == 0 and happened[0].event != "run_opened":
            raise StoreError(f"There is no run {run_id!r} in this database. `zetetic runs` lists those there are.")
        bodies = [event_text(event) for event in happened]
        stored = tuple(_event(run_id, before.version + n, body) for n, body in enumerate(bodies, 1))
        if any(event.event == "run_opened" and event.run_id != run_id for event in stored):
            raise StoreError(f"The event that opens run {run_id} names another run.")
        rows = [
            {
                "run_id": run_id,
                "seq": before.version + n,
                "event": event.event,
                "worker": worker,
                "step_key": step_key,
                "at": event.at,
                "body": body,
            }
            for n, (event, body) in enumerate(zip(stored, bodies, strict=True), 1)
        ]
        try:
            connection.execute(insert(storage.events), rows)
        except IntegrityError as error:
            self._heads.drop(run_id)
            raise Conflict(f"run {run_id} has grown beyond event {before.version}") from error
        moves = self._moves(connection, run_id, moved_questions(stored))
        after, changes = project(before.seen_by(worker), stored, moves)
        write(connection, changes)
        if after.version // SNAPSHOT_EVERY > before.version // SNAPSHOT_EVERY:
            body = after.model_dump_json()
            row = {"run_id": run_id, "seq": after.version, "shape": _shape(), "body": body}
            connection.execute(insert(storage.snapshots), row)
            self._thin_snapshots(connection, run_id)
        return after, stored

    def _thin_snapshots(self, connection: Connection, run_id: str) -> None:
        """Drops what the newest snapshots have made useless, so that they take a few times the newest's room and not
        ever more: the last two stay, and of those before the 1st, 2nd, 4th, 8th and so on. A past that lies between
        two takes at most as many events to fold as lie before it."""
        table = storage.snapshots
        found = connection.execute(select(table.c.seq).where(table.c.run_id == run_id).order_by(table.c.seq))
        past = [(seq, seq // SNAPSHOT_EVERY) for seq in found.scalars().all()[:-2]]
        useless = [seq for seq, number in past if number & (number - 1)]
        if useless:
            connection.execute(delete(table).where(table.c.run_id == run_id, table.c.seq.in_(useless)))

    def _moves(self, connection: Connection, run_id: str, questions: Iterable[str]) -> dict[str, int]:
        wanted = sorted(questions)
        if not wanted:
            return {}
        table = schema.frontier_transitions
        counted = (
            select(table.c.question_id, func.max(table.c.seq).label("most"))
            .where(table.c.run_id == run_id, table.c.question_id.in_(wanted))
            .group_by(table.c.question_id)
        )
        return {row.question_id: row.most for row in connection.execute(counted)}


def event_text(event: Event) -> str:
    """The JSON of an event. Half characters and NUL, which no database takes, become U+FFFD, one for one."""
    try:
        body = event.model_dump_json()
    except PydanticSerializationError:
        body = ""
    if body and "\\u0000" not in body:
        return body
    return json.dumps(_storable(event.model_dump(mode="json")), ensure_ascii=False)


def storable(text: str) -> str:
    """A text as the database can hold it, of the same length: half characters and NUL become U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return "".join("\ufffd" if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in text)


def _storable(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case dict():
            return {_storable(key): _storable(inner) for key, inner in value.items()}
        case list():
            return [_storable(inner) for inner in value]
        case _:
            return value


def _event(run_id: str, seq: int, body: str) -> Event:
    try:
        return EVENT.validate_json(body)
    except ValidationError as error:
        raise StoreError(f"Event {seq} of run {run_id} cannot be read by this version of zetetic: {error}") from error


@cache
def _shape() -> str:
    """Names the fields of `Research`: a snapshot of another shape is passed over, and the events are folded instead."""
    fields = json.dumps(Research.model_json_schema(), sort_keys=True)
    return hashlib.sha256(fields.encode()).hexdigest()[:16]
