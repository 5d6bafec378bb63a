"""Composing answers from claims, word for word, and judging pairs of claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from zetetic.state.citations import split_sentences

from .bearing import bears_on
from .language import (
    ASKS_FIGURE,
    ASKS_TIME,
    Weights,
    confirms,
    fits_kind,
    names,
    phrases,
    quantities,
    relation,
    relevance,
    stems,
)
from .reading import ClaimSeen, Seen, is_living

_STARTS = re.compile(r"^(?:The|An?|Its?|They|Their|These|Those|This|That|He|She|His|Her|In|On|At|By|For|From|With)\b")
"""Words that are written small where they do not begin a sentence."""
MOST_STATEMENTS = 6
LONGEST_ANSWER = 2800
NOT_FOUND = "Not found in the sources: "
BEARS_ON = 0.6
"""Relevance from which a claim recorded on another question counts for this one."""
CLOSE = 0.6
"""Share of the best claim's relevance from which a further one of the same sources is told as well."""
FEW_SOURCES = 4
"""Sources up to which each one's own figure or date is told, however little it shares with the question."""
FAR = 0.45
"""The same for a claim of a source that is not told yet."""


def domains_of(seen: Seen, claim: ClaimSeen) -> set[str]:
    """The sites that support a claim; a copy counts as the source it copies."""
    return {_origin(seen, s) for s in claim.sources if s in seen.sources}


def _origin(seen: Seen, source_id: str) -> str:
    source = seen.sources[source_id]
    copied = re.search(r"same text as (s_\d+)", source.note)
    return seen.sources[copied[1]].domain if copied and copied[1] in seen.sources else source.domain


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


def confirming(seen: Seen, claim: ClaimSeen) -> list[ClaimSeen]:
    """Living claims that hold everything a claim says."""
    about = f"{seen.question} {seen.objective}"
    return [
        c for c in seen.claims.values() if c.id != claim.id and is_living(c) and confirms(claim.text, c.text, about)
    ]


def support(seen: Seen, claim: ClaimSeen) -> int:
    """Sites that state a claim, in it or in one that confirms it."""
    sites = domains_of(seen, claim)
    for other in confirming(seen, claim):
        sites |= domains_of(seen, other)
    return len(sites)


def disputed(seen: Seen) -> set[str]:
    """Claims on either side of a recorded contradiction, with those that say the same."""
    sides = {side for a, b, _ in seen.pairs for side in (a, b)}
    return sides | {c.id for side in sides if side in seen.claims for c in agreeing(seen, seen.claims[side])}


def superseding(seen: Seen, claim: ClaimSeen) -> list[ClaimSeen]:
    """The claims that replace an outdated one: all that speak against it are dated and newer, and more sites state
    them. An undated source shows nothing about age."""
    own = date_of(seen, claim)[:4]
    against = [c for c in opposing(seen, claim) if is_living(c)]
    dates = [seen.sources[s].date[:4] for c in against for s in c.sources if s in seen.sources]
    if not own or not dates or min(dates) <= own:
        return []
    sites = set().union(*(domains_of(seen, c) for c in against))
    return against if len(sites) > len(domains_of(seen, claim)) else []


def weights_of(seen: Seen) -> Weights:
    """How much words tell among the claims on record."""
    return Weights(c.text for c in seen.claims.values())


def ranked(seen: Seen, question: str, claims: Iterable[ClaimSeen]) -> list[ClaimSeen]:
    """Claims by how well they answer a question, then by support."""
    weights = weights_of(seen)

    def key(claim: ClaimSeen) -> tuple[float, float, str]:
        fits = 0.3 if fits_kind(question, claim.text) else 0.0
        score = relevance(question, claim.text, weights) + fits + 0.15 * min(support(seen, claim), 4)
        score += 0.3 if claim.status == "VERIFIED" else 0.0
        score -= 0.005 * len(claim.text.split())  # of two that say the same, the plainer one
        return (-score, -len(claim.sources), claim.id)

    return sorted(claims, key=key)


def candidates(seen: Seen) -> list[ClaimSeen]:
    """The claims an answer may rest on: those recorded on the question, and others that bear on it."""
    weights = weights_of(seen)
    found = {c.id: c for c in seen.own()}
    for claim in seen.claims.values():
        if claim.id in found or not is_living(claim) or not fits_kind(seen.question, claim.text):
            continue
        if relevance(seen.question, claim.text, weights) >= BEARS_ON:
            found[claim.id] = claim
    return ranked(seen, seen.question, found.values())


def statement(claim: ClaimSeen) -> str:
    """The claim's words in one sentence with its id: where they are two, the first names what the second speaks of."""
    parts = [part.rstrip().rstrip(".!") for part in split_sentences(claim.text)]
    told = "; ".join(_STARTS.sub(lambda m: m[0].lower(), part) if n else part for n, part in enumerate(parts) if part)
    return f"{told} [{claim.id}]."


