"""Several processes on one database, and one that is killed: nothing is lost, nothing is there twice."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from store.stories import RUN, assert_tables_say, giving, opened, rows, scratch, used

from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.store import Store
from zetetic.store.address import is_postgres

TESTS = Path(__file__).parent.parent


async def writer(database: str, name: str, count: int) -> Process:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "store.writer", database, name, str(count)),
        env={**os.environ, "PYTHONPATH": paths},
        stdout=PIPE,
        stderr=PIPE,
    )


async def assert_whole(database: str) -> Research:
    """The database is sound, the log has no hole, and tables, effects and journal agree with it."""
    if not is_postgres(database):
        assert rows(database, "PRAGMA integrity_check") == [("ok",)]
        assert rows(database, "PRAGMA foreign_key_check") == []
    async with await Store.open(database) as store:
        events = await store.events(RUN)
        assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
        research = await store.load(RUN)
        assert research == fold(Research(), [event for _, event in events])
        assert_tables_say(database, research)
        counted = sum(event.event == "usage_recorded" for _, event in events)
        assert research.usage.calls == counted
        return research


async def test_two_stores_in_one_process_lose_nothing(store: Store, database: str) -> None:
    await store.execute(RUN, giving(opened()))
    async with await Store.open(database) as other:
        commands = [s.execute(RUN, giving(used(1), scratch("x"))) for s in (store, other) for _ in range(50)]
        await asyncio.gather(*commands)
        assert await store.load(RUN) == await other.load(RUN)
    assert (await store.load(RUN)).usage.input_tokens == 100
    await assert_whole(database)


@pytest.mark.rule("D49", "D51")
async def test_processes_that_write_one_run_lose_and_double_nothing(database: str) -> None:
    names = ["a", "b", "c"]
    processes = [await writer(database, name, 40) for name in names]
    for process in processes:
        _, said = await process.communicate()
        assert (process.returncode, said.decode()) == (0, "")
    research = await assert_whole(database)
    stored = rows(database, "SELECT key, count(*) AS number FROM effects GROUP BY key ORDER BY key")
    assert stored == [(name, 40) for name in names]
    assert rows(database, "SELECT count(*) AS number FROM journal")[0]["number"] == 120
    thoughts = research.scratch.splitlines()
    assert len(thoughts) == len(set(thoughts))


@pytest.mark.rule("D49")
@pytest.mark.parametrize("turns", [1, 7, 20])
async def test_a_process_killed_while_it_writes_leaves_whole_commands(database: str, turns: int) -> None:
    process = await writer(database, "doomed", 100_000)
    assert process.stdout is not None
    for _ in range(turns):
        await process.stdout.readline()
    await asyncio.sleep(0.001 * turns)
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    research = await assert_whole(database)
    journal = rows(database, "SELECT count(*) AS number FROM journal")[0]["number"]
    shared = research.scratch.splitlines()
    assert turns <= journal <= research.usage.calls == journal + len(shared)
    again = await writer(database, "next", 5)
    await again.communicate()
    assert again.returncode == 0
    await assert_whole(database)


@pytest.mark.rule("D49")
async def test_a_second_store_of_this_process_leaves_the_locks_of_the_first(store: Store, database: str) -> None:
    """A process that opens the file beside them must not take it for one that nobody has open, and clear it away."""
    await store.execute(RUN, giving(opened()))
    async with await Store.open(database) as other:
        await other.execute(RUN, giving(scratch("before")))
        for number in range(3):
            beside = await writer(database, f"beside{number}", 1)
            said, trouble = await beside.communicate()
            assert beside.returncode == 0, (said, trouble)
            await store.execute(RUN, giving(used(1)))
            await other.execute(RUN, giving(scratch(f"after {number}")))
    await store.execute(RUN, giving(used(1)))
    assert (await store.load(RUN)).usage.input_tokens >= 4
    await assert_whole(database)
