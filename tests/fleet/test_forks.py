"""Going back in time: from every node, by an edited state and by a checkpoint's id, alone and in a fleet."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fleet.crew import Crew, context
from langgraph.types import StateSnapshot

from zetetic import Context, afork, aresearch, build_fleet, build_graph
from zetetic.graph.checkpointers import sqlite_saver
from zetetic.nodes.workbench import Workbench, workbench
from zetetic.state.events import EVENT

OBJECTIVE = "How deep is basin 1?"
NODES = ("state", "decide", "act", "observe", "update", "judge", "verify", "critique", "completeness", "route")
THREAD: Any = {"configurable": {"thread_id": "thread"}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@asynccontextmanager
async def opened(given: Context, graph: Any) -> AsyncIterator[tuple[Any, Workbench]]:
    """The graph with a saver of its own file, and the workbench it works with."""
    async with workbench(given) as bench, sqlite_saver(Path(given.home) / "threads.db") as saver:
        yield graph.compile(checkpointer=saver), bench


async def log_of(bench: Workbench, run_id: str) -> list[str]:
    return [EVENT.dump_json(e.event).decode() for e in await bench.store.log(run_id)]


async def history(graph: Any) -> list[StateSnapshot]:
    """The thread's checkpoints, oldest first."""
    return [s async for s in graph.aget_state_history(THREAD)][::-1]


def as_told(log: list[str]) -> list[Any]:
    """Events without the run they belong to and when it was forked."""
    told = [json.loads(event) for event in log]
    for event in told:
        event.pop("run_id", None)
        event.pop("forked_from", None)
        event.pop("forked_at", None)
    return told


async def assert_forked(bench: Workbench, old: str, before: list[str], done: Any, head: int) -> str:
    """A new run with the log as of there, ended by itself; the old one as it was."""
    new = done["run_id"]
    assert new != old
    assert await log_of(bench, old) == before
    after = await log_of(bench, new)
    assert as_told(after[:head]) == as_told(before[:head])
    r = await bench.store.load(new)
    assert r.forked_from == f"{old}@{head}"
    assert (r.status, r.run_id) == ("complete", new)
    assert done["status"] == "complete"
    return str(new)


