"""`zetetic research --batch`: many runs at once, killed and stopped in the middle, and gone on with."""

import json
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli.commands import KEY, QUESTION, Ended, Server, documents, ended, started

from zetetic import Context, abatch
from zetetic.graph.batch_lines import read_lines

Here = Callable[..., Ended]
ASKED = (
    QUESTION,
    "How much electricity does the Kestrow tidal barrage generate in a year?",
    "When were the eel ladders added to the Kestrow tidal barrage?",
    '{"objective": "Who runs the Kestrow tidal barrage?", "id": "operator", "criteria": ["Names the operator."]}',
    '{"objective": "How large is the capacity of the Kestrow tidal barrage?", "max_turns": 30, "scope": "the barrage"}',
    QUESTION,
)
FIELDS = [
    *("line", "id", "run_id", "status", "stop_reason", "report_path", "usage", "known", "error"),
]


def told(done: Ended) -> list[dict[str, Any]]:
    """The results, by line."""
    return sorted((json.loads(line) for line in done.out.splitlines()), key=lambda one: int(one["line"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents(tmp_path / "docs")
    (tmp_path / "batch.txt").write_text("\n".join(ASKED[:3]) + "\n\n" + "\n".join(ASKED[3:]) + "\n")
    return tmp_path


class Gate(Server):
    """A server at which every request from the `at`-th on waits, once, until it is opened; counts those that wait."""

    def __init__(self, at: int) -> None:
        super().__init__(self._wait)
        self.at = at
        self.open = threading.Event()
        self.waiting = 0
        self._arrived = threading.Condition()

    def _wait(self, number: int) -> None:
        if number >= self.at and not self.open.is_set():
            with self._arrived:
                self.waiting += 1
                self._arrived.notify_all()
            self.open.wait(60)

    def until_all_wait(self) -> None:
        """Returns when requests wait and no other has come for a second: every answer that was given is taken."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.waiting, 60)
            while self._arrived.wait_for(lambda seen=self.waiting: self.waiting > seen, 1.0):  # type: ignore[misc]
                pass


def command(server: Server, *more: str) -> tuple[str, ...]:
    model = ("--model", "some-model", "--base-url", server.base_url)
    return ("research", "--batch", "batch.txt", "--documents", "docs", "--home", "home", *model, *more)


@pytest.mark.rule("D54", "D47")
def test_a_batch_that_is_killed_goes_on_and_pays_nothing_twice(
    here: Here, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)
    with Gate(40) as server:
        process = started(*command(server, "--concurrency", "3"), cwd=folder)
        server.until_all_wait()
        process.send_signal(signal.SIGKILL)
        cut = ended(process)
        in_flight = server.waiting
        server.open.set()
        assert 1 <= in_flight <= 12
        assert cut.code == -signal.SIGKILL

        first = started(*command(server, "--concurrency", "3"), cwd=folder)
        whole = ended(first)
        assert (whole.code, whole.err.splitlines()[-1]) == (0, "6 of 6 lines complete")
        results = told(whole)
        paid = sum(one["usage"]["calls"] for one in results)
        assert server.asked == paid + in_flight, "only what was in flight was asked for again"

        asked = server.asked
        again = ended(started(*command(server), cwd=folder))
        assert server.asked == asked
        assert [{**one, "known": False} for one in told(again)] == [{**one, "known": False} for one in results]
        assert all(one["known"] for one in told(again))
    assert [one["line"] for one in results] == [1, 2, 3, 5, 6, 7]
    assert [one["id"] for one in results] == ["", "", "", "operator", "", ""]
    assert list(results[0]) == FIELDS
    assert {one["status"] for one in results} == {"complete"}
    assert len({one["run_id"] for one in results}) == 6, "equal lines are runs of their own"
    for one in results:
        assert one["report_path"] == f"home/{one['run_id']}/report.md"
        assert (folder / one["report_path"]).read_text().startswith("# ")
    with closing(sqlite3.connect(folder / "home" / "zetetic.db")) as database:
        assert database.execute("SELECT count(*) FROM research_runs").fetchall() == [(6,)]
        (operator,) = database.execute(
            "SELECT body FROM events WHERE run_id = ? AND event = 'run_opened'", (results[3]["run_id"],)
        ).fetchone()
    assert json.loads(operator)["criteria"] == ["Names the operator."]
    kept = json.loads((folder / "home" / results[0]["run_id"] / "context.json").read_text())
    assert kept["model"] == "some-model"


@pytest.mark.rule("D48", "D54")
def test_ctrl_c_ends_all_after_their_step_and_the_same_command_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)
    with Gate(12) as server:
        process = started(*command(server, "--concurrency", "2"), cwd=folder)
        server.until_all_wait()
        process.send_signal(signal.SIGINT)
        _said(process, "finishing this step…")
        server.open.set()
        stopped = ended(process)
        assert stopped.code == 130
        results = told(stopped)
        assert [(one["status"], one["stop_reason"]) for one in results[:2]] == [("stopped", "user_stop")] * 2
        assert {one["error"] for one in results[2:]} == {"stopped before it was begun; nothing was spent on it"}
        assert stopped.err.splitlines()[-1] == "To go on: give the same command again"
        assert server.asked == sum(one["usage"]["calls"] for one in results[:2])
        whole = ended(started(*command(server), cwd=folder))
        assert (whole.code, {one["status"] for one in told(whole)}) == (0, {"complete"})
        assert [one["run_id"] for one in told(whole)[:2]] == [one["run_id"] for one in results[:2]]
        assert server.asked == sum(one["usage"]["calls"] for one in told(whole))


@pytest.mark.rule("D54")
def test_a_second_ctrl_c_cancels_and_every_line_still_has_its_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)
    with Gate(12) as server:
        process = started(*command(server, "--concurrency", "2"), cwd=folder)
        server.until_all_wait()
        process.send_signal(signal.SIGINT)
        _said(process, "finishing this step…")
        process.send_signal(signal.SIGINT)
        _said(process, "cancelling…")
        stopped = ended(process)
        server.open.set()
    assert stopped.code == 130
    assert "Traceback" not in stopped.err
    assert [one["line"] for one in told(stopped)] == [1, 2, 3, 5, 6, 7]
    assert [one["status"] for one in told(stopped)] == ["stopped"] * 2 + [""] * 4


def _said(process: "subprocess.Popen[str]", start: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(start):
            return
    raise AssertionError(f"{start!r} was never said")


@pytest.mark.rule("D54")
def test_a_line_that_fails_is_a_line_with_its_error_and_ends_no_other(here: Here, tmp_path: Path) -> None:
    documents(tmp_path / "docs")
    lines = [
        QUESTION,
        "{bad",
        '{"objective": ""}',
        '{"objective": "What?", "home": "elsewhere"}',
        '{"objective": "What?", "base_url": "http://127.0.0.1:9/v1"}',
        '{"objective": "What?", "documents": "nowhere"}',
        '{"objective": "What?", "max_turns": "many"}',
        '{"objective": "What?", "criteria": "one"}',
        '{"objective": "What?", "model": ["a"]}',
        json.dumps({"objective": QUESTION, "max_turns": 8}),
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(lines))
    done = here("research", "--batch", "b.jsonl", "--documents", "docs", "--home", "home", "--concurrency", "3")
    assert done.code == 5
    results = told(done)
    assert [one["status"] for one in results] == ["complete", *[""] * 8, "reported"]
    faults = [one["error"] for one in results[1:9]]
    assert faults[0].startswith("The line begins like a JSON object and is none (")
    assert faults[1] == "The objective is empty: say what is to be found out."
    assert faults[2].startswith("home cannot be set on a line; id, objective, ")
    assert faults[3].startswith("base_url cannot be set on a line; ")
    assert faults[4].startswith("The documents folder nowhere does not exist")
    assert faults[5] == "max_turns is a number, and 'many' is none."
    assert faults[6] == "criteria: should be a valid list."
    assert faults[7] == "model is the name of a model, as a text."
    assert done.err.splitlines()[-1] == "1 of 10 lines complete"

    # Those without an error alone: the worst of what is left is a report with gaps.
    (tmp_path / "c.jsonl").write_text("\n".join([lines[0], lines[9]]))
    args = ("--documents", "docs", "--home", "home")
    less = here("research", "--batch", "c.jsonl", *args)
    assert less.code == 3
    assert [one["run_id"] for one in told(less)] == [results[0]["run_id"], results[9]["run_id"]]
    assert all(one["known"] for one in told(less))
    anew = here("research", "--batch", "c.jsonl", *args, "--again")
    assert [one["run_id"] for one in told(anew)] == [f"{one['run_id']}-2" for one in told(less)]
    assert [one["run_id"] for one in told(here("research", "--batch", "c.jsonl", *args))] == [
        one["run_id"] for one in told(anew)
    ]


@pytest.mark.rule("D54")
def test_lines_that_may_have_been_meant_as_one_are_pointed_out(here: Here, tmp_path: Path) -> None:
    documents(tmp_path / "docs")
    named = json.dumps({"objective": QUESTION, "id": "a", "max_turns": 3})
    other = json.dumps({"objective": "Who runs the barrage?", "id": "a", "max_turns": 3})
    same = json.dumps({"objective": QUESTION, "max_turns": 3})
    (tmp_path / "b.jsonl").write_text("\n".join([same, named, same, other, same]))
    done = here("research", "--batch", "b.jsonl", "--documents", "docs", "--home", "home")
    notes = [line for line in done.err.splitlines() if line.startswith("Lines ")]
    assert notes == [
        "Lines 1, 3 and 5 are equal: each is a run of its own.",
        "Lines 2 and 4 have the same id 'a': tell their results apart by line.",
    ]
    assert len({one["run_id"] for one in told(done)}) == 5
    assert [line for line in done.err.splitlines() if "turn 1/3" in line] == []
    assert "[a] turn 1/3 | " in here("research", "--batch", "b.jsonl", "--documents", "docs", "--verbose").err


@pytest.mark.rule("D54")
def test_a_batch_that_cannot_begin_is_told_in_a_sentence(here: Here, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n  \n")

    def refused(*args: str) -> str:
        done = here("research", *args)
        assert (done.code, done.out) == (2, "")
        return done.err.removeprefix("zetetic: ").rstrip("\n")

    assert refused("--batch", "none.txt") == "--batch none.txt cannot be read: No such file or directory."
    assert refused("--batch", "empty.txt") == "--batch empty.txt: there is no line in it; write one objective a line."
    assert refused("What?", "--batch", "empty.txt").startswith("With --batch, objective, criteria, exclusions and")
    assert refused("What?", "--again") == "--again is for --batch; a single run is new each time."
    assert refused() == "Say what is to be found out: zetetic research OBJECTIVE, or --batch FILE."
    assert refused("--batch", "empty.txt", "--concurrency", "0").startswith("--concurrency: give 1 or more. See")
    assert not (tmp_path / ".zetetic").exists()


@pytest.mark.rule("D54")
async def test_a_batch_from_python_takes_mappings_and_can_be_left_early(tmp_path: Path) -> None:
    context = Context(documents=str(documents(tmp_path / "docs")), home=str(tmp_path / "home"), write_files=False)
    lines: list[str | dict[str, Any]] = [QUESTION, {"objective": QUESTION, "id": "brief", "max_turns": 8}]
    results = {result.item.label: result async for result in abatch(lines, context=context)}
    assert {label: r.result and r.result.status for label, r in results.items()} == {
        "line 1": "complete",
        "brief": "reported",
    }
    told = results["brief"].as_dict()
    assert ("report_path" in told, told["report"][:2], told["error"]) == (False, "# ", "")
    early = abatch([QUESTION, "Who runs the barrage?"], context=context, concurrency=1)
    async for result in early:
        assert result.known
        break
    await early.aclose()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"objective": "q?", "max_turns": true}', "max_turns is a number, and True is none"),
        ('{"objective": "q?", "max_cost_usd": NaN}', "max_cost_usd is a number, and nan is none"),
        ('["a"]', "The line is JSON (list) and no object"),
        ("null", "The line is JSON (NoneType) and no object"),
        ("123", "The line is JSON (int) and no object"),
        ("\ufffd\ufffd bytes", "The line is not UTF-8"),
        ('{"id": "x"}', "The line has no objective"),
    ],
)
def test_a_line_that_was_meant_as_something_else_is_not_researched(line: str, says: str) -> None:
    (item,) = read_lines([line])
    assert says in item.fault
