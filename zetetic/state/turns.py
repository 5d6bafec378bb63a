"""Deciding a turn: whether the run goes on, on which question, and in which stage (D3, D16, D43, D46, A21, A27)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import get_args

from . import events as ev
from .answers import decide_blocked, decide_bound
from .breakers import attempt_affordable, breaker, budget_left, time_is_up, work_seconds
from .consolidation import consolidation_due
from .decision import Accepted, Decision
from .evaluation import RenderReport, conclude_exploration, end_of_report, with_report
from .evolve import evolve
from .frontier import (
    effective_priorities,
    expansion_due,
    failed_dependencies,
    select_next,
    stuck_on_blocked,
)
from .frontier_commands import decide_drop_dependency, decide_prune, moved, returned, start_attempt
from .gates import finalization_gate
from .guiding import is_guided
from .research import Research
from .sections import next_section, plan_sections
from .values import ROOT, Action, Gap, NextAction, Question, Stage
from .wording import one_line

NOTES_TOOLS = frozenset({"notes_append", "notes_update", "notes_scratch", "notes_read"})
VIEW_TOOLS = frozenset({"frontier_view", "challenges_view", "notes_read"})
SEARCH_TOOLS = frozenset({"web_search", "fetch_page", "query"})
FRONTIER_TOOLS = frozenset(
    {
        "frontier_next",
        "add_question",
        "reopen_question",
        "set_priority",
        "prune_branch",
        "rewrite_question",
        "drop_dependency",
    }
)
CHALLENGE_TOOLS = frozenset({"challenge", "record_challenge_result"})
ATTEMPT_TOOLS = frozenset({"resolve_question", "retry_question"})
LAST_RESORT = frozenset({"abort", "escalate_budget"})
MISSING_SEARCH = frozenset({"search:not_configured", "search:unknown"})
"""Searches that no repetition would make work: a prerequisite that somebody has to provide (A12)."""
WAIT, IDLE, FAN_OUT = "wait", "idle", "fan out"
"""What decide_turn says where no turn begins: others are at work, nothing is left to do, workers have to be sent."""
OUT_OF_TIME = "time"
"""What stands for a provider's trouble in a turn that its own deadline cut off: no provider is to blame (A21)."""


class _Log:
    """Events in the making, with the research as it stands after them."""

    def __init__(self, research: Research) -> None:
        self.research = research
        self.events: list[ev.Event] = []

    def add(self, *happened: ev.Event) -> None:
        for event in happened:
            self.events.append(event)
            self.research = evolve(self.research, event)

    def done(self, message: str) -> Accepted:
        return Accepted(tuple(self.events), message)


def decide_turn(research: Research, *, at: datetime, render: RenderReport, fleet: bool = False) -> Decision:
    """What the state node does: breakers, stop rules, selection, stage. Ends the run where a rule says so.

    The message says what begins: the stage of a turn, or that none does: WAIT where others are at work, IDLE where
    nothing is left for this worker, FAN_OUT where the lead of a `fleet` has questions to hand to its workers (D51).
    """
    log = _Log(research)
    if research.status != "running" or (research.attempt is not None and research.attempt.ended):
        return log.done("nothing to start")
    if research.worker:
        return _help(log, at)
    if research.phase == "exploration":
        fired = breaker(research, at)
        if fired is not None:
            if research.attempt is not None:
                expired = time_is_up(research, at)
                return decide_bound(research, "ceiling" if expired else "breaker", expired=expired, at=at)
            log.add(*conclude_exploration(research, f"breaker:{fired}", at=at))
        elif research.attempt is None:
            stopped = stop_rule(research)
            if stopped:
                log.add(*conclude_exploration(research, stopped, at=at))
    if log.research.phase == "exploration" and (said := _explore(log, at, fleet)):
        return log.done(said)
    if log.research.phase == "synthesis":
        _synthesize(log, at, render)
    return log.done(log.research.turn.stage)


