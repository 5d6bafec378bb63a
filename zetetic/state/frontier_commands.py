"""Decisions on the frontier: select, add, reprioritize, prune, rewrite, reopen (D7 to D25)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from . import events as ev
from .breakers import attempt_affordable
from .decision import Accepted, Decision, refuse
from .frontier import expansion_due, failed_dependencies, question_line, reaches, select_next
from .research import Research, next_id
from .values import ROOT, TERMINAL, Actor, Question, QuestionKind, QuestionStatus, Trigger
from .wording import alike, differ_in_kind, one_line

MIN_CRITERIA = 3
MAX_CRITERIA = 5
"""How many criteria one clarifying step sets (R4)."""


def moved(
    question: Question,
    to_status: QuestionStatus,
    trigger: Trigger,
    actor: Actor,
    at: datetime,
    *,
    reason: str = "",
    caused_by: str = "",
    priority: float | None = None,
    worker: str = "",
) -> ev.QuestionMoved:
    """One transition row of a question (D15)."""
    return ev.QuestionMoved(
        at=at,
        question_id=question.id,
        from_status=question.status,
        to_status=to_status,
        trigger=trigger,
        actor=actor,
        reason=reason,
        priority=question.priority if priority is None else priority,
        attempts=question.attempts,
        caused_by=caused_by,
        worker=worker,
    )


def returned(
    research: Research,
    question: Question,
    trigger: Trigger,
    actor: Actor,
    at: datetime,
    *,
    reason: str = "",
    caused_by: str = "",
    priority: float | None = None,
) -> tuple[ev.QuestionMoved, ...]:
    """A question goes back to the queue; one that waits on a pruned question is blocked at once (D11)."""
    back = moved(question, "pending", trigger, actor, at, reason=reason, caused_by=caused_by, priority=priority)
    failed = failed_dependencies(research, question.id)
    if not failed:
        return (back,)
    waiting = question.model_copy(update={"status": "pending", "priority": back.priority})
    return back, moved(waiting, "blocked", "dependency_failed", "code", at, caused_by=failed[0])


def start_attempt(
    research: Research, kind: Literal["question", "report"], question_id: str, *, at: datetime
) -> tuple[ev.Event, ...]:
    """An attempt begins, and the directives that wait reach it, in order (A24, A26)."""
    number = research.attempts + 1
    delivered = [
        ev.DirectiveDelivered(at=at, number=directive.number, attempt=number)
        for directive in research.directives
        if not directive.delivered_in
    ]
    return (*delivered, ev.AttemptStarted(at=at, number=number, kind=kind, question_id=question_id))


def unknown_question(research: Research, question_id: str) -> str:
    """The sentence for an id that names no question."""
    known = ", ".join(list(research.questions)[-8:])
    return f"There is no question {question_id!r}; the latest are {known}."


def decide_select(research: Research, *, at: datetime, worker: str = "", actor: Actor = "code") -> Decision:
    """Takes the next question into progress, and its attempt begins (D14, D16, D24, A27)."""
    if research.current is not None:
        return Accepted((), question_line(research, research.current))
    if research.attempt is not None:
        return refuse("The report is being written: no question is selected.")
    if expansion_due(research):
        return refuse(
            "The objective has no sub-question yet: add three to eight with add_question, "
            "or call frontier_next with atomic_reason if it is a single question."
        )
    busy = sum(q.status == "in_progress" for q in research.questions.values())
    if busy >= research.thresholds.max_parallel:
        return refuse(f"{busy} questions are in progress, which is all that max_parallel allows.")
    question = select_next(research)
    if question is None:
        return refuse("No question is actionable: unblock or add one, or conclude with finish_exploration.")
    if not attempt_affordable(research, at):
        return refuse("What is left of the budget does not cover an attempt and its evaluation.")
    event = moved(question, "in_progress", "selected", actor, at, worker=worker)
    started = start_attempt(research, "question", question.id, at=at)
    return Accepted((event, *started), f"selected {question_line(research, question)}")


def decide_atomic(research: Research, reason: str, *, at: datetime, actor: Actor = "agent") -> Decision:
    """Declares that the objective is one question that needs no expansion (D24)."""
    if not reason.strip():
        return refuse("Say in atomic_reason why the objective needs no sub-questions.")
    if not expansion_due(research):
        return Accepted((), "The objective is expanded already.")
    return Accepted((ev.AtomicDeclared(at=at, reason=reason.strip(), actor=actor),), "The objective is one question.")


def decide_set_criteria(
    research: Research, criteria: Sequence[str], *, at: datetime, actor: Actor = "agent"
) -> Decision:
    """Sets the run's criteria where the user gave none (R4)."""
    cleaned = tuple(dict.fromkeys(one_line(c) for c in criteria if c.strip()))
    if research.criteria:
        return refuse("The criteria are set already and stand for the whole run.")
    if not MIN_CRITERIA <= len(cleaned) <= MAX_CRITERIA:
        return refuse(f"{len(cleaned)} criteria were given: give three to five, each binary and observable.")
    return Accepted((ev.CriteriaSet(at=at, criteria=cleaned, actor=actor),), f"{len(cleaned)} criteria set.")


