"""What sites ask of robots (RFC 9309): read once for each site, kept for the fetcher's life."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

import httpx
from protego import Protego

from zetetic.sources.charset import decode
from zetetic.sources.web.caps import Caps
from zetetic.sources.web.client import PRODUCT
from zetetic.sources.web.exchange import Exchange, FetchTroubleError, StatusError


@dataclass
class _Site:
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Protego | None = None
    trouble: FetchTroubleError | None = None
    until: float = 0.0
    """When trouble is to be looked at again, on the loop's clock."""


class Robots:
    """Says of each address whether its site lets it be read, and with what pause."""

    def __init__(self, exchange: Exchange, caps: Caps) -> None:
        self._exchange = exchange
        self._caps = caps
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def permission(self, url: httpx.URL) -> float:
        """The pause between requests that the site asks for, in seconds, in bounds.

        Raises FetchTroubleError: `blocked` where the site keeps robots off this address; the trouble of robots.txt
        itself where that could not be read because of the server or the network. One that is not there permits.
        """
        rules = await self._rules(url)
        if not rules.can_fetch(str(url), PRODUCT):
            raise FetchTroubleError("blocked", f"The robots.txt of {url.host} keeps programs off this page.")
        return min(rules.crawl_delay(PRODUCT) or 0.0, self._caps.crawl_delay_seconds)

    async def _rules(self, url: httpx.URL) -> Protego:
        origin = str(url.copy_with(raw_path=b"/robots.txt"))
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        while len(self._sites) > self._caps.hosts_remembered:
            self._sites.popitem(last=False)
        async with site.reading:
            if site.rules is None and (site.trouble is None or site.until <= asyncio.get_running_loop().time()):
                await self._read(site, origin)
        if site.rules is not None:
            return site.rules
        trouble = site.trouble or FetchTroubleError("unreachable", "The site's robots.txt could not be read.")
        raise FetchTroubleError(trouble.kind, str(trouble))

    async def _read(self, site: _Site, origin: str) -> None:
        limit = asyncio.timeout(self._caps.robots_seconds)
        try:
            async with limit:
                answer = await self._exchange.read(origin, limit=self._caps.robots_bytes)
            text = decode(answer.body, answer.content_type)
            site.rules = await asyncio.to_thread(Protego.parse, text)
        except StatusError as error:
            if error.status < 500:
                site.rules = Protego.parse("")  # there are no rules
            else:
                self._failed(site, error)
        except FetchTroubleError as error:
            if error.kind == "unreadable":  # a circle, a broken answer: nothing that could be kept to
                site.rules = Protego.parse("")
            else:
                self._failed(site, error)
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = f"{self._caps.robots_seconds:g}"
            self._failed(site, FetchTroubleError("timeout", f"It did not come within {seconds} seconds."))

    def _failed(self, site: _Site, why: FetchTroubleError) -> None:
        of_the_site = why.kind in ("refused", "not_found")  # its pages would say the same
        said = str(why) if of_the_site else f"The site's robots.txt could not be read, so no page is. {why}"
        site.trouble = FetchTroubleError(why.kind, said)
        site.until = asyncio.get_running_loop().time() + self._caps.robots_retry_seconds
