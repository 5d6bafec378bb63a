"""A worker turn without a model: search, read, cross-check, challenge, conclude, by fixed rules."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.wording import content_words, folded, one_line

from .answering import (
    agreeing,
    candidates,
    compose,
    compose_pair,
    compose_root,
    date_of,
    domains_of,
    has_figure,
    opposing,
    ranked,
    support,
)
from .asking import criteria_for, key_terms, queries_for, run_criteria, sub_questions
from .language import relation
from .reading import ChallengeSeen, ClaimSeen, Hit, Seen, is_living

Calls = list[tuple[str, dict[str, Any]]]
PAGES_A_TURN = 6
KEY_CLAIMS = 2
ROOT = "q_001"
STRATEGY_WORDS = {
    "negation": "not false wrong",
    "discrepancy": "different figure disputed actual",
    "criticism": "criticism error retracted problem",
    "alternative_method": "independent measurement reproduction",
    "scope_limit": "only under conditions limited exception",
    "primary_source": "original report source announcement",
    "staleness": "outdated superseded revised newer update",
}


def plan(seen: Seen) -> Calls:
    """Criteria and sub-questions from the objective's own sentences; or freeing what is blocked."""
    if seen.blocked:
        return [
            ("prune_branch", {"id": q, "reason": "what it waited for was dropped, and nothing replaces it"})
            for q, _ in seen.blocked
        ]
    questions = sub_questions(seen.objective)
    calls: Calls = []
    if not seen.criteria:
        calls.append(("set_criteria", {"criteria": run_criteria(questions)}))
    if len(questions) < 2:
        calls.append(("frontier_next", {"atomic_reason": "it asks for one thing"}))
        return calls
    for place, question in enumerate(questions):
        calls.append(
            (
                "add_question",
                {
                    "parent_id": ROOT,
                    "question": question[:590],
                    "rationale": "part of the objective",
                    "priority": round(0.9 - 0.03 * place, 2),
                    "validation_criteria": criteria_for(question)[:590],
                },
            )
        )
    return calls


