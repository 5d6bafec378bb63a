"""Decisions on the run as a whole: open, resume, direct, abort, finish, finalize (D41 to D43, A24, R4, R11, L1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from . import events as ev
from .breakers import breaker
from .citations import strip_bibliography
from .decision import Accepted, Decision, refuse
from .evaluation import conclude_exploration, may_reopen
from .evolve import fold
from .frontier import failed_dependencies
from .frontier_commands import decide_reopen, moved
from .gates import cited_claims, exploration_gate, finalization_gate, section_faults
from .research import Research
from .sections import composed, next_section
from .thresholds import Mode, Thresholds
from .values import Extension, Holdings, Loop
from .wording import one_line


def decide_open(
    research: Research,
    *,
    run_id: str,
    objective: str,
    notes_id: str,
    criteria: Sequence[str] = (),
    scope: str = "",
    exclusions: Sequence[str] = (),
    directives: Sequence[object] = (),
    user: str = "",
    mode: Mode = "bounded-research",
    loop: Loop = "investigative",
    model: str = "",
    thresholds: Thresholds,
    holdings: Holdings,
    forked_from: str = "",
    at: datetime,
) -> Decision:
    """Opens a run on an objective (D7, L1)."""
    if research.run_id:
        return Accepted((), f"run {research.run_id} is open")
    if not objective.strip():
        return refuse("The objective is empty: say what is to be found out.")
    opened: list[ev.Event] = [
        ev.RunOpened(
            at=at,
            run_id=run_id,
            objective=objective.strip(),
            scope=scope.strip() or "What the objective asks, from the sources the run was given.",
            exclusions=tuple(e.strip() for e in exclusions if e.strip()),
            criteria=tuple(dict.fromkeys(one_line(c) for c in criteria if c.strip())),
            user=user,
            notes_id=notes_id,
            mode=mode,
            loop=loop,
            model=model,
            thresholds=thresholds,
            holdings=holdings,
            forked_from=forked_from,
        )
    ]
    for number, text in enumerate(directives, 1):
        fault = directive_fault(text, thresholds)
        if fault:
            return refuse(fault)
        opened.append(ev.DirectiveGiven(at=at, number=number, text=str(text), who=user or "user"))
    return Accepted(tuple(opened), f"run {run_id} opened")


def directive_fault(text: object, thresholds: Thresholds) -> str:
    """Why a directive cannot be taken, or '' (A24)."""
    if not isinstance(text, str):
        return f"A directive is a text, not a {type(text).__name__}: say what the next attempt should do."
    if not text.strip():
        return "The directive is blank: say what the next attempt should do."
    if len(text) > thresholds.directive_max_chars:
        return f"The directive has {len(text)} characters; at most {thresholds.directive_max_chars} are taken."
    return ""


def decide_direct(research: Research, text: object, who: str = "user", *, at: datetime) -> Decision:
    """Takes a person's directive for the next attempt, verbatim (A24)."""
    if research.status == "complete":
        return refuse("The run is complete, so no attempt would get this; ask a new question in a new run.")
    fault = directive_fault(text, research.thresholds)
    if fault:
        return refuse(fault)
    given = ev.DirectiveGiven(at=at, number=len(research.directives) + 1, text=str(text), who=who)
    return Accepted((given,), f"directive {given.number} waits for the next attempt")


def decide_directives(research: Research, texts: Sequence[object], who: str = "user", *, at: datetime) -> Decision:
    """Takes what came through the graph's channel, each on its own: a bad one is named and changes nothing (A24)."""
    happened: list[ev.Event] = []
    told: list[str] = []
    for text in texts:
        taken = decide_direct(fold(research, happened), text, who, at=at)
        if isinstance(taken, Accepted):
            happened += taken.events
            told.append(taken.message)
        else:
            told.append(f"directive refused: {' '.join(taken.missing)}")
    return Accepted(tuple(happened), "; ".join(told))


def decide_resume(
    research: Research,
    *,
    at: datetime,
    by: str = "user",
    turns: int = 0,
    iterations: int = 0,
    tokens: int = 0,
    usd: float = 0.0,
    seconds: float = 0.0,
) -> Decision:
    """Lets a run go on after a stop or a crash; what was added is recorded as an extension (D54)."""
    if research.status == "complete":
        return refuse("The run is complete; ask a new question in a new run.")
    if min(turns, iterations, tokens, usd, seconds) < 0:
        return refuse("Room is added, never taken: give numbers above zero.")
    t = research.thresholds
    added = bool(turns or iterations or tokens or usd or seconds)
    if research.status in ("reported", "failed") and not added:
        return refuse(
            "The run ended on its bounds and has its report; to go on it needs room: --max-turns, --max-iterations, "
            "--max-total-tokens, --max-cost-usd or --max-wall-time-seconds above what it had."
        )
    paused = (at - research.updated_at).total_seconds() if research.updated_at else 0.0
    extension = None
    wider = None
    if added:
        extension = Extension(at=at, by=by, iterations=iterations, turns=turns, tokens=tokens, usd=usd, seconds=seconds)
        wider = t.model_copy(
            update={
                "max_turns": t.max_turns + turns,
                "max_iterations": t.max_iterations + iterations,
                "max_total_tokens": t.max_total_tokens + tokens if t.max_total_tokens else 0,
                "max_cost_usd": t.max_cost_usd + usd if t.max_cost_usd else 0.0,
                "max_wall_time_seconds": t.max_wall_time_seconds + seconds,
            }
        )
    happened: list[ev.Event] = [
        ev.RunResumed(at=at, paused_seconds=max(0.0, paused), extension=extension, thresholds=wider)
    ]
    if research.status in ("reported", "failed"):
        if research.attempt is not None:
            happened.append(ev.AttemptClosed(at=at, reason="extended"))
        happened.append(ev.PhaseChanged(at=at, phase="exploration", reason="extended"))
    for question in research.questions.values():  # what was missing may be there now (A12)
        if question.status == "blocked" and not failed_dependencies(research, question.id):
            happened.append(moved(question, "pending", "prerequisite_met", "code", at, reason="resumed"))
    then = fold(research, happened)
    if research.status in ("stopped", "blocked"):  # the reserve is room enough: it goes on to its report
        then = then.model_copy(update={"phase": "synthesis"})
    spent = breaker(then, at)
    if spent is not None and research.status != "running":
        return refuse(f"There is no room for another turn: {spent} is used up, so add to that.")
    return Accepted(tuple(happened), f"run {research.run_id} goes on")


