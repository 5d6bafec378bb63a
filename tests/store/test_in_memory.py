"""What a store keeps in memory is what is stored, and never older than what it stored itself."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from store.stories import RUN, giving, opened, scratch, used

from zetetic.store import Store, StoreError
from zetetic.store.kept_effects import KEPT_TASKS


@pytest.fixture
async def run(store: Store) -> Store:
    await store.execute(RUN, giving(opened()))
    return store


@pytest.fixture
async def other(database: str, run: Store) -> AsyncIterator[Store]:
    """Another process's store, as far as the first one can tell."""
    async with await Store.open(database) as opened_too:
        yield opened_too


async def test_a_research_in_memory_does_if_it_has_come_far_enough(run: Store, other: Store) -> None:
    await other.execute(RUN, giving(used(), used()))
    assert (await run.load(RUN, at_least=1)).version == 1
    assert (await run.load(RUN, at_least=3)).version == 3
    await other.execute(RUN, giving(used()))
    assert (await run.load(RUN, at_least=0)).version == 3
    assert (await run.load(RUN)).version == 4
    assert (await run.load(RUN, at_least=0)).version == 4


async def test_a_past_is_the_same_from_memory(run: Store, other: Store) -> None:
    for number in range(5):
        await run.execute(RUN, giving(scratch(f"note {number}")))
        assert (await run.load(RUN, as_of=2 + number)).scratch.endswith(f"note {number}")
    for position in range(1, 7):
        assert await run.load(RUN, as_of=position) == await other.load(RUN, as_of=position)
    with pytest.raises(StoreError, match="no position 7"):
        await run.load(RUN, as_of=7)


async def test_what_a_store_wrote_is_in_what_it_loads_while_others_read(run: Store) -> None:
    """Readers at an older state of the database do not put it in place of a newer one."""

    async def reading() -> None:
        while (await run.load(RUN)).version < 60:
            pass

    readers = [asyncio.create_task(reading()) for _ in range(4)]
    for version in range(2, 61):
        await run.execute(RUN, giving(used()))
        assert (await run.load(RUN, at_least=0)).version == version
        await asyncio.sleep(0)
    await asyncio.gather(*readers)


async def test_a_store_counts_as_knowing_a_run_once_it_was_opened(run: Store, other: Store) -> None:
    assert await run.exists(RUN)
    assert await other.exists(RUN)
    assert not await run.exists("nobody")
    with pytest.raises(StoreError, match="no run 'nobody'"):
        await run.load("nobody", at_least=0)


async def test_results_are_stored_together_and_found_by_others(run: Store, other: Store) -> None:
    stood = await run.put_effect(RUN, "task", "b", "first")
    given = {"a": ("one", "{}"), "b": ("two", ""), "c": ("three", "")}
    stands = await run.put_effects(RUN, "task", given)
    assert stands["b"] == stood
    assert [stands[call].text for call in "abc"] == ["one", "first", "three"]
    assert await run.effects("task") == await other.effects("task") == stands
    assert await run.put_effects(RUN, "task", {}) == {}


async def test_results_of_a_run_that_is_not_there_are_kept_nowhere(run: Store) -> None:
    with pytest.raises(StoreError, match="no run"):
        await run.put_effects("nobody", "lost", {"a": ("one", ""), "b": ("two", "")})
    assert await run.effects("lost") == {}
    assert await run.effect("lost", "a") is None


async def test_a_result_that_another_process_stored_first_stands(run: Store, other: Store) -> None:
    """One process at a time has a task; where a lease ran out under one, what is stored decides."""
    assert await run.effects("task") == {}
    await other.execute(RUN, giving(scratch("theirs")), effect=("task", "a"))
    mine = await run.execute(RUN, giving(scratch("mine")), effect=("task", "a"))
    assert (mine.replayed, mine.text, mine.research.scratch) == (True, "done", "theirs")
    assert (await run.put_effect(RUN, "task", "a", "mine")).text == "done"
    assert (await run.effects("task"))["a"].text == "done"


async def test_more_tasks_than_are_kept_are_read_again(run: Store) -> None:
    many = KEPT_TASKS + 50
    for number in range(many):
        await run.put_effect(RUN, f"task {number}", "a", str(number))
    for number in (0, 49, 50, many - 1):
        assert (await run.effects(f"task {number}"))["a"].text == str(number)
