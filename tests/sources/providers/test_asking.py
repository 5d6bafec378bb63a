"""What the services are asked, at what pace, and how they tell trouble in ways of their own."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import pytest
from sources.providers.service import Reply, Service, told
from sources.providers.services import QUERY, SERVICES, Known, searched, status_of

from zetetic.sources import SearchStatus
from zetetic.sources.providers import Arxiv

pytestmark = pytest.mark.rule("R7", "R8")


async def test_a_query_is_cut_to_what_the_service_takes(known: Known) -> None:
    with Service(known.none) as service:
        await searched(known.at(service.url), "lighthouse " * 1_000)
    sent = max((text for text in service.asked[0].given.values() if isinstance(text, str)), key=len)
    assert len(sent) <= max(known.make.query_chars, 700)  # type: ignore[attr-defined]
    assert "lighthouse" in sent


async def test_an_empty_query_is_not_sent(known: Known) -> None:
    with Service(known.found) as service:
        for query in ("", "  \n ", "\x00"):
            assert (await searched(known.at(service.url), query)).status is SearchStatus.NO_RESULTS
    assert service.asked == []


async def test_no_query_raises(known: Known) -> None:
    with Service(known.none) as service:
        provider = known.at(service.url)
        for query in ('"', "?*~", "ä" * 400, "😀 " * 400, "a\nb", "NOT AND OR", "x:y(z)[t]", "\ud800"):
            assert (await provider.search(query, limit=3)).status is SearchStatus.NO_RESULTS
        await provider.aclose()


@pytest.mark.parametrize("name", ["wikipedia", "openalex", "pubmed"])
async def test_a_service_that_wants_every_word_is_asked_for_any_where_that_is_nothing(name: str) -> None:
    with Service(SERVICES[name].none) as service:
        await searched(SERVICES[name].at(service.url), 'Is the "Ortel lighthouse" tall')
    said = [" ".join(str(text) for text in asked.given.values()) for asked in service.asked]
    assert len(said) == 2
    assert '"Ortel lighthouse" OR tall' in said[1]


async def test_words_for_arxiv_are_joined_without_those_that_say_nothing() -> None:
    with Service(SERVICES["arxiv"].none) as service:
        await searched(SERVICES["arxiv"].at(service.url), 'What is the "dark matter" of low-mass stars?')
    assert service.asked[0].given["search_query"] == 'all:"dark matter" OR all:"low-mass" OR all:stars'


async def test_requests_keep_the_pace_that_a_service_asks_for() -> None:
    with Service(SERVICES["arxiv"].none) as service:
        paced = Arxiv(endpoint=service.url, interval=0.2)
        began = monotonic()
        for _ in range(3):
            await paced.search(QUERY, limit=1)
        await paced.aclose()
    assert monotonic() - began >= 0.4


async def test_a_search_whose_turn_comes_too_late_is_rate_limited() -> None:
    with Service(SERVICES["arxiv"].none) as service:
        paced = Arxiv(endpoint=service.url, interval=5, timeout=2)
        results = await asyncio.gather(*(paced.search(QUERY, limit=1) for _ in range(3)))
        await paced.aclose()
    assert [result.status for result in results] == ["no_results", "rate_limited", "rate_limited"]
    assert "takes one request in 5 seconds" in results[1].detail
    assert len(service.asked) == 1


async def test_brave_tells_its_wait_in_headers_of_its_own() -> None:
    limits = {
        "x_ratelimit_policy": "1;w=1, 2000;w=2592000",
        "x_ratelimit_remaining": "0, 1985",
        "x_ratelimit_reset": "1, 1419704",
    }
    with Service([told({}, 429, **limits), *([SERVICES["brave"].found] * 2)]) as service:  # type: ignore[list-item]
        result = await searched(SERVICES["brave"].at(service.url))
    assert result.hits == SERVICES["brave"].hits
    used_up = {**limits, "x_ratelimit_remaining": "1, 0"}
    status, _ = await status_of(SERVICES["brave"], told({}, 429, **used_up))
    assert status is SearchStatus.QUOTA


@pytest.mark.parametrize("silent", [[["brave", "CAPTCHA"]], ["brave"], [["brave", "too many requests"], ["x", None]]])
async def test_silent_engines_behind_searxng_are_no_empty_result(silent: list[Any]) -> None:
    status, detail = await status_of(SERVICES["searxng"], told({"results": [], "unresponsive_engines": silent}))
    assert status is SearchStatus.FAILED
    assert "brave" in detail


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": "maxlag", "info": "Waiting for a database."}}, "rate_limited"),
        ({"error": {"code": "cirrussearch-too-busy-error", "info": "Search is busy."}}, "failed"),
        ({"error": "?"}, "failed"),
    ],
)
async def test_wikipedia_tells_its_errors_in_good_answers(body: Any, status: str) -> None:
    assert (await status_of(SERVICES["wikipedia"], told(body)))[0] == status


async def test_arxiv_tells_an_error_as_an_entry_and_a_limit_as_two_words() -> None:
    entry = (
        "<entry><id>https://arxiv.org/api/errors#wrong</id><title>Error</title><summary>a wrong query</summary></entry>"
    )
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{entry}</feed>'.encode()
    assert await status_of(SERVICES["arxiv"], Reply(feed)) == (SearchStatus.FAILED, "arxiv failed: a wrong query.")
    assert (await status_of(SERVICES["arxiv"], Reply(b"Rate exceeded.")))[0] is SearchStatus.RATE_LIMITED


async def test_pubmed_tells_errors_in_good_answers() -> None:
    limit = told({"error": "API rate limit exceeded", "count": "4", "limit": "3"})
    assert (await status_of(SERVICES["pubmed"], limit))[0] is SearchStatus.RATE_LIMITED
    broken = told({"esearchresult": {"ERROR": "Search Backend failed: it is down"}})
    assert (await status_of(SERVICES["pubmed"], broken))[0] is SearchStatus.FAILED


async def test_openalex_without_a_key_says_how_to_get_more() -> None:
    with Service(SERVICES["openalex"].quota) as service:
        result = await searched(SERVICES["openalex"].make(endpoint=service.url))
    assert result.status is SearchStatus.QUOTA
    assert "A free key gives more: set OPENALEX_API_KEY." in result.detail
