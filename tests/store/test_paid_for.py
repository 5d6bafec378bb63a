"""Nothing paid for is lost: effects, the journal of model calls, pages, leases."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest
from store.stories import RUN, START, giving, opened, scratch, used

from zetetic.state.decision import Accepted, Decision, refuse
from zetetic.state.research import Research
from zetetic.store import JournalEntry, Store, StoredEffect, StoreError

CALL = JournalEntry(
    run_id=RUN,
    key="thread:decide:1",
    role="worker",
    model="offline",
    fingerprint="f1",
    at=START,
    request='{"messages": []}',
    answer='{"text": "so"}',
    input_tokens=100,
    output_tokens=20,
    cached_tokens=50,
    usd=0.01,
    latency_seconds=0.5,
    repairs='["fence"]',
)


@pytest.fixture
async def run(store: Store) -> Store:
    await store.execute(RUN, giving(opened()))
    return store


async def test_a_replayed_call_gets_the_stored_result_and_changes_nothing(run: Store) -> None:
    first = await run.execute(
        RUN,
        giving(scratch("once")),
        effect=("task", "call-1"),
        payload='{"n": 1}',
        render=lambda research, decision: f"{decision.message} at {research.version}",
    )
    assert first.text == "done at 2"

    def never(_: Research) -> Decision:
        raise AssertionError("decided again")

    again = await run.execute(RUN, never, effect=("task", "call-1"))
    assert (again.text, again.replayed, again.decision, again.research) == ("done at 2", True, None, first.research)
    assert await run.head(RUN) == 2
    assert await run.effect("task", "call-1") == StoredEffect("task", "call-1", "done at 2", '{"n": 1}')


async def test_a_refusal_is_an_effect_too(run: Store) -> None:
    done = await run.execute(RUN, lambda _: refuse("no source", "no quote"), effect=("task", "call-1"))
    assert done.text == "Refused. (1) no source (2) no quote"
    again = await run.execute(RUN, giving(used()), effect=("task", "call-1"))
    assert (again.text, again.replayed, again.research.version) == (done.text, True, 1)


async def test_a_decision_without_events_stores_its_message(run: Store) -> None:
    done = await run.execute(RUN, lambda _: Accepted((), "nothing to do"), effect=("task", "call-1"))
    assert (done.text, done.research.version) == ("nothing to do", 1)
    assert (await run.effects("task"))["call-1"].text == "nothing to do"


async def test_of_two_results_of_one_call_the_first_stands(run: Store) -> None:
    assert (await run.put_effect(RUN, "task", "a", "one")).text == "one"
    assert (await run.put_effect(RUN, "task", "a", "two", "{}")).text == "one"
    await run.put_effect(RUN, "task", "b", "three")
    await run.put_effect(RUN, "other", "a", "four")
    assert {call: effect.text for call, effect in (await run.effects("task")).items()} == {"a": "one", "b": "three"}
    assert await run.effect("task", "c") is None
    with pytest.raises(StoreError, match="no run"):
        await run.put_effect("nobody", "task", "z", "lost")


@pytest.mark.rule("D47")
async def test_a_call_is_counted_once_in_the_transaction_that_stores_it(run: Store) -> None:
    assert await run.record_call(CALL, worker="w1") == CALL
    assert await run.record_call(replace(CALL, answer="another", input_tokens=9)) == CALL
    usage = (await run.load(RUN)).usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.usd) == (
        1,
        100,
        20,
        50,
        0.01,
    )
    assert await run.journal(CALL.key) == CALL
    assert await run.journal("thread:decide:2") is None
    assert [(e.event.event, e.worker) for e in await run.log(RUN, after=1)] == [("usage_recorded", "w1")]


@pytest.mark.rule("D47")
async def test_a_call_of_unknown_price_stays_unknown_and_counts_nothing(run: Store) -> None:
    await run.record_call(CALL)
    await run.record_call(replace(CALL, key="second", usd=None, error="timeout"))
    assert [(call.key, call.usd, call.error) for call in await run.calls(RUN)] == [
        (CALL.key, 0.01, ""),
        ("second", None, "timeout"),
    ]
    assert (await run.load(RUN)).usage.usd == 0.01


async def test_a_call_of_no_run_is_not_stored(store: Store) -> None:
    with pytest.raises(StoreError, match="no run"):
        await store.record_call(CALL)
    assert await store.journal(CALL.key) is None


async def test_pages_are_named_by_their_text(store: Store) -> None:
    where = {"url": "http://a.example/", "final_url": "https://a.example/", "title": "A", "media_type": "text/html"}
    name = await store.put_page("größer", **where, fetched_at=START)
    assert name == hashlib.sha256("größer".encode()).hexdigest()
    assert await store.put_page("größer", **{**where, "url": "http://b.example/"}, fetched_at=START) == name
    page = await store.page(name)
    assert page is not None
    assert (page.text, page.url, page.media_type, page.fetched_at) == ("größer", where["url"], "text/html", START)
    assert await store.page("0" * 64) is None


async def test_one_owner_holds_a_run_until_the_lease_runs_out(store: Store) -> None:
    later = START + timedelta(seconds=31)
    assert await store.acquire_lease(RUN, "a", 30, START)
    assert await store.acquire_lease(RUN, "a", 30, START)
    assert not await store.acquire_lease(RUN, "b", 30, START)
    assert not await store.renew_lease(RUN, "b", 30, START)
    assert await store.acquire_lease(RUN, "b", 30, later)
    assert not await store.renew_lease(RUN, "a", 30, later)
    assert not await store.release_lease(RUN, "a")
    assert await store.renew_lease(RUN, "b", 30, later)
    assert await store.release_lease(RUN, "b")
    assert await store.acquire_lease(RUN, "a", 30, later)
