"""`verify` and `export` from a terminal: what is said where, and the exit codes."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.commands import QUESTION, Ended, documents, run_of
from export.packs import evidence, written

Here = Callable[..., Ended]
pytestmark = pytest.mark.rule("L6")


@pytest.fixture
def folder(complete: Path, tmp_path: Path) -> Path:
    """A copy of its folder, with no database beside it."""
    return Path(shutil.copytree(complete / run_of(complete), tmp_path / "pack"))


CHECKED = (
    r"Checked: 2 pages, \d+ quotes, 2 sources, \d+ verified claims?, \d+ challenges, \d+ answers?, \d+ attempts, "
    r"\d+ cited sentences?, 1 proof"
)


def test_it_says_what_it_checked_and_then_that_it_holds(here: Here, folder: Path) -> None:
    done = here("verify", str(folder))
    assert (done.code, done.err) == (0, "")
    where, checked, verdict = done.out.splitlines()
    assert re.fullmatch(rf"Folder: {folder} \(run \w+, complete\)", where)
    assert re.fullmatch(CHECKED, checked)
    assert verdict == "Verified: all of it holds."


def test_a_run_is_named_as_everywhere(here: Here, complete: Path) -> None:
    run = run_of(complete)
    for name in (run, run[:5], "latest"):
        done = here("verify", name, "--home", str(complete))
        assert done.code == 0
        assert done.out.startswith(f"Folder: {complete / run} (run {run}, complete)\n")


def test_every_fault_is_a_line_and_the_exit_code_says_so(here: Here, folder: Path) -> None:
    page = next((folder / "pages").iterdir())
    page.write_text("Something else.\n")
    (folder / "report.md").write_text("# Another report\n")
    done = here("verify", str(folder))
    assert (done.code, done.err) == (3, "")
    lines = done.out.splitlines()
    at = lines.index(next(line for line in lines if line.endswith(" faults:")))
    assert lines[at] == f"{len(lines) - at - 1} faults:"
    assert f"pages/{page.name}: was changed: " in done.out
    assert "report.md: is not the report that stands in evidence.json" in lines
    told = here("verify", str(folder), "--json")
    assert told.code == 3
    assert told.json["verified"] is False
    assert {"file": "report.md", "id": "", "says": "is not the report that stands in evidence.json"} in told.json[
        "findings"
    ]
    assert len(told.json["findings"]) == len(lines) - at - 1


def test_as_json(here: Here, folder: Path) -> None:
    told = here("verify", str(folder), "--json").json
    assert (told["folder"], told["status"], told["verified"]) == (str(folder), "complete", True)
    assert (told["notes"], told["unchecked"], told["findings"]) == ([], [], [])
    assert told["checked"]["pages"] == 2


@pytest.mark.rule("L5")
def test_what_could_not_be_checked_is_not_called_verified(here: Here, folder: Path) -> None:
    value = evidence(folder) | {"written_by": "zetetic 99.0"}
    value["report"]["text"] += "\nIt was painted green.\n"
    written(folder, value)
    (folder / "report.md").write_text(value["report"]["text"])
    (proof,) = (folder / "proof_artifacts").iterdir()
    held = json.loads(proof.read_text())
    held["checker"]["version"] = "99.0"
    proof.write_text(json.dumps(held))
    done = here("verify", str(folder))
    assert (done.code, done.err) == (3, "")
    last = done.out.splitlines()[-1]
    assert last.startswith("Not verified in full: written by zetetic 99.0, and this is zetetic ")
    assert last.endswith("; install zetetic 99.0 and verify with it.")
    told = here("verify", str(folder), "--json").json
    assert (told["verified"], told["findings"], len(told["unchecked"])) == (False, [], 1)
    validated = here("validate", str(folder))
    assert validated.code == 3
    assert "evidence.json: was not verified in full: written by zetetic 99.0, " in validated.out
    (folder / "report.md").write_text("# Another\n")
    faulty = here("verify", str(folder)).out.splitlines()
    assert faulty[-2:] == ["1 fault:", "report.md: is not the report that stands in evidence.json"]
    assert faulty[-3].startswith("Not checked: written by zetetic 99.0")


def test_a_folder_that_is_none(here: Here, tmp_path: Path) -> None:
    assert here("verify", "nowhere").err == (
        "zetetic: There is no folder nowhere, and no run 'nowhere' with a folder in .zetetic.\n"
    )
    (tmp_path / "file").write_text("x")
    assert here("verify", "file") == Ended(2, "", "zetetic: file is a file: give the folder it stands in.\n")
    (tmp_path / "empty").mkdir()
    empty = here("verify", "empty")
    assert empty.code == 3
    assert empty.out.startswith("Folder: empty\nChecked: nothing\n1 fault:\nevidence.json: is missing: ")


def test_without_a_claim_there_is_nothing_to_verify(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    assert here("research", QUESTION, "--documents", docs, "--home", "home", "--loop", "simple").code == 3
    done = here("verify", "latest", "--home", "home")
    assert done.code == 0
    assert done.out.splitlines()[2:] == [
        "Note: The report is of the simple loop: nothing it states was ever put to a check.",
        "Nothing to verify: the run recorded no claim, and does not say that it did.",
    ]
    assert here("verify", "latest", "--home", "home", "--json").json["verified"] is False


# export


def test_the_report_and_the_evidence_are_exported(here: Here, complete: Path, tmp_path: Path) -> None:
    folder = complete / run_of(complete)
    report = here("export", "latest", "--home", str(complete))
    assert report == Ended(0, (folder / "report.md").read_text(), "")
    assert here("export", "latest", "--home", str(complete), "--format", "md").out == report.out
    told = here("export", "latest", "--home", str(complete), "--format", "json")
    assert told.json == json.loads((folder / "evidence.json").read_text())
    written = here("export", "latest", "--home", str(complete), "--format", "json", "--to", "e.json")
    assert written == Ended(0, "", "Written: e.json\n")
    assert (tmp_path / "e.json").read_bytes() == (folder / "evidence.json").read_bytes()


def test_a_pack_is_exported_to_where_it_is_wanted(here: Here, complete: Path, tmp_path: Path) -> None:
    done = here("export", run_of(complete), "--home", str(complete), "--format", "pack", "--to", "to/here")
    assert done == Ended(0, "to/here\n", "Check it: zetetic verify to/here\n")
    assert here("verify", "to/here").code == 0
    folder = complete / run_of(complete)
    for name in ("evidence.json", "report.md", "iterations.jsonl", "loop_state.json"):
        assert (tmp_path / "to" / "here" / name).read_bytes() == (folder / name).read_bytes()
    again = here("export", run_of(complete), "--home", str(complete), "--format", "pack", "--to", "to/here")
    assert again == done


def test_a_pack_of_a_run_is_built_anew_from_its_database(here: Here, complete: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(complete, tmp_path / "home"))
    run = run_of(place)
    held = {path.name: path.read_bytes() for path in (place / run / "pages").iterdir()}
    shutil.rmtree(place / run)
    done = here("export", run, "--home", "home", "--format", "pack")
    assert done.out == f"home/{run}\n"
    assert {path.name: path.read_bytes() for path in (place / run / "pages").iterdir()} == held
    assert here("verify", f"home/{run}").code == 0


def test_a_pack_that_was_killed_half_way_is_exported_again(here: Here, complete: Path, tmp_path: Path) -> None:
    to = ("export", "latest", "--home", str(complete), "--format", "pack", "--to")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".half.0123456789ab" / "pages").mkdir(parents=True)  # as a process that was killed leaves it
    for name in ("half", "empty"):
        assert here(*to, name).code == 0
        assert here("verify", name).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".half.0123456789ab", "empty", "half"]
    (tmp_path / "half" / "loop_state.json").unlink()  # its evidence says of which run it is
    assert here(*to, "half").code == 0
    assert here("verify", "half").code == 0


def test_a_runs_own_folder_is_its_own_without_its_state(here: Here, complete: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(complete, tmp_path / "home"))
    run = run_of(place)
    for name in ("loop_state.json", "evidence.json"):
        (place / run / name).unlink()
    assert here("export", run, "--home", "home", "--format", "pack").code == 0
    assert here("verify", f"home/{run}").code == 0


def test_a_path_may_begin_with_the_users_home(
    here: Here, complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    done = here("export", "latest", "--home", str(complete), "--format", "pack", "--to", "~/mine")
    assert done.out == f"{tmp_path / 'mine'}\n"
    assert (tmp_path / "mine" / "evidence.json").is_file()
    unknown = here("export", "latest", "--home", str(complete), "--to", "~nobody-of-that-name/x")
    assert (
        unknown.err
        == "zetetic: --to ~nobody-of-that-name/x: there is no such user here; give the folder's whole path.\n"
    )


@pytest.mark.rule("L5")
def test_an_export_that_does_not_verify_says_so(here: Here, complete: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(complete, tmp_path / "home"))
    with closing(sqlite3.connect(place / "zetetic.db")) as database, database:
        database.execute("DELETE FROM pages")
    done = here("export", "latest", "--home", "home", "--format", "pack", "--to", "x")
    assert (done.code, done.out) == (3, "x\n")
    assert re.match(r"pages/\w+\.txt: is missing\n", done.err)
    assert here("verify", "x").code == 3
    assert not (tmp_path / "x" / "proof_artifacts").exists()


@pytest.mark.parametrize("form", ["html", "atif", "PACK", ""])
def test_another_format_is_refused_with_those_there_are(form: str, here: Here, complete: Path) -> None:
    done = here("export", "latest", "--home", str(complete), "--format", form)
    assert done == Ended(2, "", f"zetetic: --format {form}: there are md, json and pack.\n")


def test_nothing_of_anybody_elses_is_written_over(here: Here, complete: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    to = ("export", "latest", "--home", str(complete), "--to")
    assert here(*to, "mine", "--format", "pack") == Ended(
        2, "", "zetetic: mine is not empty and no folder of this run: name an empty one.\n"
    )
    assert here(*to, "mine/file", "--format", "pack").err == "zetetic: mine/file is a file: name a folder.\n"
    assert here(*to, "mine").err == "zetetic: mine is a folder: name a file.\n"
    assert here(*to, "mine/file/below").code == 2
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]
    assert here("export", "unknown", "--home", str(complete)).code == 2
