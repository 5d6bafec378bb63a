"""Decisions on challenges: registering an attack, running it, recording what came of it (D35 to D40)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from . import events as ev
from .claims import amended, refute
from .decision import Accepted, Decision, refuse
from .frontier_commands import decide_reopen, spawn_question
from .research import Research, next_id
from .values import ROOT, Challenge, Claim, Outcome, Strategy, TargetType
from .wording import content_words, folded, new_terms, one_line

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
SEARCHED = frozenset({"ok", "no_results"})


def same_target(
    research: Research, target_type: TargetType, target_id: str, target_text: str, version: int
) -> tuple[Challenge, ...]:
    """Earlier challenges that count against a target: of a claim, of an answer text, of a version (D36, D40)."""
    found = research.challenges_on(target_type, target_id)
    if target_type == "question_answer":
        return tuple(c for c in found if folded(c.target_text) == folded(target_text))
    if target_type == "conclusion":
        return tuple(c for c in found if c.version == version)
    return found


def decide_challenge(
    research: Research,
    *,
    target_type: TargetType,
    target_id: str = "",
    target_text: str = "",
    negation: str,
    strategy: Strategy,
    expected_if_false: str,
    query: str,
    question_id: str,
    at: datetime,
) -> Decision:
    """Registers a challenge; runs nothing (D35, D36, D37)."""
    missing: list[str] = []
    happened: list[ev.Event] = []
    text, version = target_text.strip(), 0
    if target_type == "claim":
        claim = research.claims.get(target_id)
        if claim is None:
            return refuse(f"There is no claim {target_id!r} to challenge.")
        if claim.status in ("REFUTED", "RETRACTED"):
            missing.append(f"{target_id} is {claim.status} already.")
        text = claim.text
    elif target_type == "question_answer":
        target_id = target_id or question_id
        if target_id not in research.questions:
            return refuse(f"There is no question {target_id!r}.")
        if not text:
            missing.append("Give in target_text the answer you mean to resolve with, word for word.")
    else:
        target_id = ""
        version = research.conclusion.version
        if text and folded(text) != folded(research.conclusion.text):
            version += 1
            happened.append(ev.ConclusionStated(at=at, text=one_line(text)))
        text = text or research.conclusion.text
        if not text:
            missing.append("State the conclusion first: notes_scratch conclusion, or target_text here.")
    for name, value in (("negation", negation), ("expected_if_false", expected_if_false), ("query", query)):
        if not value.strip():
            missing.append(f"{name} is empty.")
    if len(one_line(query)) > research.thresholds.query_max_chars:  # it could never be run, so never be closed
        missing.append(f"The query is longer than {research.thresholds.query_max_chars} characters: shorten it.")
    earlier = same_target(research, target_type, target_id, text, version)
    cap = research.thresholds.max_challenges_per_target
    if len(earlier) >= cap:
        missing.append(
            f"The target has been challenged {len(earlier)} times, which is all (max_challenges_per_target)."
        )
    if any(c.strategy == strategy for c in earlier):
        used = ", ".join(c.strategy for c in earlier)
        missing.append(f"Strategy {strategy} was used on this target (used: {used}): take another one.")
    wanted = folded(query)
    if wanted and (
        any(folded(record.query) == wanted for record in research.queries.get(question_id, ()))
        or any(folded(c.query) == wanted for c in earlier)
    ):
        missing.append("An equal query was asked before on this question or target: word it differently.")
    if wanted and text and not new_terms(query, text):
        missing.append("The query has no term that the target lacks: build it from the negation and the strategy.")
    if missing:
        return refuse(*missing)
    challenge = Challenge(
        id=next_id("ch", research.challenges),
        question_id=question_id,
        target_type=target_type,
        target_id=target_id,
        target_text=one_line(text),
        version=version,
        negation=one_line(negation),
        strategy=strategy,
        expected_if_false=one_line(expected_if_false),
        query=one_line(query),
        at=at,
    )
    happened.append(ev.ChallengeRegistered(at=at, challenge=challenge))
    happened.append(
        ev.StateRecorded(
            at=at,
            seq=research.states + 1,
            stage="challenging",
            question_id=question_id,
            detail=challenge.id,
            is_turn=False,
        )
    )
    message = (
        f"[{challenge.id}] registered: run it with web_search(query={challenge.query!r}, challenge_id={challenge.id!r})"
    )
    return Accepted(tuple(happened), message)


def decide_record_result(
    research: Research,
    challenge_id: str,
    outcome: Outcome,
    evidence: str,
    source_ids: Sequence[str] = (),
    result_claim_id: str = "",
    amended_text: str = "",
    *,
    at: datetime,
) -> Decision:
    """Closes a challenge with its verdict, once, and draws the consequences (D38)."""
    challenge = research.challenges.get(challenge_id)
    if challenge is None:
        return refuse(f"There is no challenge {challenge_id!r}.")
    missing: list[str] = []
    if challenge.status == "closed":
        missing.append(f"{challenge_id} is closed with {challenge.outcome}; a verdict is set once.")
    elif not challenge.executed:
        missing.append(
            f"{challenge_id} was not run: web_search(query={challenge.query!r}, challenge_id={challenge_id!r}) first."
        )
    elif challenge.search_status not in SEARCHED and outcome != "inconclusive":
        missing.append(f"Its search ended as {challenge.search_status}: only inconclusive can be recorded.")
    elif outcome == "survived" and challenge.search_status == "no_results" and _off_target(challenge):
        missing.append("Its query speaks of something else, so that it found nothing says nothing: inconclusive.")
    if not evidence.strip():
        missing.append("Say in evidence what was found.")
    unknown = [s for s in source_ids if s not in research.sources]
    if unknown:
        missing.append(f"Unknown sources: {', '.join(unknown)}.")
    if outcome in ("weakened", "refuted") and not source_ids:
        missing.append(f"{outcome} needs at least one source in source_ids.")
    if result_claim_id and result_claim_id not in research.claims:
        missing.append(f"There is no claim {result_claim_id!r}.")
    claim = research.claims.get(challenge.target_id) if challenge.target_type == "claim" else None
    if claim is not None and result_claim_id == claim.id:
        missing.append("result_claim_id must name the claim the counter-evidence produced, not the target.")
    if outcome == "weakened" and challenge.target_type != "question_answer" and not amended_text.strip():
        missing.append("weakened needs amended_text: the target with the scope it really has.")
    elif outcome == "weakened" and folded(amended_text) == folded(challenge.target_text):
        missing.append("amended_text says what the target says already: narrow it to what still holds.")
    if missing:
        return refuse(*missing)
    closed = ev.ChallengeClosed(
        at=at,
        challenge_id=challenge_id,
        outcome=outcome,
        evidence=one_line(evidence),
        source_ids=tuple(dict.fromkeys(source_ids)),
        result_claim_id=result_claim_id,
    )
    happened: list[ev.Event] = [closed]
    if outcome == "weakened":
        happened += _weakened(research, challenge, claim, amended_text, at)
    if outcome == "refuted":
        happened += _refuted(research, challenge, claim, one_line(evidence), result_claim_id, at)
    told = [f"{challenge_id} {outcome}"]
    told += [f"[{e.question.id}] added" for e in happened if isinstance(e, ev.QuestionAdded)]
    told += [f"{e.question_id} reopened" for e in happened if isinstance(e, ev.QuestionMoved)]
    return Accepted(tuple(happened), "; ".join(told))


def _off_target(challenge: Challenge) -> bool:
    """Whether a challenge's query shares no word with what it attacks."""
    return not content_words(challenge.query) & content_words(f"{challenge.target_text} {challenge.negation}")