def work(seen: Seen) -> Calls:
    """The next step on a question: the first that is due of verdicts, reading, searching, checking, answering."""
    own_open = [c for c in seen.challenges if c.is_open]
    if own_open:
        waiting = [c for c in own_open if not c.is_run]
        if waiting:
            return [("web_search", {"query": c.query, "challenge_id": c.id}) for c in waiting]
        unread = unread_hits(seen)
        if unread and not just_read(seen):
            return read(unread[: PAGES_A_TURN // 2])
        return settle(seen, own_open)
    answer, cited = draft(seen)
    challenged = [c for c in seen.challenges if c.type == "question_answer" and folded(c.text) == folded(answer)]
    if answer and challenged and any(c.state in ("survived", "inconclusive", "weakened") for c in challenged):
        return [resolving(seen, answer, cited, [])]
    if not searched(seen) and not is_derived(seen):
        return look(seen, 2 if seen.attempt > 1 else 1)
    unread = unread_hits(seen)
    if unread and not answer_is_ripe(seen) and reads_done(seen) < 2:
        return read(unread[:PAGES_A_TURN])
    if not answer:
        further = look(seen, 2)
        if further and searches_done(seen) < 3:
            return further
        return give_up(seen)
    return check(seen, answer)


def is_derived(seen: Seen) -> bool:
    """Whether the question is answered from other answers or from two claims rather than by a search of its own."""
    return bool(seen.about) or bool(seen.question_id == ROOT and seen.below)


def draft(seen: Seen) -> tuple[str, list[str]]:
    """The answer as it would be given now."""
    if seen.question_id == ROOT and seen.below:
        return compose_root(seen)
    if seen.about:
        text, cited = compose_pair(seen)
        if text:
            return text, cited
    return compose(seen)


def searched(seen: Seen) -> bool:
    """Whether this attempt has run an ordinary search."""
    return searches_done(seen) > 0


def searches_done(seen: Seen) -> int:
    """Turns of this attempt that searched, as far as the window shows them; tried queries count for the first one."""
    shown = sum("web_search" in names for names, _ in seen.rounds)
    if shown == 0 and seen.turn > 2 and any("challenge" not in outcome for _, outcome in seen.tried):
        return 1
    return shown


def reads_done(seen: Seen) -> int:
    """Turns of the window that fetched pages."""
    return sum("fetch_page" in names for names, _ in seen.rounds)


def just_read(seen: Seen) -> bool:
    """Whether the last turn of the window fetched pages."""
    return bool(seen.rounds) and "fetch_page" in seen.rounds[-1][0]


def unread_hits(seen: Seen) -> list[Hit]:
    """Hits not read and not tried, in the order of the searches."""
    tried = seen.fetched()
    return [h for h in seen.hits() if not h.source and h.url not in tried]


def answer_is_ripe(seen: Seen) -> bool:
    """Whether the claims at hand carry an answer with the support of several sites."""
    best = candidates(seen)[:1]
    return bool(best) and support(seen, best[0]) >= 3


def look(seen: Seen, most: int) -> Calls:
    """Searches not made yet on the question."""
    queries = queries_for(seen.question, seen.question_criteria, seen.objective, seen.tried, seen.steer)
    return [("web_search", {"query": q}) for q in queries[:most]]


def read(hits: list[Hit]) -> Calls:
    """Fetches several pages in one turn."""
    return [("fetch_page", {"url": h.url}) for h in hits]


def give_up(seen: Seen) -> Calls:
    """Ends an attempt that found nothing; from the second on, the question steps back behind the others."""
    queries = queries_for(seen.question, seen.question_criteria, seen.objective, seen.tried, "")
    spare = queries[0] if queries else f"{' '.join(key_terms(seen.question)[:6])} attempt {seen.attempt + 1}"
    calls: Calls = [
        (
            "notes_append",
            {"gaps": [one_line(f"The sources do not say: {seen.question}", 500)]},
        )
    ]
    if seen.attempt >= 2 and seen.question_id != ROOT:
        calls.append(
            (
                "set_priority",
                {"id": seen.question_id, "priority": 0.3, "why": "two attempts found nothing; the others go first"},
            )
        )
    calls.append(
        (
            "retry_question",
            {
                "id": seen.question_id,
                "new_query": spare,
                "why": "the pages read do not answer it",
                "assumption": one_line(f"No source at hand answers it: {seen.question}", 500),
            },
        )
    )
    return calls


def check(seen: Seen, answer: str) -> Calls:
    """Links what agrees, links what contradicts, and challenges the claims that matter and the drafted answer."""
    calls: Calls = []
    matter = [c for c in candidates(seen) if c.id in answer][: KEY_CLAIMS * 2]
    linked: set[frozenset[str]] = {frozenset((a, b)) for a, b, _ in seen.pairs}
    for claim in matter:
        for rival in opposing(seen, claim):
            pair = frozenset((claim.id, rival.id))
            if is_living(rival) and pair not in linked and not set(claim.sources) & set(rival.sources):
                linked.add(pair)
                calls.append(
                    ("notes_update", {"id": claim.id, "link": {"relation": "contradicts", "claim_id": rival.id}})
                )
    if seen.question_id != ROOT or not seen.below:
        for claim in matter[:KEY_CLAIMS]:
            calls += supporting(seen, claim)
            if support(seen, claim) >= 2 and claim.status == "UNVERIFIED":
                calls += attack(seen, "claim", claim.id, claim.text)
    for claim in (seen.claims[i] for i in seen.about if i in seen.claims):
        if is_living(claim) and is_outdated(seen, claim):
            calls += attack(seen, "claim", claim.id, claim.text, first="staleness")
    calls += attack(seen, "question_answer", seen.question_id, answer)
    if not any(name == "challenge" for name, _ in calls):
        text, cited = draft(seen)
        return [*calls, resolving(seen, text, cited, [], "every challenge of this answer is spent")]
    return calls


def supporting(seen: Seen, claim: ClaimSeen) -> Calls:
    """Adds the sources of claims that agree, from other sites, each with its own words as the quote."""
    calls: Calls = []
    sites = domains_of(seen, claim)
    for other in agreeing(seen, claim):
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
                            "independence": f"published by another site ({source.domain})",
                        },
                    },
                )
            )
    return calls[:3]


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
    subject = key_terms(seen.question)[:6] if kind != "claim" else key_terms(plain)[:8]
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


def is_outdated(seen: Seen, claim: ClaimSeen) -> bool:
    """Whether several sites state otherwise, all of them later."""
    return bool(superseding(seen, claim))


def superseding(seen: Seen, claim: ClaimSeen) -> list[ClaimSeen]:
    """The claims that replace an older one: newer, and stated by more sites."""
    own = date_of(seen, claim)
    if not own:
        return []
    newer = [c for c in opposing(seen, claim) if is_living(c) and date_of(seen, c)[:4] > own[:4]]
    return [c for c in newer if support(seen, c) > support(seen, claim)]