@pytest.mark.rule("D7", "D49")
@pytest.mark.parametrize("edited", [True, False], ids=["an edited state", "a checkpoint's id"])
async def test_from_every_node_of_a_finished_run_a_new_one_goes_on(home: Path, edited: bool) -> None:
    async with opened(context(home, 1, Crew(1), max_parallel=1), build_graph()) as (graph, bench):
        first = await graph.ainvoke({"objective": OBJECTIVE}, THREAD, context=bench.context, durability="sync")
        old = first["run_id"]
        assert first["status"] == "complete"
        before = await log_of(bench, old)
        past = await history(graph)
        seen: dict[str, str] = {}
        for node in NODES:
            there = [s for s in past if node in s.next and s.values.get("run_id") == old and s.values.get("log_head")]
            point = there[len(there) // 2]
            config = point.config
            if edited:
                ran = past[past.index(point) - 1].next[0]
                config = await graph.aupdate_state(config, {"account": f"looked at before {node}"}, as_node=ran)
            done = await graph.ainvoke(None, config, context=bench.context, durability="sync")
            seen[node] = await assert_forked(bench, old, before, done, point.values["log_head"])
        assert len(set(seen.values())) >= len(NODES) - 3, "the arms of one evaluation fork together"


@pytest.mark.rule("D49")
async def test_a_fork_of_a_fork_leaves_both_as_they_were(home: Path) -> None:
    async with opened(context(home, 1, Crew(1), max_parallel=1), build_graph()) as (graph, bench):
        first = await graph.ainvoke({"objective": OBJECTIVE}, THREAD, context=bench.context, durability="sync")
        point = next(s for s in await history(graph) if "act" in s.next)
        second = await graph.ainvoke(None, point.config, context=bench.context, durability="sync")
        logs = {run: await log_of(bench, run) for run in (first["run_id"], second["run_id"])}
        later = [s for s in await history(graph) if "decide" in s.next and s.values.get("run_id") == second["run_id"]]
        third = await graph.ainvoke(None, later[-1].config, context=bench.context, durability="sync")
        assert len({first["run_id"], second["run_id"], third["run_id"]}) == 3
        assert (await bench.store.load(third["run_id"])).forked_from.startswith(second["run_id"])
        for run, log in logs.items():
            assert await log_of(bench, run) == log


@pytest.mark.rule("D47")
async def test_a_step_that_is_run_again_is_no_fork(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(context(home, 1, Crew(1), max_parallel=1), build_graph()) as (graph, bench):
        put = graph.checkpointer.aput
        writes = 0

        async def dying(*args: Any, **kwargs: Any) -> Any:
            nonlocal writes
            writes += 1
            if writes in (9, 14, 21):
                raise ConnectionError("the process is gone")
            return await put(*args, **kwargs)

        monkeypatch.setattr(graph.checkpointer, "aput", dying)
        given: Any = {"objective": OBJECTIVE}
        for _ in range(4):
            try:
                done = await graph.ainvoke(given, THREAD, context=bench.context, durability="sync")
                break
            except ConnectionError:
                given = None
        assert writes > 21
        assert done["status"] == "complete"
        assert [r.run_id for r in await bench.store.runs()] == [done["run_id"]]


@pytest.mark.rule("D47")
async def test_a_fork_that_dies_in_its_first_node_goes_on_as_the_same_run(home: Path) -> None:
    fell: list[str] = []

    def before(prompt: str) -> None:
        if fell == ["soon"]:
            fell.append("now")
            raise MemoryError("the process is gone")

    async with opened(context(home, 1, Crew(1, before), max_parallel=1), build_graph()) as (graph, bench):
        first = await graph.ainvoke({"objective": OBJECTIVE}, THREAD, context=bench.context, durability="sync")
        point = [s for s in await history(graph) if "decide" in s.next][2]
        await graph.aupdate_state(point.config, {"account": "gone back"})
        fell.append("soon")
        killed = await graph.ainvoke(None, THREAD, context=bench.context, durability="sync")
        assert fell == ["soon", "now"]
        assert killed["run_id"] != first["run_id"]
        assert len(await bench.store.runs()) == 2


@pytest.mark.rule("D51", "D49")
async def test_a_fleet_that_goes_back_in_time_is_one_new_run(home: Path) -> None:
    async with opened(context(home, 4, Crew(4), max_parallel=3), build_fleet()) as (graph, bench):
        first = await graph.ainvoke({"objective": "How deep are the basins?"}, THREAD, context=bench.context,
                                    durability="sync")  # fmt: skip
        assert first["status"] == "complete"
        before = await log_of(bench, first["run_id"])
        for node in ("worker", "lead"):
            point = next(s for s in await history(graph) if node in s.next and s.values.get("run_id"))
            edited = await graph.aupdate_state(point.config, {"account": f"gone back to {node}"}, as_node="lead") \
                if node == "worker" else point.config  # fmt: skip
            done = await graph.ainvoke(None, edited, context=bench.context, durability="sync")
            assert done["run_id"] != first["run_id"]
            assert await log_of(bench, first["run_id"]) == before
            r = await bench.store.load(done["run_id"])
            assert r.status == "complete"
            assert r.forked_from.startswith(f"{first['run_id']}@")
        assert len(await bench.store.runs()) <= 3, "one new run a fork, not one a worker"


@pytest.mark.rule("D7")
async def test_a_new_question_on_an_old_thread_is_a_new_run_and_no_fork(home: Path) -> None:
    async with opened(context(home, 1, Crew(1), max_parallel=1), build_graph()) as (graph, bench):
        first = await graph.ainvoke({"objective": OBJECTIVE}, THREAD, context=bench.context, durability="sync")
        second = await graph.ainvoke({"objective": "How deep is it?"}, THREAD, context=bench.context, durability="sync")
        assert first["run_id"] != second["run_id"]
        assert (await bench.store.load(second["run_id"])).forked_from == ""


@pytest.mark.rule("D51", "D49")
async def test_a_fleet_is_forked_at_any_turn_while_its_workers_are_busy(home: Path) -> None:
    given = context(home, 3, Crew(3), max_parallel=3)
    first = await aresearch("How deep are the basins?", context=given)
    turns = first.research.turns
    async with workbench(given) as bench:
        before = await log_of(bench, first.run_id)
        for at in (1, turns // 3, turns // 2, turns - 2):
            done = await afork(first.run_id, at=at, context=given, new_run_id=f"fork-{at}")
            r = done.research
            assert (done.run_id, done.status) == (f"fork-{at}", "complete")
            assert [q.status for q in r.questions.values()] == ["resolved"] * 4
            assert len({c.text for c in r.claims.values()}) == len(r.claims) == 3
            assert r.attempts_under_way() == {}
        assert await log_of(bench, first.run_id) == before
