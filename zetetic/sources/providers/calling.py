"""One call to a search service: within its time, in bounds, and every way it can go as a status (R7, R8)."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from typing import ClassVar
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from zetetic.sources.extracted import one_line
from zetetic.sources.plain_text import is_web
from zetetic.sources.providers.queries import any_term, capped
from zetetic.sources.providers.readings import MalformedError
from zetetic.sources.providers.words import BAD_KEY, QUOTA, SAID_CHARS, retry_after, said_in, wait_told, without_secrets
from zetetic.sources.search import Hit, SearchResult, SearchStatus
from zetetic.sources.web.client import guarded_client

SEARCH_SECONDS = 20.0
"""One search, with what is waited for between its requests (seconds)."""
MAX_WAIT_SECONDS = 5.0
"""The longest wait that a provider may ask for and get (seconds)."""
RETRIES = 2
"""Requests sent again after a wait that the provider asked for."""
MAX_BODY_BYTES = 5_000_000
"""Of an answer, unpacked."""


class Trouble(Exception):
    """An answer that is none. `wait` is how many seconds the provider asks for before the next request, if it says."""

    def __init__(self, status: SearchStatus, detail: str, wait: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.wait = wait


class ApiProvider(ABC):
    """A search service behind an HTTP address. `search` never raises for the service's trouble (R7).

    A provider works in any event loop, one at a time; `aclose` frees its connections, after which it can be used again.
    """

    name: ClassVar[str]
    address: ClassVar[str]
    """Where the service is; `endpoint` replaces it."""
    variables: ClassVar[tuple[str, ...]] = ()
    """Environment variables that may hold the key, the usual one first."""
    needs_key: ClassVar[bool] = False
    query_chars: ClassVar[int] = 400
    """The longest query the service takes (characters); a longer one is cut at a word."""
    most_hits: ClassVar[int] = 20
    """The most hits it gives at once."""
    wants_all_words: ClassVar[bool] = False
    """Whether it finds only what holds every word; where that is nothing, it is asked for any of them (`any_term`)."""
    interval: ClassVar[float] = 0.0
    """What the service wants between two requests (seconds)."""
    seconds: ClassVar[float] = SEARCH_SECONDS
    """One search, with its waits (seconds)."""

    def __init__(
        self,
        *,
        key: str | SecretStr | None = None,
        endpoint: str | None = None,
        timeout: float | None = None,
        interval: float | None = None,
    ) -> None:
        """Of a service; nothing is sent yet. An `endpoint` may be at a private address, since its user named it.

        Raises ValueError, saying what to give, for an endpoint that is no web address.
        """
        if endpoint and not _is_place(endpoint):
            raise ValueError(
                f"{endpoint.rpartition('@')[2]!r} is no address for {self.name}: give one such as "
                "https://search.example.org, without a login."
            )
        plain_key = key.get_secret_value() if isinstance(key, SecretStr) else key or ""
        self._key = SecretStr(plain_key.strip())
        self.endpoint = (endpoint or self.address).rstrip("/")
        self._allowed = (_host_and_port(endpoint),) if endpoint else ()
        self._timeout = self.seconds if timeout is None else timeout
        self._interval = self.interval if interval is None else interval
        self._client: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._next_request: tuple[asyncio.AbstractEventLoop | None, float] = (None, 0.0)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} at {self.endpoint}{' with a key' if self.key else ''}>"

    @property
    def key(self) -> str:
        """The key in the clear, for a request; '' without one."""
        return self._key.get_secret_value()

    @property
    def missing(self) -> str:
        """What keeps the provider from being used, as a sentence that says what to set; '' when nothing does."""
        if self.needs_key and not self.key:
            return f"{self.name} needs a key: set {self.variables[0]}."
        return ""

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """At most `limit` hits, best first, or the status that says why there are none (R8)."""
        if self.missing:
            return self._answer(SearchStatus.NOT_CONFIGURED, self.missing)
        query = capped(query, self.query_chars)
        if not query or limit < 1:
            return self._answer(SearchStatus.NO_RESULTS, "Nothing was asked for.")
        deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            async with asyncio.timeout_at(deadline):
                found = await self.found(query, min(limit, self.most_hits), deadline)
        except Trouble as trouble:
            return self._answer(trouble.status, trouble.detail)
        except MalformedError as error:
            return self._answer(SearchStatus.FAILED, f"The answer of {self.name} cannot be used: {error}.")
        except (TimeoutError, httpx.TimeoutException):
            return self._answer(SearchStatus.FAILED, f"{self.name} did not answer within {self._timeout:g} seconds.")
        except httpx.DecodingError as error:
            said = one_line(str(error), SAID_CHARS).rstrip(".")
            return self._answer(SearchStatus.FAILED, f"The answer of {self.name} cannot be used: {said}.")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            said = one_line(str(error), SAID_CHARS).rstrip(".") or type(error).__name__
            return self._answer(SearchStatus.FAILED, f"{self.name} cannot be reached: {said}.")
        hits = tuple(found[:limit])
        if not hits:
            return self._answer(SearchStatus.NO_RESULTS, f"{self.name} found nothing for this query.")
        return SearchResult(provider=self.name, status=SearchStatus.OK, hits=hits)

    async def found(self, query: str, limit: int, deadline: float) -> list[Hit]:
        """The hits for a query. Raises Trouble, MalformedError, httpx.HTTPError or TimeoutError."""
        hits = await self.asked(query, limit, deadline)
        if not hits and self.wants_all_words and (wider := any_term(query)):
            hits = await self.asked(capped(wider, self.query_chars), limit, deadline)
        return hits

    async def asked(self, query: str, limit: int, deadline: float) -> list[Hit]:
        """The hits for a query as it stands. Raises what `found` raises."""
        return self.hits(await self.answered(self.request(query, limit), deadline))

    @abstractmethod
    def request(self, query: str, limit: int) -> httpx.Request:
        """The request that asks for a query."""

    @abstractmethod
    def hits(self, body: bytes) -> list[Hit]:
        """The hits in an answer. Raises MalformedError, or Trouble where the answer tells of one."""

    async def answered(self, request: httpx.Request, deadline: float) -> bytes:
        """The body of the answer to a request; a short wait that the service asks for is kept, and it is asked again.

        Raises what `found` raises. `deadline` is in the loop's time.
        """
        loop = asyncio.get_running_loop()
        for attempt in range(RETRIES + 1):
            await self._turn(loop, deadline)
            response, body = await self._sent(request)
            trouble = self.trouble(response, body)
            if trouble is None:
                return body
            wait = trouble.wait
            if wait is None or wait > MAX_WAIT_SECONDS or attempt == RETRIES or loop.time() + wait >= deadline:
                raise trouble
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _turn(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        """Waits until the service wants another request. Raises Trouble where that is too late for this search."""
        known, earliest = self._next_request
        at = max(loop.time(), earliest) if known is loop else loop.time()
        if at >= deadline:
            pace = f"{self.name} takes one request in {self._interval:g} seconds, and others wait already"
            raise Trouble(SearchStatus.RATE_LIMITED, f"{pace}: search it again later.")
        self._next_request = (loop, at + self._interval)
        if at > loop.time():
            await asyncio.sleep(at - loop.time())

    async def _sent(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        response = await self._connected().send(request)
        if len(response.content) > MAX_BODY_BYTES:
            raise MalformedError(f"it is larger than {MAX_BODY_BYTES:,} bytes")
        return response, response.content

    def _connected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            try:
                client = guarded_client(timeout=self._timeout, allow=self._allowed)
            except ValueError as error:
                raise Trouble(SearchStatus.FAILED, f"{self.name} cannot be reached: {error}") from None
            self._client = (loop, client)
        return self._client[1]

    async def aclose(self) -> None:
        """Frees the connections. Twice is harmless."""
        client, self._client = self._client, None
        if client is not None and client[0] is asyncio.get_running_loop():
            await client[1].aclose()

    def trouble(self, response: httpx.Response, body: bytes) -> Trouble | None:
        """What an answer's status tells of, or None where its body holds the results."""
        code, said = response.status_code, said_in(body)
        words = f" ({said})" if said else ""
        if code < 300:
            return None
        if code < 400:
            return Trouble(SearchStatus.FAILED, f"{self.name} answered with a redirect (HTTP {code}), not followed.")
        if code in (402, 432, 433) or (code < 500 and QUOTA.search(said)):
            return Trouble(SearchStatus.QUOTA, f"The quota of {self.name} is used up: HTTP {code}{words}.")
        if code == 429:
            wait = self.wait_asked(response)
            return self.rate_limited(wait_told(said) if wait is None else wait, f"HTTP {code}{words}")
        if code == 401 or (code == 403 and self.key) or (code < 500 and self.key and BAD_KEY.search(said)):
            return Trouble(SearchStatus.NOT_CONFIGURED, self.key_refused(f"HTTP {code}{words}"))
        wait = self.wait_asked(response) if code == 503 else None
        return Trouble(SearchStatus.FAILED, f"{self.name} failed: HTTP {code}{words}.", wait)

    def rate_limited(self, wait: float | None, said: str) -> Trouble:
        """Too many requests, and when to come again."""
        again = f"; it asks to wait {math.ceil(wait)} seconds" if wait is not None else ""
        detail = f"{self.name} is asked too often: {said}{again}."
        return Trouble(SearchStatus.RATE_LIMITED, detail, wait)

    def key_refused(self, said: str) -> str:
        """A key that the service does not take, or the lack of one that it wants, as a sentence."""
        if not self.variables:
            return f"{self.name} wants a login, which is not given: {said}."
        if not self.key:
            return f"{self.name} wants a key: set {self.variables[0]} ({said})."
        return f"{self.name} refused the key: {said}. Set {self.variables[0]} to a valid one."

    def wait_asked(self, response: httpx.Response) -> float | None:
        """How many seconds the service asks to wait (retry-after, as seconds or as a date); None where it does not."""
        return retry_after(response.headers.get("retry-after", ""))

    def _answer(self, status: SearchStatus, detail: str) -> SearchResult:
        return SearchResult(provider=self.name, status=status, detail=without_secrets(detail, self.secrets()))

    def secrets(self) -> tuple[str, ...]:
        """What no detail may hold."""
        return (self.key,)


def _is_place(endpoint: str) -> bool:
    """Whether it is a web address with a valid port and without a login, which would stand in logs."""
    try:
        return is_web(endpoint) and urlsplit(endpoint).port != 0 and "@" not in urlsplit(endpoint).netloc
    except ValueError:
        return False


def _host_and_port(endpoint: str) -> str:
    """`host:port` of an address, as the guard is told what it allows."""
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"[{parts.hostname}]:{port}" if parts.hostname and ":" in parts.hostname else f"{parts.hostname}:{port}"
