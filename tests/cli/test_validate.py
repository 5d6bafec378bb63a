"""`zetetic validate`: what is said of a run folder, and where it is found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import Ended, run_of, zetetic

Here = Callable[..., Ended]
pytestmark = pytest.mark.rule("L13")


@pytest.fixture
def folder(complete: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(complete / run_of(complete), tmp_path / "run"))


@pytest.mark.rule("L2", "L5")
def test_a_folder_alone_is_enough(folder: Path, tmp_path: Path) -> None:
    told = zetetic("validate", "run", cwd=tmp_path)
    assert told == Ended(0, "run: no fault.\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "nothing is made"


def test_a_run_is_found_by_its_id_its_first_characters_and_as_the_latest(here: Here, complete: Path) -> None:
    run = run_of(complete)
    for name in (run, run[:5], "latest"):
        assert here("validate", name, "--home", str(complete)) == Ended(0, f"{complete / run}: no fault.\n", "")


def test_every_fault_is_a_line_of_stdout(here: Here, folder: Path) -> None:
    (folder / "recovery.md").unlink()
    state = json.loads((folder / "loop_state.json").read_text())
    (folder / "loop_state.json").write_text(json.dumps({**state, "status": "paused", "last_iteration": True}))
    told = here("validate", str(folder))
    assert (told.code, told.err) == (3, f"3 faults in {folder}.\n")
    assert told.out.splitlines() == [
        'loop_state.json: status: is "paused"; give one of initialized, running, stopped, blocked',
        "loop_state.json: last_iteration: is true; give a whole number from 0 on",
        "recovery.md: is missing; `zetetic resume` writes the folder anew from the database",
    ]


def test_as_json(here: Here, folder: Path) -> None:
    assert here("validate", str(folder), "--json").json == {
        "folder": str(folder),
        "valid": True,
        "faults": [],
        "kept": None,
    }
    (folder / "recovery.md").unlink()
    told = here("validate", str(folder), "--json")
    assert (told.code, told.json["valid"]) == (3, False)
    missing = "is missing; `zetetic resume` writes the folder anew from the database"
    assert told.json["faults"] == [{"file": "recovery.md", "where": "", "message": missing}]


@pytest.mark.rule("L5", "L6")
def test_the_proof_of_a_success_is_verified_again(here: Here, folder: Path) -> None:
    page = next((folder / "pages").iterdir())
    page.write_text(page.read_text().replace("240", "250"))
    told = here("validate", str(folder))
    assert told.code == 3
    assert f"pages/{page.name}: " in told.out
    assert "evidence_checked.evidence_ids: names no proof artifact that holds; a stop for success cites" in told.out


def test_a_torn_line_is_mended_where_that_is_asked_for(here: Here, folder: Path) -> None:
    path = folder / "iterations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"schema_version": "1.0", "iter')
    told = here("validate", str(folder))
    assert told.code == 3
    assert told.out.startswith("iterations.jsonl: line 3: is torn: 31 bytes without a line break at the end; ")
    assert path.read_bytes() != whole, "nothing is mended unasked"
    mended = here("validate", str(folder), "--repair")
    said = "The torn end of iterations.jsonl was mended; the file as it was is kept in iterations.jsonl.torn-1.\n"
    assert mended == Ended(0, f"{folder}: no fault.\n", said)
    assert path.read_bytes() == whole
    assert here("validate", str(folder), "--repair") == Ended(0, f"{folder}: no fault.\n", "")
    assert here("validate", str(folder)).code == 0


@pytest.mark.parametrize("name", ["nowhere", "../nowhere", "", "a/b", "0" * 64])
def test_what_is_no_folder_is_refused_in_one_sentence(here: Here, tmp_path: Path, name: str) -> None:
    told = here("validate", name)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"zetetic: There is no folder {name}")
    assert len(told.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(here: Here, folder: Path) -> None:
    told = here("validate", str(folder / "budget.json"))
    assert told == Ended(2, "", f"zetetic: {folder}/budget.json is a file: give the folder it stands in.\n")
