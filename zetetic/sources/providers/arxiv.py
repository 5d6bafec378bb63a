"""arXiv: preprints by title, abstract and author, without a key."""

from __future__ import annotations

import httpx

from zetetic.sources.identity import canonical_url
from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.queries import telling_terms
from zetetic.sources.providers.readings import hit, inner_text, usable, xml_tree
from zetetic.sources.search import Hit, SearchStatus

_ATOM = "{http://www.w3.org/2005/Atom}"


class Arxiv(ApiProvider):
    """The service asks for three seconds between two requests. A hit's url is the abstract's page."""

    name = "arxiv"
    address = "https://export.arxiv.org"
    query_chars = 300
    most_hits = 50
    interval = 3.0
    seconds = 50.0

    def request(self, query: str, limit: int) -> httpx.Request:
        """GET /api/query: any of the words or quoted phrases, those with most of them first."""
        asked = {"search_query": search_terms(query), "start": "0", "max_results": str(limit), "sortBy": "relevance"}
        return httpx.Request("GET", f"{self.endpoint}/api/query", params=asked)

    def trouble(self, response: httpx.Response, body: bytes) -> Trouble | None:
        """Too many requests are told in two plain words, under one status or another."""
        if body[:100].strip().lower().startswith(b"rate exceeded"):
            return self.rate_limited(self.wait_asked(response), f"HTTP {response.status_code} (Rate exceeded)")
        return super().trouble(response, body)

    def hits(self, body: bytes) -> list[Hit]:
        """Of the feed's entries. Raises Trouble for an error, which comes as an entry."""
        root = xml_tree(body)
        if root.tag != f"{_ATOM}feed":
            raise Trouble(SearchStatus.FAILED, "The answer of arxiv cannot be used: it is no Atom feed.")
        entries = root.findall(f"{_ATOM}entry")
        for entry in entries:
            address, title = inner_text(entry.find(f"{_ATOM}id")), inner_text(entry.find(f"{_ATOM}title"))
            if "/api/errors" in address or (title == "Error" and "/abs/" not in address):
                said = inner_text(entry.find(f"{_ATOM}summary"))[:160]
                raise Trouble(SearchStatus.FAILED, f"arxiv failed: {said or 'it does not say why'}.")
        each = (
            hit(
                canonical_url(inner_text(entry.find(f"{_ATOM}id"))),
                inner_text(entry.find(f"{_ATOM}title")),
                inner_text(entry.find(f"{_ATOM}summary")),
                inner_text(entry.find(f"{_ATOM}published")),
            )
            for entry in entries
        )
        return usable(each, len(entries))


def search_terms(query: str) -> str:
    """A query in the service's syntax: `all:word OR all:"a phrase"`."""
    terms = telling_terms(query) or [query.replace('"', " ")]
    return " OR ".join(f'all:"{term}"' if " " in term or "-" in term else f"all:{term}" for term in terms)
