"""The evidence pack: what every run leaves behind when it ends, and that it verifies wherever it is put."""

import asyncio
import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from export.packs import EXAMPLES, IDENTITIES, evidence, lines, played, tower, verified
from export.researches import finished
from graph.rig import OBJECTIVE, OFFICE, Rig, arms, fetch, plan, record, search, worker
from langchain_core.messages import AIMessage
from langgraph.runtime import RunControl

from zetetic import Context, ResearchResult, aresearch, open_store
from zetetic.export import pack_of, pack_text, quoted_pages, render_report, research_of, write_pack
from zetetic.state.research import Research
from zetetic.testing import call, turn

pytestmark = pytest.mark.rule("L6")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evidence")


@pytest.fixture(scope="module")
def example(home: Path) -> ResearchResult:
    """The example's run: complete, with copies, a contradiction, a refuted claim and an unanswered part."""
    return played(home)


@pytest.fixture(scope="module")
def folder(home: Path, example: ResearchResult) -> Path:
    assert example.status == "complete"
    return home / example.run_id


def last_record(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "iterations.jsonl").read_text().splitlines()[-1])
    return found


def test_a_complete_run_leaves_a_pack_that_verifies(folder: Path, example: ResearchResult) -> None:
    told = verified(folder)
    assert told.findings == []
    assert told.notes == []
    assert (told.run_id, told.status) == (example.run_id, "complete")
    links = [link for claim in example.research.claims.values() for link in claim.evidence]
    assert told.checked["quotes"] == len(links) > 20
    assert told.checked["pages"] == len({link.sha256 for link in links}) > 10
    assert told.checked["verified claims"] == sum(c["status"] == "VERIFIED" for c in example.claims) > 0
    assert told.checked["challenges"] == len(example.research.challenges) > 5


def test_every_quoted_page_stands_there_byte_for_byte(folder: Path, example: ResearchResult) -> None:
    quoted = {link.sha256 for claim in example.research.claims.values() for link in claim.evidence}
    assert {path.stem for path in (folder / "pages").iterdir()} == quoted
    for path in (folder / "pages").iterdir():
        assert sha256(path.read_bytes()).hexdigest() == path.stem


@pytest.mark.rule("L5")
def test_a_success_cites_its_proof(folder: Path, example: ResearchResult) -> None:
    name = f"evidence-{example.run_id}"
    record = last_record(folder)
    assert (record["decision"], record["stop_reason"]) == ("stop", "success_criteria_met")
    assert record["evidence_checked"]["evidence_ids"] == [name]  # type: ignore[index]
    proof = json.loads((folder / "proof_artifacts" / f"{name}.json").read_text())
    assert proof == {
        "schema_version": "1.0",
        "id": name,
        "artifact_type": "python-verifier",
        "machine_checkable": True,
        "target": example.research.objective,
        "proof_path": "evidence.json",
        "proof_sha256": sha256((folder / "evidence.json").read_bytes()).hexdigest(),
        "checker": {
            "name": "zetetic verify",
            "version": proof["checker"]["version"],
            "status": "passed",
            "command": "zetetic verify .",
        },
    }


def test_the_evidence_tells_what_the_report_rests_on(folder: Path, example: ResearchResult) -> None:
    value = evidence(folder)
    assert value["objective"] == example.research.objective
    assert [criterion["met"] for criterion in value["criteria"]] == [True] * len(example.research.criteria)
    assert value["report"]["text"] == example.report == (folder / "report.md").read_text(encoding="utf-8")
    listed = [line for line in example.report.splitlines() if re.match(r"\d+\. ", line)]
    for reference, line in zip(value["report"]["references"], listed, strict=True):
        assert line.startswith(f"{reference['number']}. ")
        assert f"<{reference['url']}>" in line
    sentence = next(s for s in value["report"]["sentences"] if s["claim_ids"])
    claim = next(c for c in value["claims"] if c["id"] == sentence["claim_ids"][0])
    assert set(sentence["numbers"]) >= {
        reference["number"]
        for reference in value["report"]["references"]
        for link in claim["evidence"]
        if link["stance"] == "supports" and link["source_id"] == reference["source_id"]
    }
    for claim in value["claims"]:
        for link in claim["evidence"]:
            page = (folder / "pages" / f"{link['sha256']}.txt").read_bytes().decode()
            assert page[link["start"] : link["end"]] == link["quote"]


