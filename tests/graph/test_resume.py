"""A run that was stopped, or died between two statements, ends as it would have, and nothing is paid for twice."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from graph.rig import OBJECTIVE, Rig, arms, buried, plan, report, search, whole, worker
from langgraph.runtime import RunControl

from zetetic import ResearchResult, SetupError, aresearch, aresume, open_store
from zetetic.state.research import Research
from zetetic.store import Store

WRITES = ("execute", "put_effects", "record_call", "put_page", "restore_notes")
SEED = 20_240_229


@pytest.mark.rule("D54")
async def test_a_drain_ends_the_step_and_the_run_goes_on_to_its_end(home: Path) -> None:
    control = RunControl()

    def progress(update: dict[str, Any], research: Research) -> None:
        if research.turns == 4:
            control.request_drain()

    model, evaluator = worker(whole()), arms()
    context = Rig(home, model, evaluator).context()
    stopped = await aresearch(OBJECTIVE, context=context, control=control, progress=progress)
    assert (stopped.status, stopped.stop_reason) == ("stopped", "user_stop")
    assert len(model.prompts) == 4
    assert (home / stopped.run_id / "recovery.md").exists()
    again = await aresume(stopped.run_id, context=context)
    assert (again.status, again.stop_reason) == ("complete", "finalized")
    assert (len(model.prompts), len(evaluator.prompts)) == (10, 8)


class Killed(BaseException):
    """What a process feels of SIGKILL: nothing after it runs."""


def die_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Ends the run right after so many writes were committed; the counter says which writes there were."""
    seen: Counter[str] = Counter()

    def dying(name: str) -> Any:
        whole_method = getattr(Store, name)

        async def method(self: Store, *args: Any, **kwargs: Any) -> Any:
            if sum(seen.values()) >= count:
                raise Killed  # a task of the dead process does no more
            done = await whole_method(self, *args, **kwargs)
            seen[name] += bool(done)  # else there was nothing to write
            if sum(seen.values()) >= count:
                raise Killed
            return done

        return method

    for name in WRITES:
        monkeypatch.setattr(Store, name, dying(name))
    return seen


async def assert_as_if_nothing_had_happened(result: ResearchResult, rig: Rig) -> None:
    r = result.research
    assert (result.status, result.stop_reason, r.turns) == ("complete", "finalized", 10)
    assert (list(r.questions), list(r.claims), list(r.sources)) == (["q_001"], ["c_001"], ["s_001", "s_002"])
    assert list(r.challenges) == ["ch_001", "ch_002", "ch_003"]
    assert (len(rig.worker.prompts), len(rig.evaluator.prompts)) == (10, 8)
    assert rig.search is not None
    queries = [q.query for q in r.all_queries() if q.tool == "web_search"]
    assert len(queries) == len(set(queries)) == 4
    async with open_store(rig.context()) as store:
        assert len(await store.runs()) == 1
        assert len(await store.calls(result.run_id)) == 18


async def killed_and_resumed(home: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> tuple[ResearchResult, Rig]:
    rig = Rig(home, worker(whole()))
    with monkeypatch.context() as patch:
        die_after(after, patch)
        with pytest.raises(Killed):
            await aresearch(OBJECTIVE, context=rig.context(), run_id="victim")
        await buried()
    return await aresume("victim", context=rig.context()), rig


@pytest.mark.rule("D47", "A25")
async def test_death_right_after_the_run_was_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, rig = await killed_and_resumed(home, 1, monkeypatch)
    assert result.run_id == "victim"
    await assert_as_if_nothing_had_happened(result, rig)


@pytest.mark.rule("D47")
@pytest.mark.parametrize("after", sorted(random.Random(SEED).sample(range(2, 84), 10)))
async def test_death_after_any_write(home: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    result, rig = await killed_and_resumed(home, after, monkeypatch)
    await assert_as_if_nothing_had_happened(result, rig)


@pytest.mark.rule("D54")
async def test_a_reported_run_needs_room_and_then_goes_on_beyond_the_first_bounds(home: Path) -> None:
    short = "## Summary\n\nNothing yet.\n\n## Gaps\n\n- [q_001] The height was not settled.\n"
    steps = [plan(), report(short), *whole()[1:]]
    context = Rig(home, worker(steps)).context(max_turns=2, max_iterations=2)
    first = await aresearch(OBJECTIVE, context=context)
    assert (first.status, first.stop_reason) == ("reported", "breaker:iterations")
    with pytest.raises(SetupError, match="needs room"):
        await aresume(first.run_id, context=context)
    second = await aresume(first.run_id, context=context, turns=30, iterations=20)
    assert second.status == "complete"


@pytest.mark.rule("D54")
async def test_a_widened_run_is_not_ended_by_the_recursion_limit_of_its_first_bounds(home: Path) -> None:
    model = worker([plan()], search("nothing"))
    context = Rig(home, model, pages={}).context(max_turns=2, max_iterations=2, max_attempts=9, barren_rounds_limit=9,
                                                 plateau_records=20)  # fmt: skip
    first = await aresearch(OBJECTIVE, context=context)
    second = await aresume(first.run_id, context=context, turns=25, iterations=20)
    assert second.status in ("reported", "failed")
    assert second.research.turns > 15


async def test_there_is_no_run_of_an_unknown_id(home: Path) -> None:
    with pytest.raises(SetupError, match="There is no run 'nowhere'"):
        await aresume("nowhere", context=Rig(home, worker([])).context())


@pytest.mark.rule("D54", "L2")
async def test_death_right_after_the_end_leaves_the_last_step_to_the_resume(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(home, worker(whole()))
    execute = Store.execute

    async def dying(self: Store, *args: Any, **kwargs: Any) -> Any:
        done = await execute(self, *args, **kwargs)
        if done.research.status != "running":
            raise Killed
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Store, "execute", dying)
        with pytest.raises(Killed):
            await aresearch(OBJECTIVE, context=rig.context(), run_id="victim")
        await buried()
    result = await aresume("victim", context=rig.context())
    await assert_as_if_nothing_had_happened(result, rig)
    assert (home / "victim" / "report.md").exists()
    with pytest.raises(SetupError, match="is complete"):
        await aresume("victim", context=rig.context(), turns=9)
    again = await aresume("victim", context=rig.context())
    assert (again.status, again.report, again.usage) == (result.status, result.report, result.usage)
    assert len(rig.worker.prompts) == 10


async def test_the_report_in_the_run_folder_is_the_one_that_is_given(home: Path) -> None:
    result = await Rig(home, worker(whole())).research()
    assert (home / result.run_id / "report.md").read_text(encoding="utf-8").strip() == result.report.strip()


async def test_a_second_live_invocation_of_a_run_is_refused(home: Path) -> None:
    model = worker(whole(), "…")
    context = Rig(home, model).context(max_turns=14)
    refused: list[str] = []

    async def intrude() -> None:
        try:
            await aresume("shared", context=context)
        except SetupError as error:
            refused.append(str(error))

    intruders: list[asyncio.Task[None]] = []

    def progress(update: dict[str, Any], research: Research) -> None:
        if research.turns == 3 and not intruders:
            intruders.append(asyncio.ensure_future(intrude()))

    result = await aresearch(OBJECTIVE, context=context, run_id="shared", progress=progress)
    await asyncio.gather(*intruders)
    assert len(refused) == 1
    assert (result.status, len(model.prompts)) == ("complete", 10)
