"""What cannot be worked with: one sentence on stderr, exit code 2, and nothing made."""

import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import KEY, ROOT, Ended, documents, zetetic

Here = Callable[..., Ended]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with documents and things that are none."""
    documents(tmp_path / "docs", ("tidal-yearbook.md",))
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "scan.pdf").write_bytes(b"%PDF-1.4 nothing more")
    (tmp_path / "a-file").write_text("no folder")
    (tmp_path / "text.db").write_text("no database")
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE theirs (a)")
    foreign.close()
    return tmp_path


@pytest.mark.rule("D54")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["research", " ", "--documents", "docs"], "The objective is empty: say what is to be found out."),
        (
            ["research", "x"],
            "There is nothing to look in: give a folder with documents (--documents DIR), or search providers.",
        ),
        (
            ["research", "x", "--documents", "gone"],
            "The documents folder gone does not exist: give the path of a folder.",
        ),
        (
            ["research", "x", "--documents", "a-file"],
            "a-file is a file: give the folder that holds the documents, such as .",
        ),
        (["research", "x", "--documents", "empty"], "empty holds no document that can be read: put .docx .htm"),
        (["research", "x", "--documents", "broken"], "broken holds no document that can be read: put .docx .htm"),
        (["research", "x", "--documents", "docs", "--model", "nameless"], "The model 'nameless' names no provider."),
        (["research", "x", "--documents", "docs", "--model", "openai:m"], "The model 'openai:m' needs a key: set the"),
        (
            ["research", "x", "--documents", "docs", "--base-url", "http://127.0.0.1:9/v1"],
            "A base_url is given but no model: name the one the server has with --model.",
        ),
        (["research", "x", "--documents", "docs", "--search", "altavista"], "The search provider 'altavista' is not"),
        (
            ["research", "x", "--documents", "docs", "--mode", "quick"],
            "--mode: should be 'monitor', 'bounded-research'",
        ),
        (
            ["research", "x", "--documents", "docs", "--max-turns", "0"],
            "--max-turns: should be greater than or equal to 1 (given: 0).",
        ),
        (
            ["research", "x", "--documents", "docs", "--synthesis-reserve", "1.5"],
            "--synthesis-reserve: should be less than or equal to 1 (given: 1.5).",
        ),
        (["research", "x", "--documents", "docs", "--max-turns", "many"], "Invalid value for '--max-turns': "),
        (["research", "x", "--documents", "docs", "--directive", " "], "The directive is blank: say what the next"),
        (["research", "x", "--documents", "docs", "--home", "a-file/below"], "--home a-file/below: "),
        (["research", "x", "--documents", "docs", "--database", "text.db"], "{place}/text.db is not a database."),
        (["research", "x", "--documents", "docs", "--database", "foreign.db"], "{place}/foreign.db belongs to another"),
        (["runs", "--database", "foreign.db"], "{place}/foreign.db belongs to another program."),
        (["resume", "nowhere"], "There is no run 'nowhere' in .zetetic/zetetic.db: `zetetic runs` lists them."),
        (["steer", "nowhere", "hear me"], "There is no run 'nowhere' in .zetetic/zetetic.db"),
        (["status"], "There are no runs in .zetetic/zetetic.db."),
        (["show", "../docs"], "There is no run '../docs' in .zetetic/zetetic.db"),
        (["show", "x", "everything"], "There is nothing called 'everything' to show: report, frontier, claims,"),
        (["research"], "Say what is to be found out: zetetic research OBJECTIVE, or --batch FILE."),
        (["fork", "x"], "Missing option '--at'. See `zetetic --help`."),
        (["fork", "nowhere", "--at", "1"], "There is no run 'nowhere' in .zetetic/zetetic.db"),
        (["work", "nowhere"], "There is no run 'nowhere' in .zetetic/zetetic.db"),
        (["research", "x", "--dokuments", "docs"], "No such option: --dokuments"),
        (["reserch", "x"], "No such command 'reserch'."),
    ],
)
def test_bad_input_is_one_sentence_and_makes_nothing(args: list[str], says: str, here: Here, place: Path) -> None:
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    done = here(*args)
    assert (done.code, done.out) == (2, "")
    first, *more = done.err.splitlines()
    assert first.startswith(f"zetetic: {says.format(place=place)}")
    assert more == (["  scan.pdf: The PDF is broken: Stream has ended unexpectedly."] if "broken" in args else [])
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_real_command_shows_no_traceback(place: Path) -> None:
    done = zetetic("research", "x", "--documents", "gone", cwd=place)
    assert done == Ended(2, "", "zetetic: The documents folder gone does not exist: give the path of a folder.\n")


def test_runs_of_an_empty_place_are_none(here: Here, tmp_path: Path) -> None:
    assert here("runs") == Ended(0, "", "There are no runs in .zetetic/zetetic.db.\n")
    assert here("runs", "--json").json == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_home_is_said(here: Here, place: Path) -> None:
    (place / "shut").mkdir(mode=0o555)
    done = here("research", "x", "--documents", "docs", "--home", "shut/home")
    assert (done.code, done.err) == (
        2,
        f"zetetic: --home shut/home: {place}/shut cannot be written; name another folder.\n",
    )


def test_a_fault_of_the_environment_names_its_variable(
    here: Here, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETETIC_MAX_TURNS", "many")
    done = here("research", "x", "--documents", "docs")
    assert done.err.startswith("zetetic: The variable ZETETIC_MAX_TURNS: should be a valid integer")


def test_a_key_is_never_printed(here: Here, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)
    done = here("research", "x", "--documents", KEY)
    assert done.err == "zetetic: The documents folder [secret] does not exist: give the path of a folder.\n"


def test_an_empty_standard_input_is_an_empty_objective(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf \n")))
    assert here("research", "-").err == "zetetic: The objective is empty: say what is to be found out.\n"


# help


def test_every_bound_is_an_option_with_its_meaning(here: Here) -> None:
    from zetetic.state.thresholds import Thresholds

    done = here("research", "--help")
    assert done.code == 0
    for name, field in Thresholds.model_fields.items():
        (line,) = [line for line in done.out.splitlines() if f" --{name.replace('_', '-')} " in line]
        assert f"{field.description}; default {field.default:g}" in line


def test_the_version_is_the_packages(here: Here) -> None:
    assert here("--version") == Ended(0, "zetetic 0.1.0\n", "")


def test_help_loads_nothing_heavy() -> None:
    program = f"""
import sys, types
package = types.ModuleType("zetetic")  # as it would be if its API were loaded on demand
package.__path__ = [{str(ROOT / "zetetic")!r}]
sys.modules["zetetic"] = package
sys.argv = ["zetetic", "--help"]
from zetetic.cli import main
try:
    main()
finally:
    print(sorted({{"langgraph", "langchain_core", "sqlalchemy", "openai"}} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