def _weakened(
    research: Research, challenge: Challenge, claim: Claim | None, text: str, at: datetime
) -> tuple[ev.Event, ...]:
    if challenge.target_type == "conclusion":
        stands = challenge.version == research.conclusion.version  # a later wording is not overwritten
        return (ev.ConclusionStated(at=at, text=one_line(text)),) if stands else ()
    if claim is None or claim.status in ("REFUTED", "RETRACTED"):
        return ()
    return amended(claim, text, f"weakened by {challenge.id}", at=at)


def _refuted(
    research: Research, challenge: Challenge, claim: Claim | None, evidence: str, rival_id: str, at: datetime
) -> tuple[ev.Event, ...]:
    if challenge.target_type == "claim":
        if claim is None or claim.status in ("REFUTED", "RETRACTED"):
            return ()
        return refute(research, claim, evidence, challenge.id, at=at, rival_id=rival_id)
    if challenge.target_type == "conclusion":
        return (
            spawn_question(
                research,
                f"What must the conclusion say, given that {challenge.id} refuted: {challenge.target_text}",
                "States with claims what holds instead.",
                (f"conclusion:{challenge.version}", challenge.id),
                caused_by=challenge.id,
                at=at,
            ),
        )
    question = research.questions[challenge.target_id]
    if question.status == "resolved" and folded(question.answer) == folded(challenge.target_text):
        reopened = decide_reopen(
            research, question.id, f"{challenge.id} refuted its answer", at=at, actor="code", caused_by=challenge.id
        )
        if isinstance(reopened, Accepted):
            return reopened.events
    return ()


def answer_challenge(research: Research, question_id: str, answer: str) -> Challenge | None:
    """The closed challenge, not refuted, of this very answer text (D17)."""
    closed = [
        c
        for c in research.challenges_on("question_answer", question_id)
        if c.status == "closed" and folded(c.target_text) == folded(answer)
    ]
    if answer_refuted(research, question_id, answer):
        return None
    return closed[-1] if closed else None


def answer_refuted(research: Research, question_id: str, answer: str) -> bool:
    """Whether a challenge refuted this very answer text (D17, D38)."""
    return any(
        c.outcome == "refuted" and folded(c.target_text) == folded(answer)
        for c in research.challenges_on("question_answer", question_id)
    )


def conclusion_challenged(research: Research) -> bool:
    """Whether the conclusion as it stands survived a challenge and none refuted it (D40, D42)."""
    version = research.conclusion.version
    closed = [c for c in research.challenges_on("conclusion") if c.version == version and c.status == "closed"]
    return any(c.outcome == "survived" for c in closed) and not any(c.outcome == "refuted" for c in closed)


def conclusion_exhausted(research: Research) -> bool:
    """Whether every allowed challenge of the conclusion as it stands came back inconclusive (D40)."""
    version = research.conclusion.version
    all_of_it = [c for c in research.challenges_on("conclusion") if c.version == version]
    allowed = min(research.thresholds.max_challenges_per_target, len(STRATEGIES))  # a strategy is used once
    return len(all_of_it) >= allowed and all(c.outcome == "inconclusive" for c in all_of_it)


def where_logged(research: Research) -> str:
    """The question a query belongs to: the current one, else the root (A26)."""
    return research.current.id if research.current is not None else ROOT