def _help(log: _Log, at: datetime) -> Decision:
    """A worker beside the lead: it goes on with its own attempt, or takes a question; the lead does all else (D51)."""
    r = log.research
    if r.phase != "exploration":
        return decide_release(r, "exploration ended", at=at)
    fired = breaker(r, at)
    if r.attempt is not None:
        if fired is not None:
            expired = time_is_up(r, at)
            return decide_bound(r, "ceiling" if expired else "breaker", expired=expired, at=at)
        if said := _explore(log, at, fleet=False):
            return log.done(said)
        return log.done(log.research.turn.stage)
    if fired is not None or stop_rule(r) or not r.criteria or expansion_due(r):
        return log.done(IDLE)
    chosen, others = select_next(r), is_shared(r)
    closed = r.root.status in ("resolved", "unresolvable")
    if chosen is None or chosen.id == ROOT or (closed and not _matters(r, chosen)):
        return log.done(WAIT if others else IDLE)
    if _all_busy(r):
        return log.done(WAIT)
    if not attempt_affordable(r, at):
        return log.done(IDLE)
    _take(log, chosen, at)
    return log.done(log.research.turn.stage)


def is_shared(research: Research) -> bool:
    """Whether other workers have attempts under way (D51)."""
    return any(name != research.worker for name in research.attempts_under_way())


def decide_release(research: Research, why: str, *, at: datetime) -> Decision:
    """Gives the question of a worker back without a charge: exploration ended under it, or it is gone (D15, D51)."""
    log = _Log(research)
    attempt = research.attempt
    if attempt is not None and attempt.kind == "question":
        log.add(ev.AttemptClosed(at=at, reason=why))
        question = research.questions[attempt.question_id]
        if question.status == "in_progress":
            log.add(*returned(log.research, question, "released", "code", at, reason=why))
    return log.done(IDLE)


def stop_rule(research: Research) -> str:
    """The stop rule that holds between two attempts, or '' (R10, L11)."""
    t = research.thresholds
    if research.barren_rounds >= t.barren_rounds_limit:
        return "stalled"
    if research.still_rounds >= t.plateau_records:
        return "plateau"
    return ""


def _explore(log: _Log, at: datetime, fleet: bool) -> str:
    """Begins the turn that is due, or ends exploration; says WAIT or FAN_OUT where neither is right now."""
    r = log.research
    t = r.thresholds
    if r.pending:
        return _turn(log, at, "extracting", r.pending[0].question_id)
    if size := consolidation_due(r):
        return _turn(log, at, "consolidating", r.current.id if r.current else ROOT, detail=str(size))
    if r.attempt is not None:
        challenging = any(c.question_id == r.attempt.question_id for c in r.open_challenges())
        return _turn(log, at, "challenging" if challenging else "acting", r.attempt.question_id)
    if not r.criteria and is_guided(r):  # what it would set would name answers that nobody has found
        log.add(_own_criterion(r, at))
        r = log.research
    if not r.criteria or expansion_due(r):
        if r.stage_streak < t.planning_turns:
            return _turn(log, at, "planning", ROOT, detail="expand")
        if not r.criteria:
            log.add(_own_criterion(r, at))
        if expansion_due(log.research):
            reason = f"no sub-question was proposed in {t.planning_turns} turns"
            log.add(ev.AtomicDeclared(at=at, reason=reason, actor="code"))
    return _select(log, at, fleet)


def _own_criterion(research: Research, at: datetime) -> ev.CriteriaSet:
    """What the report is judged by where nobody said it (R4)."""
    return ev.CriteriaSet(at=at, criteria=(f"The report answers: {research.objective}",), actor="code")


