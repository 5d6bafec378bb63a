from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zetetic.sources import DocumentFolder, DocumentsError, FetchFailure, Page, SearchStatus
from zetetic.sources import documents as module


def write(folder: Path, name: str, text: str, **fields: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    path.write_text((f"---\n{head}---\n\n" if head else "") + text, encoding="utf-8")


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[DocumentFolder]:
    write(
        tmp_path, "tides.md", "The tides are caused by the Moon. The Sun adds to them.", url="https://sea.example/tides"
    )
    write(tmp_path, "deep/volcano.txt", "Volcanoes erupt where magma rises.\n\nMagma is molten rock.")
    write(
        tmp_path,
        "moon.html",
        "<html><head><title>Moon</title></head><body><p>The Moon orbits the Earth.</p></body></html>",
    )
    write(tmp_path, ".hidden.md", "Nobody sees this.")
    write(tmp_path, ".git/notes.md", "Nor this.")
    write(tmp_path, "data.csv", "a,b\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    async with await DocumentFolder.open(tmp_path) as opened:
        yield opened


async def test_a_folder_is_read_in_order_and_a_broken_file_stops_nothing(folder: DocumentFolder) -> None:
    assert [page.path for page in folder.documents] == ["deep/volcano.txt", "moon.html", "tides.md"]
    [(path, reason)] = folder.unreadable
    assert path == "broken.pdf"
    assert reason.startswith("The PDF is broken")
    failure = await folder.fetch("broken.pdf")
    assert isinstance(failure, FetchFailure)
    assert (failure.kind, failure.message) == ("unreadable", reason)


@pytest.mark.rule("D33")
async def test_a_document_is_its_declared_url_or_its_path(folder: DocumentFolder) -> None:
    volcano, moon, tides = folder.documents
    assert (tides.url, tides.domain, tides.work_id) == (
        "https://sea.example/tides",
        "sea.example",
        "canonical:https://sea.example/tides",
    )
    assert (volcano.url, volcano.domain, volcano.work_id) == (
        "file:deep/volcano.txt",
        "local:deep/volcano.txt",
        "",
    )
    assert moon.title == "Moon"
    assert volcano.location == str(folder.root / "deep/volcano.txt")
    assert (folder.holdings.sources, folder.holdings.domains) == (3, 3)


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "spelling", ["deep/volcano.txt", "./deep/volcano.txt", "file:deep/volcano.txt", "{root}", "file://{root}"]
)
async def test_a_document_is_fetched_by_any_spelling_of_its_place(folder: DocumentFolder, spelling: str) -> None:
    url = spelling.format(root=folder.root / "deep/volcano.txt")
    page = await folder.fetch(url)
    assert isinstance(page, Page)
    assert (page.url, page.path) == (url, "deep/volcano.txt")


@pytest.mark.rule("R6")
async def test_a_document_is_fetched_by_its_url_however_folded(folder: DocumentFolder) -> None:
    page = await folder.fetch("http://www.sea.example/tides/?utm_source=x#top")
    assert isinstance(page, Page)
    assert page.path == "tides.md"
    assert folder.identity("http://sea.example/tides/") == "https://sea.example/tides"
    missing = await folder.fetch("https://sea.example/other")
    assert isinstance(missing, FetchFailure)
    assert missing.kind == "not_found"


@pytest.mark.rule("R6")
async def test_documents_whose_urls_fold_into_one_stay_two_documents_of_one_site(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "It opened in 1903.", url="https://en.wikipedia.org/wiki/Bridge#A")
    write(tmp_path, "b.md", "It opened in 1904.", url="https://en.wikipedia.org/wiki/Bridge#B")
    write(tmp_path, "c.md", "Same url.", url="https://same.example/x")
    write(tmp_path, "d.md", "Same url again.", url="https://same.example/x")
    async with await DocumentFolder.open(tmp_path) as folder:
        a, b, c, d = folder.documents
        assert len({page.canonical for page in folder.documents}) == 4
        assert a.domain == b.domain == "wikipedia.org"
        for page in (a, b):
            assert folder.find(page.url) == page
        for page in (c, d):
            assert folder.find(page.canonical) == page
        result = await folder.search("opened", limit=5)
        assert {hit.key for hit in result.hits} == {a.canonical, b.canonical}


@pytest.mark.rule("R8")
async def test_search_stems_words_and_quotes_the_text(folder: DocumentFolder) -> None:
    result = await folder.search("What causes a tide?", limit=5)
    assert result.status is SearchStatus.OK
    assert [hit.url for hit in result.hits] == ["https://sea.example/tides"]
    assert result.hits[0].snippet == "The tides are caused by the Moon. The Sun adds to them."


@pytest.mark.rule("R7", "R8")
@pytest.mark.parametrize(
    "query", ["", "?!", "zyzzyva", '"', "NEAR(", "a*", "title:", "'; DROP TABLE entry; --", "-", "AND"]
)
async def test_no_query_is_an_error(folder: DocumentFolder, query: str) -> None:
    result = await folder.search(query, limit=5)
    assert result.status in (SearchStatus.NO_RESULTS, SearchStatus.OK)
    assert bool(result.hits) == (result.status is SearchStatus.OK)
    assert result.hits or result.detail


async def test_the_snippet_is_the_best_passage_verbatim(tmp_path: Path) -> None:
    filler = "Nothing of interest is said in this sentence about weather. " * 40
    write(tmp_path, "long.md", filler + "Gravity was measured by Cavendish in 1798. " + filler)
    async with await DocumentFolder.open(tmp_path) as folder:
        [hit] = (await folder.search("Who measured gravity?", limit=3)).hits
        assert "Gravity was measured by Cavendish in 1798." in hit.snippet
        assert len(hit.snippet) <= 300
        assert hit.snippet in folder.documents[0].text


async def test_a_word_inside_a_line_without_spaces_is_found(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "衆院議院運営委員会は午後の理事会で本会議を開く。")
    async with await DocumentFolder.open(tmp_path) as folder:
        result = await folder.search("委員会", limit=3)
        assert [hit.snippet for hit in result.hits] == ["衆院議院運営委員会は午後の理事会で本会議を開く。"]


async def test_many_searches_at_once_share_one_index(folder: DocumentFolder) -> None:
    results = await asyncio.gather(*(folder.search("moon magma", limit=3) for _ in range(40)))
    assert {len(result.hits) for result in results} == {3}


@pytest.mark.rule("R7", "R8")
async def test_a_closed_folder_answers_failed(folder: DocumentFolder) -> None:
    folder.close()
    folder.close()
    assert (await folder.search("moon", limit=3)).status is SearchStatus.FAILED


async def test_a_folder_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DocumentsError, match="does not exist: give the path"):
        await DocumentFolder.open(tmp_path / "missing")
    write(tmp_path, "only.pdf", "no pdf")
    with pytest.raises(DocumentsError, match="is a file: give the folder"):
        await DocumentFolder.open(tmp_path / "only.pdf")
    with pytest.raises(DocumentsError, match=r"no document that can be read: put .*\.md(?s:.*)only\.pdf: "):
        await DocumentFolder.open(tmp_path)


async def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    write(inside, "a.md", "Inside.")
    write(tmp_path, "secret.md", "Outside.")
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    (inside / "again.md").symlink_to(inside / "a.md")
    (inside / "loop").symlink_to(inside, target_is_directory=True)
    async with await DocumentFolder.open(inside) as folder:
        assert [page.path for page in folder.documents] == ["a.md"]


async def test_unchanged_files_are_read_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "First.")
    write(tmp_path, "b.md", "Second.")
    (await DocumentFolder.open(tmp_path)).close()
    read: list[str] = []
    original = module._read
    monkeypatch.setattr(module, "_read", lambda path: read.append(path.name) or original(path))
    write(tmp_path, "b.md", "Second, changed.")
    async with await DocumentFolder.open(tmp_path) as folder:
        assert read == ["b.md"]
        assert folder.documents[1].text == "Second, changed."


async def test_two_hundred_small_files_open_in_well_under_a_second(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path, f"{number}.md", f"Document {number} is about the number {number}. " * 20)
    start = time.perf_counter()
    async with await DocumentFolder.open(tmp_path) as folder:
        assert len(folder.documents) == 200
    assert time.perf_counter() - start < 3  # 0.3 s on an idle machine
