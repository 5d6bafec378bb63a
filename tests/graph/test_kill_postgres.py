"""SIGKILL of a real process whose log and checkpoints are in PostgreSQL: resumed in another, it ends the same."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from postgres_plugin import PostgresServer
from store.stories import rows

TESTS = Path(__file__).parent.parent
MOMENTS = 5
AT_ONCE = 2
SEED = 2003


async def process(what: str, home: Path, database: str) -> Process:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "graph.victim", what, "victim", str(home)),
        env={**os.environ, "PYTHONPATH": paths, "ZETETIC_DATABASE": database},
        stdout=PIPE,
        stderr=PIPE,
    )


async def finished(what: str, home: Path, database: str) -> tuple[str, int]:
    """Status and report of a process that is let run to its end, and the steps it took."""
    running = await process(what, home, database)
    said, steps = await running.communicate()
    assert running.returncode == 0, steps.decode()
    return said.decode(), len(steps)


async def killed(home: Path, database: str, steps: int, seconds: float) -> None:
    """Starts a process and kills it so many seconds after so many steps."""
    running = await process("start", home, database)
    assert running.stderr is not None
    await running.stderr.readexactly(steps)
    await asyncio.sleep(seconds)
    running.send_signal(signal.SIGKILL)
    await running.communicate()
    assert running.returncode == -signal.SIGKILL


def found(database: str) -> dict[str, list[tuple[object, ...]]]:
    """What a run established, without its times."""
    asked = {
        "frontier_questions": "id, question, status, answer, attempts",
        "frontier_transitions": "question_id, seq, from_status, to_status, trigger",
        "sources": "id, canonical, sha256",
        "claims": "id, text, status",
        "claim_sources": "claim_id, seq, source_id, quote",
        "challenges": "id, target_id, strategy, outcome",
        "frontier_attempts": "question_id, seq, query, outcome",
    }
    return {
        name: sorted(map(tuple, rows(database, f"SELECT {what} FROM {name}")), key=str) for name, what in asked.items()
    }


@pytest.mark.rule("D15", "D49", "D54")
async def test_a_run_in_postgres_that_was_killed_is_resumed_to_the_same_end(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    whole = postgres.database()
    expected, steps = await finished("start", tmp_path / "whole", whole)
    chance = random.Random(SEED)
    moments = [(int(steps * chance.uniform(0, 0.98)), chance.uniform(0, 0.05)) for _ in range(MOMENTS)]
    databases = [postgres.database() for _ in range(MOMENTS)]
    room = asyncio.Semaphore(AT_ONCE)

    async def report_after(number: int) -> str:
        home, database = tmp_path / f"run-{number}", databases[number]
        async with room:
            await killed(home, database, *moments[number])
            report, _ = await finished("resume", home, database)
        assert not list(home.glob("*.db*"))
        return report

    reports = await asyncio.gather(*(report_after(number) for number in range(MOMENTS)))
    assert "## Summary" in expected
    as_found = found(whole)
    for moment, report, database in zip(moments, reports, databases, strict=True):
        assert report == expected, moment
        assert found(database) == as_found, moment
        assert rows(database, "SELECT run_id FROM research_runs") == [("victim",)]
        assert rows(database, "SELECT count(*) > 0 FROM checkpoints") == [(True,)]
