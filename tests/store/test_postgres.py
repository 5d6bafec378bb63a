"""PostgreSQL: whose tables they are, how it refuses, that runs do not wait for one another, and lost connections."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from postgres_plugin import PostgresServer
from store.cutting import Cutter
from store.stories import RUN, START, assert_tables_say, giving, half_done, opened, rows, scratch, source, story, used
from store.test_paid_for import CALL

from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.store import Store, StoreError, database_exists
from zetetic.store import postgres as module

# whose tables they are


@pytest.mark.rule("D49")
async def test_an_address_is_looked_at_without_being_set_up(postgres_address: str) -> None:
    assert not await database_exists(postgres_address)
    assert rows(postgres_address, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []
    async with await Store.open(postgres_address):
        assert await database_exists(postgres_address)


async def test_tables_of_another_program_are_left_as_they_are(postgres_address: str) -> None:
    rows(postgres_address, "CREATE TABLE events (name TEXT)")
    with pytest.raises(StoreError, match="a table 'events' of another program"):
        await Store.open(postgres_address)
    assert rows(postgres_address, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("events",)]
    rows(postgres_address, "CREATE SCHEMA ours")
    async with await Store.open(f"{postgres_address}&options=-csearch_path%3Dours") as store:
        await store.execute(RUN, giving(opened()))
    assert rows(postgres_address, "SELECT run_id FROM ours.research_runs") == [(RUN,)]


async def test_a_database_of_a_newer_version_is_refused(postgres_address: str) -> None:
    async with await Store.open(postgres_address):
        pass
    rows(postgres_address, "UPDATE zetetic_schema SET version = 99")
    with pytest.raises(StoreError, match=r"newer zetetic \(schema 99"):
        await Store.open(postgres_address)


async def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    postgres.made.append("latin")
    with pytest.raises(StoreError, match="encoded in LATIN1"):
        await Store.open(postgres.address("latin"))


async def test_what_is_not_there_is_told_at_once_and_without_the_password(
    postgres: PostgresServer, postgres_address: str
) -> None:
    nowhere = [
        "postgresql://me:hidden@127.0.0.1:1/db",
        postgres.address("nowhere").replace("postgres@", "postgres:hidden@"),
        "postgresql://me:hidden@no-such-host.invalid/db",
    ]
    for address in nowhere:
        async with asyncio.timeout(5):
            with pytest.raises(StoreError, match="does not answer") as refusal:
                await Store.open(address)
        assert "hidden" not in f"{refusal.value!r} {refusal.value}"
    postgres.run("DROP ROLE IF EXISTS guest")
    postgres.run("CREATE ROLE guest LOGIN")  # who may make no table
    with pytest.raises(StoreError, match="access is refused"):
        await Store.open(postgres_address.replace("postgres@", "guest:hidden@"))


async def test_who_may_only_read_reads_and_is_told(postgres: PostgresServer, postgres_address: str) -> None:
    async with await Store.open(postgres_address) as store:
        await store.execute(RUN, giving(opened()))
    postgres.run("DROP ROLE IF EXISTS reader")
    postgres.run("CREATE ROLE reader LOGIN IN ROLE pg_read_all_data")
    async with await Store.open(postgres_address.replace("postgres@", "reader@")) as store:
        assert (await store.load(RUN)).version == 1
        with pytest.raises(StoreError, match=r"access is refused \(permission denied"):
            await store.execute(RUN, giving(used()))


# what it holds


@pytest.mark.rule("D49")
async def test_times_have_a_zone_and_flags_are_booleans(postgres_address: str) -> None:
    async with await Store.open(postgres_address):
        kinds = dict(
            tuple(row)
            for row in rows(
                postgres_address,
                "SELECT table_name || '.' || column_name, data_type FROM information_schema.columns "
                "WHERE table_schema = 'public'",
            )
        )
    assert kinds["research_runs.created_at"] == kinds["leases.until"] == "timestamp with time zone"
    assert kinds["challenges.executed"] == kinds["notes_versions.whole"] == "boolean"
    assert kinds["events.body"] == kinds["frontier_questions.claim_ids"] == "text"


async def test_times_come_back_in_utc_whatever_the_servers_zone(postgres_address: str) -> None:
    async with await Store.open(f"{postgres_address}&options=-ctimezone%3DAsia/Tokyo") as store:
        await store.execute(RUN, giving(opened()))
        (run,) = await store.runs()
    assert run.created_at.isoformat() == START.isoformat()


@pytest.mark.rule("R6")
async def test_an_address_longer_than_an_index_entry_is_stored_once(postgres_address: str) -> None:
    rng = random.Random(1)
    long = "https://a.example/" + "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9000))
    found = source("s_001").model_copy(update={"canonical": long})
    async with await Store.open(postgres_address) as store:
        await store.execute(RUN, giving(opened(), ev.SourceRegistered(at=START, source=found)))
        again = ev.SourceRegistered(at=START, source=found.model_copy(update={"id": "s_002"}))
        with pytest.raises(StoreError, match="contradict"):
            await store.execute(RUN, giving(again))


# side by side


@pytest.mark.rule("D51")
async def test_a_run_waits_for_its_own_writers_and_for_no_other_run(postgres_address: str) -> None:
    async with await Store.open(postgres_address) as store:
        for name in (RUN, "other"):
            await store.execute(name, giving(opened(name)))
        lock = f"SELECT pg_advisory_xact_lock({module.lock_number(RUN)})"
        with half_done(postgres_address, lock):
            waiting = asyncio.create_task(store.execute(RUN, giving(used())))
            async with asyncio.timeout(5):
                assert (await store.execute("other", giving(used()))).research.version == 2
            assert not waiting.done()
        assert (await waiting).research.version == 2


@pytest.mark.rule("D51")
async def test_fifty_runs_share_a_pool_of_ten(postgres: PostgresServer, postgres_address: str) -> None:
    names = [f"run-{n}" for n in range(50)]
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            found = await asyncio.to_thread(
                rows, postgres_address, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'zetetic'"
            )
            most = max(most, found[0][0])

    async with await Store.open(postgres_address) as store:

        async def work(name: str) -> None:
            await store.execute(name, giving(opened(name)))
            for n in range(3):
                await store.execute(name, giving(used(), scratch(f"{n}")), effect=(name, str(n)))
                await store.record_call(replace(CALL, run_id=name, key=f"{name}/{n}"))
                await store.load(name)

        watching = asyncio.create_task(watch())
        await asyncio.gather(*map(work, names))
        watching.cancel()
        for name in names:
            assert (await store.load(name)).usage.calls == 6
    assert 2 <= most <= module.POOL


async def test_writers_of_one_run_hold_one_connection_of_the_pool(postgres_address: str) -> None:
    """A crowd at one run must not take every connection while it waits for its turn."""
    async with await Store.open(postgres_address) as store:
        await store.execute(RUN, giving(opened()))
        await store.execute("other", giving(opened("other")))
        with half_done(postgres_address, f"SELECT pg_advisory_xact_lock({module.lock_number(RUN)})"):
            crowd = [asyncio.create_task(store.execute(RUN, giving(used()))) for _ in range(3 * module.POOL)]
            await asyncio.sleep(0)
            async with asyncio.timeout(5):
                await store.execute("other", giving(used()))
        await asyncio.gather(*crowd)
        assert await store.head(RUN) == 1 + 3 * module.POOL


# lost connections


@pytest.mark.rule("D49")
async def test_idle_connections_that_were_ended_are_replaced(postgres: PostgresServer, postgres_address: str) -> None:
    async with await Store.open(postgres_address) as store:
        await store.execute(RUN, giving(opened()))
        for n in range(3):
            assert postgres.end_connections(postgres_address) >= 1
            assert (await store.execute(RUN, giving(used()), effect=("k", str(n)))).research.version == n + 2
        assert (await store.load(RUN)).usage.calls == 3


@pytest.mark.rule("D49")
async def test_a_command_whose_connection_is_ended_is_decided_again_and_stored_once(
    postgres: PostgresServer, postgres_address: str
) -> None:
    async with await Store.open(postgres_address) as store:
        await store.execute(RUN, giving(opened()))
        decided = 0

        def decide(research: Research) -> Decision:
            nonlocal decided
            decided += 1
            if decided < 3:
                postgres.end_connections(postgres_address)
            return Accepted((used(7), scratch("once")))

        done = await store.execute(RUN, decide, effect=("k", "1"))
        assert (decided, done.replayed, done.research.usage.input_tokens) == (3, False, 7)
        assert (await store.execute(RUN, decide, effect=("k", "1"))).replayed
        assert_tables_say(postgres_address, await store.load(RUN))


@asynccontextmanager
async def through(cutter: Cutter, address: str) -> AsyncIterator[Store]:
    async with cutter.running(address) as there, await Store.open(there) as store:
        await store.execute(RUN, giving(opened()))
        yield store


@pytest.mark.rule("D47", "D49")
@pytest.mark.parametrize("committed", [True, False])
async def test_a_connection_lost_in_a_commit_stores_once(postgres_address: str, committed: bool) -> None:
    """The answer to a commit is lost: whether it was carried out is asked, not guessed."""
    cutter = Cutter(after_the_server=committed)
    async with through(cutter, postgres_address) as store:
        for n in range(5):
            cutter.cut_next_commit()
            done = await store.execute(RUN, giving(used(1)))
            assert (done.research.version, done.replayed) == (n + 2, False)
        cutter.cut_next_commit()
        assert await store.record_call(CALL) == CALL
        cutter.cut_next_commit()
        assert (await store.put_effect(RUN, "k", "1", "so")).text == "so"
        assert cutter.cuts == 7
        research = await store.load(RUN)
        assert (research.usage.calls, research.usage.input_tokens) == (6, 105)
        assert research == fold(Research(), [event for _, event in await store.events(RUN)])


@pytest.mark.rule("D49")
async def test_a_story_over_a_line_that_keeps_breaking_is_the_whole_story(postgres_address: str) -> None:
    cutter = Cutter(after_the_server=True)
    events = story(random.Random(5), 150)
    async with cutter.running(postgres_address) as there, await Store.open(there) as store:
        cutter.every = 17
        for event in events:
            await store.execute(RUN, giving(event))
        cutter.every = 0
        assert cutter.cuts > 20
        assert await store.load(RUN) == fold(Research(), events)
    assert_tables_say(postgres_address, fold(Research(), events))


@pytest.mark.rule("D49")
async def test_a_server_that_is_restarted_in_the_middle_costs_nothing(own_server: PostgresServer) -> None:
    address = own_server.database()
    async with await Store.open(address) as store:
        await store.execute(RUN, giving(opened()))
        own_server.stop()
        waiting = [asyncio.create_task(store.execute(RUN, giving(used()), effect=("k", str(n)))) for n in range(12)]
        waiting.append(asyncio.create_task(store.execute(RUN, giving(scratch()))))
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        await asyncio.to_thread(own_server.start)
        async with asyncio.timeout(15):
            await asyncio.gather(*waiting)
        assert ((await store.load(RUN)).usage.calls, await store.head(RUN)) == (12, 14)


async def test_a_server_that_stays_away_is_told_after_a_bounded_time(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOST_SECONDS", 0.3)
    address = own_server.database()
    async with await Store.open(address) as store:
        await store.execute(RUN, giving(opened()))
        own_server.stop()
        async with asyncio.timeout(5):
            with pytest.raises(StoreError, match=r"Nothing that was stored is lost; .* resume"):
                await store.execute(RUN, giving(used()))
            with pytest.raises(StoreError, match="does not answer"):
                await store.load(RUN)
        own_server.start()
        assert (await store.execute(RUN, giving(used()))).research.version == 2


async def test_without_the_drivers_the_refusal_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'zetetic\[postgres\]'"):
        await Store.open("postgresql://host/db")
