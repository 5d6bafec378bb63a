"""One live invocation a run, also where the graph is invoked by itself, as LangGraph's server and other graphs do."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cli.commands import ended
from fleet.alone import context as shared_context
from fleet.crew import Crew, context
from fleet.served import CrewServer
from fleet.test_forks import OBJECTIVE, THREAD, history, opened
from fleet.test_work import Held, Place, assert_nothing_doubled, cleanup, place
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from pydantic import PrivateAttr

from zetetic import Context, SetupError, aresume, build_graph, open_store
from zetetic.nodes.workbench import Workbench
from zetetic.testing import ScriptedModel

__all__ = ["cleanup", "place"]

TESTS = Path(__file__).parent.parent
COUNT = 4
LEASE = 1.0
SECONDS = 60
REFUSED = r"The run \w+ is being worked on \(.+\)\. Wait until it ends, or stop it there"


def alone(place: Place, server: CrewServer, *bounds: str) -> subprocess.Popen[str]:
    """A process that invokes the graph on the test's one thread."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    given = ["thread", str(place.folder), place.database, server.base_url, f"lease_seconds={LEASE}", *bounds]
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "fleet.alone", *given],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def the_run(place: Place) -> str:
    """The one run of a place."""

    async def found() -> list[str]:
        async with open_store(Context(database=place.database)) as store:
            return [row.run_id for row in await store.runs()]

    (run,) = asyncio.run(found())
    return run


@pytest.mark.rule("D47")
def test_a_second_process_is_refused_and_follows_when_the_first_is_killed(place: Place, cleanup: ExitStack) -> None:
    held = Held()
    server = cleanup.enter_context(CrewServer(COUNT, held))
    first = alone(place, server)
    assert held.asked.wait(SECONDS)
    time.sleep(LEASE * 1.2)  # one call of a model takes longer than the lease
    run = the_run(place)
    second = ended(alone(place, server))
    assert second.code == 2
    assert re.match(REFUSED, second.err), second.err
    given = shared_context(place.folder, place.database, server.base_url, lease_seconds=LEASE)
    with pytest.raises(SetupError, match=REFUSED):
        asyncio.run(aresume(run, context=given))
    first.send_signal(signal.SIGKILL)
    assert ended(first).code == -signal.SIGKILL
    held.let_go.set()
    third = ended(alone(place, server))
    assert third.code == 0, third.err
    assert json.loads(third.out) == {"run_id": run, "status": "complete"}
    assert the_run(place) == run


@pytest.mark.rule("D51", "D14")
def test_workers_of_another_process_join_a_run_that_a_plain_graph_leads(place: Place, cleanup: ExitStack) -> None:
    leading = Held()
    servers = [cleanup.enter_context(CrewServer(COUNT, *held)) for held in ([leading], [])]
    lead = alone(place, servers[0], "max_parallel=4", "own_workers=1")
    assert leading.asked.wait(SECONDS)
    run = the_run(place)
    helper = place.work(servers[1], run, "--workers", "2", elsewhere=True)
    said = []
    for line in helper.stderr or ():
        said.append(line)
        if f"{COUNT - 1} resolved" in line:
            break
    leading.let_go.set()
    helped, led = ended(helper), ended(lead)
    assert (led.code, helped.code) == (0, 0), led.err + helped.err + "".join(said)
    r, log, _ = place.found(run)
    assert r.status == "complete"
    assert_nothing_doubled(r, log, 4)
    assert helped.out.startswith(f"{COUNT - 1} attempts on run {run} by elsewhere-")


class Gate(ScriptedModel):
    """Answers as scripted; the call of a number, from 1, waits until it is opened."""

    shut_at: int = 0
    _asked: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _open: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @property
    def asked(self) -> asyncio.Event:
        return self._asked

    def open(self) -> None:
        self._open.set()

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        answer = await super()._agenerate(*args, **kwargs)
        if len(self.prompts) == self.shut_at:
            self._asked.set()
            await self._open.wait()
        return answer


def gated(home: Path, shut_at: int) -> tuple[Context, Gate]:
    model = Gate(script=Crew(1), shut_at=shut_at)
    return context(home, 1, Crew(1), max_parallel=1).model_copy(update={"model": model}), model


