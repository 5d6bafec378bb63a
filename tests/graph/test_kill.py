"""SIGKILL at ten moments of a real process: each run is resumed in another one and ends with its report."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import closing
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
MOMENTS = 10
AT_ONCE = 2
SEED = 1911


async def process(what: str, home: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "graph.victim", what, "victim", str(home)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        stdout=PIPE,
        stderr=PIPE,
    )


async def finished(what: str, home: Path) -> tuple[str, int]:
    """Status and report of a process that is let run to its end, and the steps it took."""
    running = await process(what, home)
    said, steps = await running.communicate()
    assert running.returncode == 0, steps.decode()
    return said.decode(), len(steps)


async def killed(home: Path, steps: int, seconds: float) -> None:
    """Starts a process and kills it so many seconds after so many steps."""
    running = await process("start", home)
    assert running.stderr is not None
    await running.stderr.readexactly(steps)
    await asyncio.sleep(seconds)
    running.send_signal(signal.SIGKILL)
    await running.communicate()
    assert running.returncode == -signal.SIGKILL


def assert_whole(home: Path) -> None:
    for name in ("zetetic.db", "checkpoints.db"):
        with closing(sqlite3.connect(home / name)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    with closing(sqlite3.connect(home / "zetetic.db")) as database:
        assert database.execute("SELECT run_id FROM research_runs").fetchall() == [("victim",)]
        moves = database.execute(
            "SELECT question_id, from_status, to_status FROM frontier_transitions ORDER BY question_id, seq"
        ).fetchall()
        stands: dict[str, str] = {}
        for question_id, before, after in moves:
            assert before == stands.get(question_id, ""), (question_id, before, after)
            stands[question_id] = after
        assert dict(database.execute("SELECT id, status FROM frontier_questions")) == stands
        for table, column in (("frontier_questions", "question"), ("claims", "text"), ("sources", "canonical"),
                              ("challenges", "target_id || strategy || target_text")):  # fmt: skip
            values = [row[0] for row in database.execute(f"SELECT {column} FROM {table}")]
            assert len(values) == len(set(values)), table
            ids = [row[0] for row in database.execute(f"SELECT id FROM {table} WHERE id GLOB '*_[0-9]*' ORDER BY id")]
            assert len(ids) == len(set(ids)) == len(values)


@pytest.mark.rule("D15", "D49", "D54")
async def test_a_run_that_was_killed_at_any_moment_is_resumed_to_the_same_report(tmp_path: Path) -> None:
    expected, steps = await finished("start", tmp_path / "whole")
    chance = random.Random(SEED)
    moments = [(int(steps * chance.uniform(0, 0.98)), chance.uniform(0, 0.05)) for _ in range(MOMENTS)]
    room = asyncio.Semaphore(AT_ONCE)

    async def report_after(number: int) -> str:
        home = tmp_path / f"run-{number}"
        async with room:
            await killed(home, *moments[number])
            report, _ = await finished("resume", home)
        await asyncio.to_thread(assert_whole, home)
        return report

    reports = await asyncio.gather(*(report_after(number) for number in range(MOMENTS)))
    assert "## Summary" in expected
    for moment, report in zip(moments, reports, strict=True):
        assert report == expected, moment
