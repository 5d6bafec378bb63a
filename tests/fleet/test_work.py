"""Workers of other processes on one run: they join, they are stopped, they are killed, and nothing is doubled."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cli.commands import ended, environment, started
from fleet.served import CrewServer, basins
from postgres_plugin import PostgresServer

from zetetic import Context, SetupError, awork, open_store
from zetetic.state.research import Research
from zetetic.store import LogEntry

COUNT = 4
LEASE = 2.0
SECONDS = 60
ELSEWHERE = "import socket, sys; socket.gethostname = lambda: 'elsewhere'; from zetetic.cli import main; main()"
"""The command on a machine of another name, whose processes nobody here can look at."""


class Held:
    """Holds back the first attempt's prompts of a process until it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, prompt: str) -> None:
        if re.search(r"^Stage: acting", prompt, re.M):
            self.asked.set()
            self.let_go.wait(SECONDS)


class Place:
    """A folder with documents, and a database."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        basins(folder / "docs", COUNT)

    def options(self, server: CrewServer, home: str) -> list[str]:
        sources = ["--documents", str(self.folder / "docs"), "--home", home, "--database", self.database]
        return [*sources, "--model", "some-model", "--base-url", server.base_url]

    def lead(self, server: CrewServer, *more: str) -> subprocess.Popen[str]:
        bounds = {"max-parallel": 4, "max-turns": 200, "min-sources": 1, "min-domains": 1, "lease-seconds": LEASE}
        given = [word for name, value in bounds.items() for word in (f"--{name}", str(value))]
        args = ("research", "How deep are the basins?", *self.options(server, "home"), *given, *more)
        return started(*args, cwd=self.folder, env=environment(ZETETIC_API_KEY="none"))

    def work(self, server: CrewServer, run: str, *more: str, elsewhere: bool = False) -> subprocess.Popen[str]:
        args = ["work", run, *self.options(server, "another-home"), *more]
        env = environment(ZETETIC_API_KEY="none")
        if not elsewhere:
            return started(*args, cwd=self.folder, env=env)
        command = [sys.executable, "-c", ELSEWHERE, *args]
        return subprocess.Popen(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=self.folder
        )

    def found(self, run: str) -> tuple[Research, list[LogEntry], dict[str, list[tuple[str, str, str]]]]:
        async def read() -> tuple[Research, list[LogEntry], dict[str, list[tuple[str, str, str]]]]:
            async with open_store(Context(database=self.database)) as store:
                r = await store.load(run)
                rows = {q: await store.transitions(run, q) for q in r.questions}
                moves = {q: [(m.from_status, m.to_status, m.trigger) for m in row] for q, row in rows.items()}
                return r, await store.log(run), moves

        return asyncio.run(read())


@pytest.fixture(params=["postgres", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(tmp_path, str(tmp_path / "shared.db"))
    server: PostgresServer = request.getfixturevalue("postgres")
    return Place(tmp_path, server.database())


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def run_id(process: subprocess.Popen[str]) -> str:
    """The run that a lead has said it works on."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"Run (\w+)", line):
            return found[1]
    raise AssertionError("no run was begun")


def assert_nothing_doubled(r: Research, log: list[LogEntry], at_most: int) -> None:
    assert [q.status for q in r.questions.values()] == ["resolved"] * (COUNT + 1)
    assert len({q.question for q in r.questions.values()}) == COUNT + 1
    assert len({s.canonical for s in r.sources.values()}) == len(r.sources) == COUNT
    assert len({c.text for c in r.claims.values()}) == len(r.claims) == COUNT
    assert r.attempts_under_way() == {}
    answered = Counter(e.event.question_id for e in log if e.event.event == "question_answered")
    assert set(answered.values()) == {1}
    busy, most = set(), 0
    for entry in log:
        if entry.event.event == "question_moved":
            (busy.add if entry.event.to_status == "in_progress" else busy.discard)(entry.event.question_id)
            most = max(most, len(busy))
    assert 2 <= most <= at_most


