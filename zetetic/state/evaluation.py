"""Merging the four arms and acting on the ladder's route (A3 to A10, A13 to A16, A19, A22, A25, A28, D54)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from . import events as ev
from .breakers import breaker, ceiling_passed
from .challenges import SEARCHED, answer_refuted
from .decision import Accepted, Decision
from .evolve import evolve, fold
from .frontier import tried
from .frontier_commands import moved, returned, spawn_question
from .gates import exploration_gate
from .policy import parse_verdict, routing_of
from .research import Research
from .values import NOTHING_RELEVANT, ROOT, Attempt, Evaluation, Gap, GateResult, RunStatus, Verdict
from .wording import one_line

RenderReport = Callable[[Research], str]
Arm = Literal["judge", "verify", "critique", "completeness"]
ARMS: tuple[Arm, ...] = ("judge", "verify", "critique", "completeness")
UNAVAILABLE = "critique unavailable"
CAN_COMPLETE = frozenset({"finalized", "frontier_exhausted"})
"""Reasons for which exploration may have ended in a run that is complete (D54)."""


class ArmResult(BaseModel):
    """What one arm said of one attempt; travels in a channel, so it holds lists and no tuples (A9)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: Arm
    attempt: int
    answered: bool = True
    """False where the conservative value stands in for an arm that failed."""
    verdict: str = ""
    guidance: str = ""
    passed: bool = False
    findings: list[str] = Field(default_factory=list)
    """verify: failures; critique: objections; completeness: what is missing."""
    trouble: str = ""


def conservative(arm: Arm, attempt: int, trouble: str) -> ArmResult:
    """The value that stands in for an arm that raised, timed out or could not be read (A9)."""
    findings = [UNAVAILABLE] if arm == "critique" else []
    if arm == "completeness":
        findings = ["completeness could not be judged"]
    if arm == "verify":
        findings = ["the answer could not be verified"]
    verdict = "Restart" if arm == "judge" else ""
    return ArmResult(arm=arm, attempt=attempt, answered=False, verdict=verdict, findings=findings, trouble=trouble)


def merge_arms(left: Mapping[str, ArmResult] | None, right: Mapping[str, ArmResult] | None) -> dict[str, ArmResult]:
    """Both maps as one: of one arm, the later attempt; of equal ones either, since they are the same (A25).

    None on the right starts afresh, for a new run on an old thread.
    """
    if right is None:
        return {}
    merged = dict(left or {})
    for arm, result in right.items():
        known = merged.get(arm)
        if known is None or result.attempt >= known.attempt:
            merged[arm] = result
    return merged


def decide_route(
    research: Research,
    arms: Mapping[str, ArmResult],
    *,
    at: datetime,
    render: RenderReport | None = None,
) -> Decision:
    """Merges the arms' answers, runs the ladder, and moves the question or the run accordingly."""
    attempt = research.attempt
    if attempt is None or not attempt.ended:
        return Accepted((), "")
    if attempt.blocked:
        return _blocked(research, attempt, at)
    read = {
        arm: arms[arm] if _is_of(arms.get(arm), attempt.number) else conservative(arm, attempt.number, "missing")
        for arm in ARMS
    }
    verdict, defaulted = parse_verdict(read["judge"].verdict)
    defaults = ("verdict",) if defaulted else ()
    counters = research.report if attempt.kind == "report" else research.questions[attempt.question_id]
    fallen = _fallen(research, attempt)
    if fallen and read["verify"].passed:
        read["verify"] = read["verify"].model_copy(update={"passed": False, "findings": list(fallen)})
    verified = read["verify"].passed
    complete = read["completeness"].passed
    unproductive = counters.unproductive_streak + 1 if verdict == "Restart" else 0
    unverified = 0 if verified else counters.unverified_streak + 1
    routing, resets = routing_of(
        research.thresholds,
        blocked=False,
        expired=attempt.expired or ceiling_passed(research, at),
        verified=verified,
        complete=complete,
        attempts=counters.attempts + 1,
        unverified_streak=unverified,
        unproductive_streak=unproductive,
    )
    evaluation = Evaluation(
        number=attempt.number,
        kind=attempt.kind,
        question_id=attempt.question_id,
        objective=research.questions[attempt.question_id].question,
        outcome=attempt.outcome,
        output=attempt.answer if attempt.kind == "question" else "",
        verdict=verdict,
        guidance=read["judge"].guidance,
        verified=verified,
        failures=tuple(read["verify"].findings),
        objections=tuple(read["critique"].findings),
        satisfied=complete,
        missing="; ".join(read["completeness"].findings),
        parse_defaults=defaults,
        unavailable=tuple(arm for arm in ARMS if not read[arm].answered),
        routing=routing,
        gates=_gates(research, attempt, read),
        source_ids=tuple(
            s.id
            for s in research.sources.values()
            if s.question_id == attempt.question_id and s.at >= attempt.started_at
        ),
        claim_ids=attempt.claim_ids
        or tuple(
            c.id
            for c in research.claims.values()
            if c.at >= attempt.started_at and c.question_id == attempt.question_id
        ),
        actions=_actions(research, attempt),
        remaining_gaps=tuple(
            f"{q.id}: {one_line(q.question, 120)}"
            for q in research.open_questions()
            if not (q.id == attempt.question_id and routing.route == "Answered")
        ),
        tokens=attempt.tokens,
        usd=attempt.usd,
        seconds=max(0.0, (at - attempt.started_at).total_seconds() - attempt.paused_seconds),
        new_evidence=attempt.new_evidence,
        at=at,
    )
    reopens = attempt.kind == "report" and may_reopen(
        evolve(research, ev.AttemptEvaluated(at=at, evaluation=evaluation)), at
    )
    steer = _steer(research, attempt, read, verdict, routing.route, reopens)
    evaluation = evaluation.model_copy(update={"steer": steer})
    streak: Literal["", "unverified", "unproductive"] = ""
    if resets in ("unverified", "unproductive"):
        streak = "unverified" if resets == "unverified" else "unproductive"
    happened: list[ev.Event] = [ev.AttemptEvaluated(at=at, evaluation=evaluation, diversified_streak=streak)]
    if attempt.kind == "report":
        happened += _report_routed(fold(research, happened), attempt, evaluation, at, render)
    else:
        happened += _question_routed(research, attempt, evaluation, at)
    return Accepted(tuple(happened), routing.route)


