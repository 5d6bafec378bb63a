"""Whole runs on each kind of database: side by side, over lost connections, on a full disk, without a secret told."""

import asyncio
import itertools
import logging
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from graph.rig import OBJECTIVE, Rig, arms, whole, worker
from graph.side_by_side import BRIEF, BRIEF_BOUNDS, brief
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from postgres_plugin import PostgresServer
from store.cutting import Cutter
from store.stories import rows

from zetetic import Context, ResearchResult, SetupError, aresearch, aresume, open_store, postgres_saver, sqlite_saver
from zetetic.graph import postgres_checkpoints as saver_module
from zetetic.graph.checkpointers import make_saver, saver_of
from zetetic.store import StoreError
from zetetic.store import postgres as store_module

TESTS = Path(__file__).parent.parent


def as_undisturbed(result: ResearchResult) -> None:
    r = result.research
    assert (result.status, result.stop_reason, r.turns) == ("complete", "finalized", 10)
    assert (list(r.questions), list(r.claims), list(r.sources)) == (["q_001"], ["c_001"], ["s_001", "s_002"])
    assert list(r.challenges) == ["ch_001", "ch_002", "ch_003"]
    queries = [q.query for q in r.all_queries() if q.tool == "web_search"]
    assert len(queries) == len(set(queries)) == 4


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """None is the file in the home."""
    return request.getfixturevalue("postgres_address") if request.param == "postgres" else None


async def rest_of(context: Context, run_id: str) -> Rig:
    """A rig whose worker takes up the script after the answers that are stored: one in flight is asked for again."""
    async with open_store(context) as store:
        calls = await store.calls(run_id) if await store.exists(run_id) else []
    answered = sum(call.role != "evaluator" for call in calls)
    return Rig(Path(context.home), worker(whole()[answered:]))


# side by side


def as_alone(result: ResearchResult) -> None:
    assert (result.status, result.stop_reason, result.research.turns) == ("reported", "breaker:iterations", 2)
    assert result.usage["calls"] == 2


@pytest.mark.rule("D49")
async def test_twenty_runs_side_by_side_in_one_process_end_as_alone(home: Path, database: str | None) -> None:
    """Each with a context of its own, so that each opens the store anew."""
    contexts = [brief(home, database=database) for _ in range(20)]
    runs = (aresearch(OBJECTIVE, context=context, run_id=f"r{n}") for n, context in enumerate(contexts))
    for result in await asyncio.gather(*runs):
        as_alone(result)
    async with open_store(contexts[0]) as store:
        assert [run.status for run in await store.runs()] == ["reported"] * 20


@pytest.mark.rule("D49")
async def test_fifty_runs_side_by_side_keep_to_the_pools(postgres_address: str, home: Path) -> None:
    """They share the store's pool and the savers', since they share a context."""
    asked: Counter[str] = Counter()

    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> Any:
        (run,) = set(re.findall(r"\(run \d+\)", str(messages[1].text)))
        asked[run] += 1
        return BRIEF[asked[run] - 1]

    model = worker([])
    model.script = script
    context = Rig(home, model).context(database=postgres_address, **BRIEF_BOUNDS)
    most = 0

    def watch(update: dict[str, Any], research: Any) -> None:
        nonlocal most
        counted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'zetetic'"
        most = max(most, rows(postgres_address, counted)[0][0])

    runs = (aresearch(f"{OBJECTIVE} (run {n})", context=context, progress=None if n % 10 else watch) for n in range(50))
    for result in await asyncio.gather(*runs):
        as_alone(result)
    assert 2 <= most <= store_module.POOL + saver_module.POOL


@pytest.mark.rule("D49")
async def test_two_processes_with_several_runs_each_share_a_database(home: Path, database: str | None) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-m", "graph.side_by_side", str(home), name, "10"),
            env={**environment, **({"ZETETIC_DATABASE": database} if database else {})},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for name in ("a", "b")
    ]
    for process in started:
        said, trouble = await process.communicate()
        assert (process.returncode, said.decode().split()) == (0, ["reported"] * 10), trouble.decode()[-2000:]
    async with open_store(Context(home=str(home), database=database)) as store:
        assert len(await store.runs()) == 20


# lost connections


