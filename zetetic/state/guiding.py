"""One step at a time: the one thing that is due next, for a worker that gets lost among many tools.

A small model that is shown everything it might do does nothing that counts. From `guide_after` turns in a row that came
to nothing it is asked one thing a turn, by a tool of its own in which it can name nothing that does not exist, and what
leaves no choice is done by code. The decisions stay the same, and so do the gates: a step only proposes (D3, D55).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from .answers import cited_in
from .challenges import (
    SEARCHED,
    STRATEGIES,
    answer_refuted,
    conclusion_challenged,
    conclusion_exhausted,
    same_target,
    where_logged,
)
from .citations import cited_sentences
from .frontier import already_asked
from .gates import exploration_gate
from .research import Research
from .values import ROOT, Challenge, Claim, Frozen, QueryRecord, Question, Strategy, TargetType
from .wording import content_words, folded, new_terms, one_line, words

StepKind = Literal["done", "questions", "search", "pages", "answer", "verdict", "conclusion", "report"]
ANSWER_TURNS = 3
"""Turns of an attempt that challenging an answer takes."""
CLAIMS = 24
"""Claims that one step shows."""
SHARED = 0.5
"""Share of a question's words above which a claim that was recorded elsewhere is shown (0 to 1)."""
UNVERIFIED = "no claim it rests on was verified: they are told as what a source says"
_APART: dict[Strategy, str] = {
    "negation": "not false",
    "discrepancy": "different figure",
    "criticism": "criticism error",
    "alternative_method": "independent measurement",
    "scope_limit": "exception only",
    "primary_source": "original report",
    "staleness": "revised newer",
}
"""What makes a challenge's query ask for something else than its target says (D36)."""


class Made(Frozen):
    """A tool call that leaves nothing to choose."""

    name: str
    args: dict[str, Any]


class Step(Frozen):
    """What is due: the kind of it, what it is about, and what may be named. With kind `done` code makes the calls."""

    kind: StepKind
    calls: tuple[Made, ...] = ()
    urls: tuple[str, ...] = ()
    claim_ids: tuple[str, ...] = ()
    """The claims that may be named: to rest on, or in a verdict what may speak against its target."""
    challenge_id: str = ""
    last: bool = False
    """Whether another search is no longer offered within this attempt."""


def is_guided(research: Research) -> bool:
    """Whether the worker gets one step at a time."""
    return research.guided or research.thresholds.guide_after == 0


def due_step(research: Research) -> Step | None:
    """The step of the turn under way; None where a turn has to be left to the worker as ever."""
    turn = research.turn
    if turn.stage == "consolidating":  # merging is no small step; what nearly repeats stays as it is
        return Step(kind="done")
    if turn.stage == "planning":
        if turn.detail == "unblock":
            return None
        return Step(kind="questions")
    if turn.stage == "synthesizing":
        return Step(kind="report", claim_ids=tuple(c.id for c in _standing(research.claims.values())))
    if turn.stage not in ("acting", "challenging", "verifying"):
        return None
    if research.current is not None:
        return _on_question(research, research.current)
    return _on_conclusion(research) if research.attempt is None else None


def usable_claims(research: Research, question: Question) -> tuple[Claim, ...]:
    """The claims an answer may rest on: its own and those of the answers below it; where there are none, what else
    speaks of it. For the objective all."""
    if question.id == ROOT:
        return _standing(research.claims.values())
    found = [*research.claims_of(question.id)]
    found += [c for child in research.children(question.id) for c in _of(research, child.claim_ids)]
    return _standing(found) or _on_the_same(research, question)


def _on_the_same(research: Research, question: Question) -> tuple[Claim, ...]:
    """Claims recorded elsewhere that share most of a question's words."""
    asked = content_words(question.question)
    return _standing(c for c in research.claims.values() if len(asked & content_words(c.text)) > SHARED * len(asked))


