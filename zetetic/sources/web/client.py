"""A client for plain API calls over guarded connections, for search providers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import httpx

from zetetic.sources.web.decoding import ACCEPTED, DecodingError, decoded, read_body
from zetetic.sources.web.transport import Connect, GuardedTransport, Resolve, direct_connect, system_resolve

MAX_ANSWER_BYTES = 20_000_000

try:
    _version = version("zetetic")
except PackageNotFoundError:  # run from a checkout that is not installed
    _version = "0"
PRODUCT = "zetetic"
"""The name that robots.txt files know."""
USER_AGENT = f"Mozilla/5.0 (compatible; {PRODUCT}/{_version}; research agent)"


def guarded_client(
    *,
    timeout: float,
    allow: Iterable[str] = (),
    resolve: Resolve = system_resolve,
    connect: Connect = direct_connect,
) -> httpx.AsyncClient:
    """A client whose connections only reach public addresses, and those that `allow` names.

    `timeout` is in seconds, for a whole exchange. Redirects are not followed, proxy settings and `.netrc` not read;
    an answer is at most 20 MB, compressed or not. Trouble is an `httpx.HTTPError`: a refused address an
    `httpx.ConnectError` whose text says why, a slow answer an `httpx.TimeoutException`. Close it with `aclose()`.
    """
    transport = _Whole(GuardedTransport(allow=allow, resolve=resolve, connect=connect), timeout)
    headers = {"user-agent": USER_AGENT, "accept-encoding": ACCEPTED}
    return httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False, headers=headers)


class _Whole(httpx.AsyncBaseTransport):
    """Reads the whole answer within the time and the caps before anyone sees it."""

    def __init__(self, transport: GuardedTransport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._transport.handle_async_request(request)
                try:
                    body = await read_body(answer, MAX_ANSWER_BYTES)
                finally:
                    await answer.aclose()
                coding = answer.headers.pop("content-encoding", "")
                content = await asyncio.to_thread(decoded, body, coding, MAX_ANSWER_BYTES) if coding else body
        except TimeoutError:
            raise httpx.ReadTimeout(f"No complete answer within {self._seconds:g} seconds.", request=request) from None
        except DecodingError as error:
            raise httpx.DecodingError(str(error), request=request) from None
        for name in ("transfer-encoding", "content-length"):
            answer.headers.pop(name, None)
        return httpx.Response(answer.status_code, headers=answer.headers, content=content, request=request)

    async def aclose(self) -> None:
        await self._transport.aclose()
