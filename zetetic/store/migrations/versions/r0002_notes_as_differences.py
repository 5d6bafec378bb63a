"""A version of the notes may be kept as what changed since the one before; all that were kept so far are whole."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, true

revision = "0002"
down_revision = "0001"


def upgrade(op: Operations) -> None:
    """Adds the mark that tells a whole text from a difference."""
    op.add_column("notes_versions", Column("whole", Boolean, nullable=False, server_default=true()))