def fresh_queries(research: Research, question: Question, proposed: Sequence[str], most: int) -> list[str]:
    """The queries among those proposed that were not asked; where all were, one made of the question's own words."""
    by_words = {folded(q): one_line(q) for q in proposed}
    fresh = [q for wording, q in by_words.items() if wording and not _asked(research, question.id, q)]
    if fresh:
        return fresh[:most]
    asked = " ".join(_in_order(question.question))
    wanted = " ".join(_in_order(question.validation_criteria))
    about = " ".join(_in_order(research.objective))
    ends = ("", "report", "overview", "figures", "history", "study", "background")
    starts = (asked, f"{asked} {wanted}", f"{about} {asked}")
    made = (one_line(f"{start} {end}", 200) for end in ends for start in starts)
    return [q for q in made if not _asked(research, question.id, q)][:1]


def _in_order(text: str) -> list[str]:
    """The words of a text that carry meaning, once each and in order."""
    meant = content_words(text)
    return list(dict.fromkeys(word for word in words(text) if word in meant))


def attack_query(research: Research, text: str, query: str, strategy: Strategy) -> str:
    """The query with as many words added as make it one that a challenge of `text` may ask (D36)."""
    where = where_logged(research)
    query = one_line(query, research.thresholds.query_max_chars - 40)
    tries = [query, *(f"{query} {words}" for words in (_APART[strategy], *_APART.values(), where, f"{where} instead"))]
    fits = (q for q in tries if new_terms(q, text) and not _asked(research, where, q))
    return next(fits, tries[-1])


def next_strategy(research: Research, kind: TargetType, target_id: str, text: str) -> Strategy | None:
    """The first strategy that was not used on this target; None where it was challenged as often as may be (D36)."""
    version = research.conclusion.version
    if kind == "conclusion" and folded(text) != folded(research.conclusion.text):
        version += 1
    earlier = same_target(research, kind, target_id, text, version)
    if len(earlier) >= research.thresholds.max_challenges_per_target:
        return None
    used = {c.strategy for c in earlier}
    return next((s for s in STRATEGIES if s not in used), None)


def has_time_to_challenge(research: Research) -> bool:
    """Whether the attempt's turns are enough for a challenge, which its answer has to withstand (D17, A26)."""
    attempt = research.attempt
    return attempt is None or attempt.turns + ANSWER_TURNS <= research.thresholds.attempt_turns


def resolving(research: Research, question: Question, answer: str, *, why_unchallenged: str = "") -> Made:
    """The call that proposes an answer whose sentences cite what they rest on (D17)."""
    cited = _of(research, cited_in(answer))
    verified = any(c.status == "VERIFIED" for c in cited)
    return Made(
        name="resolve_question",
        args={
            "id": question.id,
            "answer": answer,
            "claim_ids": [c.id for c in cited],
            "why_unverified": "" if verified else UNVERIFIED,
            "why_unchallenged": why_unchallenged,
            "why_no_refuting": "" if question.kind != "hypothesis" else "one step at a time: see its challenges",
        },
    )


def citing(text: str, claim_ids: tuple[str, ...] | list[str]) -> str:
    """The text, each of its sentences with these claims cited."""
    return cited_sentences(text, claim_ids) if claim_ids else one_line(text)


def _on_question(r: Research, question: Question) -> Step:
    attempt = r.attempt
    assert attempt is not None
    opened = [c for c in r.open_challenges() if c.question_id == question.id]
    if opened:
        return _challenge_step(r, opened[0])
    settled = [
        c
        for c in r.challenges_on("question_answer", question.id)
        if c.status == "closed" and c.at >= attempt.started_at and not answer_refuted(r, question.id, c.target_text)
    ]
    if settled:
        return Step(kind="done", calls=(resolving(r, question, settled[-1].target_text),))
    log = [record for record in r.queries.get(question.id, ()) if record.attempt == attempt.number]
    searches = [record for record in log if record.tool == "web_search" and not record.challenge_id]
    claims = usable_claims(r, question)
    answered_below = any(child.answer for child in r.children(question.id))
    if not searches and not (claims and answered_below):
        return Step(kind="search")
    if searches and (unread := _unread(r, log)):
        return Step(kind="pages", urls=unread)
    last = len(searches) >= r.thresholds.guided_searches
    if claims:
        return Step(kind="answer", claim_ids=_newest(claims), last=last)
    return Step(kind="search", last=last)


