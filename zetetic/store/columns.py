"""The kinds of columns and references (D49).

The same on SQLite and PostgreSQL, but for times, which PostgreSQL has a type for. JSON is text on both: what is folded
must come back byte for byte (a query in PostgreSQL says `claim_ids::jsonb`). Foreign keys are checked at the commit, so
the order in which one command's rows are written does not matter.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    Float,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    String,
    Text,
)
from sqlalchemy.types import TIMESTAMP, TypeDecorator, TypeEngine

metadata = MetaData()


class Moment(TypeDecorator[datetime]):
    """A time in UTC, a naive one taken for UTC: on PostgreSQL `timestamptz`, on SQLite ISO 8601 text with
    microseconds, which sorts as text."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column's type."""
        return dialect.type_descriptor(TIMESTAMP(timezone=True) if dialect.name == "postgresql" else String())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """A time as the database takes it."""
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware if dialect.name == "postgresql" else aware.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The time that the database gives."""
        if value is None:
            return None
        return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromisoformat(value)


def text(name: str, *, key: bool = False, filled: bool = False) -> Column[str]:
    """Text that is never null; `filled`: nor empty."""
    checks = [CheckConstraint(f"{name} <> ''")] if filled else []
    return Column(name, Text, *checks, nullable=False, primary_key=key)


def count(name: str, *, key: bool = False, least: int = 0) -> Column[int]:
    """A number of things, at least `least`."""
    kind = Integer if key else BigInteger
    return Column(
        name, kind, CheckConstraint(f"{name} >= {least}"), nullable=False, primary_key=key, autoincrement=False
    )


def money(name: str) -> Column[float]:
    """US dollars."""
    return Column(name, Float, nullable=False)


def moment(name: str, *, nullable: bool = False) -> Column[datetime]:
    """A time."""
    return Column(name, Moment, nullable=nullable)


def one_of(name: str, vocabulary: Any, *, empty: bool = False) -> Column[str]:
    """A word of a closed vocabulary of the core."""
    allowed = [*(("",) if empty else ()), *get_args(vocabulary)]
    quoted = ", ".join(f"'{word}'" for word in allowed)
    return Column(name, Text, CheckConstraint(f"{name} IN ({quoted})"), nullable=False)


def share(name: str) -> Column[float]:
    """A number from 0 to 1."""
    return Column(name, Float, CheckConstraint(f"{name} >= 0 AND {name} <= 1"), nullable=False)


def within(table: str, *columns: tuple[str, str]) -> ForeignKeyConstraint:
    """A reference within a run: goes with what it refers to."""
    pairs = (("run_id", "run_id"), *columns)
    return ForeignKeyConstraint(
        [here for here, _ in pairs],
        [f"{table}.{there}" for _, there in pairs],
        ondelete="CASCADE",
        deferrable=True,
        initially="DEFERRED",
    )


def of_run() -> ForeignKeyConstraint:
    """A reference to the run."""
    return within("research_runs")


def run_id() -> Column[str]:
    """The run as part of the key."""
    return text("run_id", key=True)
