"""The log: one command is one transaction, decided at the head; what is read back is the fold of the events."""

import asyncio
import itertools
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from store.stories import (
    RUN,
    START,
    assert_tables_say,
    giving,
    opened,
    question,
    rows,
    scratch,
    source,
    story,
    tables,
    used,
)

from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision, refuse
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.values import Claim, Evidence, Gap
from zetetic.store import JournalEntry, Store, StoreError
from zetetic.store import log as log_module
from zetetic.store.log import Log

numbers = itertools.count(1)


async def tell(store: Store, events: list[ev.Event], size: int = 1) -> None:
    """Stores events in commands of some events each."""
    run_id = events[0].run_id
    for start in range(0, len(events), size):
        await store.execute(run_id, giving(*events[start : start + size]))


async def test_a_run_is_opened_by_a_decision_and_loaded_again(store: Store) -> None:
    assert not await store.exists(RUN)
    done = await store.execute(RUN, giving(opened()))
    assert (done.text, done.replayed, done.research.version) == ("done", False, 1)
    assert await store.load(RUN) == done.research
    assert (await store.head(RUN), await store.exists(RUN)) == (1, True)


async def test_an_unknown_run_is_an_error_that_names_it(store: Store) -> None:
    with pytest.raises(StoreError, match="no run 'nobody'"):
        await store.load("nobody")
    with pytest.raises(StoreError, match="no run 'nobody'"):
        await store.execute("nobody", giving(used()))
    with pytest.raises(StoreError, match="no run 'nobody'"):
        await store.execute("nobody", lambda _: refuse("not now"), effect=("k", "1"))
    with pytest.raises(StoreError, match="names another run"):
        await store.execute("nobody", giving(opened("somebody")))


async def test_a_decision_that_raises_writes_nothing(store: Store) -> None:
    await store.execute(RUN, giving(opened()))

    def broken(_: Research) -> Decision:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.execute(RUN, broken)
    assert await store.head(RUN) == 1
    assert (await store.execute(RUN, giving(used()))).research.version == 2


async def test_events_are_given_with_their_positions_and_writers(store: Store) -> None:
    await store.execute(RUN, giving(opened()))
    await store.execute(RUN, giving(used(3), scratch()), worker="w1", step_key="step-9")
    assert await store.events(RUN, after=1) == [(2, used(3)), (3, scratch())]
    assert [(e.seq, e.worker, e.step_key) for e in await store.log(RUN)] == [
        (1, "", ""),
        (2, "w1", "step-9"),
        (3, "w1", "step-9"),
    ]


async def test_as_of_gives_the_fold_of_the_events_up_to_there(store: Store) -> None:
    events = story(random.Random(7), 450)
    await tell(store, events, size=7)
    for position in (0, 1, 6, 199, 200, 203, 204, 310, 449, 451):
        assert await store.load(RUN, as_of=position) == fold(Research(), events[:position])
    with pytest.raises(StoreError, match="no position 452"):
        await store.load(RUN, as_of=452)


async def test_a_store_opened_later_reads_the_same_from_snapshots(store: Store, database: str) -> None:
    events = story(random.Random(8), 450)
    await tell(store, events, size=7)
    assert [row["seq"] for row in rows(database, "SELECT seq FROM snapshots")] == [203, 406]
    async with await Store.open(database) as other:
        assert await other.load(RUN) == await store.load(RUN) == fold(Research(), events)


async def test_what_an_attempt_began_with_shares_its_records_with_the_head(store: Store, database: str) -> None:
    registered = ev.SourceRegistered(at=START, source=source("s_001"))
    begun = ev.AttemptStarted(at=START, number=1, kind="question", question_id="q_001")
    await store.execute(RUN, giving(opened(), registered))
    await store.execute(RUN, giving(scratch(), begun))

    async def assert_shared(reader: Store) -> None:
        head = await reader.load(RUN)
        assert head.attempt is not None
        assert head.attempt.base_version == 3
        base = await reader.load(RUN, as_of=3)
        assert (base.version, base.attempt) == (3, None)
        assert base.sources["s_001"] is head.sources["s_001"]

    async with await Store.open(database) as later:
        await assert_shared(later)
    await store.execute(RUN, giving(*(used() for _ in range(log_module.SNAPSHOT_EVERY + 20))))
    await assert_shared(store)


