"""Folding the events of attempts: how one begins, ends, is evaluated and closed (A13, A24, A26)."""

from __future__ import annotations

from typing import Any, assert_never

from . import events as ev
from .research import Research
from .values import Attempt, Question, ReportState


def changed_question(r: Research, question_id: str, **update: Any) -> dict[str, Question]:
    old = r.questions.get(question_id)
    if old is None:
        return r.questions
    return {**r.questions, question_id: old.model_copy(update=update)}


def attempt_changes(
    r: Research, e: ev.AttemptStarted | ev.AttemptEnded | ev.AttemptEvaluated | ev.AttemptClosed
) -> dict[str, Any]:
    match e:
        case ev.AttemptStarted():
            started = Attempt(
                number=e.number,
                kind=e.kind,
                question_id=e.question_id,
                started_at=e.at,
                base_version=r.version,
            )
            begun: dict[str, Any] = {"attempt": started, "attempts": e.number, "stage_streak": 0, **_anew(r)}
            if e.kind == "report":
                begun["report"] = r.report.model_copy(update={"plan": (), "parts": ()})
            return begun
        case ev.AttemptEnded():
            if r.attempt is None:
                return {}
            proposal = e.model_dump(exclude={"v", "at", "event"})
            proposal["claim_ids"] = e.claim_ids
            ended = {"attempt": r.attempt.model_copy(update={"ended": True, **proposal})}
            return ended | _unheard(r) if e.outcome in ("breaker", "ceiling", "time") else ended
        case ev.AttemptEvaluated():
            return _evaluated(r, e)
        case ev.AttemptClosed():
            return {"attempt": None} | _anew(r) | _unheard(r)
        case _:
            assert_never(e)


def _anew(r: Research) -> dict[str, Any]:
    """What a worker begins something else with: free again, unless it got lost as often as it takes turns to be."""
    return {"wasted": 0, "guided": r.guided and r.lost >= r.thresholds.guide_after}


def _unheard(r: Research) -> dict[str, Any]:
    """The directives that wait again, since the attempt that got them ended before a model was asked (A24)."""
    if r.attempt is None or r.attempt.tokens:
        return {}
    number = r.attempt.number
    return {
        "directives": tuple(
            d.model_copy(update={"delivered_in": 0}) if d.delivered_in == number else d for d in r.directives
        )
    }


def _evaluated(r: Research, e: ev.AttemptEvaluated) -> dict[str, Any]:
    evaluation, routing = e.evaluation, e.evaluation.routing
    counters: dict[str, Any] = {
        "attempts": routing.attempts,
        "unverified_streak": 0 if e.diversified_streak == "unverified" else routing.unverified_streak,
        "unproductive_streak": 0 if e.diversified_streak == "unproductive" else routing.unproductive_streak,
        "steer": evaluation.steer,
    }
    changes: dict[str, Any] = {
        "attempt": None,
        **_anew(r),
        "evaluations": (*r.evaluations, evaluation),
        "parse_defaults": r.parse_defaults + evaluation.parse_defaults,
    }
    if evaluation.kind == "report":
        changes["report"] = ReportState(**{**dict(r.report), **counters, "accepted": routing.route == "Answered"})
        return changes
    barren = r.attempt is None or r.attempt.new_evidence == 0
    changes["barren_rounds"] = r.barren_rounds + 1 if barren else 0
    changes["still_rounds"] = r.still_rounds + 1
    question = r.questions.get(evaluation.question_id)
    output = evaluation.output or (question.partial if question else "")
    changes["questions"] = changed_question(r, evaluation.question_id, **counters, partial=output)
    return changes
