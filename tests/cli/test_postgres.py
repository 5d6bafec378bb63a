"""The terminal on a PostgreSQL database: found by address or environment, and its password told nowhere."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import QUESTION, Ended, documents, ended, environment, run_of, started
from postgres_plugin import PostgresServer
from store.stories import rows

Here = Callable[..., Ended]
SECRET = "not-to-be-told"


@pytest.fixture
def address(postgres: PostgresServer, postgres_address: str) -> str:
    """An address with a password."""
    postgres.run("DROP ROLE IF EXISTS ben")
    postgres.run(f"CREATE ROLE ben LOGIN SUPERUSER PASSWORD '{SECRET}'")
    return postgres_address.replace("postgres@", f"ben:{SECRET}@")


@pytest.mark.rule("D49", "D54")
def test_a_run_is_started_looked_at_steered_and_resumed_by_its_address(
    here: Here, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = str(documents(tmp_path / "docs"))
    args = ["--documents", docs, "--home", "home", "--max-turns", "8", "--database", address]
    cut = ended(started("research", QUESTION, *args, cwd=tmp_path))
    assert cut.code == 3, cut.err
    run = run_of(tmp_path / "home")
    go_on = cut.line("To go on:")
    assert go_on.startswith(f"zetetic resume {run} --home home --database 'postgresql://ben:***@/")
    assert not list((tmp_path / "home").glob("*.db"))
    kept = json.loads((tmp_path / "home" / run / "context.json").read_text())
    assert "database" not in kept
    assert rows(address, "SELECT run_id, status FROM research_runs") == [(run, "reported")]
    assert rows(address, "SELECT DISTINCT thread_id FROM checkpoints") == [(run,)]

    asked = ["--home", "home", "--database", address]
    assert here("runs", *asked).out.splitlines()[1].startswith(f"{run}  reported")
    assert here("status", run, *asked).out.startswith(f"Run {run}\n")
    assert here("show", run, "claims", *asked).code == 0
    monkeypatch.setenv("ZETETIC_DATABASE", address)
    assert here("steer", run, "Look at the operator's figures.", "--home", "home").code == 0
    finished = ended(started("resume", run, "--home", "home", "--max-turns", "40", cwd=tmp_path, env=environment()))
    assert (finished.code, SECRET in finished.err + finished.out) == (0, False), finished.err
    texts = [path.read_text() for path in (tmp_path / "home" / run).rglob("*") if path.is_file()]
    assert [text for text in [cut.out, cut.err, *texts] if SECRET in text] == []


def test_an_address_without_a_password_is_kept(here: Here, postgres_address: str, tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    args = ["--documents", docs, "--home", "home", "--max-turns", "4", "--database", postgres_address]
    assert ended(started("research", QUESTION, *args, cwd=tmp_path)).code == 3
    run = run_of(tmp_path / "home")
    assert here("status", run, "--home", "home").out.startswith(f"Run {run}\n")
    assert "--database" not in here("status", run, "--home", "home").out


def test_looking_makes_no_tables(here: Here, postgres_address: str) -> None:
    looked = here("runs", "--database", postgres_address)
    assert (looked.code, looked.out) == (0, "")
    assert looked.err.startswith("There are no runs in postgresql://postgres@/test_")
    assert rows(postgres_address, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


@pytest.mark.parametrize(
    ("database", "words"),
    [
        (f"postgresql://ben:{SECRET}@127.0.0.1:1/db", "does not answer"),
        (f"postgresql://ben:{SECRET}/x@host/db", "cannot be read. Write postgresql://"),
        (f"mysql://ben:{SECRET}@host/db", "is no database the store knows"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(
    here: Here, database: str, words: str, tmp_path: Path
) -> None:
    docs = str(documents(tmp_path / "docs"))
    for command in (["runs"], ["research", QUESTION, "--documents", docs]):
        refused = here(*command, "--database", database)
        assert (refused.code, refused.out) == (2, "")
        assert words in refused.err
        assert SECRET not in refused.err
