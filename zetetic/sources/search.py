"""What a search answers: hits, and a status that says why there are none (R8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from zetetic.sources.identity import canonical_url

RANK_OFFSET = 60
"""Damping of reciprocal rank fusion: how little the first rank counts more than the second."""


class SearchStatus(StrEnum):
    """How a search went (R8). Only `ok` and `no_results` mean that the query was executed."""

    OK = "ok"
    NO_RESULTS = "no_results"
    NOT_CONFIGURED = "not_configured"
    UNKNOWN = "unknown"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    FAILED = "failed"

    @property
    def executed(self) -> bool:
        """True if the provider looked: a search that did not run can neither support nor refute (D38)."""
        return self in (SearchStatus.OK, SearchStatus.NO_RESULTS)


class Hit(BaseModel):
    """One result. `identity` is set where the provider knows a finer identity than `canonical_url(url)` (documents)."""

    model_config = ConfigDict(frozen=True)

    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None
    identity: str = ""

    @property
    def key(self) -> str:
        """The identity by which hits of several providers are deduplicated (R6)."""
        return self.identity or canonical_url(self.url)


class SearchResult(BaseModel):
    """One provider's answer to one query; `detail` is a sentence for whoever reads the log.

    `parts` holds the answers that a merged result was made of, so that no provider's status is lost.
    """

    model_config = ConfigDict(frozen=True)

    provider: str
    status: SearchStatus
    hits: tuple[Hit, ...] = ()
    detail: str = ""
    parts: tuple[SearchResult, ...] = ()


class SearchProvider(Protocol):
    """Something that can be searched. It never raises for trouble of its own: trouble is a status (R7)."""

    @property
    def name(self) -> str:
        """The short name by which users choose the provider."""

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """At most `limit` hits for `query`, best first."""


async def merged_search(providers: Sequence[SearchProvider], query: str, limit: int) -> SearchResult:
    """Ask every provider at once and merge their hits by rank, one hit for each canonical URL (R6, R7, R8).

    A single provider's answer is returned as it is. Of several, the status is `ok` if there are hits, `no_results` if
    at least one provider looked and found nothing, else the first of rate_limited, quota, failed, not_configured,
    unknown that occurred; each provider's own status stays in `parts`.
    """
    if not providers:
        return SearchResult(
            provider="none",
            status=SearchStatus.NOT_CONFIGURED,
            detail="There is nothing to search: give a documents folder or a search provider.",
        )
    parts = await asyncio.gather(*(_guarded(provider, query, limit) for provider in providers))
    if len(parts) == 1:
        return parts[0]
    hits = _fused(parts, limit)
    return SearchResult(
        provider="+".join(part.provider for part in parts),
        status=SearchStatus.OK if hits else _joint_status(parts),
        hits=hits,
        detail=" ".join(f"{part.provider}: {part.detail or part.status.value}" for part in parts if not part.hits),
        parts=tuple(parts),
    )


async def _guarded(provider: SearchProvider, query: str, limit: int) -> SearchResult:
    """The provider's answer; an exception that it should not have raised becomes the status `failed` (R7)."""
    try:
        return await provider.search(query, limit=limit)
    except Exception as error:
        detail = f"The search raised {type(error).__name__}: {error}"
        return SearchResult(provider=provider.name, status=SearchStatus.FAILED, detail=detail)


def _joint_status(parts: Sequence[SearchResult]) -> SearchStatus:
    order = (
        SearchStatus.NO_RESULTS,
        SearchStatus.RATE_LIMITED,
        SearchStatus.QUOTA,
        SearchStatus.FAILED,
        SearchStatus.NOT_CONFIGURED,
        SearchStatus.UNKNOWN,
    )
    present = {part.status for part in parts}
    return next((status for status in order if status in present), SearchStatus.NO_RESULTS)


def _fused(parts: Sequence[SearchResult], limit: int) -> tuple[Hit, ...]:
    """Reciprocal rank fusion; ties keep the order of the providers. A merged hit takes what its first lacks."""
    merged: dict[str, Hit] = {}
    score: dict[str, float] = {}
    for part in parts:
        seen: set[str] = set()
        for rank, hit in enumerate(part.hits):
            key = hit.key
            if key in seen:
                continue
            seen.add(key)
            score[key] = score.get(key, 0.0) + 1 / (RANK_OFFSET + rank)
            first = merged.setdefault(key, hit)
            if first is not hit:
                merged[key] = first.model_copy(
                    update={
                        "title": first.title or hit.title,
                        "snippet": first.snippet or hit.snippet,
                        "date": first.date or hit.date,
                    }
                )
    ranked = sorted(merged, key=lambda key: -score[key])
    return tuple(merged[key] for key in ranked[: max(limit, 0)])
