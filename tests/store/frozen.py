"""The tables of each version as they were, frozen: `python -m store.frozen` (in tests/) writes those of this version.

A released version's files are never changed. PostgreSQL came with version 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import create_mock_engine

from zetetic.store import storage
from zetetic.store.columns import metadata

FOLDER = Path(__file__).parent / "schemas"
DRIVERS = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}


def path(version: int, dialect: str) -> Path:
    """The file of a version."""
    return FOLDER / f"{version}.{dialect}.sql"


def versions(dialect: str) -> list[int]:
    """The versions that are frozen."""
    return sorted(int(found.name.partition(".")[0]) for found in FOLDER.glob(f"*.{dialect}.sql"))


def statements(version: int, dialect: str) -> list[str]:
    """What makes the tables of a version."""
    return [part.strip() for part in path(version, dialect).read_text(encoding="utf-8").split(";\n") if part.strip()]


def current(dialect: str) -> str:
    """The tables as this version makes them."""
    made: list[str] = []

    def note(statement: Any, *_: Any, **__: Any) -> None:
        lines = str(statement.compile(dialect=engine.dialect)).strip().splitlines()
        made.append("\n".join(line.rstrip() for line in lines) + ";\n")

    engine = create_mock_engine(DRIVERS[dialect], note)
    metadata.create_all(engine, checkfirst=False)
    return "\n".join(made)


if __name__ == "__main__":
    for name in DRIVERS:
        path(storage.VERSION, name).write_text(current(name), encoding="utf-8")