def _is_of(result: ArmResult | None, attempt: int) -> bool:
    return result is not None and result.attempt == attempt


def _fallen(research: Research, attempt: Attempt) -> tuple[str, ...]:
    """What forbids that an attempt counts as verified, whatever the arms said (A7, A19, D17, D38)."""
    if attempt.kind == "report":
        return () if attempt.outcome == "finalized" else ("no report was given",)
    if attempt.outcome != "resolved" or not attempt.answer:
        return ("the attempt ended without an answer",)
    lost = [c for c in attempt.claim_ids if _is_lost(research, c)]
    fallen = [f"{', '.join(lost)} was refuted or retracted meanwhile"] if lost else []
    if answer_refuted(research, attempt.question_id, attempt.answer):
        fallen.append("a challenge refuted this answer meanwhile")
    return tuple(fallen)


def _is_lost(research: Research, claim_id: str) -> bool:
    return claim_id not in research.claims or research.claims[claim_id].status in ("REFUTED", "RETRACTED")


def _blocked(research: Research, attempt: Attempt, at: datetime) -> Decision:
    """A refusing provider ends the run, resumable and uncharged; a prerequisite blocks the question (A11, A12)."""
    kind, _, what = attempt.blocked.partition(":")
    question = research.questions[attempt.question_id]
    if kind == "prerequisite" and attempt.kind == "question" and question.status == "in_progress":
        return Accepted(
            (
                ev.AttemptClosed(at=at, reason=attempt.blocked),
                moved(question, "blocked", "prerequisite_missing", "code", at, reason=what),
            ),
            "Blocked",
        )
    return Accepted((ev.RunEnded(at=at, status="blocked", stop_reason=f"blocked:{attempt.blocked}"),), "Blocked")


def _question_routed(research: Research, attempt: Attempt, evaluation: Evaluation, at: datetime) -> list[ev.Event]:
    question = research.questions[attempt.question_id]
    counted = question.model_copy(update={"attempts": evaluation.routing.attempts})
    if question.status != "in_progress":
        return []  # pruned in the attempt, or released by a person
    route = evaluation.routing.route
    if attempt.outcome == "finished":
        return [*returned(research, counted, "released", "code", at, reason="exploration ended")]
    if route == "Answered":
        return [
            ev.QuestionAnswered(
                at=at,
                question_id=question.id,
                answer=attempt.answer,
                claim_ids=attempt.claim_ids,
                why_unverified=attempt.why_unverified,
                why_unchallenged=attempt.why_unchallenged,
                why_no_refuting=attempt.why_no_refuting,
            ),
            moved(counted, "resolved", "resolved", "code", at, reason=one_line(attempt.answer, 200)),
        ]
    if evaluation.routing.expired:
        return [*returned(research, counted, "released", "code", at, reason="the wall-clock ceiling passed")]
    if route == "Reported":
        partial = attempt.answer or question.partial
        assumption = attempt.assumption or (
            f"no attempt was accepted; the best partial answer: {partial}"
            if partial
            else "no answer was found in the sources at hand"
        )
        claim_ids = tuple(c for c in attempt.claim_ids if attempt.answer and not _is_lost(research, c))
        return [
            ev.QuestionAnswered(at=at, question_id=question.id, answer=assumption, claim_ids=claim_ids),
            moved(counted, "unresolvable", "attempts_exhausted", "code", at, reason=one_line(assumption, 200)),
        ]
    return [*returned(research, counted, "retried", "code", at, reason=f"{route}: {one_line(evaluation.steer, 200)}")]


