from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zetetic.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store's promises hold on both back ends: a file that is not there yet, or an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "home" / "zetetic.db")
    return str(request.getfixturevalue("postgres_address"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is not there yet, for what is about SQLite alone."""
    return tmp_path / "home" / "zetetic.db"


@pytest.fixture
async def store(database: str, tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(database, notes_dir=tmp_path / "runs") as opened:
        yield opened
