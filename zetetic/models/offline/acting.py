"""A worker turn without a model: search, read, cross-check, challenge, conclude, by fixed rules."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.wording import folded, one_line, words

from .answering import (
    agreeing,
    candidates,
    compose,
    compose_pair,
    compose_root,
    disputed,
    domains_of,
    opposing,
    shortened,
    superseding,
    support,
)
from .asking import asks_whether, criteria_for, key_terms, queries_for, run_criteria, sub_questions
from .challenging import Calls, attack, resolving, settle, supporting, verdict
from .extracting import from_pages
from .language import fits_kind, is_statement, phrases, sentences_of
from .reading import Hit, Seen, is_living, pages_in

PAGES_A_TURN = 10
KEY_CLAIMS = 2
ROOT = "q_001"
ANYTHING = "information history people year place first work group number time name part"
"""A query that most documents answer: what is left to read when the gate asks for more sources."""
_UNPROVEN = re.compile(r"(q_\d+) was resolved without a VERIFIED claim: ")
SILENT = "No answer was established from the sources: "


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
                    "kind": "hypothesis" if asks_whether(question) else "question",
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
    doubtful = [m[1] for line in seen.lacking if (m := _UNPROVEN.match(line))]
    if doubtful:
        why = "no claim of its answer is verified any more: to be answered anew, with the reason"
        return [("reopen_question", {"id": question_id, "why": why}) for question_id in doubtful]
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
