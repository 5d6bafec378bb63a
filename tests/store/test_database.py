"""Opening: whose database it is, what cannot be opened and why, upgrades, event loops, closing."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from store.stories import RUN, giving, opened, rows, scratch, used

from zetetic.store import Store, StoreError, storage
from zetetic.store import database as database_module


def make(path: Path, *statements: str) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path.read_bytes()


def contents(path: Path) -> bytes:
    return path.read_bytes()


def beside(path: Path) -> list[str]:
    """The database files below a folder."""
    return sorted(found.relative_to(path).as_posix() for found in path.rglob("*") if found.is_file())


def fill(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)


async def test_a_path_or_a_url_makes_the_file_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/b/z.db", Path("c/z.db"), "sqlite:///d/z.db", f"sqlite:///{tmp_path}/e/z.db"):
        async with await Store.open(name) as store:
            assert await store.runs() == []
    assert beside(tmp_path) == ["a/b/z.db", "c/z.db", "d/z.db", "e/z.db"]


async def test_a_name_with_odd_characters_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "50% ü?#&.db"
    for _ in range(2):
        async with await Store.open(path) as store:
            await store.exists(RUN)
    assert beside(tmp_path) == [path.name]


@pytest.mark.rule("D49")
async def test_the_file_is_shared_by_writers_and_readers(store: Store, database: Path) -> None:
    assert [tuple(row) for row in rows(database, "PRAGMA journal_mode")] == [("wal",)]
    marker = rows(database, "SELECT application, version FROM zetetic_schema")
    assert [tuple(row) for row in marker] == [("zetetic", storage.VERSION)]


@pytest.mark.rule("D49")
async def test_opening_twice_is_harmless_and_an_older_database_is_upgraded(
    store: Store, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.execute(RUN, giving(opened()))
    async with await Store.open(database) as again:
        assert await again.head(RUN) == 1

    def second(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE research_runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'"))

    monkeypatch.setattr(storage, "VERSION", 2)
    monkeypatch.setitem(database_module.UPGRADES, 2, second)
    for _ in range(2):
        async with await Store.open(database) as upgraded:
            assert await upgraded.head(RUN) == 1
    found = rows(database, "SELECT run_id, colour, version FROM research_runs, zetetic_schema")
    assert [tuple(row) for row in found] == [(RUN, "grey", 2)]


async def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    store: Store, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.execute(RUN, giving(opened()))

    def broken(connection: Connection) -> None:
        connection.execute(text("DELETE FROM research_runs"))
        connection.execute(text("ALTER TABLE nowhere ADD COLUMN x TEXT"))

    monkeypatch.setattr(storage, "VERSION", 2)
    monkeypatch.setitem(database_module.UPGRADES, 2, broken)
    with pytest.raises(StoreError, match="nowhere"):
        await Store.open(database)
    found = rows(database, "SELECT run_id, version FROM research_runs, zetetic_schema")
    assert [tuple(row) for row in found] == [(RUN, 1)]


@pytest.mark.rule("D49")
async def test_another_programs_database_is_refused_and_left_as_it_is(database: Path) -> None:
    before = make(database, "CREATE TABLE recipes (name TEXT)", "INSERT INTO recipes VALUES ('soup')")
    with pytest.raises(StoreError, match="belongs to another program"):
        await Store.open(database)
    assert contents(database) == before
    assert beside(database.parent) == [database.name]


async def test_a_marker_of_another_program_is_refused(database: Path) -> None:
    columns = "CREATE TABLE zetetic_schema (application TEXT, version INTEGER)"
    before = make(database, columns, "INSERT INTO zetetic_schema VALUES ('other', 1)")
    with pytest.raises(StoreError, match="belongs to another program"):
        await Store.open(database)
    assert contents(database) == before


async def test_a_database_of_a_newer_version_is_refused(database: Path) -> None:
    columns = "CREATE TABLE zetetic_schema (application TEXT, version INTEGER)"
    before = make(database, columns, "INSERT INTO zetetic_schema VALUES ('zetetic', 99)")
    with pytest.raises(StoreError, match=r"newer zetetic \(schema 99"):
        await Store.open(database)
    assert contents(database) == before


@pytest.mark.parametrize("content", [b"# Notes\n", b"SQLite format 3\x00" + b"garbage" * 99])
async def test_a_file_that_is_no_database_is_refused(database: Path, content: bytes) -> None:
    fill(database, content)
    with pytest.raises(StoreError, match="left as it is"):
        await Store.open(database)
    assert contents(database) == content


async def test_an_empty_file_becomes_the_database(database: Path) -> None:
    fill(database, b"")
    async with await Store.open(database) as store:
        assert await store.runs() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("postgresql://me:secret@host/db", "PostgreSQL is not available in this version"),
        ("postgres://host/db", "PostgreSQL is not available in this version"),
        ("mysql://host/db", "no database the store knows"),
        ("sqlite://folder/z.db", "three slashes"),
        ("sqlite://", "needs a file"),
        (":memory:", "needs a file"),
        ("", "needs a file"),
    ],
)
async def test_what_is_no_file_is_refused_in_words(name: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as refusal:
        await Store.open(name)
    assert "secret" not in str(refusal.value)


async def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        await Store.open(tmp_path / "file" / "z.db")
    with pytest.raises(StoreError, match="is a folder"):
        await Store.open(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_file_that_cannot_be_written_is_an_error(database: Path) -> None:
    async with await Store.open(database):
        pass
    os.chmod(database, 0o444)
    with pytest.raises(StoreError, match="cannot be written"):
        await Store.open(database)


def test_what_sqlite_says_is_put_in_words(tmp_path: Path) -> None:
    path = tmp_path / "z.db"
    said = {
        "attempt to write a readonly database": "cannot be written",
        "unable to open database file": "cannot be opened",
        "database is locked": "30 seconds",
        "database or disk is full": "disk is full",
        "database disk image is malformed": "damaged",
        "no such table: x": "no such table: x",
    }
    for reason, words in said.items():
        assert words in database_module._in_words(path, sqlite3.OperationalError(reason))


def test_a_store_belongs_to_the_loop_it_was_opened_in(database: Path) -> None:
    with asyncio.Runner() as first, asyncio.Runner() as second:
        store = first.run(Store.open(database))
        with pytest.raises(StoreError, match="another event loop"):
            second.run(store.head(RUN))
        with pytest.raises(StoreError, match="another event loop"):
            second.run(store.execute(RUN, giving(opened())))
        assert first.run(store.head(RUN)) == 0
        first.run(store.close())


async def test_a_closed_store_says_so(database: Path) -> None:
    store = await Store.open(database)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.head(RUN)


async def test_a_reader_does_not_wait_for_a_writer(store: Store, database: Path) -> None:
    await store.execute(RUN, giving(opened()))
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE research_runs SET objective = 'half done'")
        async with asyncio.timeout(5):
            assert (await store.runs())[0].objective == "Is it so?"
            assert (await store.load(RUN)).version == 1
        other.execute("ROLLBACK")


async def test_a_cancelled_caller_does_not_break_a_write_off(database: Path) -> None:
    store = await Store.open(database)
    await store.execute(RUN, giving(opened()))
    callers = [asyncio.create_task(store.execute(RUN, giving(used(), scratch()))) for _ in range(5)]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    assert all(isinstance(r, asyncio.CancelledError) for r in await asyncio.gather(*callers, return_exceptions=True))
    await store.close()
    async with await Store.open(database) as again:
        assert await again.head(RUN) in (1, 3, 5, 7, 9, 11)
        assert (await again.load(RUN)).usage.calls == ((await again.head(RUN)) - 1) // 2
