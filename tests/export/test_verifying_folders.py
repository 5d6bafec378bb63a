"""Folders that are no pack, or that a hostile hand laid out: links, garbage, files of any size."""

import json
import os
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from export.packs import IDENTITIES, by_id, copied, evidence, lines, page_of, tower, verified, written

from zetetic.export import Identities, verify_folder
from zetetic.export.verifying.reading import MOST_EVIDENCE, MOST_PAGE
from zetetic.sources.identity import site_of

pytestmark = pytest.mark.rule("L6")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tower(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the small complete pack."""
    return copied(whole, tmp_path)


def first_page(folder: Path) -> Path:
    return page_of(folder, by_id(evidence(folder)["sources"], "s_001")["sha256"])


def proof_in(folder: Path) -> Path:
    (found,) = (folder / "proof_artifacts").iterdir()
    return found


@pytest.mark.rule("D31")
def test_one_letter_of_a_page(folder: Path) -> None:
    page = first_page(folder)
    page.write_bytes(page.read_bytes().replace(b"lit in 1911", b"lit in 1912"))
    (found,) = lines(folder)
    assert found.startswith(f"pages/{page.name}: was changed: its SHA-256 is ")


def test_a_page_that_is_missing(folder: Path) -> None:
    first_page(folder).unlink()
    assert f"pages/{first_page(folder).name}: is missing" in lines(folder)


def test_a_page_that_no_claim_quotes(folder: Path) -> None:
    (folder / "pages" / "more.txt").write_text("It was painted in 1950.")
    (folder / "pages" / "folder").mkdir()
    assert lines(folder) == [f"pages/{name}: is no page that a claim quotes" for name in ("folder", "more.txt")]
    for number in range(30):
        (folder / "pages" / f"{number}.txt").touch()
    found = lines(folder)
    assert len(found) == 21
    assert found[-1] == "pages: has 12 more files that are no page that a claim quotes"


def test_a_page_that_is_no_text(folder: Path, tmp_path: Path) -> None:
    from hashlib import sha256

    data = b"\xff\xfe\x00"
    value = evidence(folder)
    old, new = by_id(value["sources"], "s_001")["sha256"], sha256(data).hexdigest()
    written(folder, json.loads(json.dumps(value).replace(old, new)))
    page_of(folder, new).write_bytes(data)
    assert f"pages/{new}.txt: is no UTF-8" in lines(folder)


@pytest.mark.rule("D44")
def test_a_report_that_was_edited(folder: Path) -> None:
    report = folder / "report.md"
    report.write_text(report.read_text().replace("42 metres", "43 metres"))
    assert lines(folder) == ["report.md: is not the report that stands in evidence.json"]
    report.unlink()
    assert lines(folder) == ["report.md: is missing"]


@pytest.mark.rule("L5")
@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("proof_sha256", "0" * 64, "proof_sha256: differs from that of evidence.json, which is "),
        ("proof_path", "../evidence.json", "proof_path: is "),
        ("proof_path", "/etc/hostname", "proof_path: is "),
        ("proof_path", "elsewhere.json", "proof_path: is "),
        ("proof_path", 7, "proof_path: is 7"),
        ("machine_checkable", "yes", "machine_checkable: is "),
        ("checker", "passed", "checker: is "),
        ("artifact_type", "opinion", "artifact_type: is "),
        ("id", "another", "id: is another, but the file is named for evidence-"),
    ],
)
def test_a_proof_that_was_edited(field: str, value: Any, says: str, folder: Path) -> None:
    proof = proof_in(folder)
    proof.write_text(json.dumps(json.loads(proof.read_text()) | {field: value}))
    found, uncited = lines(folder)
    assert found.startswith(f"proof_artifacts/{proof.name}: {says}")
    assert uncited == f"iterations.jsonl: its last record cites {proof.stem}, which is no proof that passes"


@pytest.mark.rule("L5")
def test_a_proof_that_is_gone_or_is_not_cited(folder: Path) -> None:
    name = proof_in(folder).stem
    proof_in(folder).unlink()
    assert lines(folder) == [f"iterations.jsonl: its last record cites {name}, which is no proof that passes"]
    ledger = folder / "iterations.jsonl"
    ledger.write_text(ledger.read_text().replace(name, "another"))
    assert f"iterations.jsonl: its last record claims a success without citing {name}" in lines(folder)


@pytest.mark.rule("L5")
def test_a_ledger_that_tells_another_story(folder: Path) -> None:
    ledger = folder / "iterations.jsonl"
    held = ledger.read_text()
    ledger.write_text(held.replace('"success_criteria_met"', '"stalled"'))
    assert lines(folder) == [
        "iterations.jsonl: the run is complete, and the reason of its last record is 'stalled'",
        "iterations.jsonl: line 2: does not say what evidence.json gives: stop_reason",
    ]
    ledger.write_text(held.splitlines(keepends=True)[1])
    assert "iterations.jsonl: has 1 records of the 2 attempts in evidence.json" in lines(folder)
    ledger.write_text(held + "{torn")
    assert "iterations.jsonl: line 3: is no JSON object" in lines(folder)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"[]",
        b"{}",
        b"null",
        b'{"schema_version": "9.0"}',
        b"\xff\xfe\x00\x00",
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_evidence_that_is_garbage(data: bytes, folder: Path) -> None:
    (folder / "evidence.json").write_bytes(data)
    found = lines(folder)
    assert found
    assert all(line.startswith("evidence.json: ") for line in found)
    assert len(found) <= 21
    assert verified(folder).checked == {}


def test_a_key_that_stands_twice(folder: Path) -> None:
    file = folder / "evidence.json"
    data = file.read_text().replace('"objective": ', '"objective": "What a reader sees first.",\n  "objective": ', 1)
    written(folder, json.loads(data))
    file.write_text(data)
    (found,) = [line for line in lines(folder) if line.startswith("evidence.json")]
    assert "objective" in found
    assert "twice" in found


def test_a_folder_without_evidence(tmp_path: Path) -> None:
    (found,) = lines(tmp_path)
    assert found.startswith("evidence.json: is missing: a run folder gets it when its run ends")
    assert "`zetetic resume RUN`" in found


@pytest.mark.parametrize(
    ("status", "command"), [("running", "resume"), ("initialized", "resume"), ("stopped", "export")]
)
def test_what_makes_the_evidence_that_is_missing(status: str, command: str, folder: Path) -> None:
    (folder / "evidence.json").unlink()
    state = folder / "loop_state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"status": status}))
    (found,) = lines(folder)
    assert f"`zetetic {command} RUN" in found


@pytest.mark.parametrize("name", ["evidence.json", "report.md", "iterations.jsonl", "pages", "proof_artifacts", "page"])
def test_a_link_is_not_followed(name: str, folder: Path, tmp_path: Path) -> None:
    path = first_page(folder) if name == "page" else folder / name
    outside = tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    relative = str(path.relative_to(folder))
    assert [
        line for line in lines(folder) if line.startswith(relative) and re.search(r"is a link|through a link", line)
    ]


def test_a_pipe_or_a_folder_is_no_file(folder: Path) -> None:
    page = first_page(folder)
    page.unlink()
    os.mkfifo(page)
    (folder / "report.md").unlink()
    (folder / "report.md").mkdir()
    found = lines(folder)
    assert f"pages/{page.name}: is no plain file" in found
    assert "report.md: is no plain file" in found


def test_a_file_of_any_size_takes_no_memory(folder: Path) -> None:
    page = first_page(folder)
    os.truncate(page, MOST_PAGE + 1)
    os.truncate(folder / "report.md", 1 << 40)
    tracemalloc.start()
    found = lines(folder)
    evidence_too = folder / "evidence.json"
    os.truncate(evidence_too, 1 << 40)
    found += lines(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    assert f"pages/{page.name}: has {MOST_PAGE + 1:,} bytes, more than the {MOST_PAGE:,} that are read" in found
    assert f"evidence.json: has {1 << 40:,} bytes, more than the {MOST_EVIDENCE:,} that are read" in found


def test_one_page_is_held_at_a_time(folder: Path, whole: Path) -> None:
    """The sketch is asked for after each page, so that the text before it is free by then."""
    seen: list[int] = []

    def sketch(text: str) -> tuple[int, ...]:
        seen.append(len(text))
        return IDENTITIES.sketch(text)

    told = verify_folder(folder, Identities(sketch=sketch, site=IDENTITIES.site, work=IDENTITIES.work))
    assert told.findings == []
    assert sorted(seen) == [59, 73]


@pytest.mark.rule("D33")
@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("https://news.bbc.co.uk/a", "bbc.co.uk"),
        ("file:notes/a%20b.md", "local:notes/a b.md"),
        ("query:0a1b@towers.csv+old%2Bnew.csv", "local:towers.csv + local:old+new.csv"),
        ("tool:shelf/part%201/ffff", "local:shelf/part 1"),
        ("tool:shelf/ffff", "local:shelf/ffff"),
        ("kb://123", ""),
        ("", ""),
    ],
)
def test_the_site_that_an_address_says(address: str, site: str) -> None:
    assert site_of(address) == site
