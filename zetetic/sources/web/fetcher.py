"""`WebFetcher`: an address of the web to a page, with which a hostile page can do nothing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable

from zetetic.sources.extraction import ExtractionFailure, extract
from zetetic.sources.media_types import HTML, MARKDOWN, PLAIN, media_type
from zetetic.sources.pages import FetchFailure, Page, page_from_web
from zetetic.sources.web.caps import Caps
from zetetic.sources.web.exchange import Answer, Exchange, FetchTroubleError, no_conditions, web_address
from zetetic.sources.web.robots import Robots
from zetetic.sources.web.transport import Connect, GuardedTransport, Resolve, direct_connect, system_resolve
from zetetic.sources.web.turns import Turns

EXTRACTIONS_AT_ONCE = 2
_MARKUP = (HTML, MARKDOWN, PLAIN)
_ZIP = b"PK\x03\x04"


class WebFetcher:
    """Reads pages over HTTP and HTTPS, from public addresses only. Close it in the event loop that used it.

    `allow` names addresses that may be reached though they are not public (`127.0.0.1:8123`, `10.0.0.0/8`,
    `wiki.corp`); ValueError for one that cannot be read. `robots` False passes over robots.txt. `resolve`, `connect`
    and `tls` stand in for the machine's own resolver, sockets and certificate authorities in tests.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        caps: Caps | None = None,
        robots: bool = True,
        resolve: Resolve = system_resolve,
        connect: Connect = direct_connect,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._caps = caps or Caps()
        self._transport = GuardedTransport(allow=allow, resolve=resolve, connect=connect, tls=tls)
        turns = Turns(
            side_by_side=self._caps.side_by_side,
            pause=self._caps.pause_seconds,
            remembered=self._caps.hosts_remembered,
        )
        self._exchange = Exchange(self._transport, turns, self._caps)
        self._permission = Robots(self._exchange, self._caps).permission if robots else no_conditions
        self._extracting = asyncio.Semaphore(EXTRACTIONS_AT_ONCE)

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The page at `url` with its main text, or why there is none. Only cancellation leaves it as an exception."""
        try:
            answer = await self._loaded(url)
            read = await self._read(answer, url.strip())
        except FetchTroubleError as trouble:
            return FetchFailure(url=url, kind=trouble.kind, message=str(trouble))
        except Exception as error:  # what the libraries below did not expect of a page ends that page only (R7)
            message = f"The page could not be read: {type(error).__name__}: {str(error)[:200]}"
            return FetchFailure(url=url, kind="unreadable", message=message)
        if isinstance(read, ExtractionFailure):
            return FetchFailure(url=url, kind=read.kind, message=read.message)
        return read

    async def _loaded(self, url: str) -> Answer:
        seconds = self._caps.total_seconds
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._exchange.read(
                    url, limit=self._caps.body_bytes, permission=self._permission, look=self._look
                )
        except TimeoutError:
            if not limit.expired():
                raise
            raise FetchTroubleError("timeout", f"The page did not come within {seconds:g} seconds.") from None

    def _look(self, head: bytes, declared: str | None, url: str) -> None:
        """Ends the reading of what holds no text, such as a film, at its first bytes."""
        if not head or head.startswith(_ZIP):  # a ZIP shows only at its end whether it is a document
            return
        kind, instead = media_type(head, declared, web_address(url).path)
        if not kind:
            raise FetchTroubleError("unsupported", f"The document is {instead}: there is no text to read.")

    async def _read(self, answer: Answer, url: str) -> Page | ExtractionFailure:
        """The page, made in a thread; a thread that takes too long keeps its place until it ends."""
        if (size := len(answer.body)) > self._caps.markup_bytes:
            kind, _ = media_type(answer.body, answer.content_type, web_address(answer.url).path)
            if kind in _MARKUP:
                message = f"The page is {size:,} bytes of text or HTML, more than {self._caps.markup_bytes:,}."
                raise FetchTroubleError("unsupported", message)
        seconds = self._caps.extract_seconds
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await self._extracting.acquire()
                work = asyncio.ensure_future(asyncio.to_thread(_page, answer, url))
                work.add_done_callback(self._extraction_ended)
                return await asyncio.shield(work)
        except TimeoutError:
            if not limit.expired():
                raise
            raise FetchTroubleError("timeout", f"The page's text was not read within {seconds:g} seconds.") from None

    def _extraction_ended(self, work: asyncio.Future[Page | ExtractionFailure]) -> None:
        self._extracting.release()
        if not work.cancelled():
            work.exception()  # nobody may wait for it any more

    async def close(self) -> None:
        """Closes the connections. Twice is harmless."""
        await self._transport.aclose()

    async def __aenter__(self) -> WebFetcher:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _page(answer: Answer, url: str) -> Page | ExtractionFailure:
    found = extract(answer.body, url=answer.url, declared_type=answer.content_type)
    return found if isinstance(found, ExtractionFailure) else page_from_web(found, url=url, final_url=answer.url)