def decide_add_question(
    research: Research,
    *,
    parent_id: str,
    question: str,
    rationale: str,
    priority: float,
    validation_criteria: str,
    target_sources: Sequence[str] = (),
    depends_on: Sequence[str] = (),
    kind: QuestionKind = "question",
    blocks_current: bool = False,
    at: datetime,
    actor: Actor = "agent",
) -> Decision:
    """Adds a child question (D8, D9, D12, D19)."""
    missing: list[str] = []
    t = research.thresholds
    parent = research.questions.get(parent_id)
    if parent is None:
        missing.append(unknown_question(research, parent_id))
    elif parent.status == "pruned":
        missing.append(f"{parent_id} is pruned: add the question to another parent.")
    elif parent.depth + 1 > t.max_depth:
        missing.append(
            f"Cut by the depth cap (max_depth {t.max_depth}): record it as an open gap with notes_append gaps instead."
        )
    text = one_line(question)
    if not text:
        missing.append("The question is empty.")
    if not validation_criteria.strip():
        missing.append("validation_criteria is empty: say what an acceptable answer must contain.")
    if not 0.0 <= priority <= 1.0:
        missing.append("priority must lie between 0 and 1.")
    if sum(q.spawned_by != "code" for q in research.questions.values()) >= t.max_questions:
        missing.append(f"The run holds max_questions ({t.max_questions}): resolve or prune one first.")
    twin = near_duplicate(research, text)
    if twin is not None:
        missing.append(f"{twin.id} asks nearly the same: {one_line(twin.question, 160)!r}; work on that one.")
    for needed in depends_on:
        known = research.questions.get(needed)
        if known is None:
            missing.append(unknown_question(research, needed))
        elif known.status == "pruned":
            missing.append(f"{needed} is pruned and cannot be waited for.")
        elif needed == ROOT:
            missing.append("The objective is answered last and cannot be waited for.")
    current = research.current
    if blocks_current:
        if current is None:
            missing.append("blocks_current needs a question in progress.")
        elif research.attempt is not None and research.attempt.ended:
            missing.append(f"The attempt at {current.id} has ended and is being evaluated.")
        elif any(reaches(research, needed, current.id) for needed in depends_on):
            missing.append(f"That would be a cycle: {current.id} would wait on itself.")
    if missing:
        return refuse(*missing)
    assert parent is not None
    if blocks_current and current is not None:
        floor = t.gate_priority if current.id == ROOT else current.priority
        priority = max(priority, floor)
    child = Question(
        id=next_id("q", research.questions),
        parent_id=parent_id,
        depth=parent.depth + 1,
        kind=kind,
        question=text,
        rationale=one_line(rationale),
        priority=priority,
        validation_criteria=one_line(validation_criteria),
        target_sources=tuple(one_line(s) for s in target_sources if s.strip()),
        spawned_by=actor,
        created_at=at,
        updated_at=at,
    )
    happened: list[ev.Event] = [ev.QuestionAdded(at=at, question=child, actor=actor, reason=child.rationale)]
    happened += [ev.DependencyAdded(at=at, question_id=child.id, depends_on_id=d) for d in dict.fromkeys(depends_on)]
    message = f"added [{child.id}] (P {child.priority:.2f}, depth {child.depth})"
    if blocks_current and current is not None:
        happened += [
            ev.DependencyAdded(at=at, question_id=current.id, depends_on_id=child.id),
            ev.AttemptClosed(at=at, reason="dependency_added"),
            *returned(research, current, "dependency_added", "agent", at, caused_by=child.id),
        ]
        message += f"; {current.id} waits on it"
    return Accepted(tuple(happened), message)


