"""Tool calls that are decisions on the research, or views of it (D25, D27, D35, D41)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from zetetic.state import answers, challenges, claims, frontier_commands, runs
from zetetic.state.decision import Accepted, Decide, Decision, in_turn, refuse
from zetetic.state.frontier import expansion_due
from zetetic.state.notes import notes_of, render_notes
from zetetic.state.research import Research
from zetetic.state.turns import allowed_tools

from . import schemas as s
from .text import challenge_lines, neutral, view_question, view_questions


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call to decide on. `pages` are the stored texts of the sources it may quote."""

    args: Any
    at: datetime
    question_id: str
    pages: Mapping[str, str] = field(default_factory=dict)


def _append(r: Research, call: Call) -> Decision:
    args: s.NotesAppend = call.args
    entries = [
        claims.Entry(kind="claim", text=c.text, quote=c.quote, source_id=c.source_id, question_id=c.question_id)
        for c in args.claims
    ]
    entries += [
        claims.Entry(
            kind="datapoint",
            value=d.value,
            unit=d.unit,
            context=d.context,
            quote=d.quote,
            source_id=d.source_id,
            question_id=d.question_id,
        )
        for d in args.datapoints
    ]
    return claims.decide_append(
        r,
        entries,
        args.gaps,
        args.nothing_relevant,
        pages=call.pages,
        question_id=call.question_id,
        at=call.at,
    )


def _update(r: Research, call: Call) -> Decision:
    args: s.NotesUpdate = call.args
    steps: list[Decide] = []
    if (added := args.add_source) is not None:
        steps.append(
            lambda now: claims.decide_add_source(
                now,
                args.id,
                added.source_id,
                added.stance,
                added.quote,
                added.independence,
                pages=call.pages,
                at=call.at,
            )
        )
    if (link := args.link) is not None:
        steps.append(lambda now: claims.decide_link(now, args.id, link.relation, link.claim_id, at=call.at))
    if (amend := args.amend) is not None:
        steps.append(lambda now: claims.decide_amend(now, args.id, amend.text, amend.why, at=call.at))
    if (status := args.status) != "":
        steps.append(lambda now: claims.decide_set_status(now, args.id, status, args.why, at=call.at))
    if args.retract.strip():
        steps.append(lambda now: claims.decide_retract(now, args.id, args.retract, at=call.at))
    if not steps:
        return refuse("Say what to change: status, add_source, amend, retract or link.")
    return in_turn(r, *steps)


def _challenge(r: Research, call: Call) -> Decision:
    args: s.ChallengeArgs = call.args
    return challenges.decide_challenge(
        r,
        target_type=args.target_type,
        target_id=args.target_id,
        target_text=args.target_text,
        negation=args.negation,
        strategy=args.strategy,
        expected_if_false=args.expected_if_false,
        query=args.query,
        question_id=challenges.where_logged(r),
        at=call.at,
    )


def _record(r: Research, call: Call) -> Decision:
    a: s.RecordResult = call.args
    return challenges.decide_record_result(
        r, a.challenge_id, a.outcome, a.evidence, a.source_ids, a.result_claim_id, a.amended_text, at=call.at
    )


def _next(r: Research, call: Call) -> Decision:
    if call.args.atomic_reason.strip():
        return frontier_commands.decide_atomic(r, call.args.atomic_reason, at=call.at)
    if r.current is not None:
        return frontier_commands.decide_select(r, at=call.at)
    if expansion_due(r):
        return frontier_commands.decide_select(r, at=call.at)
    return Accepted((), "The next question is selected at the start of the next turn.")


def _add(r: Research, call: Call) -> Decision:
    given = call.args.model_dump()
    return frontier_commands.decide_add_question(r, **given, at=call.at)


def _resolve(r: Research, call: Call) -> Decision:
    a: s.ResolveQuestion = call.args
    return answers.decide_resolve(
        r,
        a.id,
        a.answer,
        a.claim_ids,
        why_unverified=a.why_unverified,
        why_unchallenged=a.why_unchallenged,
        why_no_refuting=a.why_no_refuting,
        at=call.at,
    )