def _select(log: _Log, at: datetime, fleet: bool) -> str:
    r = log.research
    t = r.thresholds
    chosen = select_next(r)
    if is_shared(r) and (chosen is None or chosen.id == ROOT or _all_busy(r)):
        return WAIT  # what others find may be what comes next
    matters = chosen is not None and _matters(r, chosen)
    if not matters:
        stuck = stuck_on_blocked(r)
        if stuck and r.stage_streak < t.planning_turns:
            return _turn(log, at, "planning", stuck[0].id, detail="unblock")
        if stuck or lacks_prerequisite(r.root, r):
            if lacking := [q for q in (*stuck, r.root) if lacks_prerequisite(q, r)]:
                return _wait_for_prerequisite(log, lacking, at)
            _unblock(log, at)
            return _select(log, at, fleet)
    if not matters and r.root.status in ("resolved", "unresolvable"):
        if r.stage_streak >= t.conclusion_turns:
            log.add(*conclude_exploration(r, "frontier_exhausted", at=at))
            return ""
        first = r.stage_streak == 0 and bool(unverified_that_matter(r))
        return _turn(log, at, "verifying" if first else "challenging", ROOT, detail="conclusion")
    if chosen is None:
        log.add(*conclude_exploration(r, "frontier_exhausted", at=at))
        return ""
    if not attempt_affordable(r, at):
        if is_shared(r) and breaker(r, at) is None:  # what is left is what others have under way
            return WAIT
        log.add(*conclude_exploration(r, f"breaker:{breaker(r, at) or 'tokens'}", at=at))
        return ""
    if fleet and chosen.id != ROOT:
        return FAN_OUT
    return _take(log, chosen, at)


def _matters(research: Research, question: Question) -> bool:
    """Whether the report has to wait for a question, or is it."""
    return question.id == ROOT or effective_priorities(research)[question.id] >= research.thresholds.gate_priority


def _all_busy(research: Research) -> bool:
    return sum(q.status == "in_progress" for q in research.questions.values()) >= research.thresholds.max_parallel


def _take(log: _Log, chosen: Question, at: datetime) -> str:
    """Takes a question into progress, and its attempt and first turn begin (D14, D51)."""
    log.add(moved(chosen, "in_progress", "selected", "code", at, worker=log.research.worker))
    log.add(*start_attempt(log.research, "question", chosen.id, at=at))
    return _turn(log, at, "acting", chosen.id)


def lacks_prerequisite(question: Question, research: Research) -> bool:
    """Whether a question is blocked for something outside the frontier, which only a person can provide (A12)."""
    return question.status == "blocked" and not failed_dependencies(research, question.id)


def _wait_for_prerequisite(log: _Log, lacking: list[Question], at: datetime) -> str:
    """The run ends as blocked, resumable, since what matters lacks what nobody but a person can provide (A12, D54)."""
    told = [f"{q.id} could not be searched: {one_line(q.question, 200)}" for q in lacking]
    log_of_first = log.research.queries.get(lacking[0].id, ())
    what = f"search:{log_of_first[-1].status}" if log_of_first else "prerequisite"
    log.add(ev.RunEnded(at=at, status="blocked", stop_reason=f"blocked:{what}", detail="; ".join(told)))
    return ""


def _unblock(log: _Log, at: datetime) -> None:
    """Prunes what nobody freed in time, and what that blocks in turn; each stays named as a gap (D11, A16)."""
    why = f"blocked, and neither rewritten nor freed in {log.research.thresholds.planning_turns} turns"
    while stuck := stuck_on_blocked(log.research):
        for question in stuck:
            if question.id == ROOT:  # the objective cannot be pruned, so it is answered without what was pruned
                for gone in failed_dependencies(log.research, ROOT):
                    freed = decide_drop_dependency(log.research, ROOT, gone, why, at=at, actor="code")
                    log.add(*(freed.events if isinstance(freed, Accepted) else ()))
                continue
            dropped = decide_prune(log.research, question.id, why, at=at, actor="code", trigger="pruned_scope")
            if isinstance(dropped, Accepted):
                log.add(*dropped.events)
                gap = Gap(text=f"not looked into: {one_line(question.question)}", question_id=question.id)
                log.add(ev.GapNoted(at=at, gap=gap))


