from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("injection.scene")

from injection.scene import Scene  # noqa: E402 (after the line that has its assertions explained)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Scene(tmp_path) as opened:
        yield opened
