"""The notes: versions in the transaction that changes them, and a file that is a copy of the latest."""

import logging
from pathlib import Path

import pytest
from store.stories import RUN, giving, opened, scratch, used

from zetetic.store import Store, StoreError
from zetetic.store.notes_versions import rendered


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.rule("D28")
async def test_each_change_is_a_version_and_the_file_is_the_latest(store: Store, tmp_path: Path) -> None:
    await store.execute(RUN, giving(opened(user="Ann/é")))
    await store.execute(RUN, giving(scratch("first")), reason="notes_scratch")
    await store.execute(RUN, giving(used()))
    await store.execute(RUN, giving(scratch("second")))
    versions = await store.notes_versions(RUN)
    assert [(v.seq, v.event_seq, v.reason) for v in versions] == [
        (1, 1, "run_opened"),
        (2, 2, "notes_scratch"),
        (3, 4, "scratch_written"),
    ]
    research = await store.load(RUN)
    assert versions[-1].text == rendered(research)
    assert files(tmp_path / "runs") == [f"{RUN}/notes_Ann___{RUN}_n0te.md"]
    path = store.notes_path(research)
    assert path is not None
    assert path.read_text(encoding="utf-8") == versions[-1].text


@pytest.mark.rule("D28")
async def test_what_reads_the_same_is_no_new_version(store: Store) -> None:
    await store.execute(RUN, giving(opened(), scratch("kept")))
    same = scratch("kept").model_copy(update={"append": False})
    await store.execute(RUN, giving(same))
    assert [v.seq for v in await store.notes_versions(RUN)] == [1]


@pytest.mark.rule("D28")
async def test_the_users_name_is_cut_and_stays_in_its_folder(store: Store, tmp_path: Path) -> None:
    await store.execute("..", giving(opened("..", user="x" * 99)))
    assert files(tmp_path / "runs") == [f"__/notes_{'x' * 64}____n0te.md"]


@pytest.mark.rule("D28")
async def test_a_missing_file_is_restored_from_the_latest_version(store: Store) -> None:
    await store.execute(RUN, giving(opened(), scratch("kept")))
    path = store.notes_path(await store.load(RUN))
    assert path is not None
    text = path.read_text(encoding="utf-8")
    assert not await store.restore_notes(RUN)
    path.unlink()
    assert await store.restore_notes(RUN)
    assert path.read_text(encoding="utf-8") == text
    assert [(v.seq, v.reason, v.text == text) for v in await store.notes_versions(RUN)] == [
        (1, "scratch_written", True),
        (2, "restore", True),
    ]


async def test_a_folder_that_cannot_be_written_costs_the_file_alone(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    async with await Store.open(database, notes_dir=tmp_path / "runs") as store:
        with caplog.at_level(logging.WARNING):
            await store.execute(RUN, giving(opened()))
        assert "stored, but not as a file" in caplog.text
        assert len(await store.notes_versions(RUN)) == 1
        with pytest.raises(StoreError, match="cannot be written"):
            await store.restore_notes(RUN)


async def test_without_a_folder_there_are_versions_and_no_files(database: str) -> None:
    async with await Store.open(database) as store:
        done = await store.execute(RUN, giving(opened()))
        assert len(await store.notes_versions(RUN)) == 1
        assert store.notes_path(done.research) is None
        assert not await store.restore_notes(RUN)