def _synthesize(log: _Log, at: datetime, render: RenderReport) -> None:
    r = log.research
    fired = breaker(r, at)
    if fired is not None:
        log.add(*out_of_reserve(r, fired, at, render))
        return
    if r.attempt is None:
        log.add(*start_attempt(r, "report", ROOT, at=at))
        turns = budget_left(log.research, at).turns
        if plan := plan_sections(log.research, turns):
            log.add(ev.ReportPlanned(at=at, plan=plan))
    last = budget_left(log.research, at).turns <= 1
    report = log.research.report
    detail = ""
    if report.plan:
        due = next_section(log.research)
        detail = f"section {len(report.parts) + 1} of {len(report.plan)}" if due else "summary"
        if due and last:  # the rest of the sections cannot be had, so all of the report is asked for
            detail = ""
    _turn(log, at, "synthesizing", ROOT, detail=detail, forced_tool="finalize_report" if last else "")


def out_of_reserve(research: Research, fired: str, at: datetime, render: RenderReport) -> tuple[ev.Event, ...]:
    """The run ends although no report was accepted in time (D46): a draft that passed the gate goes out as reported,
    else code renders one from the notes, and the run has failed for the breaker named."""
    if research.report.draft and not finalization_gate(research, research.report.draft):
        ended = end_of_report(research, at, answered=False, render=render)
        return (ended,)
    drafted = ev.ReportDrafted(at=at, text="", rendered_by_code=True)
    rendered = evolve(research, drafted)
    ended = ev.RunEnded(
        at=at,
        status="failed",
        stop_reason=f"breaker:{fired}",
        detail="the reserve for the report was used up",
    )
    return (drafted, with_report(rendered, ended, render))


def _turn(log: _Log, at: datetime, stage: Stage, question_id: str, *, detail: str = "", forced_tool: str = "") -> str:
    """Begins a turn; '' since nothing hinders it."""
    log.add(
        ev.StateRecorded(
            at=at,
            seq=log.research.states + 1,
            stage=stage,
            question_id=question_id,
            detail=detail,
            forced_tool=forced_tool,
        )
    )
    return ""


def unverified_that_matter(research: Research) -> tuple[str, ...]:
    """UNVERIFIED claims that an answer rests on, to be queued before exploration ends (D43)."""
    found = [
        claim_id
        for q in research.questions.values()
        if q.status == "resolved"
        for claim_id in q.claim_ids
        if claim_id in research.claims and research.claims[claim_id].status == "UNVERIFIED"
    ]
    return tuple(dict.fromkeys(found))


def allowed_tools(research: Research) -> frozenset[str]:
    """The tools the stage under way allows; the others are refused by code, not taken away (D30, D41, D55)."""
    turn = research.turn
    if research.phase == "synthesis" and turn.stage != "synthesizing":  # exploration ended within this turn (D41)
        return VIEW_TOOLS
    if turn.forced_tool:
        return frozenset({turn.forced_tool})
    match turn.stage:
        case "extracting" | "consolidating":
            return NOTES_TOOLS
        case "synthesizing":
            return VIEW_TOOLS | {"finalize_report"}
        case "planning":
            return FRONTIER_TOOLS | VIEW_TOOLS | LAST_RESORT | {"set_criteria", "notes_scratch"}
        case _:
            tools = NOTES_TOOLS | VIEW_TOOLS | SEARCH_TOOLS | FRONTIER_TOOLS | CHALLENGE_TOOLS | LAST_RESORT
            return tools | (
                {"finish_exploration"} if research.attempt is None else ATTEMPT_TOOLS | {"finish_exploration"}
            )


