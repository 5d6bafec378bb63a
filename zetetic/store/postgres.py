"""The store in PostgreSQL: a pool of connections, one short transaction a command, and a way back when one is lost.

Writers of one run take turns by an advisory lock that ends with the transaction; runs do not wait for one another. A
transaction that was lost on its way is tried again. One that was lost while it was being committed is looked up by its
id first, so nothing is applied twice.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from psycopg import AsyncConnection as Driver
from psycopg import InterfaceError, OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from . import migrations, storage
from .address import PostgresAddress
from .database import Database, Then, Work
from .errors import StoreError
from .place import newer

POOL = 10
"""Connections a store holds at most; runs beyond that many take turns, a command long each."""
LOST_SECONDS = 30.0
"""How long a command is tried again when its connection was lost (seconds)."""
OPEN_SECONDS = 5.0
"""How long opening waits for a server that is starting (seconds)."""
POOL_SECONDS = 60.0
"""How long a command waits for a connection of the pool (seconds)."""
RECYCLE_SECONDS = 1800
"""Age at which a connection is replaced, before something on the way closes it (seconds)."""
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0
OLDEST = 130000
"""PostgreSQL 13: the first that tells what became of a transaction by the id used here."""
_DEFAULTS = {
    "application_name": "zetetic",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    # a server that vanished without a word is noticed within half a minute
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

T = TypeVar("T")


class Lost(Exception):
    """The transaction was not committed, and can be tried again. `absent`: nobody was there to connect to."""

    def __init__(self, reason: str, *, absent: bool = False) -> None:
        super().__init__(reason)
        self.absent = absent


class _Unreachable(OperationalError):
    """No connection could be made."""


class _InDoubt(Exception):
    """The connection was lost while the transaction `xid` was being committed."""

    def __init__(self, xid: str, result: Any) -> None:
        super().__init__(xid)
        self.xid = xid
        self.result = result


def conninfo(address: PostgresAddress) -> str:
    """How to connect: the address, and what it leaves open."""
    given = conninfo_to_dict(address.conninfo)
    return make_conninfo(address.conninfo, **{name: value for name, value in _DEFAULTS.items() if name not in given})


def lock_number(name: str) -> int:
    """The advisory lock of a thing, such as a run."""
    digest = hashlib.blake2b(f"zetetic:{name}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class PostgresDatabase(Database):
    """One PostgreSQL database, or one schema of it where the address sets the search path."""

    def __init__(self, address: PostgresAddress, engine: AsyncEngine) -> None:
        super().__init__(address)
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._writing = engine.execution_options(isolation_level="READ COMMITTED")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    async def open(cls, address: PostgresAddress) -> PostgresDatabase:
        """Connects, creates the tables where there are none, and brings them to this version.

        Raises StoreError, and leaves everything as it is, when nothing can be reached or written there, or it belongs
        to another program or a newer version.
        """
        opened = cls(address, _engine(address))
        try:
            version = await opened._tried(opened._version, OPEN_SECONDS, opening=True)
            if version is None or version < storage.VERSION:
                await opened._tried(opened._upgrade, LOST_SECONDS)
            elif version > storage.VERSION:
                raise newer(address, version)
        except BaseException:
            await opened.close()
            raise
        return opened

    @classmethod
    async def is_set_up(cls, address: PostgresAddress) -> bool:
        """Whether the tables are there; makes nothing. Raises StoreError where nothing answers."""
        looked = cls(address, _engine(address))
        try:
            return await looked._tried(looked._version, OPEN_SECONDS, opening=True) is not None
        finally:
            await looked.close()

    async def _version(self) -> int | None:
        async with self._reading.connect() as connection:
            return await connection.run_sync(migrations.version_of)

    async def _upgrade(self) -> None:
        async with self._writing.begin() as connection:
            await connection.run_sync(_fit)
            await connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": lock_number("schema")})
            await connection.run_sync(migrations.upgraded)

    async def _dispose(self) -> None:
        await self._engine.dispose()

    async def _read(self, work: Work[T]) -> T:
        async def once() -> T:
            async with self._reading.connect() as connection:
                return await connection.run_sync(work)

        return await self._tried(once, LOST_SECONDS)

    async def _write(self, work: Work[T], then: Then[T] | None, of: str) -> T:
        async def once() -> T:
            try:
                return await self._commit(work, of)
            except _InDoubt as error:
                doubt = error
            if await self._tried(lambda: self._committed(doubt.xid), LOST_SECONDS):
                result: T = doubt.result
                return result
            raise Lost("the connection was lost") from doubt

        turn = self._turns.get(of)
        if turn is None:
            turn = self._turns[of] = asyncio.Lock()
        async with turn:
            result = await self._tried(once, LOST_SECONDS)
            if then is not None:
                await then(result)
            return result

    async def _commit(self, work: Work[T], of: str) -> T:
        async with self._writing.connect() as connection:
            began = text("SELECT pg_advisory_xact_lock(:n), CAST(pg_current_xact_id() AS text) AS xid")
            xid = (await connection.execute(began, {"n": lock_number(of)})).one().xid
            result = await connection.run_sync(work)
            try:
                await connection.commit()
            except DBAPIError as error:
                if is_lost(error):
                    raise _InDoubt(xid, result) from error
                raise
            return result

    async def _committed(self, xid: str) -> bool:
        """What became of a transaction. Raises Lost while the server has yet to notice that its client is gone."""
        async with self._reading.connect() as connection:
            told = await connection.execute(text("SELECT pg_xact_status(CAST(:xid AS xid8))"), {"xid": xid})
            status = told.scalar()
        if status == "in progress":
            raise Lost("the server is still at work on the last command")
        if status is None:
            raise StoreError(
                f"{self.place} cannot tell whether the last command was stored. Resume the run: it goes on from what "
                "is stored."
            )
        return bool(status == "committed")

    async def _tried(self, once: Callable[[], Awaitable[T]], seconds: float, *, opening: bool = False) -> T:
        """What `once` gives, tried again for so many seconds while the connection is lost; `opening`: while the server
        is starting, and not where there is none. Raises StoreError then."""
        until = self._loop.time() + seconds
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._in_words(once)
            except Lost as lost:
                if self._loop.time() + pause > until or (opening and lost.absent):
                    raise StoreError(
                        f"{self.place} does not answer: {lost}. Nothing that was stored is lost; check the address and "
                        "the server, then try again or resume."
                    ) from lost
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _in_words(self, once: Callable[[], Awaitable[T]]) -> T:
        try:
            return await once()
        except IntegrityError as error:
            raise StoreError(f"{self.place}: the records contradict each other: {said(error)}") from error
        except PoolTimeout as error:
            raise StoreError(
                f"{self.place}: all {POOL} connections have been busy for {POOL_SECONDS:.0f} seconds. Run fewer "
                "researches side by side."
            ) from error
        except (DBAPIError, OSError) as error:
            if is_lost(error):
                absent = isinstance(getattr(error, "orig", None), _Unreachable) and "starting up" not in str(error)
                raise Lost(said(error), absent=absent) from error
            raise StoreError(in_words(self.place, error)) from error


def _engine(address: PostgresAddress) -> AsyncEngine:
    arguments = conninfo(address)

    async def connect() -> Driver[Any]:
        # Without prepared statements, so that a pooler between here and the server may change servers under way.
        try:
            return await Driver.connect(arguments, prepare_threshold=None)
        except OperationalError as error:
            raise _Unreachable(*error.args) from error

    return create_async_engine(
        "postgresql+psycopg://",
        async_creator=connect,
        pool_size=POOL,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_recycle=RECYCLE_SECONDS,
        pool_use_lifo=True,
    )


def _fit(connection: Any) -> None:
    """Raises StoreError where the server is too old or the database holds other text than UTF-8."""
    asked = text("SELECT CAST(current_setting('server_version_num') AS int), current_setting('server_encoding')")
    number, encoding = connection.execute(asked).one()
    if number < OLDEST:
        raise StoreError(f"The store needs PostgreSQL {OLDEST // 10000} or later; this one is {number // 10000}.")
    if encoding != "UTF8":
        raise StoreError(f"The database is encoded in {encoding}. Create one with ENCODING 'UTF8' and name that.")


_LOST_STATES = {
    *("57P01", "57P02", "57P03", "57P05"),  # shut down, crashed, starting, idle for too long
    *("53300", "40001", "40P01"),  # too many connections, and two kinds of being in each other's way
}


def _state(error: BaseException) -> str:
    return getattr(getattr(error, "orig", error), "sqlstate", None) or ""


def is_lost(error: BaseException) -> bool:
    """Whether a failure leaves no doubt about the command, but only about the connection it was on."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = _state(error)
    if state:
        return state in _LOST_STATES or state.startswith("08")
    return isinstance(getattr(error, "orig", error), (OperationalError, InterfaceError, OSError))


def said(error: BaseException) -> str:
    """The first line of what the server said."""
    lines = str(getattr(error, "orig", error)).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def in_words(place: object, error: BaseException) -> str:
    """What PostgreSQL says, as a sentence that says what to do."""
    state = _state(error)
    if state.startswith("53"):
        return f"{place}: the server is out of room ({said(error)}). What was stored is kept; free some and resume."
    if state == "25006" or "during recovery" in str(error):
        return f"{place} can only be read. Name the address of the server that takes writes."
    if state in ("42501", "28000", "28P01"):
        return f"{place}: access is refused ({said(error)}). Check the user, the password and what it may do."
    return f"{place}: {said(error)}"
