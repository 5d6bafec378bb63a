"""`--loop simple` from a terminal: what is said, what is kept, how it goes on (D53)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import QUESTION, Ended, documents, run_of, zetetic

Here = Callable[..., Ended]
pytestmark = pytest.mark.rule("D53")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("simple") / "home"


@pytest.fixture(scope="module")
def reported(home: Path) -> Ended:
    documents(home.parent / "docs")
    args = ["--documents", "docs", "--home", "home", "--loop", "simple", "--verbose"]
    return zetetic("research", QUESTION, *args, cwd=home.parent)


@pytest.mark.rule("D54", "L12")
def test_it_is_reported_with_a_line_a_turn(reported: Ended) -> None:
    assert reported.code == 3
    assert "The Kestrow tidal barrage has an installed capacity of 240 megawatts [1]" in reported.out
    turns = [line for line in reported.err.splitlines() if line.startswith("turn ")]
    assert [" | ".join(line.split(" | ")[:3]) for line in turns] == [
        "turn 1/60 | acting q_001: web_search, 2 hits | 0 pages read",
        "turn 2/60 | acting q_001: fetch_page x2, 2 pages | 2 pages read",
        "turn 3/60 | acting q_001: finalize_report | 2 pages read",
    ]
    assert reported.line("Status:") == "stopped, since a report was written (reported, finalized)"
    assert reported.line("Next Action:").startswith("accept the report, unverified as it is")


def test_status_and_show_say_which_loop_it_was(here: Here, reported: Ended, home: Path) -> None:
    assert "\nLoop: simple, 2 pages read\n" in here("status", "--home", str(home)).out
    run = run_of(home)
    assert here("show", run, "--home", str(home)).out == reported.out
    assert here("show", run, "calls", "--home", str(home)).out.count("worker") == 3
    assert here("show", run, "claims", "--home", str(home)).err == f"The run {run} has no claims yet.\n"


def test_it_goes_on_as_the_loop_it_was_started_as(here: Here, reported: Ended, home: Path, tmp_path: Path) -> None:
    run = run_of(home)
    home = Path(shutil.copytree(home, tmp_path / "copy"))
    assert json.loads((home / run / "context.json").read_text())["loop"] == "simple"
    again = here("resume", run, "--home", str(home), "--max-turns", "70", "--json")
    assert again.code == 3
    assert (again.json["status"], again.json["usage"]["calls"]) == ("reported", 4)


def test_a_loop_that_does_not_exist_is_refused_by_name(here: Here) -> None:
    refused = here("research", QUESTION, "--documents", ".", "--loop", "plain")
    assert refused.code == 2
    assert refused.err == "zetetic: --loop: give one of investigative, simple (given: 'plain').\n"
