"""Keyless web search: the library's own engines against a server on loopback."""

from __future__ import annotations

import asyncio
import sys
from time import monotonic

import pytest
from ddgs.engines import ENGINES
from sources.providers.service import Reply, Service

from zetetic.sources import Hit, SearchResult, SearchStatus
from zetetic.sources.providers import WebSearch

pytestmark = pytest.mark.rule("R7", "R8")
QUERY = "Ortel lighthouse height"
FOUND = Reply(
    b"""<!doctype html><html><body><ul class="results-standard">
    <li><h2><a href="https://harbour-office.example/tower">The tower of Ortel</a></h2>
        <p class="s">The Ortel lighthouse is <strong>42 metres</strong> tall &amp; white.</p></li>
    <li><h2><a href="https://land-survey.example/heights">Heights</a></h2>
        <p class="s">Levelling gave 42 metres.</p></li>
    <li><h2><a href="javascript:void(0)">A script</a></h2><p class="s">No page of the web.</p></li>
    </ul></body></html>""",
    headers={"content-type": "text/html"},
)
NOTHING = Reply(
    b"<!doctype html><html><body><p>No pages found.</p></body></html>", headers={"content-type": "text/html"}
)


async def searched(
    service: Service, monkeypatch: pytest.MonkeyPatch, limit: int = 10, timeout: float = 20
) -> SearchResult:
    """One search with one engine, which is asked at the service's address."""
    monkeypatch.setattr(ENGINES["text"]["mojeek"], "search_url", f"{service.url}/search")
    return await WebSearch(engines=["mojeek"], timeout=timeout).search(QUERY, limit=limit)


async def test_hits_come_from_the_engines_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(FOUND) as service:
        result = await searched(service, monkeypatch)
    assert result.status is SearchStatus.OK
    assert set(result.hits) == {
        Hit(
            url="https://harbour-office.example/tower",
            title="The tower of Ortel",
            snippet="The Ortel lighthouse is 42 metres tall & white.",
        ),
        Hit(url="https://land-survey.example/heights", title="Heights", snippet="Levelling gave 42 metres."),
    }
    assert service.asked[0].given["q"] == QUERY


async def test_at_most_as_many_hits_as_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(FOUND) as service:
        assert len((await searched(service, monkeypatch, limit=1)).hits) == 1


async def test_nothing_found_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(NOTHING) as service:
        assert (await searched(service, monkeypatch)).status is SearchStatus.NO_RESULTS


@pytest.mark.rule("D38")
@pytest.mark.parametrize(("code", "status"), [(429, "rate_limited"), (403, "rate_limited"), (500, "failed")])
async def test_an_engine_that_turns_away_is_no_empty_result(
    code: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Service(Reply(b"", code)) as service:
        result = await searched(service, monkeypatch)
    assert result.status == status
    assert f"HTTP {code}" in result.detail


async def test_an_engine_that_is_not_there_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(NOTHING) as service:
        pass
    result = await searched(service, monkeypatch)
    assert result.status is SearchStatus.FAILED
    assert result.detail.startswith("No engine of web could be asked")


async def test_an_engine_that_hangs_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    began = monotonic()
    with Service(Reply(b"<html>", hangs=True)) as service:
        result = await searched(service, monkeypatch, timeout=0.3)
        assert result.status is SearchStatus.FAILED
        assert result.detail == "web did not answer within 0.3 seconds."
        assert monotonic() - began < 3


async def test_a_search_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(Reply(b"<html>", hangs=True)) as service:
        searching = asyncio.create_task(searched(service, monkeypatch))
        await asyncio.to_thread(service.begun.wait, 10)
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching


async def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    result = await WebSearch().search(QUERY, limit=3)
    assert result.status is SearchStatus.NOT_CONFIGURED
    assert result.detail == "web needs the package ddgs: pip install 'zetetic[web]'."


def test_engines_that_a_model_writes_are_left_out() -> None:
    from zetetic.sources.providers.web import _all_engines

    assert "grokipedia" in ENGINES["text"]
    assert _all_engines()
    assert "grokipedia" not in _all_engines()
