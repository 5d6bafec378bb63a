"""A worker turn without a model: search, read, cross-check, challenge, conclude, by fixed rules."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.wording import content_words, folded, one_line, words

from .answering import (
    agreeing,
    candidates,
    compose,
    compose_pair,
    compose_root,
    confirming,
    date_of,
    disputed,
    domains_of,
    has_figure,
    opposing,
    ranked,
    shortened,
    superseding,
    support,
)
from .asking import criteria_for, key_terms, queries_for, run_criteria, sub_questions
from .extracting import from_pages
from .language import fits_kind, is_statement, phrases, sentences_of
from .reading import ChallengeSeen, ClaimSeen, Hit, Seen, is_living, pages_in

Calls = list[tuple[str, dict[str, Any]]]
PAGES_A_TURN = 10
KEY_CLAIMS = 2
ROOT = "q_001"
ANYTHING = "information history people year place first work group number time name part"
"""A query that most documents answer: what is left to read when the gate asks for more sources."""
SILENT = "No answer was established from the sources: "
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
    raw = unrecorded_pages(seen)
    if raw:
        return [record_pages(seen, raw)]
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
    if rejected(seen, answer):
        answer, cited = "", []
    challenged = [c for c in seen.challenges if c.type == "question_answer" and folded(c.text) == folded(answer)]
    if answer and challenged and any(c.state in ("survived", "inconclusive", "weakened") for c in challenged):
        return [resolving(seen, answer, cited, [])]
    if not searched(seen) and not is_derived(seen):
        return look(seen, 2 if seen.attempt > 1 else 1)
    unread = unread_hits(seen)
    if unread and reads_done(seen) < 2:
        return read(unread[:PAGES_A_TURN])
    hop = second_hop(seen)
    if hop:
        return hop
    if not answer:
        further = look(seen, 2)
        if further and searches_done(seen) < 2:
            return further
        return give_up(seen)
    return check(seen, answer)


def unrecorded_pages(seen: Seen) -> list[tuple[str, str, str]]:
    """Pages whose text stands in the window and of which nothing is on record yet."""
    used = {s for c in seen.claims.values() for s in c.sources}
    noted = {s.id for s in seen.sources.values() if "nothing relevant" in s.note}
    return [page for page in window_pages(seen) if page[0] not in used | noted]


def record_pages(seen: Seen, pages: list[tuple[str, str, str]]) -> tuple[str, dict[str, Any]]:
    """Records what pages in the window say on the question."""
    asked = [(seen.question_id, seen.question), *((q, text) for q, text in seen.open if q != seen.question_id)]
    return ("notes_append", from_pages(asked, seen.objective, pages, set()))


def rejected(seen: Seen, answer: str) -> bool:
    """Whether this very answer was proposed before and not accepted."""
    return bool(answer and seen.partial) and folded(answer)[:200] == folded(seen.partial.rstrip("…"))[:200]


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


def look(seen: Seen, most: int) -> Calls:
    """Searches not made yet on the question."""
    queries = queries_for(seen.question, seen.question_criteria, seen.objective, seen.tried, seen.steer)
    return [("web_search", {"query": q}) for q in queries[:most]]


def read(hits: list[Hit]) -> Calls:
    """Fetches several pages in one turn."""
    return [("fetch_page", {"url": h.url}) for h in hits]


def second_hop(seen: Seen) -> Calls:
    """What the best claims name and the question does not: read again for it, or searched, once in an attempt."""
    if is_derived(seen) or sum("notes_append" in names_ for names_, _ in seen.rounds) != 1:
        return []
    known = set(words(seen.question))
    leads: list[str] = []
    for claim in candidates(seen)[:3]:
        leads += [p for p in phrases(claim.text) if not set(words(p)) <= known]
    recorded = {folded(c.text) for c in seen.claims.values()}
    entries: list[dict[str, Any]] = []
    for source_id, title, text in window_pages(seen):
        lead = next(
            (p for p in leads if folded(title) and (folded(p) in folded(title) or folded(title) in folded(p))), ""
        )
        if not lead:
            continue
        told = [s for s in sentences_of(text) if is_statement(s) and folded(s) not in recorded]
        fitting = [s for s in told if fits_kind(seen.question, s)]
        for quote in (fitting or told)[:2]:
            entries.append({"text": quote, "quote": quote, "source_id": source_id, "question_id": seen.question_id})
    return [("notes_append", {"claims": entries[:8]})] if entries else []


def window_pages(seen: Seen) -> list[tuple[str, str, str]]:
    """Pages whose text stands in the window: source id, title, text."""
    found = []
    for _, results in seen.rounds:
        for message in results:
            if message.name == "fetch_page":
                for source_id, title, text in pages_in(message.text):
                    source = seen.sources.get(source_id)
                    found.append((source_id, title or (source.title if source else ""), text))
    return found


def give_up(seen: Seen) -> Calls:
    """Ends an attempt that found nothing; from the second on, the question steps back behind the others."""
    queries = queries_for(seen.question, seen.question_criteria, seen.objective, seen.tried, "")
    spare = queries[0] if queries else f"{' '.join(key_terms(seen.question)[:6])} attempt {seen.attempt + 1}"
    calls: Calls = []
    if seen.question_id != ROOT or not seen.below:
        calls.append(("notes_append", {"gaps": [one_line(f"{SILENT}{seen.question}", 500)]}))
    if (seen.attempt >= 2 or not reads_done(seen)) and seen.question_id != ROOT:
        calls.append(
            (
                "set_priority",
                {
                    "id": seen.question_id,
                    "priority": 0.3,
                    "why": "what was read does not answer it; the others go first",
                },
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
    taken = disputed(seen)
    attacked: set[str] = set()
    for claim in matter:
        for rival in opposing(seen, claim):
            # One conflict is one question: a rival in dispute already is not put against each claim anew.
            if not is_living(rival) or rival.id in taken or set(claim.sources) & set(rival.sources):
                continue
            taken |= {x.id for side in (claim, rival) for x in (side, *agreeing(seen, side))}
            if superseding(seen, rival):
                attacked.add(rival.id)
                calls += attack(seen, "claim", rival.id, rival.text, first="staleness")
            else:
                link = {"relation": "contradicts", "claim_id": rival.id}
                calls.append(("notes_update", {"id": claim.id, "link": link}))
    if seen.question_id != ROOT or not seen.below:
        for claim in matter[:KEY_CLAIMS]:
            calls += supporting(seen, claim)
            if support(seen, claim) >= 2 and claim.status == "UNVERIFIED" and claim.id not in attacked:
                calls += attack(seen, "claim", claim.id, claim.text)
    for claim in (seen.claims[i] for i in seen.about if i in seen.claims):
        if is_living(claim) and superseding(seen, claim) and claim.id not in attacked:
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
    return "one site alone states it" if best else "the sources at hand do not say"


def conclude(seen: Seen) -> Calls:
    """Stating the conclusion, challenging it, and finishing, with more reading where the gate asks for it."""
    waiting = [c for c in seen.challenges if c.is_open and not c.is_run]
    if waiting:
        return [("web_search", {"query": c.query, "challenge_id": c.id}) for c in waiting]
    run = [c for c in seen.challenges if c.is_open and c.is_run]
    if run:
        return [("record_challenge_result", verdict(seen, c)) for c in run]
    raw = unrecorded_pages(seen)
    if raw:
        return [record_pages(seen, raw)]
    if seen.stage == "verifying":
        ripe = [c for c in seen.matter if c in seen.claims and len(domains_of(seen, seen.claims[c])) >= 2]
        if ripe:
            why = "independent sources, challenge survived"
            return [("notes_update", {"id": c, "status": "VERIFIED", "why": why}) for c in ripe]
    late = late_conflicts(seen)
    if late:
        return late
    unread = unread_hits(seen)
    needs_pages = any("fetch more pages" in m or "look elsewhere" in m for m in seen.lacking)
    if needs_pages:
        if unread:
            return read(unread[:PAGES_A_TURN])
        further = queries_for(
            seen.objective, "", " ".join(c.text for c in list(seen.claims.values())[:3]), seen.tried, ""
        )
        if not further and all(folded(q) != folded(ANYTHING) for q, _ in seen.tried):
            further = [ANYTHING]
        if further:
            return [("web_search", {"query": q}) for q in further[:2]]
    text = seen.conclusion or conclusion_from(seen)
    survived = any(c.type == "conclusion" and c.state == "survived" for c in seen.challenges)
    if not survived:
        calls = attack(seen, "conclusion", "", text)
        if calls:
            return [("notes_scratch", {"conclusion": text}), *calls] if not seen.conclusion else calls
    return [("finish_exploration", {"why": "" if survived else "no challenge brought anything against it"})]


def late_conflicts(seen: Seen) -> Calls:
    """Links between claims the answer rests on and claims recorded since that say otherwise."""
    taken = disputed(seen)
    calls: Calls = []
    for claim_id in dict.fromkeys(re.findall(r"\b[cd]_\d{3,}\b", seen.root_answer)):
        claim = seen.claims.get(claim_id)
        if claim is None or not is_living(claim):
            continue
        for rival in opposing(seen, claim):
            if is_living(rival) and rival.id not in taken and not set(claim.sources) & set(rival.sources):
                taken |= {rival.id, *(c.id for c in agreeing(seen, rival))}
                link = {"relation": "contradicts", "claim_id": rival.id}
                calls.append(("notes_update", {"id": claim.id, "link": link}))
    return calls


def conclusion_from(seen: Seen) -> str:
    """The conclusion in a few sentences: the objective's answer, shortened at sentence ends."""
    text = seen.root_answer or "The sources at hand do not answer the objective."
    return shortened(text, 1500)
