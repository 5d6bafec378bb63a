"""OpenAlex: scholarly works of all fields; a free key raises its daily allowance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.readings import hit, json_value, rows, table, tables, text_of, usable, web_address
from zetetic.sources.providers.words import said_in
from zetetic.sources.search import Hit, SearchStatus

_MARKS = re.compile(r"[?*~!|\\^]+")
ABSTRACT_WORDS = 200


class OpenAlex(ApiProvider):
    """A hit's url is the DOI, else the landing page, else the work's page at OpenAlex.

    `mailto` is an address at which the service may write to whoever asks.
    """

    name = "openalex"
    address = "https://api.openalex.org"
    variables = ("OPENALEX_API_KEY",)
    query_chars = 500
    most_hits = 100
    wants_all_words = True

    def __init__(self, *, mailto: str = "", **more: Any) -> None:
        """Without a key a few searches a day are answered."""
        super().__init__(**more)
        self._mailto = mailto.strip()

    def request(self, query: str, limit: int) -> httpx.Request:
        """GET /works; characters that its search takes for wildcards are left out."""
        asked = {
            "search": " ".join(_MARKS.sub(" ", query).split()) or query,
            "per_page": str(limit),
            "select": "id,doi,display_name,publication_date,publication_year,abstract_inverted_index,primary_location",
        }
        asked |= {name: value for name, value in (("mailto", self._mailto), ("api_key", self.key)) if value}
        return httpx.Request("GET", f"{self.endpoint}/works", params=asked)

    def hits(self, body: bytes) -> list[Hit]:
        """Of `results`."""
        found = table(json_value(body)).get("results")
        each = (
            hit(
                _landing(row),
                row.get("display_name") or row.get("title"),
                abstract(row.get("abstract_inverted_index")),
                row.get("publication_date") or str(row.get("publication_year", "")),
            )
            for row in tables(found, "`results`")
        )
        return usable(each, len(rows(found, "`results`")))

    def trouble(self, response: httpx.Response, body: bytes) -> Trouble | None:
        """429 stands for a day that is used up as well as for a second; the headers tell which."""
        left = response.headers.get("x-ratelimit-remaining", "").strip()
        if response.status_code == 429 and left in ("0", "0.0"):
            advice = "" if self.key else f" A free key gives more: set {self.variables[0]}."
            said = said_in(body) or "nothing is left for today"
            return Trouble(SearchStatus.QUOTA, f"The quota of openalex is used up: HTTP 429 ({said}).{advice}")
        return super().trouble(response, body)

    def secrets(self) -> tuple[str, ...]:
        """The key, and the address it may write to."""
        return (self.key, self._mailto)


def _landing(row: Mapping[str, object]) -> str:
    place = row.get("primary_location")
    page = place.get("landing_page_url") if isinstance(place, dict) else ""
    return next(filter(None, map(web_address, (row.get("doi"), page, row.get("id")))), "")


def abstract(index: object) -> str:
    """The start of the text of an inverted index (word → its positions); '' for anything else."""
    if not isinstance(index, dict):
        return ""
    placed = [
        (position, word)
        for word, positions in index.items()
        if isinstance(positions, list)
        for position in positions
        if isinstance(position, int) and 0 <= position < ABSTRACT_WORDS
    ]
    return " ".join(text_of(word) for _, word in sorted(placed))
