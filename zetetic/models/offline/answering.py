"""Composing answers from claims, word for word, and judging pairs of claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .language import fits_kind, quantities, relation, relevance, stems
from .reading import ClaimSeen, Seen, is_living

MOST_STATEMENTS = 5
NOT_FOUND = "Not found in the sources: "


def domains_of(seen: Seen, claim: ClaimSeen) -> set[str]:
    """The sites that support a claim."""
    return {seen.sources[s].domain for s in claim.sources if s in seen.sources}


def date_of(seen: Seen, claim: ClaimSeen) -> str:
    """The newest publication date among a claim's sources; '' if none is known."""
    return max((seen.sources[s].date for s in claim.sources if s in seen.sources), default="")


def agreeing(seen: Seen, claim: ClaimSeen) -> list[ClaimSeen]:
    """Living claims that say the same."""
    return [
        c for c in seen.claims.values() if c.id != claim.id and is_living(c) and relation(c.text, claim.text) == "same"
    ]


def opposing(seen: Seen, claim: ClaimSeen) -> list[ClaimSeen]:
    """Claims that say otherwise, refuted ones among them."""
    return [c for c in seen.claims.values() if c.id != claim.id and relation(c.text, claim.text) == "contradicts"]


def support(seen: Seen, claim: ClaimSeen) -> int:
    """Sites that state a claim, in it or in one that agrees."""
    sites = domains_of(seen, claim)
    for other in agreeing(seen, claim):
        sites |= domains_of(seen, other)
    return len(sites)


def ranked(seen: Seen, question: str, claims: Iterable[ClaimSeen]) -> list[ClaimSeen]:
    """Claims by how well they answer a question, then by support."""

    def key(claim: ClaimSeen) -> tuple[float, float, str]:
        fits = 0.3 if fits_kind(question, claim.text) else 0.0
        score = relevance(question, claim.text) + fits + 0.15 * min(support(seen, claim), 4)
        score += 0.3 if claim.status == "VERIFIED" else 0.0
        return (-score, -len(claim.sources), claim.id)

    return sorted(claims, key=key)


def candidates(seen: Seen) -> list[ClaimSeen]:
    """The claims an answer may rest on: those recorded on the question, and others that bear on it."""
    own = {c.id: c for c in seen.own()}
    for claim in seen.claims.values():
        if claim.id not in own and is_living(claim) and relevance(seen.question, claim.text) >= 0.5:
            if fits_kind(seen.question, claim.text):
                own[claim.id] = claim
    return ranked(seen, seen.question, own.values())


def statement(claims: Sequence[ClaimSeen]) -> str:
    """One sentence with the claims it rests on: the first claim's words."""
    text = claims[0].text.rstrip().rstrip(".!")
    return f"{text} [{', '.join(dict.fromkeys(c.id for c in claims))}]."


def compose(seen: Seen) -> tuple[str, list[str]]:
    """An answer from the claims at hand, with both sides where they disagree; ('', []) if there is nothing."""
    chosen: list[ClaimSeen] = []
    sentences: list[str] = []
    cited: list[str] = []
    fitting = [c for c in candidates(seen) if fits_kind(seen.question, c.text)]
    pool = fitting or [c for c in candidates(seen) if relevance(seen.question, c.text) >= 0.6]
    for claim in pool:
        if len(chosen) >= MOST_STATEMENTS:
            break
        if claim.id in cited or any(stems(claim.text) <= stems(c.text) for c in chosen):
            continue
        same = [c for c in agreeing(seen, claim) if c.id not in cited][:3]
        chosen.append(claim)
        group = [claim, *same]
        cited += [c.id for c in group]
        rivals = [c for c in opposing(seen, claim) if is_living(c) and c.id not in cited]
        if rivals:
            rival = ranked(seen, seen.question, rivals)[0]
            cited.append(rival.id)
            chosen.append(rival)
            sentences.append(f"Sources disagree: {statement(group)}")
            sentences.append(f"Against it: {statement([rival])}")
        else:
            sentences.append(statement(group))
    return " ".join(sentences), cited


def compose_pair(seen: Seen) -> tuple[str, list[str]]:
    """The answer to a question about two claims in conflict: who says what, and which is better supported."""
    pair = [seen.claims[i] for i in seen.about if i in seen.claims]
    living = [c for c in pair if is_living(c)]
    fallen = [c for c in pair if not is_living(c)]
    if not pair:
        return "", []
    if fallen and living:
        best = living[0]
        group = [best, *agreeing(seen, best)[:3]]
        return f"This holds: {statement(group)}", [c.id for c in group]
    if fallen:
        rest = [c for c in opposing(seen, fallen[0]) if is_living(c)] or [c for c in candidates(seen) if is_living(c)]
        if not rest:
            return "", []
        best = ranked(seen, fallen[0].text, rest)[0]
        group = [best, *agreeing(seen, best)[:3]]
        return f"This holds instead: {statement(group)}", [c.id for c in group]
    ordered = sorted(living, key=lambda c: (-support(seen, c), c.id))
    first, second = ordered[0], ordered[-1]
    if first.id == second.id:
        return statement([first]), [first.id]
    sides = support(seen, first), support(seen, second)
    verdict = (
        f"The first is stated by {sides[0]} sites and the second by {sides[1]}"
        if sides[0] != sides[1]
        else "Neither is better supported"
    )
    group = [first, *[c for c in agreeing(seen, first) if c.id != second.id][:3]]
    text = (
        f"Sources disagree: {statement(group)} Against it: {statement([second])} {verdict} [{first.id}, {second.id}]."
    )
    return text, list(dict.fromkeys([*(c.id for c in group), second.id]))


def compose_root(seen: Seen) -> tuple[str, list[str]]:
    """The objective's answer from what its questions gave."""
    parts: list[str] = []
    cited: list[str] = []
    for _, status, answer in seen.below:
        if status == "resolved":
            parts.append(answer)
            cited += re.findall(r"\b[cd]_\d{3,}\b", answer)
    living = [c for c in dict.fromkeys(cited) if c in seen.claims and is_living(seen.claims[c])]
    return " ".join(parts)[:2800].rsplit(" ", 1)[0] if len(" ".join(parts)) > 2800 else " ".join(parts), living


def has_figure(text: str) -> bool:
    """Whether a statement carries a figure that a challenge could find to be another."""
    return bool(quantities(text))
