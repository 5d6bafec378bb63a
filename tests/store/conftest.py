from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zetetic.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "home" / "zetetic.db"


@pytest.fixture
async def store(database: Path, tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(database, notes_dir=tmp_path / "runs") as opened:
        yield opened
