"""The store of all runs: decisions in, researches out; what was paid for is kept (D1, D49)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection

from zetetic.state.decision import Accepted, Decide, Decision
from zetetic.state.events import Event
from zetetic.state.research import Research

from . import forks, journal, leases, notes_versions, reads
from .database import Database
from .errors import Conflict, StoreError
from .journal import JournalEntry, StoredEffect, StoredPage
from .kept_effects import KeptEffects
from .log import Log, LogEntry, storable
from .notes_file import NotesFiles
from .notes_versions import Kept, NotesLog, NotesVersion
from .opening import open_database
from .projection import TOUCHES_NOTES
from .reads import RunRow, StateRow, TransitionRow

CONFLICT_TRIES = 8
Render = Callable[[Research, Decision], str]


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of a command. `decision` is None when its effect was stored before: then nothing changed."""

    research: Research
    decision: Decision | None
    text: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _Written:
    executed: Executed
    notes: Kept | None = None
    """The notes, when a version was added."""
    effect: StoredEffect | None = None


class Store:
    """All runs of one database. Made by `Store.open`, used in the event loop it was opened in, closed by `close`."""

    def __init__(self, database: Database, notes_files: NotesFiles | None) -> None:
        self._database = database
        self._notes_files = notes_files
        self._log = Log()
        self._notes = NotesLog()
        self._effects = KeptEffects()

    @classmethod
    async def open(cls, database: str | Path, *, notes_dir: Path | None = None) -> Store:
        """Opens a path, a `sqlite:///…` URL or a `postgresql://…` address; makes the file and its folder or the tables.

        With `notes_dir` the notes of each run are also a file in `notes_dir/<run_id>/` (D28).
        Raises StoreError for a database that is not ours, newer than this version, or cannot be reached or written.
        """
        files = None if notes_dir is None else NotesFiles(notes_dir)
        return cls(await open_database(database), files)

    async def close(self) -> None:
        """Waits for writes under way and closes the connections. Twice is harmless."""
        await self._database.close()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def place(self) -> str:
        """The database file, or the address without its secrets."""
        return str(self._database.place)

    # the log

    async def load(
        self, run_id: str, as_of: int | None = None, *, worker: str = "", at_least: int | None = None
    ) -> Research:
        """The research of a run, now or as of an event, as a worker sees it (D51).

        With `at_least` the one in memory does if it has come so far: what this process wrote is in it, what others
        wrote since may not be. Raises StoreError for an unknown run or position.
        """
        research = self._log.kept(run_id, as_of, at_least)
        if research is None:
            research = await self._database.read(lambda connection: self._log.load(connection, run_id, as_of))
        return research.seen_by(worker)

    async def head(self, run_id: str) -> int:
        """The position of a run's last event; 0 for an unknown run."""
        return await self._database.read(lambda connection: self._log.head(connection, run_id))

    async def exists(self, run_id: str) -> bool:
        """Whether a run was opened."""
        return await self.head(run_id) > 0

    async def events(self, run_id: str, after: int = 0) -> list[tuple[int, Event]]:
        """The events of a run after a position, with their positions."""
        return [(entry.seq, entry.event) for entry in await self.log(run_id, after)]

    async def log(self, run_id: str, after: int = 0) -> list[LogEntry]:
        """The events of a run after a position, with who wrote them under which step key (the fork rule)."""
        return await self._database.read(lambda connection: self._log.entries(connection, run_id, after))

    async def has_gone_on(self, run_id: str, after: int, worker: str, step_key: str) -> bool:
        """Whether a worker's log goes on beyond a position under another step than this one (the fork rule)."""
        return await self._database.read(
            lambda connection: forks.has_gone_on(connection, run_id, after, worker, step_key)
        )

    async def fork(self, run_id: str, at: int, new_id: str) -> Research:
        """A run with the events of another one up to a position; the one that stands where it was forked before.

        Raises StoreError where there is no such run or position.
        """
        research = await self._database.write(lambda connection: forks.fork(connection, self._log, run_id, at, new_id))
        self._log.keep(new_id, research)
        return research

    async def execute(
        self,
        run_id: str,
        decide: Decide,
        *,
        effect: tuple[str, str] | None = None,
        worker: str = "",
        step_key: str = "",
        reason: str = "",
        payload: str = "",
        render: Render | None = None,
    ) -> Executed:
        """Decides on the research at the head of the log and stores what was decided, in one transaction.

        `effect` is (task key, call id): where its result is stored already, that is given and nothing changes; else the
        result is stored with the events, a refusal too. `decide` may be called again when another writer was first, so
        it must be pure. It gets an empty research for a run without events, which it may open with RunOpened.
        `reason` goes with a new version of the notes.
        """

        def work(connection: Connection) -> _Written:
            stored = None if effect is None else journal.effect(connection, *effect)
            research = self._log.at_head(connection, run_id).seen_by(worker)
            if stored is not None:
                return _Written(Executed(research, None, stored.text, replayed=True), effect=stored)
            decision = decide(research)
            after, notes = research, None
            if isinstance(decision, Accepted) and decision.events:
                after, happened = self._log.append(
                    connection, run_id, research, decision.events, worker=worker, step_key=step_key
                )
                notes = self._new_notes(connection, after, happened, reason)
            text = storable(render(after, decision) if render else decision.message)
            if effect is not None:
                _must_exist(run_id, after)
                stored = journal.add_effect(connection, run_id, StoredEffect(*effect, text, payload))
            return _Written(Executed(after, decision, text), notes, stored)

        async def then(written: _Written) -> None:
            research = written.executed.research
            if research.version:
                self._log.keep(run_id, research)
            if written.effect is not None:
                self._effects.add(written.effect)
            if written.notes is not None:
                self._notes.keep(run_id, written.notes)
                if self._notes_files is not None:
                    await asyncio.to_thread(self._notes_files.copy, research, written.notes.text)

        for _ in range(CONFLICT_TRIES):
            try:
                return (await self._database.write(work, then, of=run_id)).executed
            except Conflict:
                continue
        raise StoreError(f"Run {run_id}: other writers were first {CONFLICT_TRIES} times in a row. Try again.")

    # what was paid for

    async def effect(self, key: str, call_id: str) -> StoredEffect | None:
        """The stored result of a tool call."""
        kept = self._effects.one(key, call_id)
        if kept is None:
            kept = await self._database.read(lambda connection: journal.effect(connection, key, call_id))
            if kept is not None:
                self._effects.add(kept)
        return kept

    async def effects(self, key: str) -> dict[str, StoredEffect]:
        """The stored results of a task's tool calls, by call id; a task is one process's at a time."""
        kept = self._effects.all(key)
        if kept is None:
            self._effects.add_all(key, await self._database.read(lambda connection: journal.effects(connection, key)))
            kept = self._effects.all(key)
        return kept or {}

    async def put_effect(self, run_id: str, key: str, call_id: str, text: str, payload: str = "") -> StoredEffect:
        """Stores the result of a tool call if there is none yet, and gives the one that stands."""
        return (await self.put_effects(run_id, key, {call_id: (text, payload)}))[call_id]

    async def put_effects(self, run_id: str, key: str, given: Mapping[str, tuple[str, str]]) -> dict[str, StoredEffect]:
        """Stores texts and payloads by call id in one transaction, each where there is none yet; gives those that
        stand."""
        if not given:
            return {}

        def work(connection: Connection) -> dict[str, StoredEffect]:
            stands: dict[str, StoredEffect] = {}
            for call_id, (text, payload) in given.items():
                stored = journal.effect(connection, key, call_id)
                if stored is None:
                    if not stands:
                        _must_exist(run_id, self._log.at_head(connection, run_id))
                    stored = journal.add_effect(connection, run_id, StoredEffect(key, call_id, text, payload))
                stands[call_id] = stored
            return stands

        async def then(stands: dict[str, StoredEffect]) -> None:
            self._effects.add(*stands.values())

        return await self._database.write(work, then, of=run_id)

    async def journal(self, key: str) -> JournalEntry | None:
        """The model call stored under a task key."""
        return await self._database.read(lambda connection: journal.entry(connection, key))

    async def record_call(self, entry: JournalEntry, *, worker: str = "", step_key: str = "") -> JournalEntry:
        """Stores a model call and counts its usage in the run's log, in one transaction (D47).

        Where the key is taken, nothing is counted again, and the entry that stands is given.
        """

        def work(connection: Connection) -> tuple[JournalEntry, Research | None]:
            stored = journal.entry(connection, entry.key)
            if stored is not None:
                return stored, None
            before = self._log.at_head(connection, entry.run_id)
            after, _ = self._log.append(
                connection, entry.run_id, before, (entry.usage(),), worker=worker, step_key=step_key
            )
            return journal.add_entry(connection, entry, after.version), after

        async def then(written: tuple[JournalEntry, Research | None]) -> None:
            if written[1] is not None:
                self._log.keep(entry.run_id, written[1])

        for _ in range(CONFLICT_TRIES):
            try:
                return (await self._database.write(work, then, of=entry.run_id))[0]
            except Conflict:
                continue
        raise StoreError(f"Run {entry.run_id}: other writers were first {CONFLICT_TRIES} times in a row. Try again.")

    async def calls(self, run_id: str) -> list[JournalEntry]:
        """The model calls of a run in the order of its log."""
        return await self._database.read(lambda connection: journal.entries(connection, run_id))

    async def put_page(
        self, text: str, *, url: str, final_url: str, title: str, media_type: str, fetched_at: datetime
    ) -> str:
        """Stores a page's text and gives the SHA-256 of its UTF-8; a text that is stored stays as it is."""
        given = journal.named(StoredPage("", text, url, final_url, title, media_type, fetched_at))
        await self._database.write(lambda connection: journal.add_page(connection, given), of=given.sha256)
        return given.sha256

    async def page(self, sha256: str) -> StoredPage | None:
        """A stored page."""
        return await self._database.read(lambda connection: journal.page(connection, sha256))

    # what is listed

    async def runs(self) -> list[RunRow]:
        """All runs, the newest first."""
        return await self._database.read(reads.runs)

    async def transitions(self, run_id: str, question_id: str | None = None) -> list[TransitionRow]:
        """The transition log of a run or of one question (D15)."""
        return await self._database.read(lambda connection: reads.transitions(connection, run_id, question_id))

    async def states(self, run_id: str) -> list[StateRow]:
        """The recorded states of a run (D50)."""
        return await self._database.read(lambda connection: reads.states(connection, run_id))

    # the notes

    async def notes_versions(self, run_id: str) -> list[NotesVersion]:
        """All versions of a run's notes, oldest first (D28)."""
        return await self._database.read(lambda connection: notes_versions.versions(connection, run_id))

    def notes_path(self, research: Research) -> Path | None:
        """Where the notes of a run are as a file; None when the store keeps no files."""
        return None if self._notes_files is None else self._notes_files.path(research)

    async def restore_notes(self, run_id: str) -> bool:
        """Writes a missing notes file from the latest version, with a version row `restore`; tells whether it did.

        Raises StoreError when the file cannot be written.
        """
        files = self._notes_files
        if files is None:
            return False
        research = await self.load(run_id, at_least=0)
        if await asyncio.to_thread(files.path(research).exists):
            return False

        def work(connection: Connection) -> Kept | None:
            kept = self._notes.at_head(connection, run_id)
            if kept is None:
                return None
            return self._notes.add(connection, research, kept.text, "restore", datetime.now(UTC), always=True)

        async def then(kept: Kept | None) -> None:
            if kept is None:
                return
            self._notes.keep(run_id, kept)
            try:
                await asyncio.to_thread(files.write, research, kept.text)
            except OSError as error:
                raise StoreError(f"The notes file of run {run_id} cannot be written: {error.strerror}") from error

        return await self._database.write(work, then, of=run_id) is not None

    def _new_notes(
        self, connection: Connection, after: Research, happened: tuple[Event, ...], reason: str
    ) -> Kept | None:
        """Adds a version of the notes where they read differently now, and gives it."""
        touching = [event for event in happened if isinstance(event, TOUCHES_NOTES)]
        if not touching:
            return None
        text = storable(notes_versions.rendered(after))
        return self._notes.add(connection, after, text, reason or touching[-1].event, touching[-1].at)

    # the lease

    async def acquire_lease(self, run_id: str, owner: str, seconds: float, now: datetime) -> bool:
        """Takes or prolongs the lease of a run; False while another owner holds one that has not run out."""
        until = leases.end(now, seconds)
        return await self._database.write(
            lambda connection: leases.acquire(connection, run_id, owner, until, now), of=run_id
        )

    async def lease_holder(self, run_id: str, now: datetime | None = None) -> str | None:
        """Who holds the lease of a run, None if nobody does; with `now`, one that has run out by then is nobody's."""
        return await self._database.read(lambda connection: leases.holder(connection, run_id, now))

    async def renew_lease(self, run_id: str, owner: str, seconds: float, now: datetime) -> bool:
        """Prolongs a lease one holds; False when it was taken over or released."""
        until = leases.end(now, seconds)
        return await self._database.write(lambda connection: leases.renew(connection, run_id, owner, until), of=run_id)

    async def release_lease(self, run_id: str, owner: str) -> bool:
        """Gives the lease back; False when it was not this owner's."""
        return await self._database.write(lambda connection: leases.release(connection, run_id, owner), of=run_id)


def _must_exist(run_id: str, research: Research) -> None:
    if research.version == 0:
        raise StoreError(f"There is no run {run_id!r} in this database. `zetetic runs` lists those there are.")
