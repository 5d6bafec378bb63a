"""`FixtureSearch` and `FixtureWeb`: a search provider and a web of pages that are held in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zetetic.sources.pages import FailureKind, FetchFailure, Page
    from zetetic.sources.search import SearchResult

_WORD = re.compile(r"\w+")
_SNIPPET = 200
"""Characters of a page's text that a hit shows."""


@dataclass(frozen=True, slots=True)
class FixturePage:
    """A page of the fixture web: main text, and what it declares of itself.

    `redirects_to` is the address at which a fetch of this page ends; `canonical` the link it declares (D33).
    """

    text: str
    title: str = ""
    date: str | None = None
    media_type: str = "text/html"
    redirects_to: str | None = None
    canonical: str | None = None
    links: tuple[str, ...] = ()


@dataclass(slots=True)
class FixtureSearch:
    """Finds the fixture pages that share words with a query, most shared words first; ties keep the given order.

    `pages` maps addresses to pages or to plain texts. `status` other than `ok` makes every search end that way, and
    `statuses` one query's (R8). `queries` records what was asked, in order.
    """

    pages: Mapping[str, FixturePage | str]
    name: str = "fixture"
    status: str = "ok"
    statuses: Mapping[str, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """At most `limit` hits."""
        from zetetic.sources.search import Hit, SearchResult, SearchStatus

        self.queries.append(query)
        status = SearchStatus(self.statuses.get(query, self.status))
        if status is not SearchStatus.OK:
            return SearchResult(provider=self.name, status=status, detail=f"The fixture is {status.value}.")
        asked = _words(query)
        scored = []
        for url, entry in self.pages.items():
            page = _page(entry)
            shared = len(asked & _words(f"{page.title} {page.text}"))
            if shared:
                scored.append((shared, Hit(url=url, title=page.title, snippet=page.text[:_SNIPPET], date=page.date)))
        scored.sort(key=lambda pair: -pair[0])
        hits = tuple(hit for _, hit in scored[: max(limit, 0)])
        return SearchResult(provider=self.name, status=SearchStatus.OK if hits else SearchStatus.NO_RESULTS, hits=hits)


@dataclass(slots=True)
class FixtureWeb:
    """Fetches the fixture pages; any other address is `not_found`.

    `failures` maps addresses to the kind of failure they end in. `fetched` records what was asked, in order.
    """

    pages: Mapping[str, FixturePage | str]
    failures: Mapping[str, FailureKind] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The page at `url`."""
        from zetetic.sources.extracted import Extracted, tidy
        from zetetic.sources.pages import FetchFailure, page_from_web

        self.fetched.append(url)
        if url in self.failures:
            kind = self.failures[url]
            return FetchFailure(url=url, kind=kind, message=f"The fixture web fails for {url}: {kind}.")
        if url not in self.pages:
            return FetchFailure(url=url, kind="not_found", message=f"The fixture web has no page at {url}.")
        page = _page(self.pages[url])
        extracted = Extracted(
            text=tidy(page.text),
            media_type=page.media_type,
            title=page.title,
            published=page.date,
            links=page.links,
            declared_url=page.canonical,
        )
        return page_from_web(extracted, url=url, final_url=page.redirects_to or url)


def _page(entry: FixturePage | str) -> FixturePage:
    return FixturePage(entry) if isinstance(entry, str) else entry


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > 2}
