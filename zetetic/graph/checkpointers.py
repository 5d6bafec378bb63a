"""Savers for the graph: SQLite in a file of its own, with the list of types it may store (LANGGRAPH: Checkpointers)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

ALLOWED = (
    ("zetetic.nodes.channels", "TurnKeys"),
    ("zetetic.state.evaluation", "ArmResult"),
)
BUSY_MILLISECONDS = 30_000


def serializer() -> JsonPlusSerializer:
    """The serializer that stores zetetic's channel types and no other type of a package."""
    return JsonPlusSerializer(allowed_msgpack_modules=list(ALLOWED))


@asynccontextmanager
async def sqlite_saver(path: str | Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A saver on an SQLite file, created if it is missing. One saver a file in a process."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # A transaction that begins deferred and writes later fails at once where another writer came between; one that
    # begins immediate waits its turn.
    async with aiosqlite.connect(path, isolation_level="IMMEDIATE", timeout=BUSY_MILLISECONDS / 1000) as connection:
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute("PRAGMA synchronous=NORMAL")
        await connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        saver = AsyncSqliteSaver(connection, serde=serializer())
        await saver.setup()
        yield saver
