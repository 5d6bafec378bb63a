"""Every earlier schema is taken to this one with its rows, once, whoever opens it first."""

import asyncio
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.pool import NullPool
from store import frozen
from store.stories import RUN, START, assert_tables_say, giving, opened, rows, scratch, story, tables, used
from store.test_paid_for import CALL
from store.test_processes import writer

from zetetic.state.research import Research
from zetetic.store import Store, StoreError, migrations, storage
from zetetic.store.address import is_postgres
from zetetic.store.columns import metadata
from zetetic.store.notes_versions import NotesVersion

EARLIER = [(version, dialect) for dialect in frozen.DRIVERS for version in frozen.versions(dialect)[:-1]]


@contextmanager
def plain(database: str) -> Iterator[Connection]:
    """A transaction without the store."""
    url = (
        database.replace("postgresql://", "postgresql+psycopg://") if is_postgres(database) else f"sqlite:///{database}"
    )
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def shape(database: str) -> dict[str, Any]:
    """What a database refuses and keeps together, table by table, whatever the order of its columns."""
    found: dict[str, Any] = {}
    with plain(database) as connection:
        asked = inspect(connection)
        for table in asked.get_table_names():
            key = asked.get_pk_constraint(table)["constrained_columns"]
            found[table] = {
                "columns": sorted(
                    (column["name"], str(column["type"]), column["nullable"], str(column["default"]))
                    for column in asked.get_columns(table)
                ),
                "key": key,
                "checks": sorted(check["sqltext"] for check in asked.get_check_constraints(table)),
                "references": sorted(
                    (*fk["constrained_columns"], fk["referred_table"], *fk["referred_columns"], str(fk["options"]))
                    for fk in asked.get_foreign_keys(table)
                ),
                "unique": sorted(map(str, (u["column_names"] for u in asked.get_unique_constraints(table)))),
                "indexes": sorted(
                    (str(i["name"]), str(i["column_names"]), str(i.get("expressions")), bool(i["unique"]))
                    for i in asked.get_indexes(table)
                ),
            }
    return found


async def filled(database: str) -> tuple[Research, list[NotesVersion]]:
    """A run with rows in every table."""
    async with await Store.open(database) as store:
        for event in story(random.Random(4), 260):
            await store.execute(RUN, giving(event))
        await store.record_call(CALL)
        await store.put_effect(RUN, "k", "1", "größer", '{"n": 1}')
        where = {"url": "http://a.example/", "final_url": "http://a.example/", "title": "A", "media_type": "text/html"}
        await store.put_page("größer", **where, fetched_at=START)
        await store.acquire_lease(RUN, "me", 30, START)
        return await store.load(RUN), await store.notes_versions(RUN)


def contents(database: str, names: dict[str, list[str]]) -> dict[str, list[Any]]:
    """All rows of tables, of some of their columns."""
    return {
        table: sorted(map(tuple, rows(database, f"SELECT {listed(columns)} FROM {table}")), key=str)
        for table, columns in names.items()
    }


