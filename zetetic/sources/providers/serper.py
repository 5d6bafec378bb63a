"""Serper: Google's results, with a key."""

from __future__ import annotations

import httpx

from zetetic.sources.providers.calling import ApiProvider
from zetetic.sources.providers.readings import hit, json_value, rows, table, tables, usable
from zetetic.sources.search import Hit


class Serper(ApiProvider):
    """The organic results only."""

    name = "serper"
    address = "https://google.serper.dev"
    variables = ("SERPER_API_KEY",)
    needs_key = True
    query_chars = 2_000
    most_hits = 100

    def request(self, query: str, limit: int) -> httpx.Request:
        """POST /search."""
        return httpx.Request(
            "POST",
            f"{self.endpoint}/search",
            json={"q": query, "num": limit},
            headers={"X-API-KEY": self.key},
        )

    def hits(self, body: bytes) -> list[Hit]:
        """Of `organic`, which may be left out where the query found nothing."""
        answer = table(json_value(body))
        found = answer.get("organic", [] if "searchParameters" in answer else None)
        each = (
            hit(row.get("link"), row.get("title"), row.get("snippet"), row.get("date"))
            for row in tables(found, "`organic`")
        )
        return usable(each, len(rows(found, "`organic`")))
