"""The services by name: how to make each, what a recorded search of it gave, and how it says that it will not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sources.providers.service import Answering, Asked, Reply, Service, recorded, told

from zetetic.sources import Hit, SearchResult, SearchStatus
from zetetic.sources.providers import (
    ApiProvider,
    Arxiv,
    Brave,
    Exa,
    OpenAlex,
    PubMed,
    Searxng,
    Serper,
    Tavily,
    Wikipedia,
)

KEY = "sk-very+secret/0123456789"
QUERY = "Ortel lighthouse height"
TOWER = "https://harbour-office.example/tower"
HEIGHTS = "https://land-survey.example/heights"


@dataclass(frozen=True)
class Known:
    """A service as these tests know it."""

    make: Callable[..., ApiProvider]
    found: Answering
    none: Answering
    hits: tuple[Hit, ...]
    quota: Reply
    """What it answers when the allowance is used up."""
    refused: Reply
    """What it answers to a key that is none."""
    variable: str = ""
    """Where the key is looked for; '' for a service without one."""

    def at(self, url: str, **more: Any) -> ApiProvider:
        keyed = {"key": KEY} if self.variable else {}
        return self.make(endpoint=url, interval=0, **{"timeout": 5, **keyed, **more})


async def searched(provider: ApiProvider, query: str = QUERY, limit: int = 10) -> SearchResult:
    """One search, after which nothing stays open."""
    try:
        return await provider.search(query, limit=limit)
    finally:
        await provider.aclose()


async def status_of(known: Known, answering: Answering, **more: Any) -> tuple[SearchStatus, str]:
    """Status and detail of a search that finds nothing; the key stands in no detail."""
    with Service(answering) as service:
        result = await searched(known.at(service.url, **more))
    assert result.hits == ()
    assert KEY not in result.detail
    return result.status, result.detail


def _pubmed(asked: Asked) -> Reply:
    return recorded("pubmed_ids.json" if asked.path.endswith("/esearch.fcgi") else "pubmed.xml")


SERVICES = {
    "tavily": Known(
        make=Tavily,
        found=recorded("tavily.json"),
        none=recorded("tavily_none.json"),
        hits=(
            Hit(
                url=TOWER,
                title="The tower of Ortel",
                snippet="The Ortel lighthouse is 42 metres tall, and its lamp burns & turns since 1911.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, title="Heights", snippet="Levelling gave 42 metres."),
        ),
        quota=told({"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432),
        refused=told({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401),
        variable="TAVILY_API_KEY",
    ),
    "brave": Known(
        make=Brave,
        found=recorded("brave.json"),
        none=recorded("brave_none.json"),
        hits=(
            Hit(
                url=TOWER,
                title="The tower of Ortel",
                snippet="The Ortel lighthouse is 42 metres tall & white.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, title="Heights", snippet="Levelling gave 42 metres."),
        ),
        quota=told(
            {
                "type": "ErrorResponse",
                "error": {
                    "code": "RATE_LIMITED",
                    "detail": "Request rate limit exceeded for plan",
                    "meta": {"rate_limit": 1, "rate_current": 0, "quota_limit": 2000, "quota_current": 2000},
                    "status": 429,
                },
            },
            429,
        ),
        refused=told(
            {
                "type": "ErrorResponse",
                "error": {
                    "code": "SUBSCRIPTION_TOKEN_INVALID",
                    "detail": "The provided subscription token is invalid.",
                    "status": 422,
                },
            },
            422,
        ),
        variable="BRAVE_API_KEY",
    ),
    "exa": Known(
        make=Exa,
        found=recorded("exa.json"),
        none=recorded("exa_none.json"),
        hits=(
            Hit(
                url=TOWER,
                title="The tower of Ortel",
                snippet="The Ortel lighthouse is 42 metres tall. … It was lit in 1911.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, snippet="Levelling gave 42 metres."),
        ),
        quota=told({"requestId": "1", "error": "You have no credits left.", "tag": "NO_MORE_CREDITS"}, 402),
        refused=told({"requestId": "1", "error": "The key is not valid.", "tag": "INVALID_API_KEY"}, 401),
        variable="EXA_API_KEY",
    ),
    "serper": Known(
        make=Serper,
        found=recorded("serper.json"),
        none=recorded("serper_none.json"),
        hits=(
            Hit(
                url=TOWER,
                title="The tower of Ortel",
                snippet="The Ortel lighthouse is 42 metres tall.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, title="Heights", snippet="Levelling gave 42 metres."),
        ),
        quota=told({"message": "Not enough credits", "statusCode": 400}, 400),
        refused=told({"message": "Unauthorized.", "statusCode": 403}, 403),
        variable="SERPER_API_KEY",
    ),
    "searxng": Known(
        make=Searxng,
        found=recorded("searxng.json"),
        none=recorded("searxng_none.json"),
        hits=(
            Hit(
                url=TOWER,
                title="The tower of Ortel",
                snippet="The Ortel lighthouse is 42 metres tall.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, title="Heights", snippet="Levelling gave 42 metres."),
        ),
        quota=Reply(b"The monthly limit of this instance is reached.", 402),
        refused=Reply(b"<!doctype html><title>Forbidden</title>", 403),
    ),
    "wikipedia": Known(
        make=Wikipedia,
        found=recorded("wikipedia.json"),
        none=recorded("wikipedia_none.json"),
        hits=(
            Hit(
                url="https://en.wikipedia.org/wiki/Ortel_lighthouse_(1911)",
                title="Ortel lighthouse (1911)",
                snippet="The Ortel lighthouse is 42 metres tall & white",
                date="2024-05-01",
            ),
            Hit(
                url="https://en.wikipedia.org/wiki/O%C3%B9_est_Ortel%3F",
                title="Où est Ortel?",
                snippet="A book on the coast",
                date="2019-11-30",
            ),
        ),
        quota=told({"message": "The daily request limit is reached."}, 402),
        refused=told({"message": "Log in."}, 401),
    ),
    "arxiv": Known(
        make=Arxiv,
        found=recorded("arxiv.xml"),
        none=recorded("arxiv_none.xml"),
        hits=(
            Hit(
                url="https://arxiv.org/abs/2405.00001",
                title="On the height of lighthouses",
                snippet="We measure lighthouses, of which a<b and c>d hold.",
                date="2024-05-01",
            ),
            Hit(
                url="https://arxiv.org/abs/hep-th/9901001",
                title="Light and houses",
                snippet="An older paper.",
                date="1999-01-02",
            ),
        ),
        quota=Reply(b"Daily request limit reached.", 402),
        refused=Reply(b"Log in.", 401),
    ),
    "openalex": Known(
        make=OpenAlex,
        found=recorded("openalex.json"),
        none=recorded("openalex_none.json"),
        hits=(
            Hit(
                url="https://doi.org/10.5555/lighthouse.1",
                title="Heights of lighthouses",
                snippet="The lighthouse is 42 metres tall.",
                date="2024-05-01",
            ),
            Hit(url=HEIGHTS, title="A survey", date="1911"),
            Hit(url="https://openalex.org/W3", title="A note", date="1950-03-04"),
        ),
        quota=told({"error": "Rate limit exceeded", "message": "Come back later."}, 429, x_ratelimit_remaining="0"),
        refused=told({"error": "Invalid api_key", "message": "The key is not known."}, 401),
        variable="OPENALEX_API_KEY",
    ),
    "pubmed": Known(
        make=PubMed,
        found=_pubmed,
        none=recorded("pubmed_none.json"),
        hits=(
            Hit(
                url="https://pubmed.ncbi.nlm.nih.gov/30000001/",
                title="Sleep of keepers.",
                snippet="BACKGROUND: Keepers wake at night. RESULTS: Of 42 keepers, 21 slept less (p < 0.05).",
                date="2024-05-01",
            ),
            Hit(url="https://pubmed.ncbi.nlm.nih.gov/30000002/", title="Lamps and eyes.", date="1998"),
            Hit(
                url="https://pubmed.ncbi.nlm.nih.gov/30000003/",
                title="Health at Sea",
                snippet="A chapter on towers.",
                date="2011",
            ),
        ),
        quota=told({"error": "The monthly request limit is reached", "api-key": KEY}, 429),
        refused=told({"error": "API key invalid", "api-key": KEY}, 400),
        variable="NCBI_API_KEY",
    ),
}
KEYED = sorted(name for name, service in SERVICES.items() if service.make.needs_key)  # type: ignore[attr-defined]
