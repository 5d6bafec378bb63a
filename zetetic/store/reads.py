"""Rows of the projection as values: what is listed and shown (D15, D50)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import Connection, select

from .schema import frontier_transitions, research_runs, research_states


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list. `usd` is what its recorded calls cost so far (US dollars)."""

    run_id: str
    objective: str
    status: str
    phase: str
    stop_reason: str
    turns: int
    usd: float
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """A change of a question's status or priority (D15). `from_status` is empty at its creation."""

    question_id: str
    seq: int
    from_status: str
    to_status: str
    trigger: str
    actor: str
    reason: str
    priority: float
    attempts: int
    caused_by: str
    state_seq: int
    event_seq: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StateRow:
    """A recorded state: a turn, or a challenge (D50)."""

    seq: int
    state: str
    question_id: str
    detail: str
    created_at: datetime


def runs(connection: Connection) -> list[RunRow]:
    """All runs, the newest first."""
    columns = [research_runs.c[field.name] for field in fields(RunRow)]
    newest_first = select(*columns).order_by(research_runs.c.created_at.desc(), research_runs.c.run_id)
    return [RunRow(**row._mapping) for row in connection.execute(newest_first)]


def transitions(connection: Connection, run_id: str, question_id: str | None) -> list[TransitionRow]:
    """The transition log of a run, or of one question, in the order of the events."""
    table = frontier_transitions
    columns = [table.c[field.name] for field in fields(TransitionRow)]
    found = select(*columns).where(table.c.run_id == run_id).order_by(table.c.event_seq)
    if question_id is not None:
        found = found.where(table.c.question_id == question_id)
    return [TransitionRow(**row._mapping) for row in connection.execute(found)]


def states(connection: Connection, run_id: str) -> list[StateRow]:
    """The recorded states of a run in their order."""
    table = research_states
    columns = [table.c[field.name] for field in fields(StateRow)]
    found = select(*columns).where(table.c.run_id == run_id).order_by(table.c.seq)
    return [StateRow(**row._mapping) for row in connection.execute(found)]