async def test_old_snapshots_are_thinned_out_and_every_past_is_still_read(store: Store, database: str) -> None:
    events = story(random.Random(12), 2100)
    await tell(store, events, size=50)
    kept = [row["seq"] // 200 for row in rows(database, "SELECT seq FROM snapshots ORDER BY seq")]
    assert kept == [1, 2, 4, 8, 9, 10]
    async with await Store.open(database) as other:
        for position in (0, 150, 350, 1100, 1500, 1950, 2101):
            assert await other.load(RUN, as_of=position) == fold(Research(), events[:position])


async def test_a_load_reads_no_more_events_in_a_long_run(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(store, story(random.Random(9), 1000), size=50)
    read: list[int] = []
    entries = Log.entries

    def counted(self: Log, *arguments: object) -> list[object]:
        found = entries(self, *arguments)
        read.append(len(found))
        return found

    monkeypatch.setattr(Log, "entries", counted)
    async with await Store.open(database) as other:
        await other.load(RUN)
        assert read == [1]
        await store.execute(RUN, giving(used()))
        await other.execute(RUN, giving(used()))
        assert read == [1, 1]


async def test_a_snapshot_of_another_shape_is_passed_over(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = story(random.Random(10), 210)
    await tell(store, events, size=50)
    monkeypatch.setattr(log_module, "_shape", lambda: "of a later version")
    async with await Store.open(database) as other:
        assert await other.load(RUN) == fold(Research(), events)


async def test_the_writer_that_comes_second_decides_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The position of an event is unique: a decision on an old research is not stored, it is taken again."""
    await store.execute(RUN, giving(opened()))
    old = await store.load(RUN)
    await store.execute(RUN, giving(used(5)))
    at_head = Log.at_head
    stale = [old, old]

    def sometimes_stale(self: Log, connection: object, run_id: str) -> Research:
        return stale.pop() if stale else at_head(self, connection, run_id)

    monkeypatch.setattr(Log, "at_head", sometimes_stale)
    seen: list[int] = []

    def decide(research: Research) -> Decision:
        seen.append(research.usage.input_tokens)
        return Accepted((used(1),))

    done = await store.execute(RUN, decide, effect=("k", "1"))
    assert seen == [0, 0, 5]
    assert (done.research.version, done.research.usage.input_tokens) == (3, 6)

    monkeypatch.setattr(Log, "at_head", lambda *_: old)
    with pytest.raises(StoreError, match="8 times in a row"):
        await store.execute(RUN, decide)


@pytest.mark.rule("D51")
async def test_of_two_workers_one_claims_the_question(store: Store, database: str) -> None:
    await store.execute(RUN, giving(opened()))

    def claim(worker: str):
        def decide(research: Research) -> Decision:
            if research.root.status != "pending":
                return refuse("taken")
            moved = ev.QuestionMoved(
                at=START,
                question_id="q_001",
                from_status="pending",
                to_status="in_progress",
                trigger="selected",
                actor="code",
                priority=1.0,
                attempts=0,
                worker=worker,
            )
            return Accepted((moved,))

        return decide

    async with await Store.open(database) as other:
        names = [f"w{n}" for n in range(8)]
        stores = [store, other] * 4
        done = await asyncio.gather(*(s.execute(RUN, claim(name)) for s, name in zip(stores, names, strict=True)))
    winners = [name for name, d in zip(names, done, strict=True) if isinstance(d.decision, Accepted)]
    assert winners == [(await store.load(RUN)).root.worker]
    assert len(await store.transitions(RUN, "q_001")) == 2


@pytest.mark.rule("D15", "D49")
@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example has a run of its own
)
@given(rng=st.randoms(use_true_random=False), size=st.integers(1, 40))
def test_tables_say_what_the_research_says(database: str, rng: random.Random, size: int) -> None:
    """Whatever happens, in commands of whatever size: rows equal the research, the latest transition the status."""
    run = f"run-{next(numbers)}"

    async def check() -> None:
        async with await Store.open(database) as store:
            events = story(rng, 120, run)
            await tell(store, events, size)
            research = await store.load(run)
            assert research == fold(Research(), events)
            assert_tables_say(database, research)

    asyncio.run(check())


@pytest.mark.rule("D15")
async def test_transitions_tell_who_moved_what_and_why(store: Store) -> None:
    await store.execute(RUN, giving(opened(), ev.StateRecorded(at=START, seq=4, stage="planning")))
    added = ev.QuestionAdded(
        at=START, question=question("q_002", priority=0.4), actor="agent", reason="unclear", caused_by="q_001"
    )
    await store.execute(RUN, giving(added))
    pruned = ev.QuestionMoved(
        at=START,
        question_id="q_002",
        from_status="pending",
        to_status="pruned",
        trigger="pruned_scope",
        actor="agent",
        reason="beside the point",
        priority=0.4,
        attempts=0,
    )
    await store.execute(RUN, giving(pruned))
    told = [
        (t.seq, t.from_status, t.to_status, t.trigger, t.actor, t.reason, t.caused_by, t.state_seq, t.event_seq)
        for t in await store.transitions(RUN, "q_002")
    ]
    assert told == [
        (1, "", "pending", "created", "agent", "unclear", "q_001", 4, 3),
        (2, "pending", "pruned", "pruned_scope", "agent", "beside the point", "", 4, 4),
    ]
    assert [t.question_id for t in await store.transitions(RUN)] == ["q_001", "q_002", "q_002"]


@pytest.mark.rule("D50")
async def test_each_turn_is_a_recorded_state(store: Store) -> None:
    states = [
        ev.StateRecorded(at=START, seq=1, stage="planning"),
        ev.StateRecorded(at=START, seq=2, stage="acting", question_id="q_001", detail="search"),
    ]
    await store.execute(RUN, giving(opened(), *states))
    told = [(s.seq, s.state, s.question_id, s.detail) for s in await store.states(RUN)]
    assert told == [(1, "planning", "", ""), (2, "acting", "q_001", "search")]


@pytest.mark.rule("D49")
async def test_the_database_refuses_records_that_contradict_each_other(store: Store) -> None:
    await store.execute(RUN, giving(opened()))
    stray = Claim(id="c_001", text="So.", evidence=(Evidence(source_id="s_404", quote="q"),), at=START)
    with pytest.raises(StoreError, match="contradict"):
        await store.execute(RUN, giving(ev.ClaimRecorded(at=START, claim=stray)))
    twice = ev.QuestionAdded(at=START, question=question("q_002"), actor="agent")
    with pytest.raises(StoreError, match="created twice"):
        await store.execute(RUN, giving(twice, twice))
    with pytest.raises(StoreError, match="contradict"):
        await store.execute(RUN, _same_source)
    assert await store.head(RUN) == 1


def _same_source(_: Research) -> Decision:
    again = source("s_001").model_copy(update={"id": "s_002"})
    return Accepted(
        (ev.SourceRegistered(at=START, source=source("s_001")), ev.SourceRegistered(at=START, source=again))
    )


@pytest.mark.rule("D49")
async def test_what_belongs_to_a_run_goes_with_it(store: Store, database: str) -> None:
    await tell(store, story(random.Random(3), 250), size=25)
    await store.put_effect(RUN, "k", "1", "done")
    await store.record_call(JournalEntry(RUN, "k", "worker", "offline", "f", START))
    names = tables(database)
    filled = {name for name in names if rows(database, f"SELECT 1 FROM {name}")}
    assert filled == set(names) - {"pages", "leases"}
    rows(database, "DELETE FROM research_runs")
    left = {name for name in names if rows(database, f"SELECT 1 FROM {name}")}
    assert left == {"zetetic_schema", "zetetic_migrations"}


async def test_half_characters_and_nul_are_replaced_before_they_are_stored(store: Store, database: str) -> None:
    """A model may cut an emoji in half; the run must not end there, and spans must keep their places."""
    gap = ev.GapNoted(at=START, gap=Gap(text="a\ud83d b\x00 ü"))
    done = await store.execute(RUN, giving(opened(), gap), effect=("k", "1"), render=lambda *_: "\udfff!")
    assert done.research.gaps[0].text == "a\ufffd b\ufffd ü"
    assert done.text == "\ufffd!"
    async with await Store.open(database) as other:
        assert await other.load(RUN) == done.research


async def test_an_event_that_cannot_be_read_back_is_not_written(store: Store) -> None:
    await store.execute(RUN, giving(opened()))
    endless = ev.UsageRecorded(at=START, role="worker", usd=float("inf"))
    with pytest.raises(StoreError, match="cannot be read"):
        await store.execute(RUN, giving(endless))
    assert await store.head(RUN) == 1


async def test_runs_are_listed_newest_first(store: Store) -> None:
    await store.execute("old", giving(opened("old")))
    newer = opened("new").model_copy(update={"at": START.replace(hour=5)})
    ended = ev.RunEnded(at=START.replace(hour=6), status="complete", stop_reason="finalized", report="So.")
    await store.execute("new", giving(newer, ev.UsageRecorded(at=newer.at, role="worker", usd=0.25), ended))
    first, second = await store.runs()
    assert (first.run_id, first.status, first.stop_reason, first.usd) == ("new", "complete", "finalized", 0.25)
    assert (first.created_at, first.updated_at) == (newer.at, ended.at)
    assert (second.run_id, second.status, second.phase) == ("old", "running", "exploration")
