"""SearXNG: a metasearch engine of the user's own, asked at its address."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.readings import hit, json_value, plain, rows, table, tables, text_of, usable
from zetetic.sources.search import Hit, SearchStatus

ADDRESS_VARIABLE = "ZETETIC_SEARXNG_URL"
NAMED_ENGINES = 5


class Searxng(ApiProvider):
    """Needs an address and no key; a user and password may stand in the address (basic authentication).

    The instance must give JSON: `formats: [html, json]` under `search` in its settings.yml.
    """

    name = "searxng"
    address = ""
    query_chars = 1_000
    most_hits = 50

    def __init__(self, *, endpoint: str | None = None, **more: Any) -> None:
        """At an instance's address, such as http://localhost:8888."""
        bare, self._login = _without_login(endpoint or "")
        super().__init__(endpoint=bare or None, **more)

    @property
    def missing(self) -> str:
        """The address, where none was given."""
        if self.endpoint:
            return ""
        return (
            f"searxng needs the address of an instance: set {ADDRESS_VARIABLE}, or name searxng:http://localhost:8888."
        )

    def request(self, query: str, limit: int) -> httpx.Request:
        """GET /search; the number of hits is the instance's own."""
        headers = {"Accept": "application/json"}
        if self._login:
            headers["Authorization"] = "Basic " + base64.b64encode(self._login.encode()).decode()
        return httpx.Request("GET", f"{self.endpoint}/search", params={"q": query, "format": "json"}, headers=headers)

    def hits(self, body: bytes) -> list[Hit]:
        """Of `results`. Raises Trouble where there are none because engines did not answer: nobody looked (D38)."""
        answer = table(json_value(body))
        found = answer.get("results")
        each = (
            hit(row.get("url"), row.get("title"), row.get("content"), row.get("publishedDate"))
            for row in tables(found, "`results`")
        )
        hits = usable(each, len(rows(found, "`results`")))
        if not hits and (silent := _unresponsive(answer)):
            listed = ", ".join(silent[:NAMED_ENGINES])
            raise Trouble(SearchStatus.FAILED, f"No engine behind searxng found anything, and some failed: {listed}.")
        return hits

    def trouble(self, response: httpx.Response, body: bytes) -> Trouble | None:
        """403 is how an instance refuses a format that its settings do not list."""
        if response.status_code == 403:
            advice = "add json to search.formats in its settings.yml, or use another instance"
            return Trouble(SearchStatus.NOT_CONFIGURED, f"The searxng instance gives no JSON (HTTP 403): {advice}.")
        return super().trouble(response, body)

    def key_refused(self, said: str) -> str:
        """A login that the instance wants."""
        return f"The searxng instance wants a user and password in its address, http://USER:PASSWORD@HOST: {said}."

    def secrets(self) -> tuple[str, ...]:
        """User and password."""
        return (self._login, self._login.partition(":")[2])


def _without_login(endpoint: str) -> tuple[str, str]:
    """The address without what stands before `@`, and that."""
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        return endpoint, ""
    login, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=place, query="", fragment="").geturl(), unquote(login)


def _unresponsive(answer: Mapping[str, object]) -> list[str]:
    listed = answer.get("unresponsive_engines")
    named = []
    for entry in listed if isinstance(listed, list) else []:
        words = [text_of(part) for part in entry] if isinstance(entry, list) else [text_of(entry)]
        named.append(plain(": ".join(filter(None, words)), 60))
    return list(filter(None, named))
