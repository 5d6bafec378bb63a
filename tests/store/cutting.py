"""A line to a server that breaks: a proxy on loopback that cuts a connection at a commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

COMMIT = b"COMMIT"


class Cutter:
    """Passes bytes on, and cuts at a commit when told to, or at `every` so many messages of clients: with
    `after_the_server`, once the server has carried the message out and before its answer comes through; else before
    the message reaches it."""

    def __init__(self, *, after_the_server: bool) -> None:
        self.cuts = 0
        self.every = 0
        self._after = after_the_server
        self._seen = 0
        self._armed = False

    def cut_next_commit(self) -> None:
        """Cuts at the next commit of any connection."""
        self._armed = True

    @asynccontextmanager
    async def running(self, address: str) -> AsyncIterator[str]:
        """The address at which the database is reached through this line."""
        given = conninfo_to_dict(address)
        lines: set[asyncio.Task[None]] = set()

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            lines.add(task)
            server = await asyncio.open_unix_connection(f"{given['host']}/.s.PGSQL.5432")
            with suppress(OSError, asyncio.CancelledError):
                await self._line(reader, writer, *server)
            for end in (writer, server[1]):
                end.transport.abort()

        proxy = await asyncio.start_server(accepted, "127.0.0.1", 0)
        try:
            port = proxy.sockets[0].getsockname()[1]
            yield f"postgresql://postgres@127.0.0.1:{port}/{given['dbname']}?sslmode=disable&gssencmode=disable"
        finally:
            proxy.close()
            for line in lines:
                line.cancel()
            await asyncio.gather(*lines, return_exceptions=True)

    async def _line(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        answers = asyncio.create_task(_passed(server, to_client))
        try:
            while sent := await client.read(65536):
                if self._cuts(sent):
                    if self._after:
                        answers.cancel()
                        await asyncio.gather(answers, return_exceptions=True)
                        to_server.write(sent)
                        await server.read(65536)  # the answer that is lost
                    return
                to_server.write(sent)
                await to_server.drain()
        finally:
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)

    def _cuts(self, sent: bytes) -> bool:
        self._seen += 1
        if not (self.every and self._seen % self.every == 0) and not (self._armed and COMMIT in sent):
            return False
        self._armed = False
        self.cuts += 1
        return True


async def _passed(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while got := await source.read(65536):
        target.write(got)
        await target.drain()
