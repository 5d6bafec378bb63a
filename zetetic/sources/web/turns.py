"""Being polite: so many requests to one host at a time, and a pause between them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class _Host:
    slots: asyncio.Semaphore
    order: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_start: float = 0.0


class Turns:
    """One turn at a time for each host: `side_by_side` of them at once, their starts `pause` seconds apart."""

    def __init__(self, *, side_by_side: int, pause: float, remembered: int) -> None:
        self._side_by_side = side_by_side
        self._pause = pause
        self._remembered = remembered
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def of(self, host: str, pause: float = 0.0) -> AsyncIterator[None]:
        """A turn with `host`, for the length of a block; `pause` is what the site asks for, if that is longer."""
        known = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self._side_by_side)))
        self._hosts.move_to_end(host)
        while len(self._hosts) > self._remembered:
            self._hosts.popitem(last=False)
        loop = asyncio.get_running_loop()
        async with known.slots:
            async with known.order:
                await asyncio.sleep(max(known.next_start - loop.time(), 0.0))
                known.next_start = loop.time() + max(self._pause, pause)
            yield
