"""A version of the notes may be kept as what changed since the one before; all that were kept so far are whole. A
question in progress names the lease that keeps it."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, Text, true

revision = "0002"
down_revision = "0001"


def upgrade(op: Operations) -> None:
    """Adds the mark that tells a whole text from a difference, and the name of a lease."""
    op.add_column("notes_versions", Column("whole", Boolean, nullable=False, server_default=true()))
    op.add_column("frontier_questions", Column("lease", Text, nullable=False, server_default=""))
