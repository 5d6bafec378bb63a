"""Opening: whose database it is, what cannot be opened and why, event loops, closing."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store.stories import RUN, giving, half_done, opened, rows, scratch, used

from zetetic.store import Store, StoreError, storage
from zetetic.store.sqlite import in_words


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
async def test_the_file_is_shared_by_writers_and_readers(file: Path) -> None:
    async with await Store.open(file):
        assert rows(file, "PRAGMA journal_mode") == [("wal",)]
    assert rows(file, "SELECT application, version FROM zetetic_schema") == [("zetetic", storage.VERSION)]


@pytest.mark.rule("D49")
async def test_another_programs_database_is_refused_and_left_as_it_is(file: Path) -> None:
    before = make(file, "CREATE TABLE recipes (name TEXT)", "INSERT INTO recipes VALUES ('soup')")
    with pytest.raises(StoreError, match="belongs to another program"):
        await Store.open(file)
    assert contents(file) == before
    assert beside(file.parent) == [file.name]


async def test_a_marker_of_another_program_is_refused(file: Path) -> None:
    columns = "CREATE TABLE zetetic_schema (application TEXT, version INTEGER)"
    before = make(file, columns, "INSERT INTO zetetic_schema VALUES ('other', 1)")
    with pytest.raises(StoreError, match="belongs to another program"):
        await Store.open(file)
    assert contents(file) == before


async def test_a_database_of_a_newer_version_is_refused(file: Path) -> None:
    columns = "CREATE TABLE zetetic_schema (application TEXT, version INTEGER)"
    before = make(file, columns, "INSERT INTO zetetic_schema VALUES ('zetetic', 99)")
    with pytest.raises(StoreError, match=r"newer zetetic \(schema 99"):
        await Store.open(file)
    assert contents(file) == before


@pytest.mark.parametrize("content", [b"# Notes\n", b"SQLite format 3\x00" + b"garbage" * 99])
async def test_a_file_that_is_no_database_is_refused(file: Path, content: bytes) -> None:
    fill(file, content)
    with pytest.raises(StoreError, match="left as it is"):
        await Store.open(file)
    assert contents(file) == content


async def test_an_empty_file_becomes_the_database(file: Path) -> None:
    fill(file, b"")
    async with await Store.open(file) as store:
        assert await store.runs() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("postgresql://me:se/cret@host/db", "cannot be read. Write postgresql://"),
        ("postgresql://me:secret@host/db?colour=grey", "cannot be read. Write postgresql://"),
        ("mysql://host/db", "no database the store knows"),
        ("sqlite://folder/z.db", "three slashes"),
        ("sqlite://", "needs a file"),
        (":memory:", "needs a file"),
        ("", "needs a file"),
    ],
)
async def test_what_names_no_database_is_refused_in_words(name: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as refusal:
        await Store.open(name)
    assert "cret" not in str(refusal.value)


async def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        await Store.open(tmp_path / "file" / "z.db")
    with pytest.raises(StoreError, match="is a folder"):
        await Store.open(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_file_that_cannot_be_written_is_an_error(file: Path) -> None:
    async with await Store.open(file):
        pass
    os.chmod(file, 0o444)
    with pytest.raises(StoreError, match="cannot be written"):
        await Store.open(file)


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
        assert words in in_words(path, sqlite3.OperationalError(reason))


def test_a_store_belongs_to_the_loop_it_was_opened_in(database: str) -> None:
    with asyncio.Runner() as first, asyncio.Runner() as second:
        store = first.run(Store.open(database))
        with pytest.raises(StoreError, match="another event loop"):
            second.run(store.head(RUN))
        with pytest.raises(StoreError, match="another event loop"):
            second.run(store.execute(RUN, giving(opened())))
        assert first.run(store.head(RUN)) == 0
        first.run(store.close())


async def test_a_closed_store_says_so(database: str) -> None:
    store = await Store.open(database)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.head(RUN)


async def test_a_reader_does_not_wait_for_a_writer(store: Store, database: str) -> None:
    await store.execute(RUN, giving(opened()))
    with half_done(database, "UPDATE research_runs SET objective = 'half done'"):
        async with asyncio.timeout(5):
            assert (await store.runs())[0].objective == "Is it so?"
            assert (await store.load(RUN)).version == 1


async def test_a_cancelled_caller_does_not_break_a_write_off(database: str) -> None:
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
