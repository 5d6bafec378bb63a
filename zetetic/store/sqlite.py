"""The store in one SQLite file: one writer at a time, readers beside it.

Every write is one `BEGIN IMMEDIATE` transaction, so two processes wait for each other instead of failing. The writers
of one process wait in a queue of their own, since SQLite lets whoever asks at the right moment be first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from sqlalchemy import URL, Connection, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from . import migrations, storage
from .database import Database, Then, Work
from .errors import StoreError
from .place import inspected

BUSY_SECONDS = 30.0
"""How long a writer waits for another process's transaction (seconds)."""
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

    def __init__(self, path: Path, engine: AsyncEngine) -> None:
        super().__init__(path)
        self._path = path
        self._engine = engine
        self._reading = engine.execution_options(**{_BEGIN: "BEGIN"})
        self._writing = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._writer = _writer(path)

    @classmethod
    async def open(cls, path: Path) -> SqliteDatabase:
        """Opens or creates the file and brings it to this version.

        Raises StoreError, and leaves the file as it is, when it belongs to another program or a newer version, is no
        database, or cannot be written.
        """
        await asyncio.to_thread(inspected, path)
        opened = cls(path, _engine(path))
        try:
            await opened._wal()
            async with opened._transaction(opened._writing) as connection:
                version = await connection.run_sync(migrations.ready)
            if version < storage.VERSION:
                await opened._upgrade()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def _upgrade(self) -> None:
        """Brings an older file to this version. A step may build a table anew, which foreign keys would take for the
        loss of its rows: they are off meanwhile, which SQLite allows between transactions only, and are checked before
        the commit."""
        with self._in_words():
            async with self._writing.connect() as connection:
                await _pragma(connection, "foreign_keys=OFF")
                try:
                    async with connection.begin():
                        await connection.run_sync(migrations.upgraded)
                        await _check_references(connection)
                finally:
                    await connection.invalidate()

    async def _dispose(self) -> None:
        await self._engine.dispose()

    async def _read(self, work: Work[T]) -> T:
        async with self._transaction(self._reading) as connection:
            return await work(connection)

    async def _write(self, work: Work[T], then: Then[T] | None, of: str) -> T:
        async with self._writer:
            async with self._transaction(self._writing) as connection:
                result = await work(connection)
            if then is not None:
                await then(result)
            return result

    @asynccontextmanager
    async def _transaction(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        with self._in_words():
            async with engine.begin() as connection:
                yield connection

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise StoreError(f"{self._path}: the records contradict each other: {error.orig}") from error
        except DBAPIError as error:
            raise StoreError(in_words(self._path, error)) from error

    async def _wal(self) -> None:
        """Switches the file to write-ahead logging, which SQLite refuses while another process is at work on it."""
        deadline = self._loop.time() + BUSY_SECONDS
        while True:
            try:
                async with self._engine.connect() as connection:
                    await _pragma(connection, "journal_mode=WAL")
                    return
            except Exception as error:
                if "locked" not in str(error) or self._loop.time() > deadline:
                    raise StoreError(in_words(self._path, error)) from error
            await asyncio.sleep(0.02)


def _engine(path: Path) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        pool_reset_on_return="rollback",
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        statement = connection.get_execution_options().get(_BEGIN)
        if statement is not None:
            connection.exec_driver_sql(statement)

    return engine


async def _pragma(connection: AsyncConnection, setting: str) -> None:
    """Sets a pragma outside of any transaction."""
    raw = await connection.get_raw_connection()
    cursor = await raw.driver_connection.execute(f"PRAGMA {setting}")  # type: ignore[union-attr]
    await cursor.close()


async def _check_references(connection: AsyncConnection) -> None:
    lost = (await connection.exec_driver_sql("PRAGMA foreign_key_check")).mappings().first()
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