@pytest.mark.rule("D49", "D54")
async def test_a_run_whose_connections_keep_being_ended_ends_as_undisturbed(
    postgres: PostgresServer, postgres_address: str, home: Path
) -> None:
    ended = 0

    def cut(update: dict[str, Any], research: Any) -> None:
        nonlocal ended
        ended += postgres.end_connections(postgres_address)

    model, evaluator = worker(whole()), arms()
    context = Rig(home, model, evaluator).context(database=postgres_address)
    as_undisturbed(await aresearch(OBJECTIVE, context=context, progress=cut))
    assert ended > 20
    assert (len(model.prompts), len(evaluator.prompts)) == (10, 8)


@pytest.mark.rule("D47", "D49")
@pytest.mark.parametrize("after_the_server", [True, False])
async def test_a_run_over_a_line_that_breaks_in_the_middle_pays_for_nothing_twice(
    postgres_address: str, home: Path, after_the_server: bool
) -> None:
    cutter = Cutter(after_the_server=after_the_server)
    model, evaluator = worker(whole()), arms()
    async with cutter.running(postgres_address) as there:
        context = Rig(home, model, evaluator).context(database=there)
        async with open_store(context):
            pass
        async with postgres_saver(there):
            pass
        cutter.every = 37
        result = await aresearch(OBJECTIVE, context=context)
        cutter.every = 0
    as_undisturbed(result)
    assert cutter.cuts > 10
    assert (len(model.prompts), len(evaluator.prompts)) == (10, 8)
    assert rows(postgres_address, "SELECT calls FROM research_runs") == [(18,)]


@pytest.mark.rule("D54")
async def test_a_run_outlives_a_restart_of_the_server(own_server: PostgresServer, home: Path) -> None:
    address = own_server.database()
    restarting: list[asyncio.Task[None]] = []

    def restart(update: dict[str, Any], research: Any) -> None:
        if research.turns in (3, 7) and len(restarting) < research.turns // 3:
            own_server.stop()
            restarting.append(asyncio.ensure_future(asyncio.to_thread(own_server.start)))

    result = await aresearch(OBJECTIVE, context=Rig(home, worker(whole())).context(database=address), progress=restart)
    await asyncio.gather(*restarting)
    as_undisturbed(result)
    assert len(restarting) == 2