def decide_stop(research: Research, *, at: datetime, detail: str = "") -> Decision:
    """The user stops the run; it can be resumed (D54)."""
    if research.status != "running":
        return Accepted((), f"the run is {research.status}")
    ended = ev.RunEnded(at=at, status="stopped", stop_reason="user_stop", detail=detail, report=research.report.final)
    return Accepted((ended,), "stopped")


def decide_finish(research: Research, why: str = "", *, at: datetime) -> Decision:
    """Ends exploration if its gate passes; lists all that is missing otherwise (D39, D42)."""
    if research.phase != "exploration":
        return refuse("Exploration is finished already.")
    missing = exploration_gate(research, why)
    if missing:
        return refuse(*missing)
    happened: list[ev.Event] = []
    if research.attempt is not None and not research.attempt.ended:
        happened.append(ev.AttemptEnded(at=at, outcome="finished"))
    happened += conclude_exploration(research, "finalized", at=at, why=why)
    return Accepted(tuple(happened), "exploration is finished; the report comes next")


def decide_finalize(
    research: Research, report: str, reopen: tuple[str, str] | None = None, *, at: datetime
) -> Decision:
    """Takes a report, or goes back to exploration for a hole that would change the conclusion (D41, D44)."""
    attempt = research.attempt
    if attempt is None or attempt.kind != "report":
        return refuse("The report is written after exploration: finish_exploration comes first.")
    if attempt.ended:
        return refuse("The report is taken already and is being evaluated.")
    if reopen is not None:
        if research.reopens >= research.thresholds.max_reopens:
            return refuse(
                f"Exploration was reopened {research.reopens} time(s), which is all (max_reopens): state the hole "
                "under a heading 'Gaps'."
            )
        if not may_reopen(research, at):
            return refuse("Exploration ended on a bound and stays ended: state the hole under a heading 'Gaps'.")
        question_id, why = reopen
        decision = decide_reopen(research, question_id, why, at=at)
        if not isinstance(decision, Accepted):
            return decision
        happened: list[ev.Event] = [ev.AttemptClosed(at=at, reason="reopened"), *decision.events]
        happened.append(ev.PhaseChanged(at=at, phase="exploration", reason="reopened", detail=one_line(why)))
        return Accepted(tuple(happened), f"exploration goes on with {question_id}")
    if research.turn.detail.startswith("section") and next_section(research):
        wrong = section_faults(research, report)
        if wrong:
            return refuse(*wrong)
        written = ev.ReportPartWritten(at=at, text=strip_bibliography(report))
        return Accepted((written,), f"{research.turn.detail} is taken")
    if research.turn.detail == "summary":
        report = composed(report, research.report.parts)
    missing = finalization_gate(research, report)
    if missing:
        return refuse(*missing)
    text = strip_bibliography(report)
    cited = tuple(c.id for c in cited_claims(research, text))
    drafted = ev.ReportDrafted(at=at, text=text)
    ended = ev.AttemptEnded(at=at, outcome="finalized", claim_ids=cited)
    return Accepted((drafted, ended), "the report is taken and is being evaluated")


def decide_abort(research: Research, reason: str, *, at: datetime) -> Decision:
    """The model gives up exploring: recorded, never success; the report is written from what there is (R11, D54)."""
    if not reason.strip():
        return refuse("Say in reason why the research cannot go on.")
    happened: list[ev.Event] = [ev.AbortRecorded(at=at, reason=one_line(reason))]
    if research.phase == "exploration":
        if research.attempt is not None and not research.attempt.ended:
            happened.append(ev.AttemptEnded(at=at, outcome="finished", why=one_line(reason)))
        happened += conclude_exploration(research, "aborted", at=at, detail=one_line(reason))
    return Accepted(tuple(happened), "recorded; the report is written from what there is")


def decide_escalate(research: Research, reason: str, *, at: datetime) -> Decision:
    """A request for a larger budget where no person can be asked: refused and recorded (R11)."""
    if not reason.strip():
        return refuse("Say in reason what the budget is needed for.")
    return Accepted(
        (ev.BudgetAsked(at=at, reason=one_line(reason), granted=False),),
        "No one can be asked here: the budget stays as the user set it. Work within it.",
    )
