"""Folding events into a research: total, no checks, one case an event (D1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from . import events as ev
from .evolve_attempts import attempt_changes, changed_question
from .research import Lane, Research
from .values import (
    ROOT,
    Claim,
    Conclusion,
    Contradiction,
    Directive,
    Question,
    ReportState,
    Turn,
)


def evolve(research: Research, event: ev.Event) -> Research:
    """The research after one event. Equal inputs give equal outputs; nothing is checked or refused here."""
    changes = _changes(research, event)
    changes["version"] = research.version + 1
    changes["updated_at"] = event.at
    return research.model_copy(update=changes)


def fold(research: Research, happened: Iterable[ev.Event]) -> Research:
    """`evolve` over several events."""
    for event in happened:
        research = evolve(research, event)
    return research


def _changes(r: Research, e: ev.Event) -> dict[str, Any]:
    match e:
        case (
            ev.QuestionAdded()
            | ev.QuestionMoved()
            | ev.QuestionRewritten()
            | ev.QuestionAnswered()
            | ev.DependencyAdded()
            | ev.DependencyDropped()
        ):
            return _frontier(r, e)
        case ev.SourceRegistered() | ev.SourceNoted() | ev.UrlRejected() | ev.QueryLogged():
            return _sources(r, e)
        case (
            ev.ClaimRecorded()
            | ev.EvidenceAdded()
            | ev.ClaimMoved()
            | ev.ClaimAmended()
            | ev.ClaimsLinked()
            | ev.ChallengeRegistered()
            | ev.ChallengeExecuted()
            | ev.ChallengeClosed()
        ):
            return _ledger(r, e)
        case ev.AttemptStarted() | ev.AttemptEnded() | ev.AttemptEvaluated() | ev.AttemptClosed():
            return attempt_changes(r, e)
        case ev.ExtractionDue():
            known = {item.key for item in r.pending}
            return {"pending": r.pending + tuple(item for item in e.items if item.key not in known)}
        case ev.ExtractionTried():
            again = tuple(
                item.model_copy(update={"tries": item.tries + 1}) if item.key in e.again else item
                for item in r.pending
                if item.key not in e.done
            )
            return {"pending": again}
        case ev.GapNoted():
            return {"gaps": (*r.gaps, e.gap)}
        case ev.ScratchWritten():
            joined = f"{r.scratch}\n{e.text}" if e.append and r.scratch else e.text
            return {"scratch": joined}
        case ev.ConclusionStated():
            return {"conclusion": Conclusion(text=e.text, version=r.conclusion.version + 1)}
        case ev.ConclusionExplained():
            return {"conclusion": r.conclusion.model_copy(update={"explanation": e.why})}
        case _:
            return _run(r, e)


def _run(
    r: Research,
    e: (
        ev.RunOpened
        | ev.RunResumed
        | ev.CriteriaSet
        | ev.StateRecorded
        | ev.TurnClosed
        | ev.AtomicDeclared
        | ev.DirectiveGiven
        | ev.DirectiveDelivered
        | ev.UsageRecorded
        | ev.PhaseChanged
        | ev.ReportPlanned
        | ev.ReportPartWritten
        | ev.ReportDrafted
        | ev.RunEnded
        | ev.AbortRecorded
        | ev.BudgetAsked
    ),
) -> dict[str, Any]:
    changes: dict[str, Any]
    match e:
        case ev.RunOpened():
            return _opened(e)
        case ev.RunResumed():
            changes = {
                "status": "running",
                "stop_reason": r.exploration_stop,
                "stop_detail": r.exploration_detail,
                "paused_seconds": r.paused_seconds + e.paused_seconds,
                "provider_errors": 0,
            }
            if r.attempt is not None:
                again: dict[str, Any] = {"paused_seconds": r.attempt.paused_seconds + e.paused_seconds}
                if r.attempt.blocked:  # what refused may answer now; nothing was charged
                    again |= {"ended": False, "outcome": "", "blocked": ""}
                changes["attempt"] = r.attempt.model_copy(update=again)
            waited = {name: _after_pause(lane, e.paused_seconds) for name, lane in r.lanes.items()}
            changes["lanes"] = waited
            if e.extension is not None:
                changes["extensions"] = (*r.extensions, e.extension)
            if e.thresholds is not None:
                changes["thresholds"] = e.thresholds
            return changes
        case ev.CriteriaSet():
            return {"criteria": e.criteria}
        case ev.StateRecorded() if not e.is_turn:  # within a turn, which goes on as it is (D50)
            return {"states": e.seq}
        case ev.StateRecorded():
            attempt = r.attempt
            own = e.stage != "consolidating"  # which belongs to no attempt (A26)
            if attempt is not None and own:
                attempt = attempt.model_copy(update={"turns": attempt.turns + 1})
            return {
                "turn": Turn(
                    seq=e.seq,
                    stage=e.stage,
                    question_id=e.question_id,
                    detail=e.detail,
                    forced_tool=e.forced_tool,
                ),
                "turns": r.turns + 1,
                "states": e.seq,
                "stage_streak": r.stage_streak + int(r.attempt is None and own),
                "consolidated": int(e.detail or 0) if e.stage == "consolidating" else r.consolidated,
                "attempt": attempt,
            }
        case ev.TurnClosed():
            changes = {
                "action": e.action or r.action,
                "provider_errors": r.provider_errors + 1 if e.provider_failed else 0,
                "reminders": 0 if e.called_tools else r.reminders + 1,
            }
            if not e.provider_failed:
                changes |= _wasted(r, e.wasted)
            if e.provider_failed:  # nothing was done, so neither attempt nor planning is charged (A11); the run is
                changes["stage_streak"] = max(0, r.stage_streak - int(r.attempt is None))
                if r.attempt is not None:
                    changes["attempt"] = r.attempt.model_copy(update={"turns": max(0, r.attempt.turns - 1)})
            return changes
        case ev.AtomicDeclared():
            return {"atomic_reason": e.reason}
        case ev.DirectiveGiven():
            return {"directives": (*r.directives, Directive(number=e.number, text=e.text, who=e.who, at=e.at))}
        case ev.DirectiveDelivered():
            return {
                "directives": tuple(
                    d.model_copy(update={"delivered_in": e.attempt}) if d.number == e.number else d
                    for d in r.directives
                )
            }
        case ev.UsageRecorded():
            used = r.usage.model_copy(
                update={
                    "calls": r.usage.calls + 1,
                    "input_tokens": r.usage.input_tokens + e.input_tokens,
                    "output_tokens": r.usage.output_tokens + e.output_tokens,
                    "cached_tokens": r.usage.cached_tokens + e.cached_tokens,
                    "usd": r.usage.usd + e.usd,
                    "largest": max(r.usage.largest, e.input_tokens + e.output_tokens),
                    "dearest": max(r.usage.dearest, e.usd),
                    "repairs": r.usage.repairs + e.repairs,
                    "stood_in": (*r.usage.stood_in, e.stood_in) if e.stood_in else r.usage.stood_in,
                }
            )
            attempt = r.attempt
            if attempt is not None:
                spent = {
                    "tokens": attempt.tokens + e.input_tokens + e.output_tokens,
                    "usd": attempt.usd + e.usd,
                }
                attempt = attempt.model_copy(update=spent)
            return {"usage": used, "attempt": attempt}
        case ev.PhaseChanged():
            changes = {"phase": e.phase, "stage_streak": 0}
            if e.phase == "synthesis":
                changes |= {
                    "stop_reason": e.reason,
                    "stop_detail": e.detail,
                    "exploration_stop": e.reason,
                    "exploration_detail": e.detail,
                    "exploration_missing": e.missing,
                    "gate_passed": e.gate_passed,
                }
            else:
                changes |= {
                    "reopens": r.reopens + int(e.reason == "reopened"),
                    "barren_rounds": 0,
                    "still_rounds": 0,
                    "stop_reason": "",
                    "stop_detail": "",
                    "exploration_stop": "",
                    "exploration_detail": "",
                    "exploration_missing": (),
                    "gate_passed": False,
                }
                if e.reason == "extended":  # more room: the report's attempts count from here, as a question's do
                    changes["report"] = ReportState(draft=r.report.draft, final=r.report.final)
            return changes
        case ev.ReportPlanned():
            return {"report": r.report.model_copy(update={"plan": e.plan, "parts": ()})}
        case ev.ReportPartWritten():
            return {"report": r.report.model_copy(update={"parts": (*r.report.parts, e.text)})}
        case ev.ReportDrafted():
            return {"report": r.report.model_copy(update={"draft": e.text, "rendered_by_code": e.rendered_by_code})}
        case ev.RunEnded():
            report = r.report.model_copy(update={"final": e.report or r.report.final})
            return {"status": e.status, "stop_reason": e.stop_reason, "stop_detail": e.detail, "report": report}
        case ev.AbortRecorded():
            return {"stop_detail": e.reason}
        case ev.BudgetAsked():
            return {}
        case _:
            assert_never(e)


def _wasted(r: Research, wasted: bool) -> dict[str, Any]:
    """Counts turns of which nothing came, and begins to guide a worker that has had enough of them in a row."""
    in_a_row = r.wasted + 1 if wasted else 0
    is_lost = not r.guided and 0 < r.thresholds.guide_after <= in_a_row
    return {"wasted": in_a_row, "guided": r.guided or is_lost, "lost": r.lost + int(is_lost)}


def _after_pause(lane: Lane, seconds: float) -> Lane:
    """A worker's lane after time in which no process worked on the run: not its attempt's time."""
    if lane.attempt is None:
        return lane
    paused = lane.attempt.model_copy(update={"paused_seconds": lane.attempt.paused_seconds + seconds})
    return lane.model_copy(update={"attempt": paused})


def _opened(e: ev.RunOpened) -> dict[str, Any]:
    root = Question(id=ROOT, question=e.objective, priority=1.0, created_at=e.at, updated_at=e.at, spawned_by="person")
    return {
        "run_id": e.run_id,
        "objective": e.objective,
        "scope": e.scope,
        "exclusions": e.exclusions,
        "criteria": e.criteria,
        "user": e.user,
        "notes_id": e.notes_id,
        "mode": e.mode,
        "loop": e.loop,
        "model": e.model,
        "thresholds": e.thresholds,
        "holdings": e.holdings,
        "forked_from": e.forked_from,
        "forked_at": e.forked_at,
        "opened_at": e.at,
        "questions": {ROOT: root},
    }


def _frontier(
    r: Research,
    e: (
        ev.QuestionAdded
        | ev.QuestionMoved
        | ev.QuestionRewritten
        | ev.QuestionAnswered
        | ev.DependencyAdded
        | ev.DependencyDropped
    ),
) -> dict[str, Any]:
    match e:
        case ev.QuestionAdded():
            return {"questions": {**r.questions, e.question.id: e.question}}
        case ev.QuestionMoved():
            update: dict[str, Any] = {
                "status": e.to_status,
                "priority": e.priority,
                "updated_at": e.at,
                "worker": e.worker if e.to_status == "in_progress" else "",
            }
            if e.trigger in ("reopened", "contradiction") and e.from_status in ("resolved", "unresolvable"):
                update |= {"attempts": 0, "unverified_streak": 0, "unproductive_streak": 0}
            changes: dict[str, Any] = {"questions": changed_question(r, e.question_id, **update)}
            if e.to_status != e.from_status and not {e.from_status, e.to_status} <= {"pending", "in_progress"}:
                changes["still_rounds"] = 0
            return changes
        case ev.QuestionRewritten():
            return {
                "questions": changed_question(
                    r,
                    e.question_id,
                    question=e.question,
                    validation_criteria=e.validation_criteria,
                    updated_at=e.at,
                )
            }
        case ev.QuestionAnswered():
            return {
                "questions": changed_question(
                    r,
                    e.question_id,
                    answer=e.answer,
                    claim_ids=e.claim_ids,
                    why_unverified=e.why_unverified,
                    why_unchallenged=e.why_unchallenged,
                    why_no_refuting=e.why_no_refuting,
                    updated_at=e.at,
                )
            }
        case ev.DependencyAdded():
            known = r.dependencies.get(e.question_id, ())
            if e.depends_on_id in known:
                return {}
            return {"dependencies": {**r.dependencies, e.question_id: (*known, e.depends_on_id)}}
        case ev.DependencyDropped():
            left = tuple(d for d in r.dependencies.get(e.question_id, ()) if d != e.depends_on_id)
            return {"dependencies": {**r.dependencies, e.question_id: left}}
        case _:
            assert_never(e)


def _sources(r: Research, e: ev.SourceRegistered | ev.SourceNoted | ev.UrlRejected | ev.QueryLogged) -> dict[str, Any]:
    match e:
        case ev.SourceRegistered():
            changes: dict[str, Any] = {"sources": {**r.sources, e.source.id: e.source}}
            return changes | (_found(r) if e.source.sha256 else {})
        case ev.SourceNoted():
            old = r.sources.get(e.source_id)
            if old is None:
                return {}
            return {"sources": {**r.sources, e.source_id: old.model_copy(update={"note": e.note})}}
        case ev.UrlRejected():
            return {"bad_urls": {**r.bad_urls, e.canonical: e.reason}}
        case ev.QueryLogged():
            log = (*r.queries.get(e.record.question_id, ()), e.record)
            changes = {"queries": {**r.queries, e.record.question_id: log}}
            if r.attempt is not None:
                changes["attempt"] = r.attempt.model_copy(update={"searched": True})
            return changes
        case _:
            assert_never(e)


def _found(r: Research) -> dict[str, Any]:
    """New evidence in the attempt under way (R10)."""
    if r.attempt is None:
        return {}
    return {"attempt": r.attempt.model_copy(update={"new_evidence": r.attempt.new_evidence + 1})}


def _claim(r: Research, claim_id: str, change: Callable[[Claim], dict[str, Any]]) -> dict[str, Claim]:
    old = r.claims.get(claim_id)
    if old is None:
        return r.claims
    return {**r.claims, claim_id: old.model_copy(update=change(old))}


def _ledger(
    r: Research,
    e: (
        ev.ClaimRecorded
        | ev.EvidenceAdded
        | ev.ClaimMoved
        | ev.ClaimAmended
        | ev.ClaimsLinked
        | ev.ChallengeRegistered
        | ev.ChallengeExecuted
        | ev.ChallengeClosed
    ),
) -> dict[str, Any]:
    match e:
        case ev.ClaimRecorded():
            return {"claims": {**r.claims, e.claim.id: e.claim}, **_found(r)}
        case ev.EvidenceAdded():
            added = _claim(r, e.claim_id, lambda c: {"evidence": (*c.evidence, e.evidence)})
            return {"claims": added, **_found(r)}
        case ev.ClaimMoved():
            why = {"check": e.why} if e.why else {}
            return {"claims": _claim(r, e.claim_id, lambda _: {"status": e.status, **why}), "still_rounds": 0}
        case ev.ClaimAmended():
            return {"claims": _claim(r, e.claim_id, lambda _: {"text": e.text})}
        case ev.ClaimsLinked():
            if e.relation == "supports":
                linked = _claim(
                    r,
                    e.claim_id,
                    lambda c: {"supports": (*c.supports, e.other_id)} if e.other_id not in c.supports else {},
                )
                return {"claims": linked}
            pair = Contradiction(claim_id=e.claim_id, other_id=e.other_id, question_id=e.question_id)
            return {"contradictions": (*r.contradictions, pair)}
        case ev.ChallengeRegistered():
            return {"challenges": {**r.challenges, e.challenge.id: e.challenge}}
        case ev.ChallengeExecuted():
            old = r.challenges.get(e.challenge_id)
            if old is None:
                return {}
            run = old.model_copy(update={"executed": True, "search_status": e.status})
            return {"challenges": {**r.challenges, e.challenge_id: run}}
        case ev.ChallengeClosed():
            old = r.challenges.get(e.challenge_id)
            if old is None:
                return {}
            closed = old.model_copy(
                update={
                    "status": "closed",
                    "outcome": e.outcome,
                    "evidence": e.evidence,
                    "source_ids": e.source_ids,
                    "result_claim_id": e.result_claim_id,
                }
            )
            return {"challenges": {**r.challenges, e.challenge_id: closed}, **_found(r)}
        case _:
            assert_never(e)
