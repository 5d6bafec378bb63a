"""Exa: a web search by meaning, with a key."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from zetetic.sources.providers.calling import ApiProvider
from zetetic.sources.providers.readings import SNIPPET_CHARS, hit, json_value, rows, table, tables, text_of, usable
from zetetic.sources.search import Hit


class Exa(ApiProvider):
    """A snippet is what of the page fits the query best."""

    name = "exa"
    address = "https://api.exa.ai"
    variables = ("EXA_API_KEY",)
    needs_key = True
    query_chars = 1_000
    most_hits = 25

    def request(self, query: str, limit: int) -> httpx.Request:
        """POST /search."""
        asked = {
            "query": query,
            "type": "auto",
            "numResults": limit,
            "contents": {"highlights": {"maxCharacters": SNIPPET_CHARS}},
        }
        return httpx.Request("POST", f"{self.endpoint}/search", json=asked, headers={"x-api-key": self.key})

    def hits(self, body: bytes) -> list[Hit]:
        """Of `results`."""
        found = table(json_value(body)).get("results")
        each = (
            hit(row.get("url"), row.get("title"), _snippet(row), row.get("publishedDate"))
            for row in tables(found, "`results`")
        )
        return usable(each, len(rows(found, "`results`")))


def _snippet(row: Mapping[str, object]) -> str:
    highlights = row.get("highlights")
    best = " … ".join(filter(None, map(text_of, highlights))) if isinstance(highlights, list) else ""
    return best or text_of(row.get("text")) or text_of(row.get("summary"))