@pytest.mark.rule("D54")
async def test_a_server_that_stays_away_ends_the_run_in_words_and_it_is_resumed(
    own_server: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (store_module, saver_module):
        monkeypatch.setattr(module, "LOST_SECONDS", 0.5)
    rig = Rig(home, worker(whole()))
    context = rig.context(database=own_server.database(), lease_seconds=1)

    def stop(update: dict[str, Any], research: Any) -> None:
        if research.turns == 5:
            own_server.stop()

    async with asyncio.timeout(60):
        with pytest.raises(StoreError, match="does not answer"):
            await aresearch(OBJECTIVE, context=context, run_id="victim", progress=stop)
    own_server.start()
    await asyncio.sleep(1)  # the lease that could not be given back runs out
    rest = await rest_of(context, "victim")
    as_undisturbed(await aresume("victim", context=rest.context(database=context.database)))


# room and rights


Mounted = Callable[..., Path]


@pytest.fixture
def mounted() -> Iterator[Mounted]:
    """A small disk in memory, mounted anew with other options by the same call."""
    folder = Path(tempfile.mkdtemp(prefix="zetetic-disk-"))
    used = False

    def mount(*options: str) -> Path:
        nonlocal used
        again = ["remount"] if used else []
        command = ["mount", "-t", "tmpfs", "-o", ",".join([*again, *options]), "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False) if shutil.which("mount") else None
        if done is None or done.returncode:
            pytest.skip("no disk can be mounted here")
        used = True
        return folder

    yield mount
    if used:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def assert_sound(home: Path) -> None:
    for name in ("zetetic.db", "checkpoints.db"):
        with closing(sqlite3.connect(home / name)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.rule("D49", "D54")
@pytest.mark.parametrize("kilobytes", [900, 1100])
async def test_a_full_disk_ends_the_run_in_words_and_it_goes_on_when_there_is_room(
    mounted: Mounted, kilobytes: int
) -> None:
    home = mounted(f"size={kilobytes}k") / "home"
    rig = Rig(home, worker(whole()))
    context = rig.context(lease_seconds=1)
    with pytest.raises((StoreError, OSError), match=r"disk is full\. What was stored is kept; free some room|No space"):
        await aresearch(OBJECTIVE, context=context, run_id="victim")
    mounted("size=32m")
    assert_sound(home)
    async with open_store(context) as store:
        stored = len(await store.calls("victim"))
    assert stored >= len(rig.worker.prompts) + len(rig.evaluator.prompts) - 4  # those in flight at most
    await asyncio.sleep(1)  # the lease that could not be given back runs out
    rest = await rest_of(context, "victim")
    as_undisturbed(await aresume("victim", context=rest.context()))
    assert_sound(home)


async def test_a_disk_that_takes_no_writes_is_told_and_nothing_is_lost(mounted: Mounted) -> None:
    home = mounted("size=32m") / "home"
    as_undisturbed(await aresearch(OBJECTIVE, context=Rig(home, worker(whole())).context(), run_id="done"))
    mounted("ro")
    with pytest.raises(StoreError, match="cannot be written"):
        await aresearch(OBJECTIVE, context=Rig(home, worker(whole())).context())
    with pytest.raises(StoreError, match=r"cannot be (written|opened|used)"):
        async with sqlite_saver(home / "checkpoints.db"):
            pass
    mounted("rw")
    assert_sound(home)
    async with open_store(Context(home=str(home))) as store:
        assert [run.run_id for run in await store.runs()] == ["done"]


# which saver, and what is told of an address


@pytest.mark.rule("D49")
async def test_the_saver_of_a_context_is_where_its_log_is(
    postgres_address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with saver_of(Context(home=str(home))) as saver:
        assert "Sqlite" in type(saver).__name__
    monkeypatch.setenv("ZETETIC_DATABASE", postgres_address)
    async with make_saver() as saver, make_saver() as again:
        assert "Postgres" in type(saver).__name__
        assert saver is not again
        assert saver.conn is again.conn  # type: ignore[attr-defined]
    assert rows(postgres_address, "SELECT count(*) > 5 FROM checkpoint_migrations") == [(True,)]


async def test_savers_that_open_at_once_in_several_processes_set_up_once(postgres_address: str) -> None:
    program = """
import asyncio, sys
from zetetic import postgres_saver
async def main():
    async with postgres_saver(sys.argv[1]) as saver:
        await saver.aget_tuple({"configurable": {"thread_id": "t"}})
asyncio.run(main())
"""
    paths = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", program, postgres_address), env=paths, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(3)
    ]
    for process in started:
        _, trouble = await process.communicate()
        assert (process.returncode, trouble.decode()) == (0, "")


def texts_below(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]


@pytest.mark.rule("D49")
async def test_a_password_in_the_address_is_told_nowhere(
    postgres: PostgresServer, postgres_address: str, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "s%65cret-Wort"  # what it decodes to must not be told either
    plain = "secret-Wort"
    postgres.run("DROP ROLE IF EXISTS ann")
    postgres.run(f"CREATE ROLE ann LOGIN SUPERUSER PASSWORD '{plain}'")
    context = Rig(home, worker(whole())).context(database=postgres_address.replace("postgres@", f"ann:{secret}@"))
    with caplog.at_level(logging.DEBUG):
        as_undisturbed(await aresearch(OBJECTIVE, context=context))
        with pytest.raises(SetupError) as unknown:
            await aresume("nobody", context=context)
    told = [caplog.text, repr(context), str(context), str(unknown.value), context.database_shown]
    told += await asyncio.to_thread(texts_below, home)
    dump = [str(Path(postgres.server.bin_path) / "pg_dump"), postgres_address]
    told.append((await asyncio.to_thread(subprocess.check_output, dump)).decode("latin-1"))
    assert [text[:200] for text in told if plain in text or secret in text] == []
    assert "ann:***@" in repr(context)


@pytest.mark.rule("D54")
@pytest.mark.parametrize("puts", [4, 15, 31])
async def test_a_step_that_was_done_and_not_closed_is_closed_by_the_resume(
    home: Path, database: str | None, puts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results are stored, its checkpoint is not: the thread is neither at its end nor to be begun anew."""
    rig = Rig(home, worker(whole()))
    context = rig.context(database=database)
    saver = AsyncSqliteSaver if database is None else AsyncPostgresSaver
    put, seen = saver.aput, itertools.count(1)

    async def failing(self: Any, *arguments: Any) -> Any:
        if next(seen) == puts:
            raise StoreError("no room")
        return await put(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(saver, "aput", failing)
        with pytest.raises(StoreError, match="no room"):
            await aresearch(OBJECTIVE, context=context, run_id="victim")
    rest = await rest_of(context, "victim")
    as_undisturbed(await aresume("victim", context=rest.context(database=database)))
    async with open_store(context) as store:
        assert [run.run_id for run in await store.runs()] == ["victim"]
