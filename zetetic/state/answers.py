"""Decisions that end an attempt on a question: a proposed answer, a retry, a bound (A26, D17, D18, D21)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from . import events as ev
from .challenges import answer_challenge
from .decision import Accepted, Decision, refuse
from .frontier import already_asked, tried
from .frontier_commands import unknown_question
from .research import Research
from .values import Question
from .wording import one_line

_CITED = re.compile(r"\b[cd]_\d{3,}\b")


def cited_in(text: str) -> tuple[str, ...]:
    """Claim ids that stand in a text, in order and once each."""
    return tuple(dict.fromkeys(_CITED.findall(text)))


def _in_attempt(research: Research, question_id: str) -> Question | str:
    question = research.questions.get(question_id)
    if question is None:
        return unknown_question(research, question_id)
    current = research.current
    if current is None or current.id != question_id:
        here = f"{current.id} is" if current else "no question is"
        return f"{question_id} is not being worked on; {here} in progress."
    if research.attempt is not None and research.attempt.ended:
        return f"The attempt at {question_id} has ended and is being evaluated."
    return question


def decide_resolve(
    research: Research,
    question_id: str,
    answer: str,
    claim_ids: Sequence[str] = (),
    *,
    why_unverified: str = "",
    why_unchallenged: str = "",
    why_no_refuting: str = "",
    at: datetime,
) -> Decision:
    """Proposes an answer and ends the attempt; only the route Answered resolves the question (D17)."""
    question = _in_attempt(research, question_id)
    if isinstance(question, str):
        return refuse(question)
    missing: list[str] = []
    text = one_line(answer)
    if not text:
        missing.append("The answer is empty.")
    if not question.validation_criteria and question.parent_id is not None:
        missing.append("The question has no validation criteria: rewrite_question with some first.")
    cited = tuple(dict.fromkeys((*claim_ids, *cited_in(text))))
    unknown = [c for c in cited if c not in research.claims]
    if unknown:
        missing.append(f"Unknown claim ids: {', '.join(unknown)}.")
    fallen = [c for c in cited if c in research.claims and research.claims[c].status in ("REFUTED", "RETRACTED")]
    if fallen:
        missing.append(f"{', '.join(fallen)} cannot carry an answer: refuted or retracted.")
    verified = any(c in research.claims and research.claims[c].status == "VERIFIED" for c in cited)
    if not verified and not why_unverified.strip():
        missing.append(
            "The answer cites no VERIFIED claim: verify one, or say in why_unverified why this is the best available."
        )
    if question.kind == "hypothesis" and not why_no_refuting.strip():
        log = [r for r in tried(research, question_id) if r.status in ("ok", "no_results")]
        if not any(not r.challenge_id for r in log):
            missing.append("A hypothesis needs a confirming search: run an ordinary query on it.")
        if not any(r.challenge_id for r in log):
            missing.append("A hypothesis needs a refuting search: run a challenge's query, or say why_no_refuting.")
    needs_challenge = question.depth <= 1 and bool(text) and not why_unchallenged.strip()
    if needs_challenge and answer_challenge(research, question_id, text) is None:
        missing.append(
            "This answer has no closed challenge that it withstood: challenge(target_type='question_answer', "
            "target_text=<this very answer>), run it and record the result, or say why_unchallenged."
        )
    if missing:
        return refuse(*missing)
    ended = ev.AttemptEnded(
        at=at,
        outcome="resolved",
        answer=text,
        claim_ids=cited,
        why_unverified=one_line(why_unverified),
        why_unchallenged=one_line(why_unchallenged),
        why_no_refuting=one_line(why_no_refuting),
    )
    return Accepted((ended,), f"answer to {question_id} proposed; it is being evaluated")


def decide_retry(
    research: Research, question_id: str, new_query: str, why: str, assumption: str = "", *, at: datetime
) -> Decision:
    """Ends an inconclusive attempt; the next one starts from another query (D18, D21)."""
    question = _in_attempt(research, question_id)
    if isinstance(question, str):
        return refuse(question)
    missing = []
    if not new_query.strip():
        missing.append("new_query is empty.")
    elif already_asked(research, question_id, new_query):
        missing.append(f"The query {one_line(new_query, 80)!r} was tried already: change its words.")
    if not why.strip():
        missing.append("Say in why the attempt was inconclusive.")
    if missing:
        return refuse(*missing)
    ended = ev.AttemptEnded(
        at=at,
        outcome="retried",
        next_query=one_line(new_query),
        why=one_line(why),
        assumption=one_line(assumption),
    )
    return Accepted((ended,), f"attempt at {question_id} ended; the next one starts from {one_line(new_query)!r}")


def decide_bound(
    research: Research,
    outcome: Literal["turns", "time", "ceiling", "breaker"],
    *,
    expired: bool = False,
    at: datetime,
) -> Decision:
    """Ends the attempt under way by a bound: its turns, its time, the run's ceiling or a budget (A21, A26)."""
    if research.attempt is None or research.attempt.ended:
        return Accepted((), "")
    return Accepted((ev.AttemptEnded(at=at, outcome=outcome, expired=expired),), f"attempt ended: {outcome}")


def decide_blocked(research: Research, what: str, *, at: datetime) -> Accepted:
    """Marks the attempt as one that could not be carried out (A11); known before any arm runs."""
    if research.attempt is None or research.attempt.ended:
        return Accepted((), "")
    return Accepted((ev.AttemptEnded(at=at, outcome="blocked", blocked=what),), f"blocked: {what}")
