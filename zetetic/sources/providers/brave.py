"""Brave Search: a web index of its own, with a key."""

from __future__ import annotations

import json
from itertools import zip_longest

import httpx

from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.queries import capped
from zetetic.sources.providers.readings import hit, json_value, rows, table, tables, text_of, usable
from zetetic.sources.providers.words import said_in
from zetetic.sources.search import Hit, SearchStatus

QUERY_WORDS = 50


class Brave(ApiProvider):
    """The free plan answers one request a second; how long to wait stands in headers of its own."""

    name = "brave"
    address = "https://api.search.brave.com/res/v1"
    variables = ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")
    needs_key = True
    query_chars = 400
    most_hits = 20
    interval = 1.0

    def request(self, query: str, limit: int) -> httpx.Request:
        """GET /web/search."""
        words = capped(" ".join(query.split()[:QUERY_WORDS]), self.query_chars)
        asked = {"q": words, "count": str(limit), "text_decorations": "false", "result_filter": "web"}
        headers = {"X-Subscription-Token": self.key, "Accept": "application/json"}
        return httpx.Request("GET", f"{self.endpoint}/web/search", params=asked, headers=headers)

    def hits(self, body: bytes) -> list[Hit]:
        """Of `web.results`; `web` is left out where the query found nothing."""
        answer = table(json_value(body))
        if "web" not in answer and ("query" in answer or answer.get("type") == "search"):
            return []
        found = table(answer.get("web"), "`web`").get("results")
        each = (
            hit(row.get("url"), row.get("title"), row.get("description"), row.get("page_age") or row.get("age"))
            for row in tables(found, "`web.results`")
        )
        return usable(each, len(rows(found, "`web.results`")))

    def trouble(self, response: httpx.Response, body: bytes) -> Trouble | None:
        """Brave answers 429 to both a month that is used up and a second that is."""
        if response.status_code == 429 and _month_used_up(response, body):
            return Trouble(SearchStatus.QUOTA, f"The quota of brave is used up: HTTP 429 ({said_in(body)}).")
        return super().trouble(response, body)

    def wait_asked(self, response: httpx.Response) -> float | None:
        """Retry-after, else the reset of each window of which nothing remains."""
        asked = super().wait_asked(response)
        return asked if asked is not None else max((reset for _, reset in _used_up(response)), default=None)


def _used_up(response: httpx.Response) -> list[tuple[float, float]]:
    """(length, seconds to its reset) of each window of which nothing remains."""
    policy = _figures(response.headers.get("x-ratelimit-policy", ""), "w=")
    remaining = _figures(response.headers.get("x-ratelimit-remaining", ""))
    reset = _figures(response.headers.get("x-ratelimit-reset", ""))
    windows = zip_longest(policy, remaining, reset)
    return [(length or 0.0, again) for length, left, again in windows if left == 0 and again is not None and again >= 0]


def _figures(header: str, after: str = "") -> list[float | None]:
    """The numbers of a header with a list of them; None for one that cannot be read."""
    found: list[float | None] = []
    for part in filter(None, (part.strip() for part in header.split(","))):
        digits = part.rpartition(after)[2] if after else part
        found.append(float(digits) if digits.isdecimal() and len(digits) < 12 else None)
    return found


def _month_used_up(response: httpx.Response, body: bytes) -> bool:
    """Whether a window longer than a day is used up, by the headers or by what the body counts."""
    if any(length > 86_400 for length, _ in _used_up(response)):
        return True
    try:
        error = json.loads(body)["error"]
        meta = error.get("meta") or {}
        used, allowed = meta.get("quota_current"), meta.get("quota_limit")
        counted = isinstance(used, int) and isinstance(allowed, int) and 0 < allowed <= used
        return counted or "QUOTA" in text_of(error.get("code")).upper()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
