"""A research's claims, sources and gaps as plain JSON values, for the graph's output."""

from __future__ import annotations

from typing import Any

from zetetic.state.research import Research

from .gaps import shortfalls


def result_claims(research: Research) -> list[dict[str, Any]]:
    """Every claim and datapoint with its status, its quotes and the challenges it went through."""
    return [
        {
            "id": claim.id,
            "kind": claim.kind,
            "text": claim.text,
            "status": claim.status,
            "value": claim.value,
            "unit": claim.unit,
            "context": claim.context,
            "question_id": claim.question_id,
            "check": claim.check,
            "evidence": [
                {
                    "source_id": link.source_id,
                    "url": research.sources[link.source_id].url if link.source_id in research.sources else "",
                    "stance": link.stance,
                    "quote": link.quote,
                    "independence": link.independence,
                }
                for link in claim.evidence
            ],
            "challenges": [
                {"id": c.id, "strategy": c.strategy, "query": c.query, "outcome": c.outcome or "open"}
                for c in research.challenges_on("claim", claim.id)
            ],
        }
        for claim in research.claims.values()
    ]


def result_sources(research: Research) -> list[dict[str, Any]]:
    """Every source that was read, and the claims that rest on it."""
    resting: dict[str, list[str]] = {}
    for claim in research.claims.values():
        for source_id in dict.fromkeys(link.source_id for link in claim.links("supports")):
            resting.setdefault(source_id, []).append(claim.id)
    return [
        {
            "id": source.id,
            "url": source.url,
            "final_url": source.final_url,
            "title": source.title,
            "domain": source.domain,
            "published": source.published,
            "location": source.location,
            "note": source.note,
            "sha256": source.sha256,
            "read_at": source.at.isoformat(),
            "claim_ids": resting.get(source.id, []),
        }
        for source in research.sources.values()
    ]


def result_gaps(research: Research) -> list[dict[str, Any]]:
    """Everything that was not established, as the report lists it."""
    return [
        {
            "kind": gap.kind,
            "text": gap.text,
            "question_id": gap.question_id,
            "claim_ids": list(gap.claim_ids),
            "by": gap.by,
            "source_ids": list(gap.source_ids),
        }
        for gap in shortfalls(research)
    ]