def _report_routed(
    research: Research, attempt: Attempt, evaluation: Evaluation, at: datetime, render: RenderReport | None
) -> list[ev.Event]:
    route = evaluation.routing.route
    hole = evaluation.missing or "; ".join(evaluation.failures) or "what the report could not establish"
    if route == "Diversify" and not may_reopen(research, at):
        known = any(gap.text == one_line(hole) for gap in research.gaps)
        return [] if known else [ev.GapNoted(at=at, gap=Gap(text=one_line(hole), question_id=ROOT))]
    if route == "Diversify":
        spawned = spawn_question(
            research,
            f"What is still missing for the objective: {hole}",
            hole,
            ("report", f"attempt:{attempt.number}"),
            caused_by=f"attempt:{attempt.number}",
            at=at,
        )
        asked = spawned.question.model_copy(
            update={"rationale": "the evaluation of the report found it missing", "steer": evaluation.steer}
        )
        spawned = spawned.model_copy(update={"question": asked, "reason": asked.rationale})
        return [spawned, ev.PhaseChanged(at=at, phase="exploration", reason="reopened", detail=one_line(hole, 300))]
    if route in ("Answered", "Reported"):
        return [end_of_report(research, at, answered=route == "Answered", render=render)]
    return []


def may_reopen(research: Research, at: datetime) -> bool:
    """Whether synthesis may go back: reopens and budget left, and no bound ended exploration (A28, D41, D54)."""
    if research.reopens >= research.thresholds.max_reopens or research.exploration_stop not in CAN_COMPLETE:
        return False
    return breaker(research.model_copy(update={"phase": "exploration"}), at) is None


def end_of_report(
    research: Research, at: datetime, *, answered: bool, render: RenderReport | None = None
) -> ev.RunEnded:
    """How a run with a report ends: one table (D54)."""
    status: RunStatus = "reported"
    if research.stop_reason in CAN_COMPLETE and research.gate_passed and answered:
        status = "complete"
    ended = ev.RunEnded(at=at, status=status, stop_reason=research.stop_reason, detail=research.stop_detail)
    return with_report(research, ended, render)


def with_report(research: Research, ended: ev.RunEnded, render: RenderReport | None) -> ev.RunEnded:
    """The end of a run with its report, which is rendered from the research as it has ended."""
    if render is None:
        return ended
    return ended.model_copy(update={"report": render(evolve(research, ended))})


def _steer(
    research: Research, attempt: Attempt, read: Mapping[Arm, ArmResult], verdict: Verdict, route: str, reopens: bool
) -> str:
    """What the next attempt is told: the judge's sentence, the approach, what the arms found (A4, A5, A15, A16).

    Each part is as long as one directive at most; of a list, what does not fit is counted.
    """
    if route in ("Answered", "Reported"):
        return ""
    room = research.thresholds.directive_max_chars
    parts = ["Start afresh: the last direction is discarded."] if verdict == "Restart" else []
    parts.append(sentence(read["judge"].guidance, room))
    if attempt.next_query:
        parts.append(f"Start from the query {attempt.next_query!r} ({one_line(attempt.why, room)}).")
    if route == "Diversify":
        parts.append(_other_approach(research, attempt, reopens))
    elif verdict != "Restart":
        parts.append("Keep the approach and mend what is named here.")
    found = [f"Missing: {m}" for m in read["completeness"].findings if not read["completeness"].passed]
    found += [f"Not verified: {f}" for f in read["verify"].findings]
    found += [f"Objection: {o}" for o in read["critique"].findings if o != UNAVAILABLE]
    parts.append(as_many_as_fit([sentence(f, room) for f in found], room, " ", "(+{} more found wanting.)"))
    if route == "Diversify" and (attempt.kind == "question" or reopens):
        parts += [_read_so_far(research, attempt, room), _spent(research, attempt, room)]
    return " ".join(part for part in parts if part)


