"""Whether sources are independent of one another (D33)."""

from __future__ import annotations

from collections.abc import Sequence

from .research import Research
from .thresholds import Thresholds
from .values import Claim, Evidence, Source

SMALL_TEXT = 20
"""Hashes below which containment of one text in another says nothing."""


def sketch_similarity(a: Sequence[int], b: Sequence[int]) -> float:
    """How much of two texts is one text, 0 to 1, from their sketches.

    A sketch is (log2 of its scale, hash, hash, …) with the hashes below 2**32 / scale kept; two sketches are compared
    at the coarser scale. The larger of Jaccard and, for texts that are not tiny, containment of the smaller.
    """
    if len(a) < 2 or len(b) < 2:
        return 0.0
    limit = 2**32 >> max(a[0], b[0])
    first = {h for h in a[1:] if h < limit}
    second = {h for h in b[1:] if h < limit}
    if not first or not second:
        return 0.0
    common = len(first & second)
    jaccard = common / len(first | second)
    smaller = min(len(first), len(second))
    return max(jaccard, common / smaller) if smaller >= SMALL_TEXT else jaccard


def common_origin(a: Source, b: Source, thresholds: Thresholds) -> str:
    """Why two sources do not count as two, or '' if they do."""
    if a.id == b.id:
        return f"{a.id} is the same source"
    if a.domain == b.domain:
        return f"{a.id} and {b.id} are both from {a.domain}"
    if a.work_id and a.work_id == b.work_id:
        return f"{a.id} and {b.id} are the same work ({a.work_id})"
    if a.sha256 and a.sha256 == b.sha256:
        return f"{a.id} and {b.id} have the same text"
    if sketch_similarity(a.sketch, b.sketch) >= thresholds.near_duplicate_share:
        return f"{a.id} and {b.id} have nearly the same text"
    return ""


def origins(research: Research, links: Sequence[Evidence]) -> tuple[tuple[str, ...], ...]:
    """The linked sources grouped by common origin; each group counts once."""
    groups: list[list[Source]] = []
    for link in links:
        source = research.sources.get(link.source_id)
        if source is None:
            continue
        near = [g for g in groups if any(common_origin(source, other, research.thresholds) for other in g)]
        merged = [source, *(s for g in near for s in g)]
        groups = [g for g in groups if g not in near] + [merged]
    return tuple(tuple(s.id for s in group) for group in groups)


def independent_support(research: Research, claim: Claim) -> int:
    """Independent supporting sources of a claim: the first link, and those declared independent with a reason (D33)."""
    support = claim.links("supports")
    counted = support[:1] + tuple(link for link in support[1:] if link.independence.strip())
    return len(origins(research, counted))
