"""The kinds of columns and references (D49).

Nothing here is SQLite's own: text, numbers and booleans, JSON and times as text. Foreign keys are checked at the
commit, so the order in which one command's rows are written does not matter.
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
from sqlalchemy.types import TypeDecorator

metadata = MetaData()


class Moment(TypeDecorator[datetime]):
    """A time as ISO 8601 text in UTC with microseconds, so that it sorts as text. A naive time is taken for UTC."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """The text of a time."""
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The time of a text."""
        return None if value is None else datetime.fromisoformat(value)


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
