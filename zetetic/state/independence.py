"""Whether sources are independent of one another (D33)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .research import Research
from .thresholds import Thresholds
from .values import Claim, Evidence, Source
from .wording import words

SMALL_TEXT = 10
"""Hashes below which containment of one text in another says nothing."""
SAME_WORDS = 12
"""Words in a row from which two quotes are one wording: of 669 pairs of texts on one subject, one shared as many."""


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


def sites(source: Source) -> frozenset[str]:
    """Where a source stems from: a domain, or the files that a query read."""
    return frozenset(source.domain.split(" + ")) if source.url.startswith("query:") else frozenset({source.domain})


def common_origin(a: Source, b: Source, thresholds: Thresholds) -> str:
    """Why two sources do not count as two, or '' if they do."""
    if a.id == b.id:
        return f"{a.id} is the same source"
    if shared := sites(a) & sites(b):
        return f"{a.id} and {b.id} are both from {min(shared)}"
    if a.work_id and a.work_id == b.work_id:
        return f"{a.id} and {b.id} are the same work ({a.work_id})"
    if a.sha256 and a.sha256 == b.sha256:
        return f"{a.id} and {b.id} have the same text"
    if sketch_similarity(a.sketch, b.sketch) >= thresholds.near_duplicate_share:
        return f"{a.id} and {b.id} have nearly the same text"
    return ""


def common_wording(one: Evidence, other: Evidence) -> str:
    """Why two quotes are one statement, or '': what is repeated word for word was written once (D33).

    Whoever wrote it, the page that repeats it adds nothing of its own, whether it says whom it repeats or not.
    """
    shared = _runs(one.quote) & _runs(other.quote)
    return f"{one.source_id} and {other.source_id} say it in the same words" if shared else ""


def _runs(quote: str) -> frozenset[tuple[str, ...]]:
    said = words(quote)
    return frozenset(said[at : at + SAME_WORDS] for at in range(len(said) - SAME_WORDS + 1))


def names_as_source(quote: str, source: Source) -> bool:
    """Whether a quote names another source by its site or its DOI, so that it passes on what that one says."""
    for name in (source.domain, source.work_id.removeprefix("doi:")):
        named = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)"
        if "." in name and ":" not in name and re.search(named, quote, re.IGNORECASE):
            return True
    return False


def origins(research: Research, links: Sequence[Evidence]) -> tuple[tuple[str, ...], ...]:
    """The linked sources grouped by common origin; each group counts once."""
    groups: list[list[tuple[Source, Evidence]]] = []
    for link in links:
        source = research.sources.get(link.source_id)
        if source is None:
            continue
        own = (source, link)
        near = [group for group in groups if any(_one_origin(own, other, research.thresholds) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([own, *(other for group in near for other in group)])
    return tuple(tuple(source.id for source, _ in group) for group in groups)


def _one_origin(one: tuple[Source, Evidence], other: tuple[Source, Evidence], thresholds: Thresholds) -> bool:
    (source, link), (known, linked) = one, other
    return bool(
        common_origin(source, known, thresholds)
        or common_wording(link, linked)
        or names_as_source(link.quote, known)
        or names_as_source(linked.quote, source)
    )


def independent_support(research: Research, claim: Claim) -> int:
    """Independent supporting sources of a claim: the first link, and those declared independent with a reason (D33)."""
    support = claim.links("supports")
    counted = support[:1] + tuple(link for link in support[1:] if link.independence.strip())
    return len(origins(research, counted))