def near_duplicate(research: Research, text: str, besides: str = "") -> Question | None:
    """A question, not pruned, that is worded nearly the same (D19)."""
    limit = research.thresholds.near_duplicate_question
    for question in research.questions.values():
        if (
            question.status != "pruned"
            and question.id not in (besides, ROOT)
            and alike(question.question, text) >= limit
            and not differ_in_kind(question.question, text)
        ):
            return question
    return None


def spawn_question(
    research: Research,
    text: str,
    criteria: str,
    pair: tuple[str, ...],
    *,
    caused_by: str,
    at: datetime,
) -> ev.QuestionAdded:
    """The high-priority question code puts under the root for a conflict, outside depth and number caps (D34)."""
    t = research.thresholds
    question = Question(
        id=next_id("q", research.questions),
        parent_id=ROOT,
        depth=1,
        question=one_line(text),
        rationale=f"conflict between {' and '.join(pair)}",
        priority=max(t.contradiction_priority, t.gate_priority),
        validation_criteria=one_line(criteria),
        pair=pair,
        spawned_by="code",
        created_at=at,
        updated_at=at,
    )
    return ev.QuestionAdded(at=at, question=question, actor="code", reason=question.rationale, caused_by=caused_by)


def decide_reopen(
    research: Research,
    question_id: str,
    why: str,
    *,
    priority: float | None = None,
    at: datetime,
    actor: Actor = "agent",
    caused_by: str = "",
) -> Decision:
    """Returns a closed question to the queue with raised priority (D13, D22)."""
    question = research.questions.get(question_id)
    if question is None:
        return refuse(unknown_question(research, question_id))
    missing = []
    if not why.strip():
        missing.append("Say in why what speaks against the answer.")
    if priority is not None and not 0.0 <= priority <= 1.0:
        missing.append("priority must lie between 0 and 1.")
    if question.status == "unresolvable" and actor == "agent" and not _asked_for(research, question):
        missing.append(f"{question_id} is unresolvable; only a person or a contradiction reopens it.")
    elif question.status not in ("resolved", "unresolvable"):
        missing.append(f"{question_id} is {question.status}, not closed.")
    if missing:
        return refuse(*missing)
    raised = max(question.priority, priority or 0.0, research.thresholds.gate_priority)
    trigger: Trigger = "contradiction" if actor == "code" else "reopened"
    back = returned(research, question, trigger, actor, at, reason=one_line(why), caused_by=caused_by, priority=raised)
    return Accepted(back, f"{question_id} is {back[-1].to_status} again (P {raised:.2f})")


def _asked_for(research: Research, question: Question) -> bool:
    """Whether a person's directive that was delivered names a question, by its id, since it was closed (D13, A22)."""
    named = re.compile(rf"\b{re.escape(question.id)}\b", re.IGNORECASE)
    return any(d.delivered_in and d.at >= question.updated_at and named.search(d.text) for d in research.directives)


def decide_set_priority(
    research: Research, question_id: str, priority: float, why: str, *, at: datetime, actor: Actor = "agent"
) -> Decision:
    """Changes a question's own priority; recorded as a transition from a status to itself (D15, D20)."""
    question = research.questions.get(question_id)
    if question is None:
        return refuse(unknown_question(research, question_id))
    missing = []
    if not 0.0 <= priority <= 1.0:
        missing.append("priority must lie between 0 and 1.")
    if not why.strip():
        missing.append("Say in why the priority changes.")
    if question_id == ROOT:
        missing.append("The objective's priority is fixed.")
    if question.status in TERMINAL:
        missing.append(f"{question_id} is {question.status}; reopen it first.")
    if missing:
        return refuse(*missing)
    event = moved(question, question.status, "reprioritized", actor, at, reason=one_line(why), priority=priority)
    return Accepted((event,), f"{question_id} has priority {priority:.2f}")


