"""Ctrl-C, SIGTERM and kill -9 in the middle of a run, and going on by the run's id alone."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import KEY, QUESTION, Ended, Server, documents, ended, environment, run_of, started, zetetic

Here = Callable[..., Ended]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)


class Case:
    """A run against a model server in which something happens to its process at a request."""

    def __init__(self, folder: Path, at: int, number: signal.Signals) -> None:
        self.folder = folder
        self.server = Server(self._before)
        self._at = at
        self._number = number
        self._process: subprocess.Popen[str] | None = None
        self._known = threading.Event()
        self.answering = threading.Event()
        """Until it is set, the request at which it happens waits for its answer."""

    def begin(self) -> "subprocess.Popen[str]":
        docs = str(documents(self.folder / "docs"))
        self._process = started(
            *("research", QUESTION, "--documents", docs, "--home", "home"),
            *("--model", "some-model", "--base-url", self.server.base_url),
            cwd=self.folder,
        )
        self._known.set()
        return self._process

    def _before(self, number: int) -> None:
        if number == self._at:
            self._known.wait()
            assert self._process is not None
            self._process.send_signal(self._number)
            self.answering.wait(60)

    def said_until(self, start: str) -> None:
        """Reads the process's stderr up to a line."""
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith(start):
                return
        raise AssertionError(f"{start!r} was never said")


@pytest.mark.rule("D48", "D54", "A24")
def test_ctrl_c_ends_after_the_step_and_resume_needs_nothing_but_the_id(here: Here, tmp_path: Path) -> None:
    case = Case(tmp_path, 5, signal.SIGINT)
    with case.server:
        process = case.begin()
        case.said_until("finishing this step…")
        case.answering.set()
        stopped = ended(process)
        run = run_of(tmp_path / "home")
        assert (stopped.code, stopped.out) == (130, "")
        assert "\nStatus: stopped, since it was stopped by hand (user_stop)\n" in stopped.err
        assert stopped.line("To go on:") == f"zetetic resume {run} --home home"
        assert (tmp_path / "home" / run / "recovery.md").exists()
        assert case.server.asked == 5  # the answer under way was taken, and no other was asked for

        told = here("steer", run, "Look at the yearbook first.", "--home", "home")
        assert told.out == f"Directive 1 waits for the next attempt; the run is stopped: zetetic resume {run}\n"
        assert here("steer", run, " ", "--home", "home").err == (
            "zetetic: The directive is blank: say what the next attempt should do.\n"
        )

        resumed = here("resume", run, "--home", "home")
        assert resumed.code == 0
        assert resumed.out.startswith(f"# {QUESTION}\n")
        calls = here("show", run, "calls", "--home", "home", "--json").json
    assert len(calls) == case.server.asked
    assert {call["model"] for call in calls} == {"some-model"}
    receipt = (tmp_path / "home" / run / "DIRECTIVES.md").read_text()
    assert "\n## 1: from user\n\nLook at the yearbook first.\n" in receipt
    files = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert KEY.encode() not in files
    assert KEY not in stopped.err + resumed.err + resumed.out


@pytest.mark.rule("D54")
def test_ctrl_c_after_sigterm_cancels_and_the_run_goes_on_all_the_same(here: Here, tmp_path: Path) -> None:
    case = Case(tmp_path, 4, signal.SIGTERM)
    with case.server:
        process = case.begin()
        case.said_until("finishing this step…")
        process.send_signal(signal.SIGINT)
        case.said_until("cancelling…")
        case.answering.set()
        stopped = ended(process)
        assert stopped.code == 130
        assert "Traceback" not in stopped.err
        assert "\nStatus: stopped, since it was stopped by hand (user_stop)\n" in stopped.err
        assert here("resume", run_of(tmp_path / "home"), "--home", "home").code == 0


@pytest.mark.rule("D54")
def test_a_killed_run_goes_on_and_pays_only_the_call_in_flight_twice(here: Here, tmp_path: Path) -> None:
    case = Case(tmp_path, 6, signal.SIGKILL)
    case.answering.set()
    with case.server:
        process = case.begin()
        assert ended(process).code == -signal.SIGKILL
        assert "\nStatus: running\n" in here("status", "--home", "home").out
        args = ("resume", run_of(tmp_path / "home"), "--home", "home", "--json")
        resumed = zetetic(*args, cwd=tmp_path)
        assert (resumed.code, resumed.json["status"]) == (0, "complete")
        assert resumed.json["usage"]["calls"] == case.server.asked - 1


def test_ctrl_c_before_the_run_began_leaves_none(here: Here, tmp_path: Path) -> None:
    docs = documents(tmp_path / "docs", ("tidal-yearbook.md",))
    program = f"""
import os, signal, sys
def on_event(event, args):  # as soon as the first document is opened
    if event == "open" and str(args[0]).endswith("tidal-yearbook.md"):
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(on_event)
sys.argv = ["zetetic", "research", {QUESTION!r}, "--documents", {str(docs)!r}]
from zetetic.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "finishing this step… (Ctrl-C again cancels it)\nStopped before anything was begun; nothing was spent.\n"
    )
    assert here("runs", "--json").json == []


def test_two_ctrl_c_before_the_run_is_in_the_store_name_no_run_and_leave_none(here: Here, tmp_path: Path) -> None:
    docs = documents(tmp_path / "docs", ("tidal-yearbook.md",))
    program = f"""
import os, signal, sys, time
def on_event(event, args):  # once its settings are kept, which is the last before it begins
    if event == "os.rename" and str(args[1]).endswith("context.json"):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
sys.addaudithook(on_event)
sys.argv = ["zetetic", "research", {QUESTION!r}, "--documents", {str(docs)!r}]
from zetetic.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "Stopped before anything was begun; nothing was spent."
    assert "\nRun " not in done.stderr
    assert [path for path in (tmp_path / ".zetetic").iterdir() if path.is_dir()] == []
    assert here("runs", "--json").json == []
