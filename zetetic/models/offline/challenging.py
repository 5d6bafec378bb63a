"""Supporting and attacking claims without a model: links, challenges, verdicts, and the answer they allow."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.wording import content_words, counted, folded, one_line

from .answering import (
    confirming,
    date_of,
    disputed,
    domains_of,
    has_figure,
    opposing,
    ranked,
    superseding,
    support,
)
from .asking import key_terms
from .reading import ChallengeSeen, ClaimSeen, Seen, is_living

Calls = list[tuple[str, dict[str, Any]]]
STRATEGY_WORDS = {
    "negation": "not false wrong",
    "discrepancy": "different figure disputed actual",
    "criticism": "criticism error retracted problem",
    "alternative_method": "independent measurement reproduction",
    "scope_limit": "only under conditions limited exception",
    "primary_source": "original report source announcement",
    "staleness": "outdated superseded revised newer update",
}


def supporting(seen: Seen, claim: ClaimSeen) -> Calls:
    """Adds the sources of claims that agree, from other sites, each with its own words as the quote."""
    calls: Calls = []
    sites = domains_of(seen, claim)
    for other in confirming(seen, claim):
        for source_id in other.sources[:1]:
            source = seen.sources.get(source_id)
            if source is None or source.domain in sites or source_id in claim.sources:
                continue
            sites.add(source.domain)
            calls.append(
                (
                    "notes_update",
                    {
                        "id": claim.id,
                        "add_source": {
                            "source_id": source_id,
                            "stance": "supports",
                            "quote": other.text[:590],
                            "independence": _apart(source.domain),
                        },
                    },
                )
            )
    return calls[:3]


def _apart(domain: str) -> str:
    """Why a source is taken for independent."""
    if domain.startswith("local:"):
        return "another file with a text of its own; neither says who published it"
    return f"published by another site ({domain})"


def attack(seen: Seen, kind: str, target_id: str, text: str, first: str = "") -> Calls:
    """A challenge by the first strategy that was not used on the target."""
    plain = re.sub(r"\s*\[[^\]]*\]", "", text)
    used = {
        c.strategy
        for c in seen.challenges
        if c.type == kind and (folded(c.text) == folded(text) if kind != "claim" else c.target == target_id)
    }
    if len(used) >= 3:
        return []
    order = ["discrepancy", "staleness", "negation"] if has_figure(plain) else ["negation", "criticism", "staleness"]
    strategy = next((s for s in [first, *order] if s and s not in used), "")
    if not strategy:
        return []
    asked = {folded(q) for q, _ in seen.tried} | {folded(c.query) for c in seen.challenges}
    subject = key_terms(seen.question or seen.objective)[:6] if kind != "claim" else key_terms(plain)[:8]
    if kind == "claim":
        subject = [w for w in subject if not w[0].isdigit()]
    # The words of the strategy make the query one the target's own text would not give (D36).
    inside = content_words(plain)
    extra = [w for w in STRATEGY_WORDS[strategy].split() if w not in inside]
    query = " ".join([*subject, *extra])[:380]
    if folded(query) in asked:
        query = f"{query} {' '.join(key_terms(seen.objective)[:3])} {target_id or 'conclusion'}"[:380]
    short = one_line(plain, 400)
    negation = f"It is not so that {short}" if strategy != "discrepancy" else f"Another figure holds than in: {short}"
    call: dict[str, Any] = {
        "target_type": kind,
        "negation": negation,
        "strategy": strategy,
        "expected_if_false": "a source that states another figure, date or outcome for the same thing",
        "query": query,
    }
    if kind == "claim":
        call["target_id"] = target_id
    else:
        call["target_text"] = text
        if kind == "question_answer":
            call["target_id"] = target_id
    return [("challenge", call)]


def settle(seen: Seen, challenges: list[ChallengeSeen]) -> Calls:
    """Verdicts on all challenges that were run, then the statuses and the answer they allow."""
    calls: Calls = []
    risen: list[str] = []
    for challenge in challenges:
        call = verdict(seen, challenge)
        calls.append(("record_challenge_result", call))
        if call["outcome"] == "survived" and challenge.type == "claim":
            claim = seen.claims.get(challenge.target)
            if claim is not None and support(seen, claim) >= 2 and claim.id not in disputed(seen):
                risen.append(challenge.target)
    calls += [
        ("notes_update", {"id": c, "status": "VERIFIED", "why": "independent sources, challenge survived"})
        for c in risen
    ]
    fallen = {c.target for c, (_, call) in zip(challenges, calls, strict=False) if call.get("outcome") == "refuted"}
    mine = [c for c in challenges if c.type == "question_answer" and c.target == seen.question_id]
    if mine and seen.question_id:
        cited = list(dict.fromkeys(re.findall(r"\b[cd]_\d{3,}\b", mine[-1].text)))
        living = [c for c in cited if c in seen.claims and is_living(seen.claims[c]) and c not in fallen]
        if living == cited:
            calls.append(resolving(seen, mine[-1].text, cited, risen))
    return calls


def verdict(seen: Seen, challenge: ChallengeSeen) -> dict[str, Any]:
    """What a challenge's search showed, from the claims on record after reading what it found."""
    call: dict[str, Any] = {"challenge_id": challenge.id, "outcome": "survived"}
    if challenge.search_status not in ("ok", "no_results"):
        return call | {"outcome": "inconclusive", "evidence": f"the search ended as {challenge.search_status}"}
    if challenge.search_status == "no_results" and not content_words(challenge.query) & content_words(challenge.text):
        return call | {"outcome": "inconclusive", "evidence": "its query speaks of something else and found nothing"}
    if challenge.type == "claim" and challenge.target in seen.claims:
        claim = seen.claims[challenge.target]
        better = superseding(seen, claim)
        if better:
            best = ranked(seen, claim.text, better)[0]
            sites, to = len(set().union(*(domains_of(seen, c) for c in better))), max(date_of(seen, c) for c in better)
            return call | {
                "outcome": "refuted",
                "evidence": f"{sites} sites state otherwise, all of them later (to {to})",
                "source_ids": list(best.sources)[:5],
                "result_claim_id": best.id,
            }
        against = [c for c in opposing(seen, claim) if is_living(c)]
        if against and max(support(seen, c) for c in against) >= support(seen, claim):
            return call | {
                "outcome": "inconclusive",
                "evidence": f"{against[0].id} states otherwise and is as well supported",
            }
        if against:
            best = max(against, key=lambda c: support(seen, c))
            for_it, against_it = (counted(support(seen, c), "site") for c in (claim, best))
            return call | {"evidence": f"found at {for_it}; what speaks against it ({best.id}) at {against_it}"}
    return call | {"evidence": "the sources found state nothing that speaks against it"}


