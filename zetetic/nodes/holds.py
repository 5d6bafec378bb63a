"""Leases as this process holds them: under which name, until when, and whether something is at work under them."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from zetetic.store import Store, StoreError

from .roles import SetupError

REST_SECONDS = 1.0
"""How long an invocation of this process may be between two steps before another one may follow it: it may as well have
ended there, by an exception of its checkpointer, and nobody would say so."""
TRIES = 20
_NEVER = datetime.min.replace(tzinfo=UTC)


class Hold:
    """One lease of one invocation: taken when it is needed, renewed while it is used, left to run out in between."""

    def __init__(self, store: Store, name: str, seconds: float, clock: Callable[[], datetime]) -> None:
        self.owner = f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}"
        self._store = store
        self._name = name
        self._seconds = seconds
        self._clock = clock
        self._until = _NEVER
        self._users = 0
        self._rests_since = time.monotonic()
        self._taking = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_used(self) -> bool:
        """Whether something is at work under it."""
        return self._users > 0

    async def take(self) -> None:
        """Sees to it that the lease is held for half its time at least; at most one write in that time.

        Raises SetupError while another invocation works under it. One that died is followed at once where it was a
        process of this machine, else when its lease has run out.
        """
        async with self._taking:
            if self._until - self._clock() <= timedelta(seconds=self._seconds / 2):
                self._rests_since = time.monotonic()
                _here[self.owner] = self
                try:
                    await self._acquire()
                except BaseException:
                    if not self.is_used:
                        self.forget()
                    raise

    @contextmanager
    def used(self) -> Iterator[None]:
        """Renews the lease for the length of a block; blocks may overlap."""
        self._users += 1
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            self._users -= 1
            self._rests_since = time.monotonic()
            if not self._users:
                self._renewing.cancel()
                self._renewing = None

    async def give_back(self) -> None:
        """Gives the lease back; where the database is gone, it runs out by itself."""
        self.forget()
        with suppress(StoreError):
            await self._store.release_lease(self._name, self.owner)

    def forget(self) -> None:
        """Knows of the lease no more, so that it is taken anew before anything is done under it."""
        self._until = _NEVER
        _here.pop(self.owner, None)

    def rests(self) -> float:
        """For how long nothing has been at work under it (seconds)."""
        return 0.0 if self._users else time.monotonic() - self._rests_since

    async def _acquire(self) -> None:
        for _ in range(TRIES):
            now = self._clock()
            if await self._store.acquire_lease(self._name, self.owner, self._seconds, now):
                self._until = now + timedelta(seconds=self._seconds)
                return
            holder = await self._store.lease_holder(self._name)
            if holder is None:
                continue
            if not is_gone(holder):
                await self._follow(holder)
            await self._store.release_lease(self._name, holder)
        raise SetupError(f"The run {self._name} was taken up by another invocation just now.")

    async def _follow(self, holder: str) -> None:
        """Waits whether a holder of this process goes on working or has ended between two steps. Raises SetupError."""
        other = _here.get(holder)
        if other is not None and not other.is_used:
            await asyncio.sleep(max(0.0, REST_SECONDS - other.rests()))
        if other is None or other.rests() < REST_SECONDS:
            raise SetupError(
                f"The run {self._name} is being worked on ({holder}). Wait until it ends, or stop it there; if it died "
                f"on another machine, its lease runs out in at most {self._seconds:g} seconds."
            )
        other.forget()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._seconds / 3)
            now = self._clock()
            with suppress(StoreError):  # a database that comes back must not find the run without its lease
                held = await self._store.renew_lease(self._name, self.owner, self._seconds, now)
                self._until = now + timedelta(seconds=self._seconds) if held else _NEVER


_here: dict[str, Hold] = {}
"""What this process holds, by owner; of all its event loops."""


def is_gone(owner: str) -> bool:
    """Whether the holder was a process of this machine that lives no more: its lease need not run out first."""
    host, _, rest = owner.partition("/")
    pid = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():  # an earlier process may have had this number, in a container at every start
        return owner not in _here
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
