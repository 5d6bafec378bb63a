"""What an event changes in the tables people query (D15, D49): one function a kind, rows as values, no database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zetetic.state import events as ev
from zetetic.state.evolve import evolve
from zetetic.state.research import Research
from zetetic.state.values import ROOT, Claim, Question

from . import schema
from .current import challenge_row, claim_row, evidence_row, query_row, question_row, run_row, source_row
from .rows import Change, Changed, Gone, New

TOUCHES_NOTES = (
    ev.RunOpened,
    ev.QuestionAdded,
    ev.QuestionMoved,
    ev.QuestionRewritten,
    ev.QuestionAnswered,
    ev.AttemptEvaluated,
    ev.SourceRegistered,
    ev.SourceNoted,
    ev.ClaimRecorded,
    ev.EvidenceAdded,
    ev.ClaimMoved,
    ev.ClaimAmended,
    ev.ClaimsLinked,
    ev.GapNoted,
    ev.ScratchWritten,
    ev.ConclusionStated,
    ev.ConclusionExplained,
    ev.PhaseChanged,
)
"""Events after which the notes may read differently; whether they do is found by comparing."""


def moved_questions(happened: Iterable[ev.Event]) -> set[str]:
    """The questions that get transition rows."""
    named: set[str] = set()
    for event in happened:
        match event:
            case ev.RunOpened():
                named.add(ROOT)
            case ev.QuestionAdded():
                named.add(event.question.id)
            case ev.QuestionMoved():
                named.add(event.question_id)
            case _:
                pass
    return named


def project(before: Research, happened: Iterable[ev.Event], moves: Mapping[str, int]) -> tuple[Research, list[Change]]:
    """The research after the events, and what they change in the tables.

    `moves` counts the transition rows that each of `moved_questions` has so far.
    """
    counted = dict(moves)
    changes: list[Change] = []
    after = before
    for event in happened:
        was, after = after, evolve(after, event)
        changes += _changes(was, event, after, counted)
    if after.version > before.version:
        opened = before.version == 0
        row = run_row(after)
        changes.append(New(schema.research_runs, row) if opened else _changed_run(row))
    return after, changes


def _changed_run(row: dict[str, Any]) -> Change:
    return Changed(schema.research_runs, {"run_id": row["run_id"]}, {k: v for k, v in row.items() if k != "run_id"})


def _changes(was: Research, e: ev.Event, r: Research, moves: dict[str, int]) -> list[Change]:
    match e:
        case ev.RunOpened():
            root = r.questions[ROOT]
            creation = _transition(r, e, root, moves, trigger="created", actor="code", reason="the objective")
            return [New(schema.frontier_questions, question_row(r, root)), creation]
        case ev.StateRecorded():
            return [_state(r, e)]
        case ev.QuestionAdded():
            row = New(schema.frontier_questions, question_row(r, e.question))
            given = {"actor": e.actor, "reason": e.reason, "caused_by": e.caused_by}
            return [row, _transition(r, e, e.question, moves, trigger="created", **given)]
        case ev.QuestionMoved():
            return _moved(r, e, moves)
        case ev.QuestionRewritten() | ev.QuestionAnswered():
            return _question(r, e.question_id)
        case ev.AttemptEvaluated():
            return _question(r, e.evaluation.question_id) if e.evaluation.kind == "question" else []
        case ev.DependencyAdded():
            return _dependency_added(was, e, r)
        case ev.DependencyDropped():
            return _dependency_dropped(was, e)
        case ev.QueryLogged():
            return [_attempt(r, e)]
        case ev.SourceRegistered():
            return [New(schema.sources, source_row(r, e.source.id))]
        case ev.SourceNoted():
            key = {"run_id": r.run_id, "id": e.source_id}
            return [Changed(schema.sources, key, {"note": e.note})] if e.source_id in r.sources else []
        case ev.ClaimRecorded():
            return _claim_recorded(r, e)
        case ev.EvidenceAdded():
            claim = r.claims.get(e.claim_id)
            return [] if claim is None else [_evidence(r, e, claim, len(claim.evidence)), _claim(r, e, claim)]
        case ev.ClaimMoved() | ev.ClaimAmended():
            claim = r.claims.get(e.claim_id)
            return [] if claim is None else [_claim(r, e, claim)]
        case ev.ClaimsLinked():
            return _linked(was, e, r)
        case ev.ChallengeRegistered():
            return [New(schema.challenges, challenge_row(r, e.challenge.id))]
        case ev.ChallengeExecuted():
            return _challenge(r, e.challenge_id)
        case ev.ChallengeClosed():
            return _challenge_closed(was, e, r)
        case _:
            return []


def _transition(r: Research, e: ev.Event, question: Question, moves: dict[str, int], **row: str) -> Change:
    """A row of the transition log; the first of a question has no status before (D15)."""
    moves[question.id] = moves.get(question.id, 0) + 1
    values: dict[str, Any] = {
        "run_id": r.run_id,
        "question_id": question.id,
        "seq": moves[question.id],
        "from_status": "",
        "to_status": question.status,
        "priority": question.priority,
        "attempts": question.attempts,
        "caused_by": "",
        "state_seq": r.turn.seq,
        "event_seq": r.version,
        "created_at": e.at,
    }
    return New(schema.frontier_transitions, values | row)


def _moved(r: Research, e: ev.QuestionMoved, moves: dict[str, int]) -> list[Change]:
    question = r.questions.get(e.question_id)
    if question is None:
        return []
    row = _transition(
        r,
        e,
        question.model_copy(update={"attempts": e.attempts}),
        moves,
        from_status=e.from_status,
        trigger=e.trigger,
        actor=e.actor,
        reason=e.reason,
        caused_by=e.caused_by,
    )
    return [row, *_question(r, e.question_id)]


def _question(r: Research, question_id: str) -> list[Change]:
    question = r.questions.get(question_id)
    if question is None:
        return []
    row = question_row(r, question)
    key = {"run_id": row.pop("run_id"), "id": row.pop("id")}
    return [Changed(schema.frontier_questions, key, row)]


def _dependency(r: Research, question_id: str, depends_on_id: str) -> dict[str, str]:
    return {"run_id": r.run_id, "question_id": question_id, "depends_on_id": depends_on_id}


def _dependency_added(was: Research, e: ev.DependencyAdded, r: Research) -> list[Change]:
    if e.depends_on_id in was.dependencies.get(e.question_id, ()):
        return []
    row = _dependency(r, e.question_id, e.depends_on_id)
    return [New(schema.frontier_deps, {**row, "created_at": e.at})]


def _dependency_dropped(was: Research, e: ev.DependencyDropped) -> list[Change]:
    if e.depends_on_id not in was.dependencies.get(e.question_id, ()):
        return []
    return [Gone(schema.frontier_deps, _dependency(was, e.question_id, e.depends_on_id))]


def _state(r: Research, e: ev.StateRecorded) -> Change:
    row = {
        "run_id": r.run_id,
        "seq": e.seq,
        "state": e.stage,
        "question_id": e.question_id,
        "detail": e.detail,
        "forced_tool": e.forced_tool,
        "is_turn": e.is_turn,
        "created_at": e.at,
    }
    return New(schema.research_states, row)


def _attempt(r: Research, e: ev.QueryLogged) -> Change:
    return New(schema.frontier_attempts, query_row(r, e.record))


def _claim_recorded(r: Research, e: ev.ClaimRecorded) -> list[Change]:
    claim = e.claim
    changes: list[Change] = [New(schema.claims, claim_row(r, claim, e))]
    changes += [_evidence(r, e, claim, seq) for seq in range(1, len(claim.evidence) + 1)]
    changes += [_link(r, e, claim.id, other, "supports") for other in dict.fromkeys(claim.supports)]
    return changes


def _claim(r: Research, e: ev.Event, claim: Claim) -> Change:
    row = claim_row(r, claim, e)
    del row["created_at"]
    key = {"run_id": row.pop("run_id"), "id": row.pop("id")}
    return Changed(schema.claims, key, row)


def _evidence(r: Research, e: ev.Event, claim: Claim, seq: int) -> Change:
    return New(schema.claim_sources, evidence_row(r, claim, seq, e))


def _linked(was: Research, e: ev.ClaimsLinked, r: Research) -> list[Change]:
    if e.relation == "supports":
        known = was.claims.get(e.claim_id)
        if known is None or e.other_id in known.supports:
            return []
        return [_link(r, e, e.claim_id, e.other_id, "supports", e.question_id, e.why)]
    again = r.contradictions[-1] in was.contradictions
    return [] if again else [_link(r, e, e.claim_id, e.other_id, "contradicts", e.question_id, e.why)]


def _link(
    r: Research, e: ev.Event, claim_id: str, other_id: str, relation: str, question_id: str = "", why: str = ""
) -> Change:
    row = {
        "run_id": r.run_id,
        "claim_id": claim_id,
        "other_id": other_id,
        "relation": relation,
        "question_id": question_id,
        "why": why,
        "created_at": e.at,
    }
    return New(schema.claim_links, row)


def _challenge(r: Research, challenge_id: str) -> list[Change]:
    if challenge_id not in r.challenges:
        return []
    row = challenge_row(r, challenge_id)
    del row["closed_at"]
    key = {"run_id": row.pop("run_id"), "id": row.pop("id")}
    return [Changed(schema.challenges, key, row)]


def _challenge_closed(was: Research, e: ev.ChallengeClosed, r: Research) -> list[Change]:
    changes = _challenge(r, e.challenge_id)
    if not changes:
        return []
    key = {"run_id": r.run_id, "id": e.challenge_id}
    changes.append(Changed(schema.challenges, key, {"closed_at": e.at}))
    cited = {"run_id": r.run_id, "challenge_id": e.challenge_id}
    before = was.challenges[e.challenge_id].source_ids
    changes += [Gone(schema.challenge_sources, {**cited, "source_id": name}) for name in dict.fromkeys(before)]
    changes += [New(schema.challenge_sources, {**cited, "source_id": name}) for name in dict.fromkeys(e.source_ids)]
    return changes
