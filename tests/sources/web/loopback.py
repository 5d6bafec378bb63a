"""A raw HTTP server on loopback that says byte for byte what a test wants, and a wire that reaches nothing else."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

import httpcore

from zetetic.sources.web.transport import direct_connect

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]
Route = bytes | Behaviour | list[bytes]
"""An answer, a behaviour, or answers of which each request takes the next, the last for ever."""


def answer(body: bytes | str = b"", kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; underscores in header names are dashes."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(data)}", "connection: close"]
    if kind:
        lines.append(f"content-type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def moved(to: str, status: str = "302 Found", **headers: str) -> bytes:
    """A redirect."""
    return answer(b"", "", status, location=to, **headers)


def article(sentence: str = "The old bridge was built in 1905 by the town.", title: str = "Bridges") -> str:
    """A page with one paragraph that is long enough to be a text."""
    more = "It carries a road across the river, and carts have used it ever since that year. "
    return f"<!doctype html><html><head><title>{title}</title></head><body><p>{sentence} {more * 3}</p></body></html>"


@dataclass
class Loopback:
    """A context manager. `paths` holds what was asked for, in order; `heads` the requests as they came."""

    routes: Mapping[str, Route]
    tls: ssl.SSLContext | None = None
    paths: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    starts: list[float] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def allow(self) -> tuple[str, ...]:
        return (f"127.0.0.1:{self.port}",)

    @property
    def pages(self) -> list[str]:
        """The paths asked for, but for robots.txt."""
        return [path for path in self.paths if path != "/robots.txt"]

    async def __aenter__(self) -> Loopback:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._served(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            self.paths.append(path)
            self.heads.append(head)
            self.starts.append(asyncio.get_running_loop().time())
            route = self.routes.get(path, answer("Nothing here.", status="404 Not Found"))
            if isinstance(route, list):
                route = route.pop(0) if len(route) > 1 else route[0]
            if isinstance(route, bytes):
                writer.write(route)
                await writer.drain()
            else:
                await route(writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the client has heard enough
        finally:
            self.at_once -= 1
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()


@dataclass
class Wire:
    """Resolver and connections of a test: `names` are all the names there are, `lines` where a number really leads.

    Every number that a connection is asked for is in `asked`. Only listeners of the test are ever reached: a number
    in `lines` leads to a port on loopback, a loopback number to itself, anything else is recorded and refused here.
    A name with several lists of numbers gives the next with every look-up.
    """

    names: Mapping[str, Sequence[str] | list[list[str]]] = field(default_factory=dict)
    lines: Mapping[tuple[str, int], int] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        found = self.names.get(host.removesuffix("."))
        if found is None:
            raise OSError(f"no such name: {host}")
        if found and isinstance(found[0], list):
            assert isinstance(found, list)
            return found.pop(0) if len(found) > 1 else found[0]
        return [str(number) for number in found]

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
        self.asked.append((address, port))
        if (address, port) in self.lines:
            return await direct_connect("127.0.0.1", self.lines[address, port], timeout)
        if address in ("127.0.0.1", "::1"):
            return await direct_connect(address, port, timeout)
        raise httpcore.ConnectError("the test lets nothing else be reached")