@pytest.mark.rule("D51", "D15", "D14")
def test_two_processes_join_and_one_is_killed_in_its_attempt(place: Place, cleanup: ExitStack) -> None:
    leading, doomed = Held(), Held()
    servers = [cleanup.enter_context(CrewServer(COUNT, *held)) for held in ([leading], [doomed], [])]
    lead = place.lead(servers[0], "--own-workers", "1")
    run = run_id(lead)
    assert leading.asked.wait(SECONDS)
    victim = place.work(servers[1], run, elsewhere=True)
    assert doomed.asked.wait(SECONDS)
    victim.send_signal(signal.SIGKILL)
    assert ended(victim).code == -signal.SIGKILL
    helper = place.work(servers[2], run, "--workers", "2")
    lines = _until(helper, f"{COUNT - 1} resolved")
    leading.let_go.set()
    doomed.let_go.set()
    helped, led = ended(helper), ended(lead)
    assert (led.code, helped.code) == (0, 0), led.err + helped.err + "".join(lines)

    r, log, moves = place.found(run)
    assert r.status == "complete"
    assert_nothing_doubled(r, log, 4)
    names = {e.worker for e in log if e.event.event == "attempt_started"} - {"", "w1"}
    (gone,) = [name for name in names if name.startswith("elsewhere-")]
    assert gone == f"elsewhere-{victim.pid}-w1"
    assert names - {gone} == {f"{_host()}-{helper.pid}-w{n}" for n in (1, 2)}
    (lost,) = [e.event.question_id for e in log if e.event.event == "attempt_started" and e.worker == gone]
    assert [(to, why) for _, to, why in moves[lost]] == [
        ("pending", "created"),
        ("in_progress", "selected"),
        ("pending", "released"),
        ("in_progress", "selected"),
        ("resolved", "resolved"),
    ]
    mine = [e for e in log if e.event.event == "question_moved" and e.event.question_id == lost]
    taken, back = (next(e.at for e in mine if e.event.trigger == why) for why in ("selected", "released"))
    assert (back - taken).total_seconds() >= LEASE * 0.5, "it was not taken away before its lease was over"
    assert r.questions[lost].attempts == 1, "what the dead one began was not charged"
    assert helped.out.startswith(f"{COUNT - 1} attempts on run {run} by ")
    assert "; exploration is over" in helped.out or "; the run is complete" in helped.out
    assert not (place.folder / "another-home" / run).exists()


@pytest.mark.rule("D51")
def test_a_worker_that_is_stopped_gives_back_what_it_holds(place: Place, cleanup: ExitStack) -> None:
    leading, stopped = Held(), Held()
    servers = [cleanup.enter_context(CrewServer(COUNT, held)) for held in (leading, stopped)]
    lead = place.lead(servers[0], "--own-workers", "1")
    run = run_id(lead)
    assert leading.asked.wait(SECONDS)
    helper = place.work(servers[1], run, "--json")
    assert stopped.asked.wait(SECONDS)
    helper.send_signal(signal.SIGINT)
    _until(helper, "finishing this step…")
    stopped.let_go.set()
    done = ended(helper)
    assert done.code == 130
    name = f"{_host()}-{helper.pid}-w1"
    assert done.json == {"run_id": run, "workers": [name], "attempts": 0, "left_because": "stopped"}
    r, log, moves = place.found(run)
    assert set(r.attempts_under_way()) == {"w1"}
    (held,) = [e.event.question_id for e in log if e.event.event == "attempt_started" and e.worker == name]
    assert moves[held][-1] == ("in_progress", "pending", "released")
    leading.let_go.set()
    assert ended(lead).code == 0
    assert_nothing_doubled_alone(*place.found(run)[:2])


def assert_nothing_doubled_alone(r: Research, log: list[LogEntry]) -> None:
    assert r.status == "complete"
    assert {q.status for q in r.questions.values()} == {"resolved"}
    assert len(r.claims) == COUNT
    assert r.attempts_under_way() == {}


@pytest.mark.rule("D51", "D14")
def test_a_lead_with_all_its_workers_gets_along_with_more(place: Place, cleanup: ExitStack) -> None:
    server = cleanup.enter_context(CrewServer(COUNT))
    lead = place.lead(server, "--max-parallel", "3")
    run = run_id(lead)
    for line in lead.stderr or ():
        if "1/200" in line:
            break
    helpers = [place.work(server, run, "--workers", "2") for _ in range(2)]
    led, helped = ended(lead), [ended(helper) for helper in helpers]
    assert led.code == 0, led.err
    assert {done.code for done in helped} <= {0, 2}, [done.err for done in helped]  # 2: it came when all was over
    r, log, _ = place.found(run)
    assert r.status == "complete"
    assert_nothing_doubled(r, log, 3)


@pytest.mark.rule("D51")
async def test_what_cannot_be_joined_is_told_in_a_sentence(tmp_path: Path) -> None:
    from fleet.crew import Crew, context

    from zetetic import aresearch

    home = tmp_path / "home"
    given = context(home, 1, Crew(1), max_parallel=2)
    with pytest.raises(SetupError, match=r"^There is no run 'nobody' in .*: `zetetic runs` lists them\.$"):
        await awork("nobody", context=given)
    done = await aresearch("How deep is basin 1?", context=given)
    with pytest.raises(SetupError, match=rf"^The run {done.run_id} is complete: workers join one that is at work\. "):
        await awork(done.run_id, context=given)
    with pytest.raises(SetupError, match=r"^workers is at least 1, not 0\.$"):
        await awork(done.run_id, context=given, workers=0)


def _host() -> str:
    import socket

    return socket.gethostname()


def _until(process: subprocess.Popen[str], words: str) -> list[str]:
    """Reads what a process says until it has said so."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return said
    raise AssertionError("".join(said))
