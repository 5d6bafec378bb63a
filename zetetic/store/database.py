"""The file, its connections and transactions: one writer at a time, readers beside it, one event loop.

Every write is one `BEGIN IMMEDIATE` transaction, so two processes wait for each other instead of failing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, event, inspect, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from . import schema as schema  # its tables are created with the others
from . import storage
from .columns import metadata
from .errors import StoreError
from .place import inspected, sqlite_path

BUSY_SECONDS = 30.0
"""How long a writer waits for another process's transaction (seconds)."""
_BEGIN = "zetetic_begin"
UPGRADES: dict[int, Callable[[Connection], None]] = {}
"""What brings a database of the version before to this version, one step each."""

T = TypeVar("T")


class Database:
    """One SQLite file, opened in one event loop. `read` and `write` hand out transactions."""

    def __init__(self, path: Path, engine: AsyncEngine) -> None:
        self.path = path
        self._engine = engine
        self._reading = engine.execution_options(**{_BEGIN: "BEGIN"})
        self._writing = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._loop = asyncio.get_running_loop()
        self._writer = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @classmethod
    async def open(cls, database: str | Path) -> Database:
        """Opens or creates the database and brings it to this version.

        Raises StoreError, and leaves the file as it is, when it belongs to another program or a newer version, is no
        database, or cannot be written.
        """
        path = await asyncio.to_thread(sqlite_path, database)  # a relative path asks for the working folder
        await asyncio.to_thread(inspected, path)
        opened = cls(path, _engine(path))
        try:
            await opened._wal()
            async with opened._transaction(opened._writing) as connection:
                await connection.run_sync(_migrated)
        except BaseException:
            await opened.close()
            raise
        return opened

    async def close(self) -> None:
        """Waits for what is under way and closes every connection. Twice is harmless."""
        if self._closed:
            return
        self._here()
        self._closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._engine.dispose()

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Runs `work` in a transaction that sees one state of the database and keeps no writer waiting."""

        async def reading() -> T:
            async with self._transaction(self._reading) as connection:
                return await work(connection)

        return await self._finished(reading())

    async def write(
        self, work: Callable[[AsyncConnection], Awaitable[T]], then: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        """Runs `work` in a transaction of its own, and `then` after its commit, before the next writer of this process.

        A caller that is cancelled does not break it off: it ends as a whole, and `close` waits for it.
        """

        async def writing() -> T:
            async with self._writer:
                async with self._transaction(self._writing) as connection:
                    result = await work(connection)
                if then is not None:
                    await then(result)
                return result

        return await self._finished(writing())

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self._here()
        except StoreError:
            work.close()
            raise
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a caller that was cancelled never asks for it

    def _here(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StoreError("This store was opened in another event loop. Open one in each loop that uses it.")
        if self._closed:
            raise StoreError("This store is closed. Open it again with Store.open.")

    @asynccontextmanager
    async def _transaction(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        try:
            async with engine.begin() as connection:
                yield connection
        except IntegrityError as error:
            raise StoreError(f"{self.path}: the records contradict each other: {error.orig}") from error
        except DBAPIError as error:
            raise StoreError(_in_words(self.path, error)) from error

    async def _wal(self) -> None:
        """Switches the file to write-ahead logging, which SQLite refuses while another process is at work on it."""
        deadline = self._loop.time() + BUSY_SECONDS
        while True:
            try:
                async with self._engine.connect() as connection:
                    raw = await connection.get_raw_connection()
                    cursor = await raw.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
                    await cursor.close()
                    return
            except Exception as error:
                if "locked" not in str(error) or self._loop.time() > deadline:
                    raise StoreError(_in_words(self.path, error)) from error
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


def _migrated(connection: Connection) -> None:
    """Creates the tables, or upgrades an older database step by step with its rows; at this version does nothing."""
    table = storage.zetetic_schema
    if not inspect(connection).has_table(table.name):
        metadata.create_all(connection)
        row = {"application": storage.APPLICATION, "version": storage.VERSION}
        connection.execute(table.insert().values(row))
        return
    version = connection.execute(select(table.c.version)).scalar_one()
    for step in range(version + 1, storage.VERSION + 1):
        UPGRADES[step](connection)
    if version < storage.VERSION:
        connection.execute(update(table).values(version=storage.VERSION))


def _in_words(path: Path, error: Exception) -> str:
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
        return f"{path}: the disk is full. Free some room and resume."
    if "malformed" in reason or "not a database" in reason:
        return f"{path} is damaged or no database: {reason}. Restore a copy or name another file."
    return f"{path}: {reason}"
