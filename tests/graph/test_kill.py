"""SIGKILL at ten moments of a real process: each run is resumed in another one and ends with its report."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
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


async def finished(what: str, home: Path) -> str:
    """The report of a process that is let run to its end."""
    running = await process(what, home)
    said, trouble = await running.communicate()
    assert running.returncode == 0, trouble.decode()
    return said.decode()


async def killed(home: Path, seconds: float) -> bool:
    """Whether the process was still at work when it was killed."""
    running = await process("start", home)
    try:
        async with asyncio.timeout(seconds):
            await running.communicate()
    except TimeoutError:
        running.send_signal(signal.SIGKILL)
    await running.communicate()
    return running.returncode == -signal.SIGKILL


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
    began = time.monotonic()
    expected = await finished("start", tmp_path / "whole")
    took = time.monotonic() - began
    chance = random.Random(SEED)
    moments = [took * chance.uniform(0.25, 0.95) for _ in range(MOMENTS)]
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, seconds: float) -> tuple[bool, str]:
        home = tmp_path / f"run-{number}"
        async with room:
            caught = await killed(home, seconds)
            report = await finished("resume", home) if caught else expected
        if caught:
            await asyncio.to_thread(assert_whole, home)
        return caught, report

    results = await asyncio.gather(*(one(*pair) for pair in enumerate(moments)))
    assert sum(caught for caught, _ in results) >= MOMENTS // 2
    for number, (_, report) in enumerate(results):
        assert "## Summary" in report, (number, moments[number], report)
        assert report == expected, (number, moments[number])
