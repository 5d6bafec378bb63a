"""A fleet in one process: several workers on one frontier, one of them failing, all of it drawn and looked at."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fleet.crew import Crew, context

from zetetic import aresearch, build_fleet, open_store

OBJECTIVE = "How deep are the basins?"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.rule("D51", "D14", "L8")
async def test_four_workers_share_the_questions_and_double_none(home: Path) -> None:
    result = await aresearch(OBJECTIVE, context=context(home, 8, Crew(8)))
    r = result.research
    assert (result.status, result.stop_reason) == ("complete", "finalized")
    assert [q.status for q in r.questions.values()] == ["resolved"] * 9
    assert len(r.sources) == 8
    assert len({c.text for c in r.claims.values()}) == len(r.claims) == 8
    async with open_store(context(home, 8, Crew(8))) as store:
        log = await store.log(r.run_id)
        moves = {q: await store.transitions(r.run_id, q) for q in r.questions}
    workers = Counter(entry.worker for entry in log if entry.event.event == "attempt_started")
    assert set(workers) == {"", "w1", "w2", "w3", "w4"}
    assert workers[""] == 2, "the objective and the report are the lead's"
    assert all([m.to_status for m in rows] == ["pending", "in_progress", "resolved"] for rows in moves.values())
    assert r.attempts_under_way() == {}


@pytest.mark.rule("D51", "D14")
async def test_never_more_than_max_parallel_at_once(home: Path) -> None:
    busy: list[int] = []

    def progress(update: dict[str, Any], research: Any) -> None:
        busy.append(sum(q.status == "in_progress" for q in research.questions.values()))

    await aresearch(OBJECTIVE, context=context(home, 6, Crew(6), max_parallel=3), progress=progress)
    assert max(busy) <= 3
    assert max(busy) > 1, "they do work side by side"


@pytest.mark.rule("D51", "A22", "A9")
async def test_a_worker_that_fails_costs_its_own_attempt_and_no_others(home: Path, monkeypatch: Any) -> None:
    from zetetic.nodes import decide

    fell: list[str] = []
    written = decide._worker_prompt

    async def failing(bench: Any, base: Any, r: Any, *args: Any) -> Any:
        if r.current is not None and r.current.question == "How deep is basin 3?":
            fell.append(r.worker)
            raise MemoryError("a fault of this process")
        return await written(bench, base, r, *args)

    monkeypatch.setattr(decide, "_worker_prompt", failing)
    result = await aresearch(OBJECTIVE, context=context(home, 5, Crew(5), max_attempts=2))
    r = result.research
    assert len(fell) == 2, "once an attempt"
    statuses = {q.id: q.status for q in r.questions.values()}
    assert statuses.pop("q_004") == "unresolvable"
    assert set(statuses.values()) == {"resolved"}
    assert r.questions["q_004"].attempts == 2
    assert result.status == "complete"
    assert "(q_004)" in result.report


@pytest.mark.rule("A2", "D51")
def test_lead_and_workers_are_nodes_of_the_graph() -> None:
    drawn = build_fleet().compile().get_graph()
    assert {"lead", "worker"} <= set(drawn.nodes)


@pytest.mark.rule("A24", "D51")
async def test_a_directive_reaches_one_attempt_once(home: Path) -> None:
    result = await aresearch(OBJECTIVE, context=context(home, 4, Crew(4)), directives=["mind the tide"])
    (directive,) = result.research.directives
    assert directive.delivered_in > 0


@pytest.mark.rule("D46", "D51")
async def test_a_breaker_ends_every_workers_attempt_and_the_report_is_written(home: Path) -> None:
    result = await aresearch(OBJECTIVE, context=context(home, 8, Crew(8), max_turns=16))
    assert result.stop_reason == "breaker:iterations"
    assert result.status == "reported"
    assert not [q for q in result.research.questions.values() if q.status == "in_progress"]
    assert result.research.attempts_under_way() == {}


@pytest.mark.rule("D51")
async def test_the_whole_of_it_can_be_cancelled_at_once(home: Path) -> None:
    task = asyncio.ensure_future(aresearch(OBJECTIVE, context=context(home, 8, Crew(8))))
    await asyncio.sleep(0.6)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)


@pytest.mark.rule("D49", "D51")
async def test_a_question_in_progress_names_worker_and_lease(home: Path) -> None:
    seen: set[tuple[str, str]] = set()
    given = context(home, 4, Crew(4))

    def progress(update: dict[str, Any], research: Any) -> None:
        with closing(sqlite3.connect(home / "zetetic.db")) as database:
            rows = database.execute("SELECT worker, lease FROM frontier_questions WHERE status = 'in_progress'")
            seen.update(rows.fetchall())

    result = await aresearch(OBJECTIVE, context=given, progress=progress)
    assert ("w1", f"{result.run_id}/w1") in seen
    assert all(lease == (f"{result.run_id}/{worker}" if worker else result.run_id) for worker, lease in seen)
    with closing(sqlite3.connect(home / "zetetic.db")) as database:
        left = database.execute("SELECT DISTINCT worker, lease FROM frontier_questions").fetchall()
    assert left == [("", "")]
