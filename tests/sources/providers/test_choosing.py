"""Several services at once, and services by name."""

from __future__ import annotations

import asyncio

import pytest
from sources.providers.service import Service, told
from sources.providers.services import KEY, QUERY, SERVICES, searched

from zetetic.sources import SearchProvider, SearchStatus, merged_search
from zetetic.sources.providers import ApiProvider, make_provider

pytestmark = pytest.mark.rule("R7", "R8")


@pytest.mark.rule("R6")
async def test_several_services_are_merged_by_rank_and_address() -> None:
    with Service(SERVICES["tavily"].found) as one, Service(SERVICES["serper"].found) as two:
        providers = [SERVICES["tavily"].at(one.url), SERVICES["serper"].at(two.url)]
        merged = await merged_search(providers, QUERY, 10)
        for provider in providers:
            await provider.aclose()
    assert [hit.url for hit in merged.hits] == [hit.url for hit in SERVICES["serper"].hits]
    assert (merged.provider, merged.status) == ("tavily+serper", SearchStatus.OK)


async def test_one_service_that_fails_costs_the_other_nothing() -> None:
    with Service(SERVICES["brave"].found) as one, Service(told({}, 500)) as two:
        providers: list[SearchProvider] = [SERVICES["brave"].at(one.url), SERVICES["exa"].at(two.url)]
        merged = await merged_search(providers, QUERY, 10)
        for provider in providers:
            assert isinstance(provider, ApiProvider)
            await provider.aclose()
    assert merged.hits == SERVICES["brave"].hits
    assert [part.status for part in merged.parts] == [SearchStatus.OK, SearchStatus.FAILED]


def test_a_provider_works_in_one_event_loop_after_another() -> None:
    with Service(SERVICES["tavily"].found) as service:
        provider = SERVICES["tavily"].at(service.url)
        found = [asyncio.run(searched(provider)).status for _ in range(2)]
    assert found == [SearchStatus.OK, SearchStatus.OK]


async def test_a_private_address_is_reached_only_where_it_was_named() -> None:
    with Service(SERVICES["tavily"].found) as service:
        provider = type("Hidden", (SERVICES["tavily"].make,), {"address": service.url})(key=KEY)  # type: ignore[misc]
        result = await searched(provider)
    assert result.status is SearchStatus.FAILED
    assert service.asked == []


# the registry


def test_providers_are_made_by_name_with_their_keys_from_the_environment() -> None:
    environment = {"BRAVE_SEARCH_API_KEY": " b ", "NCBI_API_KEY": "n", "ZETETIC_SEARXNG_URL": "http://localhost:8888/"}
    made = {name: make_provider(name, environment=environment) for name in (*SERVICES, "web", " Brave ")}
    assert {name: provider.name for name, provider in made.items()} == {
        **{name: name for name in (*SERVICES, "web")},
        " Brave ": "brave",
    }
    lacking = {name for name, provider in made.items() if provider.missing}  # type: ignore[attr-defined]
    assert lacking == {"tavily", "exa", "serper"}
    assert made["searxng"].endpoint == "http://localhost:8888"  # type: ignore[attr-defined]
    assert make_provider("wikipedia:de", environment={}).endpoint == "https://de.wikipedia.org"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["gogle", "", "documents", "tavily:https://elsewhere.example", "web:x"])
async def test_an_unknown_name_answers_unknown_and_lists_the_known(name: str) -> None:
    result = await make_provider(name, environment={}).search(QUERY, limit=3)
    assert result.status is SearchStatus.UNKNOWN
    assert "known: documents, web, tavily, brave" in result.detail


@pytest.mark.parametrize(
    "name", ["searxng:localhost:8888", "searxng:file:///etc", "wikipedia:../x", "wikipedia:en.evil"]
)
def test_an_address_or_language_that_is_none_is_said(name: str) -> None:
    with pytest.raises(ValueError, match=r"give (one|a code) such as"):
        make_provider(name, environment={})


async def test_searxng_without_an_address_says_where_to_set_it() -> None:
    result = await make_provider("searxng", environment={}).search(QUERY, limit=3)
    assert result.status is SearchStatus.NOT_CONFIGURED
    assert "ZETETIC_SEARXNG_URL" in result.detail
