"""The providers that users choose by name, with what each needs (R8)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from zetetic.sources.providers.arxiv import Arxiv
from zetetic.sources.providers.brave import Brave
from zetetic.sources.providers.calling import ApiProvider
from zetetic.sources.providers.exa import Exa
from zetetic.sources.providers.openalex import OpenAlex
from zetetic.sources.providers.pubmed import PubMed
from zetetic.sources.providers.searxng import Searxng
from zetetic.sources.providers.serper import Serper
from zetetic.sources.providers.tavily import Tavily
from zetetic.sources.providers.web import WebSearch
from zetetic.sources.providers.wikipedia import Wikipedia
from zetetic.sources.search import SearchProvider, SearchResult, SearchStatus

KNOWN: Mapping[str, str] = {
    "documents": "a folder of documents",
    "web": "no key; the extra web",
    "tavily": "TAVILY_API_KEY",
    "brave": "BRAVE_API_KEY",
    "exa": "EXA_API_KEY",
    "serper": "SERPER_API_KEY",
    "searxng": "ZETETIC_SEARXNG_URL, or searxng:http://localhost:8888",
    "wikipedia": "no key; wikipedia:de for another language",
    "arxiv": "no key",
    "openalex": "no key; more a day with OPENALEX_API_KEY",
    "pubmed": "no key; faster with NCBI_API_KEY",
}
"""Name → what it needs, in a few words."""

_MADE: Mapping[str, Callable[..., ApiProvider]] = {
    made.name: made for made in (Tavily, Brave, Exa, Serper, Searxng, Wikipedia, Arxiv, OpenAlex, PubMed)
}


class UnknownProvider:
    """Stands in for a name that is none: every search answers `unknown` and lists the names there are."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def missing(self) -> str:
        """That there is none, as a sentence."""
        return f"There is no search provider {self.name!r}; known: {', '.join(KNOWN)}."

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """No hits."""
        return SearchResult(provider=self.name, status=SearchStatus.UNKNOWN, detail=self.missing)


def make_provider(name: str, *, environment: Mapping[str, str] = os.environ) -> SearchProvider:
    """The provider of a name, with its key from the environment; `documents` is made of a folder, not here.

    `searxng:ADDRESS` and `wikipedia:LANGUAGE` choose further. ZETETIC_<NAME>_URL replaces a service's address, for a
    gateway in front of it. An unknown name gives a provider that says so. Raises ValueError for an address or a
    language that is none.
    """
    kind, _, choice = name.strip().partition(":")
    kind = kind.strip().lower()
    if kind == "web" and not choice:
        return WebSearch()
    if kind not in _MADE or (choice and kind not in ("searxng", "wikipedia")):
        return UnknownProvider(name.strip())
    make = _MADE[kind]
    more: dict[str, Any] = {"endpoint": environment.get(f"ZETETIC_{kind.upper()}_URL", "").strip() or None}
    variables: tuple[str, ...] = getattr(make, "variables", ())
    more["key"] = next(filter(None, (environment.get(variable, "").strip() for variable in variables)), None)
    if kind == "searxng" and choice:
        more["endpoint"] = choice.strip()
    elif kind == "wikipedia" and choice:
        more["language"] = choice.strip().lower()
    elif kind == "openalex":
        more["mailto"] = environment.get("OPENALEX_MAILTO", "")
    return make(**more)