def listed(columns: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def older(version: int, database: str, full: str, notes: list[NotesVersion]) -> dict[str, list[str]]:
    """Makes the tables of an earlier version, with the rows of a full database as that version would have them, and
    gives its tables and their columns."""
    dialect = "postgresql" if is_postgres(database) else "sqlite"
    with plain(database) as connection, plain(full) as source:
        for statement in frozen.statements(version, dialect):
            connection.execute(text(statement.replace(":", "\\:")))
        made = inspect(connection)
        names = {table: [c["name"] for c in made.get_columns(table)] for table in made.get_table_names()}
        for table in metadata.sorted_tables:
            if table.name not in names or table.name.startswith("zetetic_"):
                continue
            columns = listed(names[table.name])
            found = source.execute(text(f"SELECT {columns} FROM {table.name}")).mappings().all()
            given = [dict(row) for row in found]
            if table.name == "notes_versions" and "whole" not in names[table.name]:
                given = [{**row, "text": notes[row["seq"] - 1].text} for row in given]
            marks = ", ".join(f":{name}" for name in names[table.name])
            connection.execute(text(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"), given)
        connection.execute(text(f"INSERT INTO zetetic_schema VALUES ('zetetic', {version})"))
    return names


def address_for(dialect: str, request: pytest.FixtureRequest, folder: Path, name: str) -> str:
    return request.getfixturevalue("postgres").database() if dialect == "postgresql" else str(folder / f"{name}.db")


@pytest.mark.rule("D49")
@pytest.mark.parametrize(("version", "dialect"), EARLIER)
async def test_an_earlier_database_keeps_its_rows_and_gets_todays_tables(
    version: int, dialect: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    full, old = (address_for(dialect, request, tmp_path, name) for name in ("full", "old"))
    research, notes = await filled(full)
    names = older(version, old, full, notes)
    before = contents(old, {table: columns for table, columns in names.items() if not table.startswith("zetetic_")})
    assert all(before.values())
    for _ in range(2):  # twice is harmless
        async with await Store.open(old) as store:
            assert await store.load(RUN) == research
            assert await store.notes_versions(RUN) == notes
            assert await store.journal(CALL.key) == CALL
            assert await store.lease_holder(RUN) == "me"
        assert contents(old, {table: names[table] for table in before}) == before
        assert rows(old, "SELECT application, version FROM zetetic_schema") == [("zetetic", storage.VERSION)]
    assert shape(old) == shape(full)
    async with await Store.open(old) as store:
        await store.execute(RUN, giving(scratch("after")))
        assert "after" in (await store.notes_versions(RUN))[-1].text
        assert_tables_say(old, await store.load(RUN))


def made_the_first(database: str) -> None:
    """Takes a database back to version 1, which PostgreSQL never had, so that the step is proved there too."""
    rows(database, "ALTER TABLE notes_versions DROP COLUMN whole")
    rows(database, "ALTER TABLE frontier_questions DROP COLUMN lease")
    rows(database, "DROP TABLE zetetic_migrations")
    rows(database, "UPDATE zetetic_schema SET version = 1")


@pytest.mark.rule("D49")
async def test_the_step_from_the_first_version_is_the_same_on_both(database: str, tmp_path: Path) -> None:
    async with await Store.open(database) as store:
        await store.execute(RUN, giving(opened(), used()))
    today = shape(database)
    made_the_first(database)
    assert shape(database) != today
    async with await Store.open(database) as store:
        assert (await store.load(RUN)).usage.calls == 1
        assert len(await store.notes_versions(RUN)) == 1
    assert shape(database) == today


@pytest.mark.rule("D49")
async def test_processes_that_open_an_older_database_at_once_upgrade_it_once(database: str) -> None:
    async with await Store.open(database) as store:
        await store.execute(RUN, giving(opened()))
    today = shape(database)
    made_the_first(database)
    for process in [await writer(database, name, 3) for name in "abcd"]:
        _, said = await process.communicate()
        assert (process.returncode, said.decode()) == (0, "")
    assert shape(database) == today
    assert rows(database, "SELECT version_num FROM zetetic_migrations") == [(f"{storage.VERSION:04d}",)]
    assert rows(database, "SELECT count(*) FROM journal") == [(12,)]


@pytest.mark.rule("D49")
async def test_processes_that_make_a_database_at_once_make_it_once(database: str) -> None:
    for process in [await writer(database, name, 3) for name in "abcd"]:
        _, said = await process.communicate()
        assert (process.returncode, said.decode()) == (0, "")
    assert rows(database, "SELECT count(*) FROM journal") == [(12,)]


# the next step


Next = Callable[[str], None]
NEXT = storage.VERSION + 1


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Next:
    """Gives the code one more revision, whose `upgrade` has this body."""

    def add(body: str) -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(migrations.FOLDER, folder)
        lines = [
            "import sqlalchemy as sa",
            "from zetetic.store.migrations import words",
            f'revision = "{NEXT:04d}"',
            f'down_revision = "{storage.VERSION:04d}"',
            "def upgrade(op):",
            *(f"    {line}" for line in body.splitlines()),
        ]
        (folder / "versions" / f"r{NEXT:04d}_next.py").write_text("\n".join(lines), encoding="utf-8")
        monkeypatch.setattr(migrations, "FOLDER", folder)
        monkeypatch.setattr(storage, "VERSION", NEXT)

    return add


@pytest.mark.rule("D49")
async def test_a_word_is_added_to_a_vocabulary_with_its_rows_and_references(database: str, next_version: Next) -> None:
    research, notes = await filled(database)
    before, counted = shape(database), {name: len(rows(database, f"SELECT * FROM {name}")) for name in tables(database)}
    next_version('words.allow(op, "frontier_questions", "kind", ["question", "hypothesis", "it\'s new"])')
    for _ in range(2):
        async with await Store.open(database) as store:
            assert await store.load(RUN) == research
            assert await store.notes_versions(RUN) == notes
    after = shape(database)
    assert {name for name in after if after[name] != before[name]} == {"frontier_questions"}
    was, now = before["frontier_questions"], after["frontier_questions"]
    assert {name for name in now if now[name] != was[name]} == {"checks"}
    assert {name: len(rows(database, f"SELECT * FROM {name}")) for name in tables(database)} == counted
    rows(database, "UPDATE frontier_questions SET kind = 'it''s new'")
    with pytest.raises(Exception, match=r"(?i)check constraint"):
        rows(database, "UPDATE frontier_questions SET kind = 'other'")
    rows(database, "DELETE FROM research_runs")
    assert rows(database, "SELECT 1 FROM frontier_questions UNION ALL SELECT 1 FROM frontier_transitions") == []


@pytest.mark.rule("D49")
async def test_stores_that_open_at_once_in_one_process_upgrade_once(database: str, next_version: Next) -> None:
    async with await Store.open(database) as store:
        await store.execute(RUN, giving(opened()))
    colour = 'sa.Column("colour", sa.Text, nullable=False, server_default="grey")'
    next_version(f'op.add_column("research_runs", {colour})')
    stores = await asyncio.gather(*(Store.open(database) for _ in range(6)))
    for store in stores:
        assert await store.head(RUN) == 1
        await store.close()
    assert rows(database, "SELECT run_id, colour, version FROM research_runs, zetetic_schema") == [(RUN, "grey", NEXT)]


@pytest.mark.rule("D49")
async def test_a_step_that_fails_leaves_the_database_as_it_was(database: str, next_version: Next) -> None:
    await filled(database)
    before = shape(database)
    next_version(
        'words.allow(op, "claims", "kind", ["claim", "datapoint", "x"])\n'
        'op.execute("DELETE FROM research_runs")\n'
        'op.execute("ALTER TABLE nowhere ADD COLUMN x TEXT")'
    )
    with pytest.raises(StoreError, match="nowhere"):
        await Store.open(database)
    assert shape(database) == before
    assert rows(database, "SELECT run_id, version FROM research_runs, zetetic_schema") == [(RUN, NEXT - 1)]
    assert rows(database, "SELECT version_num FROM zetetic_migrations") == [(f"{NEXT - 1:04d}",)]


async def test_a_step_that_would_leave_references_to_nothing_is_undone(file: Path, next_version: Next) -> None:
    """PostgreSQL holds references meanwhile; SQLite's are checked as a whole at the end."""
    await filled(str(file))
    next_version('op.execute("DELETE FROM research_runs")')
    with pytest.raises(StoreError, match="without theirs in research_runs; it was undone"):
        await Store.open(file)
    assert rows(file, "SELECT run_id FROM research_runs") == [(RUN,)]


# what a change of the tables must not forget


@pytest.mark.rule("D49")
@pytest.mark.parametrize("dialect", frozen.DRIVERS)
def test_the_tables_are_those_of_their_version(dialect: str) -> None:
    """A change needs the next version and a revision: see `zetetic.store.migrations`, then `python -m store.frozen`."""
    assert frozen.current(dialect) == frozen.path(storage.VERSION, dialect).read_text(encoding="utf-8")


def test_each_version_has_one_revision_and_the_last_is_this_one() -> None:
    found = sorted(path.name for path in (migrations.FOLDER / "versions").glob("r*.py"))
    assert [int(name[1:5]) for name in found] == list(range(1, storage.VERSION + 1))


async def test_a_database_of_this_version_is_opened_without_the_migrations(database: str) -> None:
    async with await Store.open(database):
        pass
    opener = """
import asyncio, sys
from zetetic.store import Store
async def main():
    async with await Store.open(sys.argv[1]):
        pass
asyncio.run(main())
print("alembic" in sys.modules)
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", opener, database),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent.parent,
    )
    said, _ = await process.communicate()
    assert said.decode().strip() == "False"
