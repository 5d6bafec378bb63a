"""Runs from a terminal: what is said where, exit codes, and what can be looked at afterwards."""

import fcntl
import json
import os
import pty
import re
import struct
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import KEY, QUESTION, Ended, documents, environment, run_of, started, zetetic

Here = Callable[..., Ended]
SUMMARY = ("Scope:", "Status:", "Evidence Checked:", "Iterations:", "Decision:", "Remaining Gaps:", "Next Action:")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("complete") / "home"


@pytest.fixture(scope="module")
def finished(home: Path) -> Ended:
    """A run to its end, over documents of which one cannot be read and one does not matter."""
    folder = documents(home.parent / "docs")
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing more")
    (folder / "soup.txt").write_text("Peel eight onions, cut them into rings, and let them brown slowly in butter.")
    args = ["--documents", "docs", "--home", "home", "--user", "ann", "--min-sources", "2", "--min-domains", "2"]
    return zetetic("research", QUESTION, *args, cwd=home.parent)


@pytest.fixture
def run(finished: Ended, home: Path) -> str:
    return run_of(home)


@pytest.mark.rule("D54", "L12")
def test_the_report_goes_to_stdout_and_all_else_to_stderr(finished: Ended, home: Path) -> None:
    assert finished.code == 0
    assert finished.out.startswith(f"# {QUESTION}\n\n- Scope: ")
    assert "turn 1/60" not in finished.out
    lines = finished.err.splitlines()
    assert lines[:3] == [
        "No model is named, so the offline model works: it extracts sentences by rule and costs nothing. "
        "Name one with --model or ZETETIC_MODEL.",
        "Not read: scan.pdf: The PDF is broken: Stream has ended unexpectedly.",
        f"Run {run_of(home)} in home/{run_of(home)}",
    ]
    assert finished.line("Not used:") == "1 of the 3 documents: soup.txt"
    assert lines[-8:-1] == [line for line in lines if line.startswith(SUMMARY)]
    assert [line.split(":")[0] + ":" for line in lines[-8:-1]] == list(SUMMARY)
    assert finished.line("Status:") == "complete"
    assert lines[-1] == f"Run folder: home/{run_of(home)}"


def test_progress_is_a_line_a_turn(finished: Ended) -> None:
    turns = [line for line in finished.err.splitlines() if re.match(r"turn \d+/60 \| (?!attempt)", line)]
    assert re.fullmatch(
        r"turn 1/60 \| planning q_001: set_criteria, .* \| \d pending \| [\d,]+ tokens \| \$0\.00 \| 1:59:\d\d left",
        turns[0],
    )
    assert [int(line.split("/")[0].removeprefix("turn ")) for line in turns] == list(range(1, len(turns) + 1))
    assert re.search(r"^turn \d+/60 \| attempt 1 at q_\d+: \w+ \| ", finished.err, re.MULTILINE)


def test_what_a_run_was_started_with_is_kept(run: str, home: Path) -> None:
    assert json.loads((home / run / "context.json").read_text()) == {
        "schema_version": "1.0",
        "model": "offline",
        "documents": str(home.parent / "docs"),
        "search": [],
        "fetch_allow": [],
        "loop": "investigative",
        "user": "ann",
    }


@pytest.mark.rule("L12", "R1")
def test_status_is_the_summary_and_the_loop_view(here: Here, run: str, home: Path) -> None:
    latest = here("status", "--home", str(home))
    assert latest == here("status", run, "--home", str(home))
    assert latest.code == 0
    assert latest.out.startswith(f"Run {run}\nScope: ")
    assert "\nStatus: complete\n" in latest.out
    told = here("status", "--json", "--home", str(home)).json
    assert (told["run_id"], told["status"], told["stop_reason"]) == (run, "complete", "finalized")
    assert list(told["summary"]) == [name.removesuffix(":") for name in SUMMARY]
    assert list(told["loop"]) == ["round", "budget_remaining", "context", "progress", "decision"]
    assert told["loop"]["context"]["query"] == QUESTION


def test_runs_are_listed(here: Here, run: str, home: Path) -> None:
    listed = here("runs", "--home", str(home))
    head, row = listed.out.splitlines()
    assert head.split() == ["RUN", "STATUS", "WHY", "TURNS", "USD", "STARTED", "OBJECTIVE"]
    assert row.startswith(f"{run}  complete  finalized  ")
    assert row.endswith(QUESTION)
    (one,) = here("runs", "--home", str(home), "--json").json
    assert (one["run_id"], one["status"], one["objective"]) == (run, "complete", QUESTION)


