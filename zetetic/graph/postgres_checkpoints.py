"""LangGraph's saver for PostgreSQL, on a pool of its own, with its calls tried again when a connection is lost.

Each of its calls can be: what it writes is named by its keys, and written over or left as it stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection, Error, InterfaceError, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from zetetic.store import StoreError
from zetetic.store.address import PostgresAddress, address_of
from zetetic.store.postgres import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    LOST_SECONDS,
    POOL,
    conninfo,
    in_words,
    is_lost,
    lock_number,
    said,
)

IDLE_SECONDS = 300.0
"""After which a connection that nobody needs is closed (seconds)."""
SETUP_PAUSE = 0.05

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
T = TypeVar("T")


def saver_on(pool: Pool, address: str, serde: JsonPlusSerializer) -> AsyncPostgresSaver:
    """A saver for one run. Each run has its own, since a saver does one thing at a time; they share the pool."""
    return _PostgresSaver(pool, str(address_of(address)), serde)


@asynccontextmanager
async def opened_pool(address: str) -> AsyncIterator[Pool]:
    """A pool on a database that holds the saver's tables. Raises StoreError where it cannot be used."""
    place = cast(PostgresAddress, address_of(address))
    arguments = conninfo(place)
    await _set_up(arguments, place)
    pool: Pool = AsyncConnectionPool(
        arguments,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        connection_class=AsyncConnection[DictRow],
        min_size=0,
        max_size=POOL,
        timeout=LOST_SECONDS,
        max_idle=IDLE_SECONDS,
        check=AsyncConnectionPool.check_connection,
        reconnect_timeout=LOST_SECONDS,
        open=False,
    )
    async with pool:
        yield pool


async def _set_up(arguments: str, place: PostgresAddress) -> None:
    """Makes the saver's tables or brings them to its version, one process at a time.

    Its steps build indexes while others work, for which they wait until no statement is older than they. So whoever
    waits here does it between statements.
    """
    last = len(AsyncPostgresSaver.MIGRATIONS) - 1
    try:
        connection: AsyncConnection[DictRow] = await AsyncConnection.connect(
            arguments, autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
        async with connection:
            lock = {"n": lock_number("checkpoints")}
            while await _version(connection) < last:
                told = await connection.execute("SELECT pg_try_advisory_lock(%(n)s) AS mine", lock)
                if (await told.fetchone() or {}).get("mine"):
                    await AsyncPostgresSaver(connection).setup()
                    await connection.execute("SELECT pg_advisory_unlock(%(n)s)", lock)
                else:
                    await asyncio.sleep(SETUP_PAUSE)
    except Error as error:
        raise StoreError(in_words(place, error)) from error


async def _version(connection: AsyncConnection[DictRow]) -> int:
    found = await connection.execute("SELECT to_regclass('checkpoint_migrations') IS NOT NULL AS made")
    if not (await found.fetchone() or {}).get("made"):
        return -1
    newest = await (await connection.execute("SELECT max(v) AS v FROM checkpoint_migrations")).fetchone()
    return -1 if newest is None or newest["v"] is None else int(newest["v"])


class _PostgresSaver(AsyncPostgresSaver):
    """Tries again where a connection was lost, and says in words what is wrong."""

    def __init__(self, pool: Pool, place: str, serde: JsonPlusSerializer) -> None:
        super().__init__(pool, serde=serde)
        self._place = place

    async def aput(self, *arguments: Any, **named: Any) -> Any:
        """Stores a checkpoint."""
        put = super().aput
        return await self._tried(lambda: put(*arguments, **named))

    async def aput_writes(self, *arguments: Any, **named: Any) -> None:
        """Stores what a task wrote."""
        put = super().aput_writes
        await self._tried(lambda: put(*arguments, **named))

    async def aget_tuple(self, *arguments: Any, **named: Any) -> Any:
        """Reads a checkpoint."""
        get = super().aget_tuple
        return await self._tried(lambda: get(*arguments, **named))

    async def _tried(self, once: Callable[[], Awaitable[T]]) -> T:
        until = self.loop.time() + LOST_SECONDS
        pause = FIRST_PAUSE
        while True:
            try:
                return await once()
            except PoolTimeout as error:
                raise StoreError(
                    f"{self._place} does not answer: no connection came free for {LOST_SECONDS:g} seconds. Nothing "
                    "that was stored is lost; check the server, or run fewer researches side by side, and resume."
                ) from error
            except (OperationalError, InterfaceError) as error:
                if not is_lost(error):
                    raise StoreError(in_words(self._place, error)) from error
                if self.loop.time() + pause > until:
                    raise StoreError(
                        f"{self._place} does not answer: {said(error)}. Nothing that was stored is lost; resume when "
                        "it does."
                    ) from error
            except Error as error:
                raise StoreError(in_words(self._place, error)) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
