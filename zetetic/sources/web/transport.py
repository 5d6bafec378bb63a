"""HTTP whose connections are judged where they are made: by the number, after the name was resolved, on every request.

The name is resolved once, every number it has is judged, and the connection goes to a judged number: a name that
changes between check and use cannot matter. Host header, TLS name and certificate stay those of the name. Proxy
settings of the environment are not read, since a proxy would connect to what it likes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpcore
import httpx

from zetetic.sources.web.addresses import AddressGuard, bare_host, literal, written_as_number

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numbers of a name, best first. Raises OSError where it has none."""
Connect = Callable[[str, int, float | None], Awaitable[httpcore.AsyncNetworkStream]]
"""A connection to a number and port within so many seconds. Raises httpcore's errors."""

MAX_ADDRESSES_TRIED = 4
CONNECT_SECONDS = 10.0
"""For a name's resolution and all tries to connect, where the request names no time of its own."""


class AddressRefusedError(httpx.ConnectError):
    """A connection that the address guard did not let happen; the message is a sentence for the log."""


class NameNotFoundError(httpx.ConnectError):
    """A name without an address."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """What the machine's own resolver says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def direct_connect(address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
    """A TCP connection to a number."""
    return await httpcore.AnyIOBackend().connect_tcp(address, port, timeout=timeout)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves, judges, connects."""

    def __init__(self, guard: AddressGuard, resolve: Resolve, connect: Connect) -> None:
        self._guard = guard
        self._resolve = resolve
        self._connect = connect

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first number of `host` that answers. Raises AddressRefusedError, NameNotFoundError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (CONNECT_SECONDS if timeout is None else timeout)
        addresses = await self._addresses(host, port, deadline)
        if reason := self._guard.refusal(host, port, addresses):
            raise AddressRefusedError(reason)
        tried = list(addresses[:MAX_ADDRESSES_TRIED])
        while True:
            address = tried.pop(0)
            try:
                return await self._connect(address, port, max(deadline - loop.time(), 0.001) / (len(tried) + 1))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not tried:
                    raise

    async def _addresses(self, host: str, port: int, deadline: float) -> Sequence[str]:
        if number := literal(host):
            return [number]
        if written_as_number(host):
            raise AddressRefusedError(f"{host} is a number in an unusual notation: write an address as four decimals.")
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await self._resolve(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"The name {host} was not resolved in time.") from None
        except (OSError, UnicodeError) as error:
            if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
                raise httpcore.ConnectError(f"The name {host} could not be looked up just now.") from error
            raise NameNotFoundError(f"There is no site called {bare_host(host)}.") from error
        if not addresses:
            raise NameNotFoundError(f"There is no site called {bare_host(host)}.")
        return addresses

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Never: a page is not read from a socket of the machine."""
        raise AddressRefusedError("Sockets of this machine are not part of the web.")

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)


class GuardedTransport(httpx.AsyncBaseTransport):
    """A transport for `httpx.AsyncClient` whose every connection is judged. Redirects are the caller's to follow.

    `allow` names what may be reached though it is not public; `resolve` and `connect` stand in for the machine's
    own in tests; `tls` replaces the usual trust in certificate authorities (httpx's, with SSL_CERT_FILE honoured).
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        resolve: Resolve = system_resolve,
        connect: Connect = direct_connect,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._backend = GuardedBackend(AddressGuard.of(allow), resolve, connect)
        self._tls = tls
        self._pool: httpcore.AsyncConnectionPool | None = None
        self._opening = asyncio.Lock()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends one request; the body of the answer is still to be read."""
        if request.url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol(f"{request.url.scheme}: is not read, only http and https are.")
        pool = await self._opened()
        sent = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _in_httpx_words():
            answer = await pool.handle_async_request(sent)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions, request=request
        )

    async def _opened(self) -> httpcore.AsyncConnectionPool:
        """The pool; the certificates are read in a thread, since that is a file of some size."""
        async with self._opening:
            if self._pool is None:
                self._tls = self._tls or await asyncio.to_thread(_usual_trust)
                self._pool = httpcore.AsyncConnectionPool(
                    ssl_context=self._tls,
                    max_connections=40,
                    max_keepalive_connections=0,  # a kept connection may have ended unnoticed by its next use
                    network_backend=self._backend,
                )
            return self._pool

    async def aclose(self) -> None:
        """Closes every connection. Twice is harmless."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()


@cache
def _usual_trust() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _in_httpx_words():
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


_SAME_NAMES = {
    getattr(httpcore, name): getattr(httpx, name)
    for name in (
        *("ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeoutException"),
        *("ConnectError", "ReadError", "WriteError", "NetworkError"),
        *("LocalProtocolError", "RemoteProtocolError", "ProtocolError", "UnsupportedProtocol", "ProxyError"),
    )
}


@contextmanager
def _in_httpx_words() -> Iterator[None]:
    """Errors of httpcore as the httpx errors of the same name, which is what callers know."""
    try:
        yield
    except tuple(_SAME_NAMES) as error:
        kind = next(_SAME_NAMES[one] for one in type(error).__mro__ if one in _SAME_NAMES)
        raise kind(str(error)) from error
