from __future__ import annotations

import asyncio

import pytest

from zetetic.sources import Hit, SearchResult, SearchStatus, merged_search


class Listed:
    """A provider that answers from a list, or with a status, or (wrongly) with an exception."""

    def __init__(
        self, name: str, *hits: Hit, status: SearchStatus | None = None, error: Exception | None = None
    ) -> None:
        self.name = name
        self.hits = hits
        self.status = status or (SearchStatus.OK if hits else SearchStatus.NO_RESULTS)
        self.error = error

    async def search(self, query: str, *, limit: int) -> SearchResult:
        await asyncio.sleep(0)
        if self.error:
            raise self.error
        return SearchResult(provider=self.name, status=self.status, hits=self.hits[:limit])


@pytest.mark.rule("R8")
def test_the_statuses_are_distinct_and_only_two_mean_that_the_query_ran() -> None:
    assert {status.value for status in SearchStatus} == {
        *("ok", "no_results", "not_configured", "unknown", "quota", "rate_limited", "failed"),
    }
    assert {status for status in SearchStatus if status.executed} == {SearchStatus.OK, SearchStatus.NO_RESULTS}


@pytest.mark.rule("R6")
async def test_hits_are_merged_by_rank_and_one_address_is_one_hit() -> None:
    one = Listed("one", Hit(url="https://a.example/x"), Hit(url="https://b.example/x"), Hit(url="https://c.example/x"))
    two = Listed(
        "two", Hit(url="http://www.c.example/x/?utm_source=two", snippet="Found."), Hit(url="https://d.example/x")
    )
    merged = await merged_search([one, two], "x", 3)
    assert merged.status is SearchStatus.OK
    assert merged.provider == "one+two"
    assert [hit.url for hit in merged.hits] == ["https://c.example/x", "https://a.example/x", "https://b.example/x"]
    assert merged.hits[0].snippet == "Found."
    assert [part.provider for part in merged.parts] == ["one", "two"]


async def test_hits_with_an_identity_of_their_own_stay_apart() -> None:
    pair = [Hit(url=f"https://w.example/T#{x}", identity=f"https://w.example/T#{x}") for x in "AB"]
    merged = await merged_search([Listed("one", *pair), Listed("two")], "x", 5)
    assert len(merged.hits) == 2


@pytest.mark.rule("R7", "R8")
async def test_a_provider_that_raises_is_a_failed_status_and_costs_the_others_nothing() -> None:
    merged = await merged_search(
        [Listed("bad", error=KeyError("results")), Listed("good", Hit(url="https://a.example"))], "x", 5
    )
    assert merged.status is SearchStatus.OK
    assert [part.status for part in merged.parts] == [SearchStatus.FAILED, SearchStatus.OK]
    assert "bad: The search raised KeyError" in merged.detail


@pytest.mark.rule("R8")
@pytest.mark.parametrize(
    ("statuses", "joint"),
    [
        (["quota", "no_results"], "no_results"),
        (["failed", "rate_limited"], "rate_limited"),
        (["unknown", "not_configured"], "not_configured"),
    ],
)
async def test_without_hits_the_status_says_whether_anyone_looked(statuses: list[str], joint: str) -> None:
    providers = [Listed(name, status=SearchStatus(name)) for name in statuses]
    assert (await merged_search(providers, "x", 5)).status == joint


@pytest.mark.rule("R8")
async def test_no_provider_is_not_configured_and_a_single_one_answers_for_itself() -> None:
    assert (await merged_search([], "x", 5)).status is SearchStatus.NOT_CONFIGURED
    alone = await merged_search([Listed("one", status=SearchStatus.QUOTA)], "x", 5)
    assert (alone.provider, alone.status, alone.parts) == ("one", SearchStatus.QUOTA, ())