def _other_approach(research: Research, attempt: Attempt, reopens: bool) -> str:
    if attempt.kind == "report":
        if reopens:
            return "Exploration is reopened for what is missing: other sources and another strategy than before."
        return "Exploration stays closed: rewrite the report, and state under '## Gaps' what is missing."
    other = "Change the approach: other sources, another strategy,"
    if attempt.question_id == ROOT:  # the objective is the user's and stays as it is
        return f"{other} or add_question for the missing part."
    return f"{other} rewrite_question if it cannot be answered as put, or add_question for the missing part."


def _read_so_far(research: Research, attempt: Attempt, room: int) -> str:
    """Whose pages were read for it, most first: the kind of source that did not do (A16)."""
    pages = [s for s in research.sources.values() if s.sha256]
    if attempt.kind == "question":
        cited = {link.source_id for c in research.claims_of(attempt.question_id) for link in c.evidence}
        pages = [s for s in pages if s.question_id == attempt.question_id or s.id in cited]
    counted = Counter("local documents" if s.domain.startswith("local:") else s.domain for s in pages)
    barren = Counter(s.domain for s in pages if NOTHING_RELEVANT in s.note)
    told = [
        f"{domain} ({count} {'page' if count == 1 else 'pages'}"
        + (f", nothing relevant in {barren[domain]})" if barren[domain] else ")")
        for domain, count in counted.most_common()
    ]
    listed = as_many_as_fit(told, room, ", ", "and {} other sites")
    return f"Read so far: {listed}." if listed else ""


def _spent(research: Research, attempt: Attempt, room: int) -> str:
    """The queries that were run, challenges' too, word for word; where not all fit, the latest and a count (A16)."""
    log = research.all_queries() if attempt.kind == "report" else tried(research, attempt.question_id)
    run = [r.query for r in sorted(log, key=lambda r: r.at) if r.tool != "fetch_page" and r.status in SEARCHED]
    latest_first = [f'"{query}"' for query in reversed(dict.fromkeys(run))]
    listed = as_many_as_fit(latest_first, room, ", ", "and {} earlier ones")
    return f"These queries are spent: {listed}." if listed else ""


def sentence(text: str, room: int) -> str:
    """A finding on one line, in at most `room` characters, with its full stop."""
    flat = one_line(text, room)
    return flat if not flat or flat[-1] in ".!?…" else f"{flat}."


def as_many_as_fit(items: Sequence[str], room: int, joint: str, rest: str) -> str:
    """The first items, joined, in at most about `room` characters; `rest` says how many were left out."""
    shown: list[str] = []
    for item in items:
        if shown and len(joint.join([*shown, item])) > room:
            return joint.join([*shown, rest.format(len(items) - len(shown))])
        shown.append(item)
    return joint.join(shown)


def _gates(research: Research, attempt: Attempt, read: Mapping[Arm, ArmResult]) -> tuple[GateResult, ...]:
    """The evidence gates of one record (L7)."""
    cited = [research.claims[c] for c in attempt.claim_ids if c in research.claims]
    unsourced = [c.id for c in cited if not c.links("supports")]
    results = [
        GateResult(
            gate="source_claims",
            passed=not unsourced and (bool(cited) or not attempt.answer),
            why=f"without a quoted source: {', '.join(unsourced)}"
            if unsourced
            else ("" if cited else "no claim cited"),
        ),
        GateResult(gate="verified", passed=read["verify"].passed, why="; ".join(read["verify"].findings)),
    ]
    if attempt.kind == "report":
        missing = research.exploration_missing
        results.append(GateResult(gate="exploration", passed=research.gate_passed, why="; ".join(missing)))
    return tuple(results)


def _actions(research: Research, attempt: Attempt) -> tuple[str, ...]:
    log = research.all_queries() if attempt.kind == "report" else tried(research, attempt.question_id)
    return tuple(f"{r.tool}: {r.query}" for r in log if r.attempt == attempt.number)


def conclude_exploration(
    research: Research, reason: str, *, at: datetime, why: str = "", detail: str = ""
) -> tuple[ev.Event, ...]:
    """The events that end exploration, with what its gate still lacks (D43, D46)."""
    missing = exploration_gate(research, why)
    happened: list[ev.Event] = []
    if why.strip() and research.conclusion.text:
        happened.append(ev.ConclusionExplained(at=at, why=one_line(why)))
    happened.append(
        ev.PhaseChanged(
            at=at, phase="synthesis", reason=reason, detail=detail, gate_passed=not missing, missing=missing
        )
    )
    return tuple(happened)
