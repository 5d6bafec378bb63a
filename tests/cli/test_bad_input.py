"""What cannot be worked with: one sentence on stderr, exit code 2, and nothing made."""

import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
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
            "--mode: give one of monitor, bounded-research, ",
        ),
        (
            ["research", "x", "--documents", "docs", "--max-turns", "0"],
            "--max-turns: give 1 or more (given: 0).",
        ),
        (
            ["research", "x", "--documents", "docs", "--synthesis-reserve", "1.5"],
            "--synthesis-reserve: give 1 or less (given: 1.5).",
        ),
        (["research", "x", "--documents", "docs", "--max-turns", "many"], "--max-turns: give a whole number. See"),
        (["research", "x", "--documents", "docs", "--max-cost-usd", "little"], "--max-cost-usd: give a number. See"),
        (["research", "x", "--documents", "docs", "--max-cost-usd", "nan"], "--max-cost-usd: give "),
        (["research", "x", "--documents", "docs", "--own-workers", "0"], "--own-workers: give 1 or more. See"),
        (["work", "x", "--workers", "-1"], "--workers: give 1 or more. See"),
        (["fork", "x", "--at", "-1"], "--at: give 0 or more. See `zetetic --help`."),
        (["fork", "x", "--at", "now"], "--at: give a whole number. See `zetetic --help`."),
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
        (["reserch", "x"], "No such command 'reserch'. Did you mean 'research', 'resume'? See `zet"),
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


def test_of_many_files_that_cannot_be_read_it_says_how_many_why_and_the_first(here: Here, place: Path) -> None:
    (place / "many").mkdir()
    for number in range(30):
        (place / "many" / f"scan-{number:02}.pdf").write_bytes(b"%PDF-1.4 nothing more")
        (place / "many" / f"text-{number:02}.txt").write_bytes(bytes(range(256)))
    done = here("research", "x", "--documents", "many")
    assert done.code == 2
    first, *reasons = done.err.splitlines()
    assert first.startswith("zetetic: many holds no document that can be read: put .docx ")
    assert first.endswith(" files there. Of 60 such files none could be read:")
    assert reasons == [
        "  30: The PDF is broken: Stream has ended unexpectedly. (scan-00.pdf, scan-01.pdf, scan-02.pdf, …)",
        "  30: The document is binary data: there is no text to read. (text-00.txt, text-01.txt, text-02.txt, …)",
    ]
    documents(place / "many" / "good")
    done = here("research", "What?", "--documents", "many", "--max-turns", "3")
    assert done.err.splitlines()[1:4] == ["2 of 62 files could be read, 60 could not:", *reasons]


@pytest.mark.rule("D54")
def test_a_folder_with_nothing_but_tables_needs_the_extra_and_says_which(
    here: Here, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zetetic.sources.tables import MISSING, folder

    (place / "tables").mkdir()
    (place / "tables" / "a.csv").write_text("a,b\n1,2\n")
    with monkeypatch.context() as without:
        without.setattr(folder, "is_installed", lambda: find_spec("duckdb_that_is_not") is not None)
        refused = f"tables holds no document that can be read, but tables. {MISSING}"
        done = here("research", "What is b?", "--documents", "tables")
        assert (done.code, done.err) == (2, f"zetetic: {refused}\n")
        assert list(place.glob(".zetetic/*")) == []
        looked = here("init", "--documents", "tables", "--json")
        assert (looked.code, refused in looked.out) == (2, True)
    assert here("init", "--documents", "tables").code == 0
    (place / "tables" / "a.csv").rename(place / "tables" / "a.parquet")
    assert here("research", "What is b?", "--documents", "tables").err.startswith(
        "zetetic: tables holds neither a document nor a table that can be read:\n  1: The file could not be read as "
    )


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
    assert done.err.startswith("zetetic: The variable ZETETIC_MAX_TURNS: give a whole number (given: 'many').")


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
