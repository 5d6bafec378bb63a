"""Savers for the graph, with the list of types they may store: SQLite in a file of its own, or PostgreSQL (LANGGRAPH:
Checkpointers).

Runs side by side in one event loop share the connection of a file, and the pool of an address.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from zetetic.nodes.context import Context
from zetetic.store import StoreError
from zetetic.store.address import is_postgres
from zetetic.store.sqlite import in_words

ALLOWED = (
    ("zetetic.nodes.channels", "TurnKeys"),
    ("zetetic.state.evaluation", "ArmResult"),
)
BUSY_MILLISECONDS = 30_000
LOCKED_PAUSE = 0.02

T = TypeVar("T")


def serializer() -> JsonPlusSerializer:
    """The serializer that stores zetetic's channel types and no other type of a package."""
    return JsonPlusSerializer(allowed_msgpack_modules=list(ALLOWED))


def checkpoints_path(context: Context) -> Path:
    """Where the checkpoints of a context's runs live, unless its database is PostgreSQL."""
    return Path(context.home) / "checkpoints.db"


@asynccontextmanager
async def saver_of(context: Context) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver of a context: in its PostgreSQL database, else a file in its home. Raises StoreError."""
    if context.database is not None and is_postgres(context.database):
        async with postgres_saver(context.database) as saver:
            yield saver
    else:
        async with sqlite_saver(checkpoints_path(context)) as saver:
            yield saver


@asynccontextmanager
async def make_saver() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver of the environment's context, for the server behind LangGraph Studio (see `langgraph.json`)."""
    async with saver_of(Context()) as saver:
        saver.serde = _WholeList(allowed_msgpack_modules=list(ALLOWED))
        yield saver


class _WholeList(JsonPlusSerializer):
    """A serializer to whose list no graph adds: all channel types are on it. A graph within a graph would copy the
    saver to add its own, and the server's wrapper of a saver cannot be copied."""

    def with_msgpack_allowlist(self, extra_allowlist: Any) -> JsonPlusSerializer:
        """The same serializer."""
        return self


@asynccontextmanager
async def sqlite_saver(path: str | Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A saver on an SQLite file, created if it is missing. Raises StoreError where it cannot be used."""
    place = await asyncio.to_thread(lambda: Path(path).expanduser().absolute())
    async with _shared(str(place), lambda: _sqlite(place)) as saver:
        yield saver


@asynccontextmanager
async def postgres_saver(address: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A saver in a PostgreSQL database, whose tables are made if they are missing. Raises StoreError where it cannot be
    used, without the secrets of the address."""
    from .postgres_checkpoints import opened_pool, saver_on

    async with _shared(address, lambda: opened_pool(address)) as pool:
        yield saver_on(pool, address, serializer())


# SQLite


class _SqliteSaver(AsyncSqliteSaver):
    """Says in words what is wrong with the file."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        super().__init__(connection, serde=serializer())
        self._path = path

    async def aput(self, *arguments: Any, **named: Any) -> Any:
        """Stores a checkpoint."""
        return await self._told(super().aput(*arguments, **named))

    async def aput_writes(self, *arguments: Any, **named: Any) -> None:
        """Stores what a task wrote."""
        await self._told(super().aput_writes(*arguments, **named))

    async def aget_tuple(self, *arguments: Any, **named: Any) -> Any:
        """Reads a checkpoint."""
        return await self._told(super().aget_tuple(*arguments, **named))

    async def _told(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except sqlite3.Error as error:
            async with self.lock:  # a transaction that could not end must not keep other writers waiting
                await self.conn.rollback()
            raise StoreError(in_words(self._path, error)) from error


@asynccontextmanager
async def _sqlite(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    try:
        await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        # A transaction that begins deferred and writes later fails at once where another writer came between; one that
        # begins immediate waits its turn.
        connection = await aiosqlite.connect(path, isolation_level="IMMEDIATE", timeout=BUSY_MILLISECONDS / 1000)
    except OSError as error:
        raise StoreError(f"{path} cannot be used: {error.strerror or error}. Name another home.") from error
    except sqlite3.Error as error:
        raise StoreError(in_words(path, error)) from error
    saver = _SqliteSaver(connection, path)
    try:
        await _settled(connection, saver, path)
        yield saver
    finally:
        # What a cancelled run left half done would keep the file locked for as long as its cursor lives.
        async with saver.lock:
            await connection.rollback()
            await connection.close()


async def _settled(connection: aiosqlite.Connection, saver: AsyncSqliteSaver, path: Path) -> None:
    """Sets the file up. The switch to write-ahead logging does not wait for other processes by itself."""
    loop = asyncio.get_running_loop()
    until = loop.time() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            await connection.execute("PRAGMA journal_mode=WAL")
            await connection.execute("PRAGMA synchronous=NORMAL")
            await saver.setup()
            return
        except sqlite3.Error as error:
            if "locked" not in str(error) or loop.time() > until:
                raise StoreError(in_words(path, error)) from error
        await asyncio.sleep(LOCKED_PAUSE)


# what is shared


@dataclass
class _Held:
    manager: AbstractAsyncContextManager[Any]
    value: Any
    users: int = 1


_held: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Held]] = WeakKeyDictionary()
_opening: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@asynccontextmanager
async def _shared(name: str, make: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncIterator[T]:
    """What `make` opens, once for all who use it under this name in the event loop; the last one closes it."""
    loop = asyncio.get_running_loop()
    lock = _opening.setdefault(loop, asyncio.Lock())
    known = _held.setdefault(loop, {})
    async with lock:
        held = known.get(name)
        if held is None:
            manager = make()
            held = known[name] = _Held(manager, await manager.__aenter__())
        else:
            held.users += 1
    try:
        yield held.value
    finally:
        async with lock:
            held.users -= 1
            if not held.users:
                del known[name]
                await held.manager.__aexit__(None, None, None)