def decide_prune(
    research: Research,
    question_id: str,
    reason: str,
    *,
    at: datetime,
    actor: Actor = "agent",
    trigger: Trigger = "pruned_branch",
) -> Decision:
    """Drops a question and its pending and blocked descendants; what waits on them is blocked (D11, D13, D23)."""
    question = research.questions.get(question_id)
    if question is None:
        return refuse(unknown_question(research, question_id))
    missing = []
    if not reason.strip():
        missing.append("Say in reason why the branch does not matter.")
    if question_id == ROOT:
        missing.append("The objective cannot be pruned.")
    if question.status in TERMINAL:
        missing.append(f"{question_id} is {question.status} already.")
    is_current = research.current is not None and research.current.id == question_id
    if question.status == "in_progress" and not is_current:
        missing.append(f"{question_id} is being worked on elsewhere.")
    if is_current and research.attempt is not None and research.attempt.ended:
        missing.append(f"The attempt at {question_id} has ended and is being evaluated.")
    if missing:
        return refuse(*missing)
    why = one_line(reason)
    dropped = [question, *(q for q in research.descendants(question_id) if q.status in ("pending", "blocked"))]
    gone = {q.id for q in dropped}
    happened: list[ev.Event] = []
    for each in dropped:
        happened.append(ev.QuestionAnswered(at=at, question_id=each.id, answer=why))
        cause = "" if each.id == question_id else question_id
        happened.append(moved(each, "pruned", trigger, actor, at, reason=why, caused_by=cause))
    for waiting in research.questions.values():
        needs = [d for d in research.dependencies.get(waiting.id, ()) if d in gone]
        if needs and waiting.id not in gone and waiting.status == "pending":
            happened.append(moved(waiting, "blocked", "dependency_failed", "code", at, caused_by=needs[0]))
    if is_current:
        happened.append(ev.AttemptEnded(at=at, outcome="pruned", why=why))
    return Accepted(tuple(happened), f"pruned {', '.join(sorted(gone))}")


def decide_rewrite(
    research: Research,
    question_id: str,
    question: str,
    validation_criteria: str,
    why: str,
    *,
    at: datetime,
    actor: Actor = "agent",
) -> Decision:
    """Puts a question in other words; a blocked one is free of its pruned dependencies (D11, A16)."""
    old = research.questions.get(question_id)
    if old is None:
        return refuse(unknown_question(research, question_id))
    missing = []
    text = one_line(question)
    if question_id == ROOT:
        missing.append("The objective is the user's and stays as it is.")
    if old.status in TERMINAL:
        missing.append(f"{question_id} is {old.status}; reopen it first.")
    if not text or not validation_criteria.strip() or not why.strip():
        missing.append("question, validation_criteria and why must all be given.")
    twin = near_duplicate(research, text, besides=question_id)
    if text and twin is not None:
        missing.append(f"{twin.id} asks nearly the same: {one_line(twin.question, 160)!r}.")
    if missing:
        return refuse(*missing)
    happened: list[ev.Event] = [
        ev.QuestionRewritten(
            at=at,
            question_id=question_id,
            question=text,
            validation_criteria=one_line(validation_criteria),
            why=one_line(why),
        )
    ]
    if old.status == "blocked":
        happened += [
            ev.DependencyDropped(at=at, question_id=question_id, depends_on_id=d, why="rewritten")
            for d in failed_dependencies(research, question_id)
        ]
        happened.append(moved(old, "pending", "rewritten", actor, at, reason=one_line(why)))
    return Accepted(tuple(happened), f"{question_id} rewritten")


def decide_drop_dependency(
    research: Research, question_id: str, depends_on_id: str, why: str, *, at: datetime, actor: Actor = "agent"
) -> Decision:
    """Takes an edge out; a question blocked by it alone is pending again (D11)."""
    question = research.questions.get(question_id)
    if question is None:
        return refuse(unknown_question(research, question_id))
    missing = []
    if depends_on_id not in research.dependencies.get(question_id, ()):
        missing.append(f"{question_id} does not wait on {depends_on_id}.")
    if not why.strip():
        missing.append("Say in why the dependency is not needed.")
    if missing:
        return refuse(*missing)
    happened: list[ev.Event] = [
        ev.DependencyDropped(at=at, question_id=question_id, depends_on_id=depends_on_id, why=one_line(why))
    ]
    failed = failed_dependencies(research, question_id)
    if question.status == "blocked" and failed == (depends_on_id,):
        happened.append(moved(question, "pending", "dependency_met", actor, at, reason=one_line(why)))
    return Accepted(tuple(happened), f"{question_id} no longer waits on {depends_on_id}")
