"""One live invocation a run: a lease that is renewed, released, and taken over when it has run out."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from .storage import leases


def name_of(run_id: str, worker: str = "") -> str:
    """The name of a run's lease, or of a worker's beside it (D51)."""
    return f"{run_id}/{worker}" if worker else run_id


def acquire(connection: Connection, run_id: str, owner: str, until: datetime, now: datetime) -> bool:
    """Takes the lease if nobody else holds it."""
    held = _held(connection, run_id)
    if held is None:
        connection.execute(insert(leases).values(run_id=run_id, owner=owner, until=until))
        return True
    holder, held_until = held
    if holder != owner and held_until > now:
        return False
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(owner=owner, until=until))
    return True


def holder(connection: Connection, run_id: str, now: datetime | None) -> str | None:
    """The owner on record; with a time, only of a lease that has not run out then."""
    held = _held(connection, run_id)
    return None if held is None or (now is not None and held[1] <= now) else held[0]


def renew(connection: Connection, run_id: str, owner: str, until: datetime) -> bool:
    """Prolongs the lease; False when another has it or nobody does."""
    held = _held(connection, run_id)
    if held is None or held[0] != owner:
        return False
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(until=until))
    return True


def release(connection: Connection, run_id: str, owner: str) -> bool:
    """Gives the lease back; False when another has it or nobody does."""
    gone = delete(leases).where(leases.c.run_id == run_id, leases.c.owner == owner)
    return bool(connection.execute(gone).rowcount)


def _held(connection: Connection, run_id: str) -> tuple[str, datetime] | None:
    found = select(leases.c.owner, leases.c.until).where(leases.c.run_id == run_id)
    row = connection.execute(found).one_or_none()
    return None if row is None else (row.owner, row.until)


def end(now: datetime, seconds: float) -> datetime:
    """When a lease of some seconds runs out."""
    return now + timedelta(seconds=seconds)
