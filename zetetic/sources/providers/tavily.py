"""Tavily: a web search for agents, with a key."""

from __future__ import annotations

import httpx

from zetetic.sources.providers.calling import ApiProvider
from zetetic.sources.providers.readings import hit, json_value, rows, table, tables, usable
from zetetic.sources.search import Hit


class Tavily(ApiProvider):
    """A search costs one credit. Only news carry a date."""

    name = "tavily"
    address = "https://api.tavily.com"
    variables = ("TAVILY_API_KEY",)
    needs_key = True
    query_chars = 400
    most_hits = 20

    def request(self, query: str, limit: int) -> httpx.Request:
        """POST /search."""
        asked = {"query": query, "max_results": limit, "search_depth": "basic", "include_answer": False}
        return httpx.Request(
            "POST", f"{self.endpoint}/search", json=asked, headers={"Authorization": f"Bearer {self.key}"}
        )

    def hits(self, body: bytes) -> list[Hit]:
        """Of `results`."""
        found = table(json_value(body)).get("results")
        each = (
            hit(row.get("url"), row.get("title"), row.get("content"), row.get("published_date"))
            for row in tables(found, "`results`")
        )
        return usable(each, len(rows(found, "`results`")))