def _finalize(r: Research, call: Call) -> Decision:
    a: s.FinalizeReport = call.args
    reopen = (a.reopen.question_id, a.reopen.why) if a.reopen is not None else None
    return runs.decide_finalize(r, a.report, reopen, at=call.at)


def _view(r: Research, call: Call) -> Decision:
    a: s.FrontierView = call.args
    if a.id:
        if a.id not in r.questions:
            return refuse(frontier_commands.unknown_question(r, a.id))
        return Accepted((), view_question(r, a.id))
    return Accepted((), view_questions(r, a.status))


def _challenges(r: Research, call: Call) -> Decision:
    a: s.ChallengesView = call.args
    found = [
        c.id
        for c in r.challenges.values()
        if (not a.target_id or c.target_id == a.target_id) and (not a.status or c.status == a.status)
    ]
    return Accepted((), "\n".join(challenge_lines(r, found[-30:])) or "none")


DECISIONS: dict[str, Callable[[Research, Call], Decision]] = {
    "frontier_next": _next,
    "frontier_view": _view,
    "add_question": _add,
    "retry_question": lambda r, c: answers.decide_retry(
        r, c.args.id, c.args.new_query, c.args.why, c.args.assumption, at=c.at
    ),
    "resolve_question": _resolve,
    "reopen_question": lambda r, c: frontier_commands.decide_reopen(
        r, c.args.id, c.args.why, priority=c.args.priority, at=c.at
    ),
    "set_priority": lambda r, c: frontier_commands.decide_set_priority(
        r, c.args.id, c.args.priority, c.args.why, at=c.at
    ),
    "prune_branch": lambda r, c: frontier_commands.decide_prune(r, c.args.id, c.args.reason, at=c.at),
    "rewrite_question": lambda r, c: frontier_commands.decide_rewrite(
        r, c.args.id, c.args.question, c.args.validation_criteria, c.args.why, at=c.at
    ),
    "drop_dependency": lambda r, c: frontier_commands.decide_drop_dependency(
        r, c.args.id, c.args.depends_on_id, c.args.why, at=c.at
    ),
    "notes_append": _append,
    "notes_update": _update,
    "notes_scratch": lambda r, c: claims.decide_scratch(
        r, c.args.text, c.args.conclusion, replace=r.turn.stage == "consolidating", at=c.at
    ),
    "notes_read": lambda r, c: Accepted((), render_notes(notes_of(r))),
    "challenge": _challenge,
    "record_challenge_result": _record,
    "challenges_view": _challenges,
    "set_criteria": lambda r, c: frontier_commands.decide_set_criteria(r, c.args.criteria, at=c.at),
    "finish_exploration": lambda r, c: runs.decide_finish(r, c.args.why, at=c.at),
    "finalize_report": _finalize,
    "escalate_budget": lambda r, c: runs.decide_escalate(r, c.args.reason, at=c.at),
    "abort": lambda r, c: runs.decide_abort(r, c.args.reason, at=c.at),
}


def decide_call(research: Research, name: str, call: Call) -> Decision:
    """The decision for one call, refused where the stage does not allow the tool (D30, D41)."""
    if research.status != "running":
        return refuse(f"The run is {research.status}.")
    allowed = allowed_tools(research)
    if name not in allowed:
        return refuse(f"{name} is not allowed while {research.turn.stage}; allowed now: {', '.join(sorted(allowed))}.")
    if research.attempt is not None and research.attempt.ended:
        return refuse("The attempt has ended and is being evaluated; nothing more is done in this turn.")
    decision = DECISIONS[name](research, call)
    if isinstance(decision, Accepted):  # what is told may hold the words of a page
        return replace(decision, message=neutral(decision.message))
    return refuse(*map(neutral, decision.missing))


def quoted_sources(args: Any) -> tuple[str, ...]:
    """The sources whose texts a call's quotes must stand in."""
    if isinstance(args, s.NotesAppend):
        return tuple(dict.fromkeys([*(c.source_id for c in args.claims), *(d.source_id for d in args.datapoints)]))
    if isinstance(args, s.NotesUpdate) and args.add_source is not None:
        return (args.add_source.source_id,)
    return ()