def settle(seen: Seen, challenges: list[ChallengeSeen]) -> Calls:
    """Verdicts on all challenges that were run, then the statuses and the answer they allow."""
    calls: Calls = []
    risen: list[str] = []
    for challenge in challenges:
        call = verdict(seen, challenge)
        calls.append(("record_challenge_result", call))
        if call["outcome"] == "survived" and challenge.type == "claim":
            claim = seen.claims.get(challenge.target)
            disputed = any(
                is_living(c) and frozenset((c.id, challenge.target)) in {frozenset((a, b)) for a, b, _ in seen.pairs}
                for c in (opposing(seen, claim) if claim else [])
            )
            if claim is not None and support(seen, claim) >= 2 and not disputed:
                risen.append(challenge.target)
    calls += [
        ("notes_update", {"id": c, "status": "VERIFIED", "why": "independent sources, challenge survived"})
        for c in risen
    ]
    if any(c[1].get("outcome") == "refuted" for c in calls if c[0] == "record_challenge_result"):
        return calls
    mine = [c for c in challenges if c.type == "question_answer" and c.target == seen.question_id]
    if mine and seen.question_id:
        cited = list(dict.fromkeys(re.findall(r"\b[cd]_\d{3,}\b", mine[-1].text)))
        living = [c for c in cited if c in seen.claims and is_living(seen.claims[c])]
        if living == cited:
            calls.append(resolving(seen, mine[-1].text, cited, risen))
    return calls


def verdict(seen: Seen, challenge: ChallengeSeen) -> dict[str, Any]:
    """What a challenge's search showed, from the claims on record after reading what it found."""
    call: dict[str, Any] = {"challenge_id": challenge.id, "outcome": "survived"}
    if challenge.search_status not in ("ok", "no_results"):
        return call | {"outcome": "inconclusive", "evidence": f"the search ended as {challenge.search_status}"}
    if challenge.type == "claim" and challenge.target in seen.claims:
        claim = seen.claims[challenge.target]
        better = superseding(seen, claim)
        if better:
            best = ranked(seen, claim.text, better)[0]
            return call | {
                "outcome": "refuted",
                "evidence": f"{best.id}, stated by {support(seen, best)} sites and newer ({date_of(seen, best)}), replaces it",
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
            return call | {
                "evidence": f"{support(seen, claim)} sites state it; {against[0].id} alone states otherwise",
            }
    return call | {"evidence": "the sources found state nothing that speaks against it"}


def resolving(
    seen: Seen, answer: str, cited: list[str], risen: list[str], unchallenged: str = ""
) -> tuple[str, dict[str, Any]]:
    """The proposal of an answer, with the reason where no claim of it is verified."""
    verified = any(c in risen or (c in seen.claims and seen.claims[c].status == "VERIFIED") for c in cited)
    call: dict[str, Any] = {"id": seen.question_id, "answer": answer, "claim_ids": cited[:40]}
    if not verified:
        best = max((support(seen, seen.claims[c]) for c in cited if c in seen.claims), default=0)
        call["why_unverified"] = (
            f"stated by {best} site(s) that differ in wording or origin too little to confirm one another"
            if best
            else "the sources at hand do not say"
        )
    if unchallenged:
        call["why_unchallenged"] = unchallenged
    return ("resolve_question", call)


def conclude(seen: Seen) -> Calls:
    """Stating the conclusion, challenging it, and finishing, with more reading where the gate asks for it."""
    waiting = [c for c in seen.challenges if c.is_open and not c.is_run]
    if waiting:
        return [("web_search", {"query": c.query, "challenge_id": c.id}) for c in waiting]
    run = [c for c in seen.challenges if c.is_open and c.is_run]
    if run:
        return [("record_challenge_result", verdict(seen, c)) for c in run]
    unread = unread_hits(seen)
    needs_pages = any("fetch more pages" in m or "look elsewhere" in m for m in seen.lacking)
    if needs_pages:
        if unread:
            return read(unread[:PAGES_A_TURN])
        further = queries_for(
            seen.objective, "", " ".join(c.text for c in list(seen.claims.values())[:3]), seen.tried, ""
        )
        if further:
            return [("web_search", {"query": q}) for q in further[:2]]
    text = seen.conclusion or conclusion_from(seen)
    survived = any(c.type == "conclusion" and c.state == "survived" for c in seen.challenges)
    if not survived:
        calls = attack(seen, "conclusion", "", text)
        if calls:
            return [("notes_scratch", {"conclusion": text}), *calls] if not seen.conclusion else calls
    return [("finish_exploration", {"why": "" if survived else "no challenge brought anything against it"})]


def conclusion_from(seen: Seen) -> str:
    """The conclusion in a few sentences: the objective's answer, shortened at sentence ends."""
    text = seen.root_answer or "The sources at hand do not answer the objective."
    if len(text) <= 1500:
        return text
    return text[:1500].rsplit(". ", 1)[0] + "."


def relates(a: str, b: str) -> bool:
    """Whether two statements speak of one thing."""
    return relation(a, b) != "unrelated"
