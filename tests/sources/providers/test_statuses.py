"""Every service against recorded answers on loopback: what it found, and the statuses when it did not (R8)."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic
from typing import Any

import pytest
from sources.providers.service import Reply, Service, recorded, told
from sources.providers.services import KEYED, QUERY, SERVICES, Known, searched, status_of

from zetetic.sources import SearchStatus
from zetetic.sources.providers.words import wait_told

pytestmark = pytest.mark.rule("R7", "R8")


async def test_hits_are_plain_and_dated_and_lead_to_pages(known: Known) -> None:
    with Service(known.found) as service:
        result = await searched(known.at(service.url))
    assert (result.status, result.detail) == (SearchStatus.OK, "")
    assert result.hits == known.hits


async def test_at_most_as_many_hits_as_were_asked_for(known: Known) -> None:
    with Service(known.found) as service:
        result = await searched(known.at(service.url), limit=1)
    assert result.hits == known.hits[:1]


async def test_nothing_found_is_no_failure(known: Known) -> None:
    status, detail = await status_of(known, known.none)
    assert status is SearchStatus.NO_RESULTS
    assert detail.endswith("found nothing for this query.")


@pytest.mark.parametrize("name", KEYED)
async def test_without_its_key_a_service_is_not_asked(name: str) -> None:
    with Service(SERVICES[name].found) as service:
        result = await searched(SERVICES[name].make(endpoint=service.url))
    assert result.status is SearchStatus.NOT_CONFIGURED
    assert result.detail == f"{name} needs a key: set {SERVICES[name].variable}."
    assert service.asked == []


@pytest.mark.parametrize("name", [name for name, known in SERVICES.items() if known.variable])
async def test_a_refused_key_is_told_with_the_variable_to_set(name: str) -> None:
    status, detail = await status_of(SERVICES[name], SERVICES[name].refused)
    assert status is SearchStatus.NOT_CONFIGURED
    assert detail.startswith(f"{name} refused the key: HTTP ")
    assert f"Set {SERVICES[name].variable} to a valid one." in detail


@pytest.mark.parametrize("name", ["wikipedia", "arxiv"])
async def test_a_login_that_a_keyless_service_wants_is_not_configured(name: str) -> None:
    status, detail = await status_of(SERVICES[name], SERVICES[name].refused)
    assert status is SearchStatus.NOT_CONFIGURED
    assert "wants a login" in detail


async def test_an_instance_that_gives_no_json_says_what_to_set() -> None:
    status, detail = await status_of(SERVICES["searxng"], SERVICES["searxng"].refused)
    assert status is SearchStatus.NOT_CONFIGURED
    assert "add json to search.formats" in detail


async def test_a_used_up_allowance_is_quota(known: Known) -> None:
    status, detail = await status_of(known, known.quota)
    assert status is SearchStatus.QUOTA
    assert "is used up: HTTP " in detail


@pytest.mark.parametrize("code", [402, 432, 433])
async def test_the_codes_of_quota(code: int) -> None:
    assert (await status_of(SERVICES["tavily"], Reply(b"", code)))[0] is SearchStatus.QUOTA


async def test_too_many_requests_are_rate_limited_and_not_repeated_unasked(known: Known) -> None:
    with Service(told({"message": "Slow down."}, 429)) as service:
        result = await searched(known.at(service.url))
    assert result.status is SearchStatus.RATE_LIMITED
    assert "asked too often: HTTP 429 (Slow down.)" in result.detail
    assert len(service.asked) == 1


async def test_a_long_wait_is_told_and_not_kept(known: Known) -> None:
    began = monotonic()
    status, detail = await status_of(known, told({}, 429, retry_after="120"))
    assert status is SearchStatus.RATE_LIMITED
    assert "it asks to wait 120 seconds" in detail
    assert monotonic() - began < 4


async def test_a_short_wait_is_kept_and_the_service_asked_again(known: Known) -> None:
    first = [told({}, 429, retry_after="0.05")]

    def answer(asked: Any) -> Reply:
        if first:
            return first.pop()
        found = known.found
        return found(asked) if callable(found) else found  # type: ignore[return-value]

    with Service(answer) as service:
        result = await searched(known.at(service.url))
    assert result.hits == known.hits


@pytest.mark.parametrize("code", [429, 503])
async def test_a_wait_may_be_given_as_a_date(known: Known, code: int) -> None:
    before, after = (format_datetime(datetime.now(UTC) + timedelta(seconds=s), usegmt=True) for s in (-60, 600))
    with Service([told({}, code, retry_after=before), told({}, code, retry_after=after)]) as service:
        result = await searched(known.at(service.url))
    assert result.status is (SearchStatus.RATE_LIMITED if code == 429 else SearchStatus.FAILED)
    assert len(service.asked) == 2


async def test_a_service_that_asks_to_wait_for_ever_is_let_go(known: Known) -> None:
    with Service(told({}, 429, retry_after="0.01")) as service:
        result = await searched(known.at(service.url))
    assert result.status is SearchStatus.RATE_LIMITED
    assert len(service.asked) == 3


async def test_a_wait_that_does_not_fit_into_the_time_is_not_begun(known: Known) -> None:
    began = monotonic()
    status, _ = await status_of(known, told({}, 429, retry_after="3"), timeout=2)
    assert status is SearchStatus.RATE_LIMITED
    assert monotonic() - began < 1.5


@pytest.mark.parametrize("value", ["soon", "-3", "nan", "inf", "Someday, 99 Foo 2020", ""])
async def test_a_wait_that_cannot_be_read_is_none(value: str) -> None:
    known = SERVICES["tavily"]
    with Service(told({}, 429, retry_after=value)) as service:
        result = await searched(known.at(service.url))
    assert result.status is SearchStatus.RATE_LIMITED
    assert len(service.asked) == 1


async def test_what_fails_is_failed_in_the_services_own_words(known: Known) -> None:
    codes = [301, 400, 404, 500, 502, 504]
    with Service([told({"error": {"message": "It broke."}}, code, location="/elsewhere") for code in codes]) as service:
        provider = known.at(service.url)
        results = [await provider.search(QUERY, limit=3) for _ in codes]
        await provider.aclose()
    assert {result.status for result in results} == {SearchStatus.FAILED}
    assert [f"HTTP {code}" in result.detail for code, result in zip(codes, results, strict=True)] == [True] * 6
    assert ["It broke." in result.detail for result in results] == [False, *[True] * 5]


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    with Service(told({})) as other:
        with Service(Reply(b"", 307, {"location": other.url})) as service:
            result = await searched(SERVICES["tavily"].at(service.url))
        assert result.status is SearchStatus.FAILED
        assert other.asked == []


async def test_a_service_that_hangs_is_left(known: Known) -> None:
    began = monotonic()
    status, detail = await status_of(known, Reply(b"{", hangs=True), timeout=0.3)
    assert status is SearchStatus.FAILED
    assert "did not answer within 0.3 seconds" in detail
    assert monotonic() - began < 3


async def test_a_service_that_is_not_there_cannot_be_reached(known: Known) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = await searched(known.at(f"http://127.0.0.1:{port}"))
    assert result.status is SearchStatus.FAILED
    assert "cannot be reached" in result.detail


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Rate limit reached, try again in 424 ms.", 0.424),
        ("Please retry after 2 seconds", 2.0),
        ("Try again in 1.5 sec.", 1.5),
        ("Wait 2 minutes.", 120.0),
        ("again in 5 milliseconds", 0.005),
        ("Retry 10 times.", None),
        ("Nothing.", None),
    ],
)
def test_a_wait_may_stand_in_words(said: str, seconds: float | None) -> None:
    assert wait_told(said) == seconds


async def test_a_wait_in_words_is_kept() -> None:
    known = SERVICES["tavily"]
    with Service([told({"message": "Try again in 50 ms."}, 429), recorded("tavily.json")]) as service:
        assert (await searched(known.at(service.url))).hits == known.hits


@pytest.mark.parametrize(
    "endpoint",
    ["x.example", "ftp://x.example", "http://x.example:99999", "http://a:b@x.example", "http://[", "http://"],
)
def test_an_endpoint_that_is_no_address_is_said(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"is no address for tavily: give one such as"):
        SERVICES["tavily"].at(endpoint)
