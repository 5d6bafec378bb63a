"""A new run with the log of another one up to a position: what a step does that goes on from the past."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby

from sqlalchemy import Connection, bindparam, select

from zetetic.state.events import RunOpened
from zetetic.state.research import Research

from . import storage
from .errors import StoreError
from .log import Log

_BEYOND = (
    select(storage.events.c.seq)
    .where(storage.events.c.run_id == bindparam("of_run"), storage.events.c.seq > bindparam("after"))
    .where(storage.events.c.worker == bindparam("of_worker"))
    .where(storage.events.c.step_key.not_in(("", bindparam("under"))))
    .limit(1)
)


def has_gone_on(connection: Connection, run_id: str, after: int, worker: str, step_key: str) -> bool:
    """Whether a worker's log goes on beyond a position under another step than this one.

    Events without a step key, such as a person's directive or the count of a paid call, say nothing of that.
    """
    asked = {"of_run": run_id, "after": after, "of_worker": worker, "under": step_key}
    return connection.execute(_BEYOND, asked).first() is not None


def fork(connection: Connection, log: Log, run_id: str, at: int, new_id: str) -> Research:
    """The run `new_id` with the events of `run_id` up to `at`; as it stands where it was forked before.

    Raises StoreError where there is no such run or position.
    """
    if log.head(connection, new_id):
        return log.at_head(connection, new_id)
    head = log.head(connection, run_id)
    if not 1 <= at <= head:
        raise StoreError(f"Run {run_id} has {head} events; there is no position {at} to go on from.")
    entries = log.entries(connection, run_id, 0, at)
    after, now = Research(), datetime.now(UTC)
    for worker, group in groupby(entries, key=lambda entry: entry.worker):
        events = [
            e.event.model_copy(update={"run_id": new_id, "forked_from": f"{run_id}@{at}", "forked_at": now})
            if isinstance(e.event, RunOpened)
            else e.event
            for e in group
        ]
        after, _ = log.append(connection, new_id, after, events, worker=worker)
    return after
