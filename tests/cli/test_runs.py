"""Runs from a terminal: what is said where, exit codes, and what can be looked at afterwards."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
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
    assert "begins" not in finished.out
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


STANDS = r" \| [^|]+ \| turn \d+/60 \| [\d,]+ tokens \| \$0\.00 \| 1:59:\d\d left"


def test_progress_is_a_line_where_a_question_begins_and_where_it_ends(finished: Ended) -> None:
    _, told, ends = finished.err.partition("\nNot used:")[0].partition(f"\nPlanning: {QUESTION}\n")
    assert told
    lines = ends.splitlines()
    assert lines[0] == f"q_001 begins: {QUESTION}"
    answer = r"The installed capacity of the Kestrow tidal barrage is 240 megawatts\."
    assert re.fullmatch(rf"q_001 is answered: {answer}{STANDS}", lines[1])
    assert lines[2:4] == ["The conclusion is put to a search for its opposite", "The report is being written"]
    assert re.fullmatch(f"The report is accepted{STANDS}", lines[4])
    assert len(lines) == 5


def test_every_turn_is_told_where_it_is_asked_for(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    done = here("research", QUESTION, "--documents", docs, "--max-turns", "8", "--verbose")
    turns = [line for line in done.err.splitlines() if line.startswith("turn ")]
    assert re.fullmatch(
        r"turn 1/8 \| planning q_001: set_criteria, .* \| \d pending \| [\d,]+ tokens \| \$0\.00 \| 1:59:\d\d left",
        turns[0],
    )
    assert [int(line.split("/")[0].removeprefix("turn ")) for line in turns] == list(range(1, len(turns) + 1))


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


@pytest.fixture
def three(run: str, home: Path, tmp_path: Path) -> Path:
    """A home with the run and two more, whose ids begin alike."""
    place = Path(shutil.copytree(home, tmp_path / "three"))
    for name in ("abcdef01", "abcdef02"):
        shutil.copytree(place / run, place / name)
    return place


@pytest.mark.parametrize("name", ["{first}", "latest"])
def test_a_run_is_named_by_its_first_characters_or_as_the_latest(name: str, here: Here, run: str, three: Path) -> None:
    named = name.format(first=run[:4])
    home = ("--home", str(three))
    assert here("status", named, *home).out.startswith(f"Run {run}\n")
    assert here("show", named, *home, "--json").json["run_id"] == run
    for command in (("resume", named, "--max-turns", "90"), ("steer", named, "More.")):
        assert here(*command, *home).err.startswith("zetetic: The run is complete")
    assert here("fork", named, "--at", "99", *home).err.startswith(f"zetetic: The run {run} has ")
    assert here("work", named, *home).err.startswith(f"zetetic: The run {run} is complete")


def test_first_characters_that_name_several_runs_or_too_few_of_them_name_none(
    here: Here, run: str, three: Path
) -> None:
    home = ("--home", str(three))
    assert here("status", "abcd", *home).err == (
        "zetetic: 2 runs begin with abcd: give more of the id.\n  abcdef01\n  abcdef02\n"
    )
    assert here("status", run[:3], *home).err.startswith(f"zetetic: There is no run {run[:3]!r} in ")
    assert here("status", "latest", "--home", "nowhere").err.startswith("zetetic: There is no run 'latest' in ")


def test_what_cannot_be_written_can_be_looked_at(run: str, home: Path) -> None:
    place = Path(tempfile.mkdtemp())  # open to everyone, unlike the folders of the tests
    try:
        shut = Path(shutil.copytree(home, place / "home"))
        listed = sorted(path.name for path in shut.iterdir())
        for path in (place, *place.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        python = [sys.executable] if os.geteuid() else ["setpriv", "--reuid=65534", "--clear-groups", sys.executable]

        def looked(*args: str) -> Ended:
            command = [*python, "-m", "zetetic", *args, "--home", str(shut)]
            done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment())
            return Ended(done.returncode, done.stdout, done.stderr)

        if not shutil.which(python[0]) or subprocess.run([*python, "-c", "import zetetic"], cwd="/").returncode:
            pytest.skip("there is nobody here but root, who may write everywhere")
        assert looked("runs").out.splitlines()[1].startswith(run)
        assert f"Run {run}\n" in looked("status", "latest").out
        assert looked("show", run[:6]).out.startswith(f"# {QUESTION}\n")
        refused = looked("steer", run, "More.")
        assert (refused.code, "cannot be written" in refused.err) == (2, True)
        assert sorted(path.name for path in shut.iterdir()) == listed
    finally:
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        shutil.rmtree(place)


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
    given = here("resume", run, "--home", str(home))
    assert given.code == 0
    assert given.out == here("show", run, "report", "--home", str(home)).out
    assert "The run was complete; this is its report." in given.err
    refused = here("steer", run, "One more thing.", "--home", str(home))
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize("gone", ["docs", "context.json", "folder"])
def test_the_report_of_a_complete_run_needs_nothing_but_the_log(
    gone: str, here: Here, run: str, home: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(home, tmp_path / "home"))
    kept = place / run / "context.json"
    if gone == "docs":
        kept.write_text(json.dumps(json.loads(kept.read_text()) | {"documents": str(tmp_path / "nowhere")}))
    elif gone == "context.json":
        kept.unlink()
    else:
        shutil.rmtree(place / run)
    given = here("resume", run, "--home", "home")
    assert (given.code, given.out) == (0, here("show", run, "report", "--home", "home").out)
    assert given.err.startswith("The run was complete; this is its report.\n")
    assert ("Run folder: " in given.err) == (gone != "folder")
    assert here("resume", run, "--home", "home", "--json").json["run_id"] == run


def test_a_folder_that_a_complete_run_did_not_get_to_write_is_written(
    here: Here, run: str, home: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(home, tmp_path / "home"))
    state = place / run / "loop_state.json"
    held = state.read_text()
    state.write_text(held.replace('"stopped"', '"running"'))  # the state comes last
    (place / run / "report.md").unlink()
    assert here("resume", run, "--home", "home").code == 0
    assert state.read_text() == held
    assert (place / run / "report.md").is_file()


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
    assert re.search(r" \| turn \d+/18 \| ", again.err)


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
    assert "\nStatus: stopped, since its tokens were used up (failed, breaker:tokens)\n" in err
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
    assert "Trouble in turn 1 (q_001): the model could not be reached (model:connection): " in shown
    assert "Status: blocked, since the model could not be reached (blocked:model:connection)\r\n" in shown
    assert f"To go on: zetetic resume {run} --home home\r\n" in shown
    # The address holds a password, so it is not kept; what is, suffices with the model that is named now.
    assert KEY not in shown
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "home" / run).iterdir())
    assert here("resume", run, "--home", "home", "--model", "offline").code == 0