def resolving(
    seen: Seen, answer: str, cited: list[str], risen: list[str], unchallenged: str = ""
) -> tuple[str, dict[str, Any]]:
    """The proposal of an answer, with the reason where no claim of it is verified."""
    verified = any(c in risen or (c in seen.claims and seen.claims[c].status == "VERIFIED") for c in cited)
    call: dict[str, Any] = {"id": seen.question_id, "answer": answer, "claim_ids": cited[:40]}
    if not verified:
        call["why_unverified"] = why_unverified(seen, cited)
    if unchallenged:
        call["why_unchallenged"] = unchallenged
    return ("resolve_question", call)


def why_unverified(seen: Seen, cited: list[str]) -> str:
    """Why an answer goes out without a verified claim."""
    claims = [seen.claims[c] for c in cited if c in seen.claims]
    sides = {frozenset((a, b)) for a, b, _ in seen.pairs}
    if any({c.id for c in claims} >= pair for pair in sides):
        return "the sources disagree, and the answer names both sides"
    if any(c.id in disputed(seen) for c in claims):
        return "another source states otherwise, which is a question of its own"
    best = max((support(seen, c) for c in claims), default=0)
    if best >= 2:
        return f"{best} sites state it, but nothing shows that they are independent of each other"
    return "no second, independent source was found that states all of it" if best else "the sources at hand do not say"