def compose(seen: Seen) -> tuple[str, list[str]]:
    """An answer from the claims at hand, with both sides where they disagree; ('', []) if there is nothing."""
    weights = weights_of(seen)
    pool = [
        c
        for c in candidates(seen)
        if fits_kind(seen.question, c.text) and bears_on(seen.question, c.text) and not superseding(seen, c)
    ]
    scores = {c.id: relevance(seen.question, c.text, weights) for c in pool}
    best = max(scores.values(), default=0.0)
    chosen: list[ClaimSeen] = []
    sentences: list[str] = []
    bridges = {n for c in pool[:2] for p in phrases(c.text) for n in names(f"x {p}")} - names(f"x {seen.question}")
    asks_kind = bool(ASKS_TIME.search(seen.question) or ASKS_FIGURE.search(seen.question))
    for claim in [*pool, *_other_sources(pool)]:
        if len(chosen) >= MOST_STATEMENTS:
            break
        if claim in chosen or any(_says_no_more(claim.text, c.text) for c in chosen):
            continue
        represented = {s for c in chosen for s in c.sources}
        fresh = not set(claim.sources) & represented
        own = claim.id in seen.own_claims
        linked = own and bool(names(f"x {claim.text}") & bridges)
        enough = CLOSE * best
        if not chosen or linked or (fresh and own and asks_kind and len(seen.sources) <= FEW_SOURCES):
            enough = 0.0  # what leads on from the best claim, or another source's own figure, is always told
        elif fresh:
            enough = FAR * best
        if scores[claim.id] < enough or (scores[claim.id] < BEARS_ON and not own):
            continue
        rivals = [c for c in opposing(seen, claim) if is_living(c) and c not in chosen and not superseding(seen, c)]
        chosen.append(claim)
        if rivals:
            rival = ranked(seen, seen.question, rivals)[0]
            chosen.append(rival)
            sentences.append(f"Sources disagree: {statement(claim)} Against it: {statement(rival)}")
        else:
            sentences.append(statement(claim))
    return " ".join(sentences), [c.id for c in chosen]


def _says_no_more(text: str, told: str) -> bool:
    """Whether a statement adds nothing to one that is told: the same, with no name or figure of its own."""
    if stems(text) <= stems(told):
        return True
    if relation(text, told) != "same":
        return False
    figures = {q.value for q in quantities(text)} - {q.value for q in quantities(told)}
    return not figures and not names(text) - names(f"x {told}")


def _other_sources(pool: Sequence[ClaimSeen]) -> list[ClaimSeen]:
    """The best claim of each source, so that what one source alone says is told as well."""
    best: dict[str, ClaimSeen] = {}
    for claim in pool:
        for source_id in claim.sources[:1]:
            best.setdefault(source_id, claim)
    return list(best.values())


def compose_pair(seen: Seen) -> tuple[str, list[str]]:
    """The answer to a question about two claims in conflict: who says what, and which is better supported."""
    pair = [seen.claims[i] for i in seen.about if i in seen.claims]
    living = [c for c in pair if is_living(c)]
    fallen = [c for c in pair if not is_living(c)]
    if not pair:
        return "", []
    if fallen and living:
        best = living[0]
        return f"This holds: {statement(best)}", [best.id]
    if fallen:
        rest = [c for c in opposing(seen, fallen[0]) if is_living(c)] or [c for c in candidates(seen) if is_living(c)]
        if not rest:
            return "", []
        best = ranked(seen, fallen[0].text, rest)[0]
        return f"This holds instead: {statement(best)}", [best.id]
    ordered = sorted(living, key=lambda c: (-support(seen, c), c.id))
    first, second = ordered[0], ordered[-1]
    if first.id == second.id:
        return statement(first), [first.id]
    sides = support(seen, first), support(seen, second)
    verdict = (
        f"The first is stated by {sides[0]} sites and the second by {sides[1]}"
        if sides[0] != sides[1]
        else "Neither is better supported"
    )
    text = f"Sources disagree: {statement(first)} Against it: {statement(second)} {verdict} [{first.id}, {second.id}]."
    return text, [first.id, second.id]


def compose_root(seen: Seen) -> tuple[str, list[str]]:
    """The objective's answer from what its questions gave."""
    parts: list[str] = []
    cited: list[str] = []
    for _, status, answer in seen.below:
        if status == "resolved":
            parts.append(answer)
            cited += re.findall(r"\b[cd]_\d{3,}\b", answer)
    living = [c for c in dict.fromkeys(cited) if c in seen.claims and is_living(seen.claims[c])]
    if parts:
        parts += [f"{NOT_FOUND}{question}" for _, question in seen.silent]
    return shortened(" ".join(parts), LONGEST_ANSWER), living


def shortened(text: str, most: int) -> str:
    """Text of at most `most` characters, cut at a sentence's end."""
    if len(text) <= most:
        return text
    kept: list[str] = []
    for sentence in split_sentences(text):
        if sum(len(s) + 1 for s in kept) + len(sentence) > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def has_figure(text: str) -> bool:
    """Whether a statement carries a figure that a challenge could find to be another."""
    return bool(quantities(text))
