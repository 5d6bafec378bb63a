"""The store in one SQLite file: one writer at a time, readers beside it.

Every write is one `BEGIN IMMEDIATE` transaction, so two processes wait for each other instead of failing. The writers
of one process wait in a queue of their own, since SQLite lets whoever asks at the right moment be first. A transaction
runs as a whole in a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError

from . import migrations, storage
from .database import Database, Then, Work
from .errors import StoreError
from .place import inspected

BUSY_SECONDS = 30.0
"""How long a writer waits for another process's transaction (seconds)."""
READERS = 4
"""Transactions that read side by side."""
_BEGIN = "zetetic_begin"

T = TypeVar("T")

_writers: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[Path, asyncio.Lock]] = WeakKeyDictionary()


def _writer(path: Path) -> asyncio.Lock:
    """The queue of the file's writers in this event loop, shared by all stores on it."""
    known = _writers.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    lock = known.get(path)
    if lock is None:
        lock = known[path] = asyncio.Lock()
    return lock


class SqliteDatabase(Database):
    """One SQLite file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path
        self._engine = _engine(path)
        self._reading = self._engine.execution_options(**{_BEGIN: "BEGIN"})
        self._writing = self._engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._writer = _writer(path)
        self._readers = ThreadPoolExecutor(READERS, "zetetic-read")
        self._writers = ThreadPoolExecutor(1, "zetetic-write")

    @classmethod
    async def open(cls, path: Path) -> SqliteDatabase:
        """Opens or creates the file and brings it to this version.

        Raises StoreError, and leaves the file as it is, when it belongs to another program or a newer version, is no
        database, or cannot be written.
        """
        await asyncio.to_thread(inspected, path)
        opened = cls(path)
        try:
            await opened._in(opened._writers, opened._made_ready)
        except BaseException:
            await opened.close()
            raise
        return opened

    def _made_ready(self) -> None:
        self._wal()
        if self._transaction(self._writing, migrations.ready) < storage.VERSION:
            self._upgrade()

    def _upgrade(self) -> None:
        """Brings an older file to this version. A step may build a table anew, which foreign keys would take for the
        loss of its rows: they are off meanwhile, which SQLite allows between transactions only, and are checked before
        the commit."""
        with self._in_words(), self._writing.connect() as connection:
            _pragma(connection, "foreign_keys=OFF")
            try:
                with connection.begin():
                    migrations.upgraded(connection)
                    _check_references(connection)
            finally:
                connection.invalidate()

    async def _dispose(self) -> None:
        self._readers.shutdown(wait=False)
        self._writers.shutdown(wait=False)
        self._engine.dispose()

    async def _read(self, work: Work[T]) -> T:
        return await self._in(self._readers, lambda: self._transaction(self._reading, work))

    async def _write(self, work: Work[T], then: Then[T] | None, of: str) -> T:
        async with self._writer:
            result = await self._in(self._writers, lambda: self._transaction(self._writing, work))
            if then is not None:
                await then(result)
            return result

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(threads, work)

    def _transaction(self, engine: Engine, work: Work[T]) -> T:
        with self._in_words(), engine.begin() as connection:
            return work(connection)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise StoreError(f"{self._path}: the records contradict each other: {error.orig}") from error
        except DBAPIError as error:
            raise StoreError(in_words(self._path, error)) from error

    def _wal(self) -> None:
        """Switches the file to write-ahead logging, which SQLite refuses while another process is at work on it."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self._engine.connect() as connection:
                    return _pragma(connection, "journal_mode=WAL")
            except Exception as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise StoreError(in_words(self._path, error)) from error
            time.sleep(0.02)


def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        statement = connection.get_execution_options().get(_BEGIN)
        if statement is not None:
            connection.exec_driver_sql(statement)

    return engine


def _pragma(connection: Connection, setting: str) -> None:
    """Sets a pragma outside of any transaction."""
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _check_references(connection: Connection) -> None:
    lost = connection.exec_driver_sql("PRAGMA foreign_key_check").mappings().first()
    if lost is not None:
        raise StoreError(
            f"The upgrade would leave rows of {lost['table']} without theirs in {lost['parent']}; it was undone."
        )


def in_words(path: Path, error: Exception) -> str:
    """What SQLite says, as a sentence that says what to do."""
    reason = str(getattr(error, "orig", error))
    if "readonly" in reason:
        return f"{path} cannot be written. Make the file and its folder writable, or name another database."
    if "unable to open" in reason:
        return f"{path} cannot be opened. Check that its folder exists and can be written."
    if "locked" in reason:
        return (
            f"{path}: another program has been writing to it for {BUSY_SECONDS:.0f} seconds. Try again when it is done."
        )
    if "disk is full" in reason:
        return f"{path}: the disk is full. What was stored is kept; free some room and resume."
    if "malformed" in reason or "not a database" in reason:
        return f"{path} is damaged or no database: {reason}. Restore a copy or name another file."
    return f"{path}: {reason}"
