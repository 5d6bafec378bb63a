"""`zetetic fork`: going on from an earlier turn as a new run, which leaves the old one as it was."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.commands import QUESTION, Ended, documents, run_of, zetetic

Here = Callable[..., Ended]


def rows_of(home: Path, run: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of a run, by table."""
    with closing(sqlite3.connect(home / "zetetic.db")) as database:
        named = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'run_id' \
                 WHERE m.type = 'table' AND m.name <> 'leases'"
        tables = [name for (name,) in database.execute(named)]
        return {
            t: sorted(database.execute(f"SELECT * FROM {t} WHERE run_id = ?", (run,)).fetchall(), key=str)
            for t in tables
        }


def hashes(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("forks")
    documents(place / "docs")
    done = zetetic("research", QUESTION, "--documents", "docs", "--home", "home", cwd=place)
    assert done.code == 0
    return place / "home"


@pytest.fixture(scope="module")
def old(home: Path) -> str:
    return run_of(home)


@pytest.mark.rule("D49", "D54", "A24")
@pytest.mark.parametrize("at", [0, 4, 7, 10])
def test_a_fork_goes_on_from_there_and_the_old_run_stays_as_it_is(here: Here, home: Path, old: str, at: int) -> None:
    rows, files = rows_of(home, old), hashes(home / old)
    args = ("--home", str(home), "--set", "max-turns=45", "--directive", "Mind the dates.", "--json", "-v")
    done = here("fork", old, "--at", str(at), *args)
    assert done.code == 0
    assert done.err.startswith(f"Forked from {old} after turn {at}, which stays as it is.\n")
    assert f"\nturn {at + 1}/45 | " in done.err
    assert f"\nturn {at}/45 | " not in done.err
    new = done.json["run_id"]
    assert (done.json["status"], new != old) == ("complete", True)
    assert rows_of(home, old) == rows
    assert hashes(home / old) == files

    told = here("status", new, "--home", str(home), "--json").json["forked_from"]
    position = int(told.removeprefix(f"{old}@"))
    copied, whole = rows_of(home, new)["events"], rows["events"]
    kinds = [[row[2] for row in sorted(events, key=lambda row: int(str(row[1])))] for events in (copied, whole)]
    assert kinds[0][:position] == kinds[1][:position]
    assert kinds[1][:position].count("turn_closed") == at
    assert kinds[0][position:][:2] == ["run_resumed", "directive_given"]
    shown = here("status", new, "--home", str(home)).out
    assert shown.startswith(f"Run {new}, forked from {old} at event {position}\n")
    assert here("show", new, "--home", str(home)).err == f"Run {new}, forked from {old} at event {position}\n"
    assert here("show", new, "--home", str(home), "--json").json["forked_from"] == told

    listed = here("runs", "--home", str(home), "--json").json
    assert listed[0]["run_id"] == new, "it is the newest, whenever the old one was begun"
    (from_,) = [row for row in listed if row["run_id"] == old]
    assert listed[0]["created_at"] > from_["updated_at"]

    # The model saw what it had seen, so it found the same.
    established = [here("show", run, "claims", "--home", str(home)).out for run in (new, old)]
    assert established[0] == established[1]
    calls = here("show", new, "calls", "--home", str(home), "--json").json
    assert len(calls) < len(here("show", old, "calls", "--home", str(home), "--json").json) + 3
    assert [p.name for p in (home / new).glob("notes_*")] == [
        re.sub(old, new, p.name) for p in (home / old).glob("notes_*")
    ]
    budget = json.loads((home / new / "budget.json").read_text())
    assert budget["extensions"] == []  # fewer turns than it had are no extension
    assert "Mind the dates." in (home / new / "DIRECTIVES.md").read_text() or at == 10


@pytest.mark.rule("D49")
def test_a_fork_is_forked_itself_before_and_after_where_it_branched_off(here: Here, home: Path, old: str) -> None:
    first = here("fork", old, "--at", "4", "--home", str(home), "--json").json
    kept = rows_of(home, first["run_id"])
    for at in (3, 6):
        done = here("fork", first["run_id"], "--at", str(at), "--home", str(home), "--json", "--verbose")
        assert (done.code, done.json["claims"]) == (0, first["claims"])
        assert f"\nturn {at + 1}/60 | " in done.err
        told = here("status", done.json["run_id"], "--home", str(home), "--json").json["forked_from"]
        assert told.startswith(f"{first['run_id']}@")
    assert rows_of(home, first["run_id"]) == kept


@pytest.mark.rule("D54")
def test_what_cannot_be_forked_is_told_in_a_sentence(here: Here, home: Path, old: str) -> None:
    def refused(*args: str) -> str:
        done = here("fork", *args, "--home", str(home))
        assert (done.code, done.out) == (2, "")
        return done.err.removeprefix("zetetic: ").rstrip("\n")

    before = sorted(home.iterdir())
    last = json.loads((home / old / "loop_state.json").read_text())
    assert last["status"] == "stopped"
    turns = len(re.findall("turn_closed", str([row[2] for row in rows_of(home, old)["events"]])))
    assert refused(old, "--at", "99") == (
        f"The run {old} has {turns} finished turns: there is no turn 99 to go on from."
    )
    assert refused("nobody", "--at", "1") == (
        f"There is no run 'nobody' in {home}/zetetic.db: `zetetic runs` lists them."
    )
    assert refused(old, "--at", str(turns)) == (
        "The run was complete after that turn, so there is nothing to go on with: name an earlier one."
    )
    assert refused(old, "--at", "3", "--set", "turns=9") == ("There is no bound 'turns': `zetetic policy` lists them.")
    assert refused(old, "--at", "3", "--set", "max_turns") == (
        "--set max_turns: write NAME=VALUE, such as max_turns=90; `zetetic policy` lists the bounds."
    )
    assert refused(old, "--at", "3", "--set", "max_turns=many").startswith("--max-turns: give a whole number")
    assert refused(old, "--at", "3", "--directive", " ") == (
        "The directive is blank: say what the next attempt should do."
    )
    assert refused(old, "--at", "-1").startswith("--at: give 0 or more.")
    assert sorted(home.iterdir()) == before, "nothing was begun"


@pytest.mark.rule("D54")
def test_a_run_that_ended_on_its_bounds_is_forked_with_more_room(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    args = ("--documents", docs, "--home", "home", "--max-turns", "8", "--json")
    cut = here("research", QUESTION, *args)
    assert cut.code == 3
    old = run_of(tmp_path / "home")
    refused = here("fork", old, "--at", "8", "--home", "home")
    assert refused.err == (
        "zetetic: The run had ended on its bounds after that turn: name an earlier one, or give more room, such as "
        "max_turns=18.\n"
    )
    done = here("fork", old, "--at", "8", "--home", "home", "--set", "max_turns=30", "--json")
    assert (done.code, done.json["status"]) == (0, "complete")
    new = done.json["run_id"]
    (extension,) = json.loads((tmp_path / "home" / new / "budget.json").read_text())["extensions"]
    assert extension["by"] == "user"
    assert here("status", old, "--home", "home", "--json").json["status"] == "reported"


@pytest.mark.rule("D53")
def test_a_run_of_the_simple_loop_is_forked_too(here: Here, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    first = here("research", QUESTION, "--documents", docs, "--home", "home", "--loop", "simple", "--json")
    old = first.json["run_id"]
    done = here("fork", old, "--at", "2", "--home", "home", "--json", "--verbose")
    assert done.code == first.code
    assert "\nturn 3/60 | " in done.err
    new = done.json["run_id"]
    assert done.json["report"].replace(new, old) == first.json["report"]
    assert here("status", new, "--home", "home", "--json").json["forked_from"].startswith(f"{old}@")
