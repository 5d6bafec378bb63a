"""A database: transactions handed out, one event loop, nothing under way lost when a caller is cancelled.

What a transaction does is a plain function of its connection: awaiting each statement would cost more than most of them
take. It runs beside the event loop, in a thread or as the driver's own task, so it touches nothing but the connection,
values, and what is safe to touch from a thread.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from .address import PostgresAddress
from .errors import StoreError

T = TypeVar("T")
Work = Callable[[Connection], T]
Then = Callable[[T], Awaitable[None]]


class Database(ABC):
    """One database, opened in one event loop. `read` and `write` hand out transactions."""

    def __init__(self, place: Path | PostgresAddress) -> None:
        self.place = place
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        """Waits for what is under way and closes every connection. Twice is harmless."""
        if self._closed:
            return
        self._here()
        self._closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._dispose()

    async def read(self, work: Work[T]) -> T:
        """Runs `work` in a transaction that sees one state of the database and keeps no writer waiting."""
        return await self._finished(self._read(work))

    async def write(self, work: Work[T], then: Then[T] | None = None, *, of: str = "") -> T:
        """Runs `work` in a transaction of its own, and `then` after its commit, before this process's next writer.

        Writers of the same thing, such as a run, wait for each other: `of` names it. `work` may be called again when
        its transaction is known not to have been committed. A caller that is cancelled does not break it off: it ends
        as a whole, and `close` waits for it.
        """
        return await self._finished(self._write(work, then, of))

    @abstractmethod
    async def _read(self, work: Work[T]) -> T: ...

    @abstractmethod
    async def _write(self, work: Work[T], then: Then[T] | None, of: str) -> T: ...

    @abstractmethod
    async def _dispose(self) -> None: ...

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
