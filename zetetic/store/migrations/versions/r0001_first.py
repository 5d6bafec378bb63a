"""The tables of the first databases. They are found there and not made: a new database gets today's."""

from __future__ import annotations

from alembic.operations import Operations

revision = "0001"
down_revision = None


def upgrade(op: Operations) -> None:
    """Nothing to do: no database is older."""