def decide_update(
    research: Research,
    *,
    called: Collection[str],
    queries: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
    provider_failed: str = "",
    unaffordable: bool = False,
    wasted: bool = False,
    at: datetime,
    render: RenderReport,
) -> Decision:
    """Closes a turn: what the model did, provider failures, and the bounds of the attempt (A11, A12, A21, A26).

    `provider_failed` names the provider of which every call failed; OUT_OF_TIME where the deadline cut the turn off.
    `wasted`: nothing came of what the model was free to do.
    """
    cut_off = provider_failed == OUT_OF_TIME
    provider_failed = "" if cut_off else provider_failed
    log = _Log(research)
    log.add(
        ev.TurnClosed(
            at=at,
            action=action_of(called, queries, urls),
            called_tools=bool(called) or research.turn.stage == "consolidating",  # nothing may be there to merge
            provider_failed=bool(provider_failed),
            wasted=wasted and not cut_off,
        )
    )
    r = log.research
    t = r.thresholds
    if r.status != "running":
        return log.done("the run is over")
    if provider_failed in MISSING_SEARCH and r.attempt is not None and not r.attempt.ended:
        log.add(*decide_blocked(r, f"prerequisite:{provider_failed}", at=at).events)
        return log.done("blocked")
    if provider_failed and r.provider_errors >= t.provider_error_limit:
        if r.attempt is not None and not r.attempt.ended:
            log.add(*decide_blocked(r, provider_failed, at=at).events)
        elif r.attempt is None:
            log.add(ev.RunEnded(at=at, status="blocked", stop_reason=f"blocked:{provider_failed}"))
        return log.done("blocked")
    if unaffordable:
        _unaffordable(log, at, render)
        return log.done("the budget does not cover the next call")
    attempt = r.attempt
    if attempt is not None and not attempt.ended:
        if attempt.kind == "question":
            _bound(log, at, cut_off)
        elif budget_left(r, at).turns <= 0 or attempt.turns >= t.attempt_turns:
            _last_turn_spent(log, at, render)
    return log.done("turn closed")


def _unaffordable(log: _Log, at: datetime, render: RenderReport) -> None:
    """The next prompt costs more than is left: the phase ends, as by any breaker (D46)."""
    r = log.research
    if r.phase == "synthesis":
        log.add(*out_of_reserve(r, "tokens", at, render))
        return
    if r.attempt is not None and not r.attempt.ended:
        log.add(ev.AttemptEnded(at=at, outcome="breaker"))
    log.add(*conclude_exploration(log.research, "breaker:tokens", at=at))


def _bound(log: _Log, at: datetime, cut_off: bool) -> None:
    r = log.research
    attempt = r.attempt
    assert attempt is not None
    if time_is_up(r, at):
        log.add(ev.AttemptEnded(at=at, outcome="ceiling", expired=True))
    elif breaker(r, at) is not None:
        log.add(ev.AttemptEnded(at=at, outcome="breaker"))
    elif attempt.turns >= r.thresholds.attempt_turns:
        log.add(ev.AttemptEnded(at=at, outcome="turns"))
    elif cut_off or work_seconds(r, at) <= 0:
        log.add(ev.AttemptEnded(at=at, outcome="time"))


def _last_turn_spent(log: _Log, at: datetime, render: RenderReport) -> None:
    """The last turn of the run or of the attempt had its report refused: code renders one from the notes (D46)."""
    log.add(ev.ReportDrafted(at=at, text="", rendered_by_code=True), ev.AttemptClosed(at=at, reason="last turn"))
    log.add(end_of_report(log.research, at, answered=False, render=render))


def action_of(called: Collection[str], queries: tuple[str, ...], urls: tuple[str, ...]) -> Action | None:
    """What the model did, in the words of R3; None where it called no tool."""
    if not called:
        return None
    names: dict[str, NextAction] = {
        "abort": "abort",
        "escalate_budget": "escalate_budget",
        "finish_exploration": "finalize",
        "finalize_report": "finalize",
        "fetch_page": "fetch_more",
    }
    assert set(names.values()) <= set(get_args(NextAction))
    action: NextAction = next((value for name, value in names.items() if name in called), "search_more")
    return Action(
        next_action=action,
        next_queries=queries or None if action == "search_more" else None,
        next_urls_to_fetch=urls or None if action == "fetch_more" else None,
    )