def _on_conclusion(r: Research) -> Step | None:
    if opened := r.open_challenges():
        return _challenge_step(r, opened[0])
    if not exploration_gate(r):
        return Step(kind="done", calls=(Made(name="finish_exploration", args={}),))
    why = "every challenge of it was inconclusive, and nothing found speaks against it"
    if not exploration_gate(r, why):
        return Step(kind="done", calls=(Made(name="finish_exploration", args={"why": why}),))
    if not r.conclusion.text or not (conclusion_challenged(r) or conclusion_exhausted(r)):
        return Step(kind="conclusion", claim_ids=_newest(usable_claims(r, r.root)))
    if any(text.startswith(("The sources stem", f"{len(_read(r))} sources were read")) for text in exploration_gate(r)):
        log = list(r.queries.get(ROOT, ()))
        return Step(kind="pages", urls=unread) if (unread := _unread(r, log)) else Step(kind="search")
    return None


def _challenge_step(r: Research, challenge: Challenge) -> Step:
    """What an open challenge is waiting for: its query, a look at what it found, its verdict (D37, D38)."""
    if not challenge.executed:
        args = {"query": challenge.query, "challenge_id": challenge.id}
        return Step(kind="done", calls=(Made(name="web_search", args=args),))
    if challenge.search_status not in SEARCHED:
        said = f"its search ended as {challenge.search_status}"
        args = {"challenge_id": challenge.id, "outcome": "inconclusive", "evidence": said}
        return Step(kind="done", calls=(Made(name="record_challenge_result", args=args),))
    log = list(r.queries.get(challenge.question_id, ()))
    at = max((n for n, record in enumerate(log) if record.challenge_id == challenge.id), default=len(log))
    if unread := _unread(r, log[at:]):
        return Step(kind="pages", urls=unread, challenge_id=challenge.id)
    question = r.questions.get(challenge.question_id)
    known = usable_claims(r, question) if question is not None else ()
    cited = {challenge.target_id, *cited_in(challenge.target_text)}
    others = tuple(c for c in known if c.id not in cited)
    return Step(kind="verdict", challenge_id=challenge.id, claim_ids=_newest(others))


def _unread(r: Research, log: list[QueryRecord]) -> tuple[str, ...]:
    """What the last search found and nobody read for its question, if nothing was read since it."""
    at = max((n for n, record in enumerate(log) if record.tool == "web_search"), default=-1)
    if at < 0 or any(record.tool == "fetch_page" for record in log[at:]):
        return ()
    asked_for = {log[at].question_id} if log[at].question_id != ROOT else r.questions.keys()  # the objective has all
    own = [s for s in r.sources.values() if s.question_id in asked_for]
    read = {url for s in own for url in (s.url, s.final_url, s.canonical)}
    read |= {x.query for x in r.all_queries() if x.tool == "fetch_page" and x.question_id in asked_for}
    return tuple(url for url in dict.fromkeys(log[at].urls) if url not in read and url not in r.bad_urls)[
        : r.thresholds.search_limit
    ]


def _asked(r: Research, where: str, query: str) -> bool:
    return already_asked(r, where, query) or any(folded(c.query) == folded(query) for c in r.challenges.values())


def _of(r: Research, ids: tuple[str, ...]) -> list[Claim]:
    return [r.claims[i] for i in ids if i in r.claims]


def _standing(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    found = {c.id: c for c in claims if c.status in ("VERIFIED", "UNVERIFIED")}
    return tuple(found.values())


def _newest(claims: tuple[Claim, ...]) -> tuple[str, ...]:
    """The ids of the claims to show, the verified ones kept before the newest others."""
    chosen = sorted(claims, key=lambda c: c.status != "VERIFIED")
    kept = {c.id for c in [c for c in chosen if c.status == "VERIFIED"][:CLAIMS]}
    kept |= {c.id for c in claims[-(CLAIMS - len(kept)) :]} if len(kept) < CLAIMS else set()
    return tuple(c.id for c in claims if c.id in kept)


def _read(r: Research) -> list[Any]:
    return [s for s in r.sources.values() if s.sha256]
