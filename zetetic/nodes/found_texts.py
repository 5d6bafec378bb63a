"""Texts without a web address that a tool or a retriever found: stored when they are found, read like pages."""

from __future__ import annotations

from collections.abc import Sequence

from zetetic.sources import Fetcher, FetchFailure, Hit, Page, SearchProvider
from zetetic.sources.providers import Adapter
from zetetic.sources.providers.texts import parts_of, text_page
from zetetic.store import Store


class FoundTexts:
    """A fetcher of `tool:` addresses before the fetcher of all others.

    A text comes from the provider that found it, or after a restart from the store: the address names its hash.
    """

    def __init__(self, others: Fetcher, providers: Sequence[SearchProvider], store: Store) -> None:
        self._others = others
        self._providers = [provider for provider in providers if isinstance(provider, Adapter)]
        self._store = store

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The text at a `tool:` address, else what the other fetcher gives."""
        parts = parts_of(url)
        if parts is None:
            return await self._others.fetch(url)
        if found := self.found(url):
            return found
        name, origin, sha256 = parts
        stored = await self._store.page(sha256)
        page = text_page(name, stored.text, title=stored.title, origin=origin) if stored is not None else None
        return page or FetchFailure(url=url, kind="not_found", message=f"No search has found a text at {url}.")

    def found(self, url: str) -> Page | None:
        """The text of a hit, while its provider remembers it."""
        return next(filter(None, (provider.page(url) for provider in self._providers)), None)

    def pages(self, hits: Sequence[Hit]) -> list[Page]:
        """The texts behind hits, to be stored before anyone acts on the hits."""
        return list(filter(None, (self.found(hit.url) for hit in hits)))