@pytest.mark.rule("D50")
@pytest.mark.parametrize(
    ("what", "shows", "holds"),
    [
        ("report", f"# {QUESTION}\n", "report"),
        ("frontier", "[q_001] resolved (P 1.00, 1 attempt) What is", "seconds_per_status"),
        ("claims", "[c_001] ", None),
        ("challenges", "[ch_001] ", "per_strategy"),
        ("notes", f"# Notes: {QUESTION}\n## Verified\n", "notes"),
        ("transitions", "  q_001  - -> pending  created by code  P 1.00", None),
        ("calls", "  worker     offline  ", None),
    ],
)
def test_each_part_is_shown_as_text_and_as_json(
    what: str, shows: str, holds: str | None, here: Here, run: str, home: Path
) -> None:
    shown = here("show", run, what, "--home", str(home))
    assert (shown.code, shown.err) == (0, "")
    assert shows in shown.out
    value = here("show", run, what, "--home", str(home), "--json").json
    assert holds in value if holds else isinstance(value[0], dict)


def test_a_complete_run_goes_no_further(here: Here, run: str, home: Path) -> None:
    refused = here("resume", run, "--home", str(home), "--max-turns", "90")
    assert refused == Ended(2, "", "zetetic: The run is complete; ask a new question in a new run.\n")
    refused = here("steer", run, "One more thing.", "--home", str(home))
    assert (refused.code, refused.out) == (2, "")


def test_a_reader_that_leaves_is_no_error(run: str, home: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started("show", run, "--home", str(home), stdout=writing)
    os.close(writing)
    assert process.communicate() == (None, "")
    assert process.returncode == 0


# runs that do not end complete


@pytest.mark.rule("D54")
def test_a_run_that_met_a_bound_is_reported_and_goes_on_with_the_room_it_says(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    args = ["--documents", docs, "--home", "home", "--max-turns", "8", "--json"]
    cut = zetetic("research", "-", *args, cwd=tmp_path, stdin=QUESTION)
    assert cut.code == 3
    assert cut.json["status"] == "reported"
    assert cut.json["stop_reason"] == "breaker:iterations"
    assert cut.json["report"].startswith(f"# {QUESTION}\n\n- incomplete analysis\n")
    assert "\nincomplete analysis\nScope: " in cut.err
    run = run_of(tmp_path / "home")
    assert cut.line("To go on:") == f"zetetic resume {run} --home home --max-turns 18"
    assert here("resume", run, "--home", "home").err.startswith(
        "zetetic: The run ended on its bounds and has its report; to go on it needs room: --max-turns, "
    )
    assert here("resume", run, "--home", "home", "--max-turns", "8").err == (
        "zetetic: --max-turns is the new total: give more than the 8 that the run had.\n"
    )
    assert here("resume", run, "--home", "home", "--max-cost-usd", "1").err == (
        "zetetic: --max-cost-usd: the run has no such limit, so there is nothing to add to.\n"
    )
    again = here(*cut.line("To go on: zetetic").split(), "--json")
    assert (again.code, again.json["status"], again.json["run_id"]) == (0, "complete", run)
    (extension,) = json.loads((tmp_path / "home" / run / "budget.json").read_text())["extensions"]
    assert (extension["by"], extension["iterations"]) == ("user", 0)
    assert re.search(r"^turn \d+/18 \| ", again.err, re.MULTILINE)


@pytest.mark.rule("D54")
def test_a_run_without_room_for_its_report_has_failed(tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    reading, writing = os.pipe()
    os.close(reading)  # nobody reads the report, which changes no exit code
    process = started(
        "research", QUESTION, "--documents", docs, "--max-total-tokens", "9", cwd=tmp_path, stdout=writing
    )
    os.close(writing)
    _, err = process.communicate()
    assert process.returncode == 5
    assert "Traceback" not in err
    assert "\nStatus: stopped (failed, breaker:tokens)\n" in err
    assert f"\nTo go on: zetetic resume {run_of(tmp_path / '.zetetic')} --max-total-tokens " in err


@pytest.mark.rule("D54")
def test_a_server_that_is_down_blocks_a_run_that_goes_on_elsewhere(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    process = started(
        *("research", QUESTION, "--documents", docs, "--home", "home", "--call-retries", "0"),
        *("--model", "some-model", "--base-url", f"http://me:{KEY}@127.0.0.1:9/v1"),
        env=environment(TERM="xterm", NO_COLOR="1"),
        cwd=tmp_path,
        stderr=theirs,
    )
    os.close(theirs)
    screen = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux's word for the end of a terminal
            break
        if not read:
            break
        screen += read
    os.close(ours)
    process.communicate()
    assert process.returncode == 4
    shown = screen.decode()
    run = run_of(tmp_path / "home")
    # On a terminal one live display in place of lines, and no colour where none is wanted.
    assert f"\r\nplanning q_001: {QUESTION}" in shown
    assert "\x1b[2K" in shown
    assert not re.search(r"\x1b\[[0-9;]*m", shown)
    assert "\nturn 1/60 | planning q_001: model:connection" not in shown
    assert "Status: blocked (blocked:model:connection)\r\n" in shown
    assert f"To go on: zetetic resume {run} --home home\r\n" in shown
    # The address holds a password, so it is not kept; what is, suffices with the model that is named now.
    assert KEY not in shown
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "home" / run).iterdir())
    assert here("resume", run, "--home", "home", "--model", "offline").code == 0
