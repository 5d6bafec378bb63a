"""Wikipedia: its own full-text search, in any of its languages, without a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.readings import hit, json_value, plain, rows, table, tables, text_of, usable
from zetetic.sources.search import Hit, SearchStatus

QUERY_BYTES = 300
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12}){0,2}|simple")


class Wikipedia(ApiProvider):
    """The articles of one language; a hit's date is that of the article's last edit."""

    name = "wikipedia"
    address = "https://en.wikipedia.org"
    query_chars = QUERY_BYTES
    most_hits = 50
    wants_all_words = True

    def __init__(self, *, language: str = "en", **more: Any) -> None:
        """In a language, by its code in the address. Raises ValueError for what is no code."""
        if not _LANGUAGE.fullmatch(language):
            raise ValueError(f"{language!r} is no language of Wikipedia: give a code such as en, de or zh-min-nan.")
        self._site = f"https://{language}.wikipedia.org"
        super().__init__(**more)
        if not more.get("endpoint"):
            self.endpoint = self._site

    def request(self, query: str, limit: int) -> httpx.Request:
        """GET /w/api.php, which takes at most 300 bytes of query."""
        asked = {
            "action": "query",
            "list": "search",
            "srsearch": query.encode()[:QUERY_BYTES].decode(errors="ignore"),
            "srlimit": str(limit),
            "srprop": "snippet|timestamp",
            "format": "json",
            "formatversion": "2",
        }
        return httpx.Request("GET", f"{self.endpoint}/w/api.php", params=asked)

    def hits(self, body: bytes) -> list[Hit]:
        """Of `query.search`. Raises Trouble for an error, which comes with HTTP 200."""
        answer = table(json_value(body))
        if "error" in answer:
            raise _told(table(answer["error"], "`error`"))
        found = table(answer.get("query"), "`query`").get("search")
        each = (
            hit(self._article(row), row.get("title"), row.get("snippet"), row.get("timestamp"))
            for row in tables(found, "`query.search`")
        )
        return usable(each, len(rows(found, "`query.search`")))

    def _article(self, row: Mapping[str, object]) -> str:
        title = text_of(row.get("title")).replace(" ", "_")
        return f"{self._site}/wiki/{quote(title, safe='/:(),!*~')}" if title else ""


def _told(error: Mapping[str, object]) -> Trouble:
    code, info = text_of(error.get("code")), plain(error.get("info"), 160)
    if code in ("ratelimited", "maxlag"):
        return Trouble(SearchStatus.RATE_LIMITED, f"wikipedia is asked too often: {info or code}.")
    return Trouble(SearchStatus.FAILED, f"wikipedia failed: {info or code or 'it does not say why'}.")