def test_every_field_is_explained(folder: Path) -> None:
    told = (EXAMPLES.parent / "docs" / "evidence.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", told))
    value = evidence(folder)
    assert set(value) <= explained
    records = [value["run"], value["conclusion"], value["report"]]
    records += [record for part in value.values() if isinstance(part, list) for record in part]
    records += [link for claim in value["claims"] for link in claim["evidence"]]
    records += [*value["report"]["references"], *value["report"]["sentences"]]
    assert {name for record in records if isinstance(record, dict) for name in record} <= explained


def test_the_pack_gives_the_research_back_as_far_as_it_tells_of_it(example: ResearchResult) -> None:
    pack = pack_of(example.research)
    again = research_of(pack)
    assert type(pack).model_validate_json(pack_text(pack)) == pack
    assert again.claims == example.research.claims
    assert again.challenges == example.research.challenges
    assert again.evaluations == example.research.evaluations


def test_it_verifies_elsewhere_and_without_the_database(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "far" / "away"
    shutil.copytree(folder, moved)
    assert verified(moved).findings == []  # nothing stands beside it


async def _again(home: Path, run_id: str, place: Path) -> None:
    async with open_store(Context(home=str(home))) as store:
        research = await store.load(run_id)
        pages = await quoted_pages(store, research)
    write_pack(research, place, research.updated_at, pages, IDENTITIES)  # type: ignore[arg-type]


@pytest.mark.rule("L2")
def test_the_folder_is_a_projection_that_can_be_built_anew(home: Path, folder: Path, tmp_path: Path) -> None:
    asyncio.run(_again(home, folder.name, tmp_path / "one"))
    asyncio.run(_again(home, folder.name, tmp_path / "two"))
    asyncio.run(_again(home, folder.name, tmp_path / "two"))

    def files(place: Path) -> dict[str, bytes]:
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    assert files(tmp_path / "one") == files(tmp_path / "two")
    held = files(folder)
    for name, data in files(tmp_path / "one").items():
        if name not in ("budget.json", "recovery.md"):  # which say when they were written and what time is left
            assert held[name] == data, name


# other ends


@pytest.mark.parametrize(
    ("bounds", "status", "loop"),
    [
        ({"max_turns": 8}, "reported", "investigative"),
        ({"max_total_tokens": 9}, "failed", "investigative"),
        ({"max_turns": 12, "max_parallel": 3}, "reported", "investigative"),
        ({"loop": "simple"}, "reported", "simple"),
    ],
    ids=["reported", "failed", "fleet", "simple"],
)
def test_every_other_end_leaves_a_pack_that_verifies(
    bounds: dict[str, object], status: str, loop: str, tmp_path: Path
) -> None:
    result = played(tmp_path, **bounds)
    assert (result.status, result.research.loop) == (status, loop)
    told = verified(tmp_path / result.run_id)
    assert told.findings == []
    assert told.empty == (not result.claims)
    assert not (tmp_path / result.run_id / "proof_artifacts").exists()
    assert evidence(tmp_path / result.run_id)["report"]["text"] == result.report


@pytest.mark.parametrize("bad", ["blocked", "stopped"])
def test_a_run_without_a_report_leaves_its_evidence(bad: str, tmp_path: Path) -> None:
    control = RunControl()

    def stop(messages: object) -> AIMessage:
        control.request_drain()
        return search("Ortel lighthouse cost")

    steps = [plan(), search(), fetch(), record()]
    rig = Rig(tmp_path, worker([*steps, *([stop] if bad == "stopped" else [])], RuntimeError("the model is gone")))

    async def go() -> ResearchResult:
        return await aresearch(OBJECTIVE, context=rig.context(call_retries=0), control=control)

    result = asyncio.run(go())
    assert result.status == ("stopped" if bad == "stopped" else "blocked")
    told = verified(tmp_path / result.run_id)
    assert told.findings == []
    assert told.notes == ["The run has no report."]
    assert told.checked["quotes"] == 2


def test_while_a_run_goes_on_it_has_no_pack(tmp_path: Path) -> None:
    reported = finished(draft="Nothing [c_001].")
    write_pack(reported, tmp_path, reported.updated_at, {}, IDENTITIES)  # type: ignore[arg-type]
    assert (tmp_path / "evidence.json").exists()
    going_on = reported.model_copy(update={"status": "running"})
    write_pack(going_on, tmp_path, going_on.updated_at, {}, IDENTITIES)  # type: ignore[arg-type]
    assert not (tmp_path / "evidence.json").exists()
    assert lines(tmp_path)[0].startswith("evidence.json: is missing: a run folder gets it when its run ends")


@pytest.mark.rule("L5")
def test_what_does_not_verify_is_no_proven_success(tmp_path: Path) -> None:
    folder = tower(tmp_path)
    name = folder.name

    async def without_a_page() -> None:
        async with open_store(Context(home=str(tmp_path))) as store:
            research = await store.load(name)
            pages = await quoted_pages(store, research)
        gone = next(iter(pages))
        (folder / "pages" / f"{gone}.txt").unlink()
        del pages[gone]
        faults = write_pack(research, folder, research.updated_at, pages, IDENTITIES)  # type: ignore[arg-type]
        assert [fault.line() for fault in faults] == [f"pages/{gone}.txt: is missing"]

    asyncio.run(without_a_page())
    assert list((folder / "proof_artifacts").iterdir()) == []
    record = last_record(folder)
    assert (record["decision"], record["stop_reason"]) == ("blocked", "blocked:evidence")
    assert str(record["blocker"]).startswith("the evidence does not verify: pages/")
    assert record["evidence_checked"]["evidence_ids"] == []  # type: ignore[index]
    assert json.loads((folder / "loop_state.json").read_text())["status"] == "blocked"
    recovery = (folder / "recovery.md").read_text()
    assert "- Status: blocked (blocked:evidence)\n" in recovery
    assert "- Active blockers: the evidence does not verify: pages/" in recovery
    assert next(line for line in lines(folder) if "success" not in line).endswith("is missing")


@pytest.mark.rule("L2", "L5")
def test_what_was_left_beside_the_pages_is_removed(home: Path, folder: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(folder, tmp_path / "run"))
    (place / "pages" / ".torn.txt.12ab").write_text("half a pa")
    asyncio.run(_again(home, folder.name, place))
    assert verified(place).passed
    assert len(list((place / "proof_artifacts").iterdir())) == 1


@pytest.mark.rule("L2")
@pytest.mark.parametrize("name", ["pages", "proof_artifacts", "evidence.json"])
def test_a_link_in_the_folder_is_replaced_and_not_followed(name: str, folder: Path, home: Path, tmp_path: Path) -> None:
    place, outside = tmp_path / "run", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    (place / name).symlink_to(outside)
    if name == "evidence.json":
        outside.rmdir()
        outside.write_text("mine")
    asyncio.run(_again(home, folder.name, place))
    assert outside.read_text() == "mine" if outside.is_file() else list(outside.iterdir()) == []
    assert lines(place) == []


def test_a_run_that_never_recorded_a_claim_proves_nothing(tmp_path: Path) -> None:
    result = played(tmp_path, max_turns=2)
    assert result.claims == []
    told = verified(tmp_path / result.run_id)
    assert told.empty
    assert told.findings == []


def test_datapoints_are_verified_too(tmp_path: Path) -> None:
    datapoint = {
        "value": "42",
        "unit": "metres",
        "context": "Height of the Ortel lighthouse",
        "quote": "The Ortel lighthouse is 42 metres tall.",
        "source_id": "s_001",
    }
    steps = [plan(), search(), fetch(OFFICE), turn(call("notes_append", datapoints=[datapoint]))]
    rig = Rig(tmp_path, worker(steps, turn(call("abort", reason="enough"))), arms())

    async def go() -> ResearchResult:
        return await rig.research(max_turns=8)

    result = asyncio.run(go())
    told = verified(tmp_path / result.run_id)
    assert told.findings == []
    assert told.checked["datapoints"] == 1


def test_a_report_is_told_by_its_own_numbers() -> None:
    research: Research = finished()
    facts = pack_of(research).report
    assert facts.text == render_report(research)
    assert [reference.source_id for reference in facts.references] == ["s_001", "s_002"]
    assert [(s.claim_ids, s.numbers) for s in facts.sentences] == [
        (("c_001",), (1, 2)),
        (("c_002",), (2,)),
        (("c_002", "c_001"), (2, 1)),
    ]