def begun(graph: Any, bench: Workbench, given: Any, config: Any = THREAD, **more: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(graph.ainvoke(given, config, context=bench.context, durability="sync", **more))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.rule("D47")
async def test_of_two_live_invocations_on_one_thread_the_second_is_refused(home: Path) -> None:
    given, model = gated(home, 3)
    async with opened(given, build_graph()) as (graph, bench):
        first = begun(graph, bench, {"objective": OBJECTIVE})
        await model.asked.wait()
        with pytest.raises(SetupError, match=REFUSED):
            await begun(graph, bench, None)
        (run,) = await bench.store.runs()
        with pytest.raises(SetupError, match=REFUSED):
            await aresume(run.run_id, context=bench.context)
        model.open()
        done = await first
        assert (done["run_id"], done["status"]) == (run.run_id, "complete")
        assert len(await bench.store.calls(run.run_id)) == len(model.prompts)
        assert await bench.store.lease_holder(run.run_id) is None
        assert len(await bench.store.runs()) == 1


@pytest.mark.rule("D47")
@pytest.mark.parametrize("way", ["cancelled", "drained"])
async def test_an_invocation_that_was_ended_is_followed_at_once(home: Path, way: str) -> None:
    given, model = gated(home, 3)
    control = RunControl()
    async with opened(given, build_graph()) as (graph, bench):
        first = begun(graph, bench, {"objective": OBJECTIVE}, control=control)
        await model.asked.wait()
        (run,) = await bench.store.runs()
        if way == "cancelled":
            first.cancel()
        control.request_drain()
        model.open()
        with pytest.raises((asyncio.CancelledError, GraphDrained)):
            await first
        assert await bench.store.lease_holder(run.run_id) is None
        done = await begun(graph, bench, None)
        assert (done["run_id"], done["status"]) == (run.run_id, "complete")


@pytest.mark.rule("D47", "D49")
async def test_a_fork_is_worked_on_by_one_invocation_and_so_is_the_run_that_it_leaves(home: Path) -> None:
    given, model = gated(home, 0)
    async with opened(given, build_graph()) as (graph, bench):
        first = await begun(graph, bench, {"objective": OBJECTIVE})
        point = next(s for s in await history(graph) if "act" in s.next)
        model.shut_at = len(model.prompts) + 2
        second = begun(graph, bench, None, point.config)
        await model.asked.wait()
        (fork,) = [row.run_id for row in await bench.store.runs() if row.run_id != first["run_id"]]
        assert await bench.store.lease_holder(first["run_id"]) is None, "the run that was left is given back"
        with pytest.raises(SetupError, match=f"The run {fork} is being worked on"):
            await aresume(fork, context=bench.context)
        with pytest.raises(SetupError, match=f"The run {fork} is being worked on"):
            await begun(graph, bench, None)
        model.open()
        done = await second
        assert (done["run_id"], done["status"]) == (fork, "complete")
        assert await bench.store.lease_holder(fork) is None


@pytest.mark.rule("D47", "D49")
async def test_nobody_goes_back_in_time_on_a_run_that_is_being_worked_on(home: Path) -> None:
    given, model = gated(home, 5)
    async with opened(given, build_graph()) as (graph, bench):
        first = begun(graph, bench, {"objective": OBJECTIVE})
        await model.asked.wait()
        point = next(s for s in await history(graph) if "act" in s.next)
        with pytest.raises(SetupError, match=REFUSED):
            await begun(graph, bench, None, point.config)
        model.open()
        assert (await first)["status"] == "complete"
        assert len(await bench.store.runs()) == 1


async def test_a_run_that_broke_off_between_two_steps_is_resumed_although_nobody_gave_its_lease_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, _ = gated(home, 0)
    async with opened(given, build_graph()) as (graph, bench):
        put = graph.checkpointer.aput
        left = iter(range(12))

        async def failing(*args: Any, **kwargs: Any) -> Any:
            if next(left, None) is None:
                raise ConnectionError("the disk is gone")
            return await put(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(graph.checkpointer, "aput", failing)
            with pytest.raises(ConnectionError):
                await begun(graph, bench, {"objective": OBJECTIVE})
        (run,) = await bench.store.runs()
        assert await bench.store.lease_holder(run.run_id, bench.clock()) is not None
        done = await begun(graph, bench, None)
        assert (done["run_id"], done["status"]) == (run.run_id, "complete")
