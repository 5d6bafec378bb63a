"""What a forger would change in an evidence pack, who signs it anew, and how that is found and named."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from export.packs import Change, by_id, copied, evidence, forged, lines, page_of, played, tower, verified, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.rule("L6")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One verified claim of two sources, three challenges, a report of two sentences."""
    return tower(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example: many sources, two of one text, a refuted claim, an unanswered part."""
    home = tmp_path_factory.mktemp("example")
    return home / played(home).run_id


@pytest.fixture(scope="module")
def cut_short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example cut short: most of its questions are open."""
    home = tmp_path_factory.mktemp("short")
    return home / played(home, max_turns=16).run_id


def change_quote(e: Any) -> None:
    e["claims"][0]["evidence"][0]["quote"] = "The Ortel lighthouse is 43 metres tall."


def change_span(e: Any) -> None:
    e["claims"][0]["evidence"][0]["start"] += 4


def cut_quote(e: Any) -> None:
    """A quote cut within its number: 4 in place of 42."""
    e["claims"][0]["evidence"][0] |= {"quote": "The Ortel lighthouse is 4", "end": 25}


def drop_challenge(e: Any) -> None:
    e["challenges"] = [c for c in e["challenges"] if c["id"] != "ch_001"]
    e["queries"] = [q for q in e["queries"] if q["challenge_id"] != "ch_001"]


def undecided(name: str) -> Change:
    def change(e: Any) -> None:
        by_id(e["challenges"], name)["outcome"] = "inconclusive"

    return change


def failed_search(e: Any) -> None:
    challenge = by_id(e["challenges"], "ch_001")
    challenge["search_status"] = "failed"
    for record in e["queries"]:
        if record["challenge_id"] == "ch_001":
            record["status"] = "failed"


def drop_query(e: Any) -> None:
    e["queries"] = [q for q in e["queries"] if q["challenge_id"] != "ch_001"]


def without_words(e: Any) -> None:
    by_id(e["challenges"], "ch_001")["evidence"] = ""


def other_domain(e: Any) -> None:
    by_id(e["sources"], "s_002")["domain"] = "another-survey.org"


def same_site(e: Any) -> None:
    """A second page of the first site, called another site's."""
    source = by_id(e["sources"], "s_002")
    source |= {"url": "https://harbour-office.org/heights", "final_url": "https://harbour-office.org/heights"}


def undeclared(e: Any) -> None:
    e["claims"][0]["evidence"][1]["independence"] = ""


def move_number(e: Any) -> None:
    for reference in e["report"]["references"]:
        reference["number"] = 3 - reference["number"]
    e["report"]["references"].reverse()


def other_address(e: Any) -> None:
    e["report"]["references"][1]["url"] = "https://example.com/invented"


def number_in_text(e: Any) -> None:
    e["report"]["text"] = e["report"]["text"].replace(
        "metres tall [1][2].\n\n## Details", "metres tall [2].\n\n## Details"
    )


def unknown_number(e: Any) -> None:
    e["report"]["text"] = e["report"]["text"].replace(
        "metres tall [1][2].\n\n## Details", "metres tall [7].\n\n## Details"
    )


def uncited_sentence(e: Any) -> None:
    e["report"]["draft"] = e["report"]["draft"].replace("## Details\n\n", "## Details\n\nIt was painted in 1950. ")
    e["report"]["text"] = e["report"]["text"].replace("## Details\n\n", "## Details\n\nIt was painted in 1950. ")


def loose_figure(e: Any) -> None:
    for name, cited in (("draft", "[c_001]"), ("text", "[1][2]")):
        e["report"][name] = e["report"][name].replace(f"42 metres tall {cited}", f"42 metres tall, as in 1950 {cited}")


def unknown_claim(e: Any) -> None:
    e["report"]["draft"] = e["report"]["draft"].replace("[c_001]", "[c_009]")


def fallen_claim(e: Any) -> None:
    e["claims"][0]["status"] = "REFUTED"


def other_conclusion(e: Any) -> None:
    e["conclusion"]["text"] = "The Ortel lighthouse is the tallest of all."


def other_answer(e: Any) -> None:
    e["questions"][0]["answer"] = "The Ortel lighthouse is the tallest of all [c_001]."


def open_question(e: Any) -> None:
    e["questions"][0]["status"] = "pending"


def unmet(e: Any) -> None:
    e["criteria"][1]["met"] = False


def without_verdicts(e: Any) -> None:
    for criterion in e["criteria"]:
        criterion["met"] = None


def refused_report(e: Any) -> None:
    e["attempts"][-1]["routing"]["verified"] = False


def waits_on_itself(e: Any) -> None:
    e["dependencies"] = {"q_001": ["q_001"]}


def deeper(e: Any) -> None:
    e["questions"][0]["depth"] = 2


def twice(e: Any) -> None:
    e["claims"].append(e["claims"][0])


def unquoted(e: Any) -> None:
    e["claims"][0]["evidence"] = []


def another_page(e: Any) -> None:
    by_id(e["sources"], "s_001")["sha256"] = by_id(e["sources"], "s_002")["sha256"]


def no_hash(e: Any) -> None:
    e["claims"][0]["evidence"][0]["sha256"] = "../../outside"


def fewer_sources(e: Any) -> None:
    e["thresholds"]["min_sources"] = 3


def other_work(e: Any) -> None:
    by_id(e["sources"], "s_002")["work_id"] = ""


CHANGES: list[tuple[Change, str]] = [
    (change_quote, r"c_001: its quote does not stand at characters 0 to 39 of the page of s_001"),
    (change_span, r"c_001: its quote does not stand at characters 4 to 39"),
    (cut_quote, r"c_001: its quote begins or ends inside a word or number at characters 0 to 25"),
    (drop_challenge, r"c_001: is called VERIFIED, and has survived 0 challenge\(s\) of 1$"),
    (undecided("ch_001"), r"c_001: is called VERIFIED, and has survived 0 challenge"),
    (undecided("ch_003"), r"gate does not pass: The conclusion as it stands has not survived"),
    (failed_search, r"ch_001: cannot have the outcome survived: Its search ended as failed"),
    (drop_query, r"ch_001: is said to have been run, and no logged query is its own"),
    (without_words, r"ch_001: cannot have the outcome survived: Say in evidence"),
    (other_domain, r"s_002: is given as from 'another-survey.org', and .* 'land-survey.net'"),
    (same_site, r"c_001: is called VERIFIED, and has 1 independent supporting"),
    (undeclared, r"c_001: is called VERIFIED, and has 1 independent supporting"),
    (other_work, r"s_002: is given as the work '\(none\)', and its page is 'canonical:"),
    (move_number, r"report.md: number 1: does not lead to https://land-survey.net/heights"),
    (other_address, r"reference 2: leads to https://example.com/invented, which is not"),
    (number_in_text, r"evidence.json: report: is not the text that the records give"),
    (unknown_number, r"report.md: number 7: is cited, and stands for no source"),
    (uncited_sentence, r"would not pass its gate: Every factual sentence cites a claim"),
    (loose_figure, r"report: states figures that stand in none of its quotes: 1950$"),
    (unknown_claim, r"would not pass its gate: These ids do not exist: c_009"),
    (fallen_claim, r"q_001: cannot be resolved with this answer: c_001 cannot carry"),
    (other_conclusion, r"ch_003: attacks another text than the conclusion"),
    (other_answer, r"q_001: cannot be resolved with this answer: This answer has no closed"),
    (open_question, r"report: does not name q_001 under its gaps, which was not answered"),
    (unmet, r"criteria: are not what the records give, from number 2 on"),
    (without_verdicts, r"criteria: are not all met, and the run is complete"),
    (refused_report, r"attempt 2: took Answered; the ladder gives Retry"),
    (waits_on_itself, r"q_001: waits on itself"),
    (deeper, r"q_001: has the depth 2 in place of 0"),
    (twice, r"c_001: is the id of more than one claim"),
    (unquoted, r"c_001: has no quote that supports it"),
    (another_page, r"c_001: quotes another page than the one that was read of s_001"),
    (no_hash, r"c_001: quotes a page that '../../outside' is to name, which is no SHA-256"),
    (fewer_sources, r"gate does not pass: 2 sources were read of at least 3"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES, ids=[says[:30] for _, says in CHANGES])
def test_each_change_is_found_and_named(change: Change, says: str, small: Path, tmp_path: Path) -> None:
    assert lines(small) == []
    found = lines(forged(small, tmp_path, change))
    assert [line for line in found if re.search(says, line)], found
    assert not any("SHA-256 is" in line for line in found), "the forger signs what he writes"


@pytest.mark.rule("D32", "D33")
def test_a_claim_of_one_source_cannot_be_called_verified(example: Path, tmp_path: Path) -> None:
    value = evidence(example)
    alone = next(c for c in value["claims"] if c["status"] == "UNVERIFIED" and len(c["evidence"]) == 1)

    def change(e: Any) -> None:
        by_id(e["claims"], alone["id"])["status"] = "VERIFIED"

    found = lines(forged(example, tmp_path, change))
    assert f"evidence.json: {alone['id']}: is called VERIFIED, and has 1 independent supporting source(s) of 2" in found


@pytest.mark.rule("D33")
def test_copies_are_seen_in_the_texts_whatever_is_said_of_them(example: Path, tmp_path: Path) -> None:
    value = evidence(example)
    copies = next(
        c for c in value["claims"] if c["status"] == "UNVERIFIED" and len(c["evidence"]) == 2 and "92,000" in c["text"]
    )

    def change(e: Any) -> None:
        claim = by_id(e["claims"], copies["id"])
        claim["status"] = "VERIFIED"
        claim["evidence"][1]["independence"] = "another house wrote it"
        first, _ = (by_id(e["sources"], link["source_id"]) for link in claim["evidence"])
        first["note"] = ""

    found = lines(forged(example, tmp_path, change))
    assert (
        f"evidence.json: {copies['id']}: is called VERIFIED, and has 1 independent supporting source(s) of 2" in found
    )


@pytest.mark.rule("D33")
def test_one_text_under_two_addresses_is_one_source(small: Path, tmp_path: Path) -> None:
    def change(e: Any) -> None:
        first, second = e["claims"][0]["evidence"]
        second |= {name: first[name] for name in ("quote", "sha256", "start", "end")}
        by_id(e["sources"], "s_002")["sha256"] = first["sha256"]

    found = lines(forged(small, tmp_path, change))
    assert "evidence.json: c_001: is called VERIFIED, and has 1 independent supporting source(s) of 2" in found


@pytest.mark.rule("D44")
def test_a_refuted_claim_stands_under_gaps_only(example: Path, tmp_path: Path) -> None:
    refuted = next(c["id"] for c in evidence(example)["claims"] if c["status"] == "REFUTED")

    def change(e: Any) -> None:
        """The claim is told as what holds: the forger makes it stand, so that the report's text can be his own."""
        by_id(e["claims"], refuted)["status"] = "UNVERIFIED"

    found = lines(forged(example, tmp_path, change))
    assert any("gaps: are not what the records give" in line for line in found)
    told = [q["id"] for q in evidence(example)["questions"] if q["status"] == "resolved"]

    def cites(e: Any) -> None:
        by_id(e["questions"], told[0])["claim_ids"].append(refuted)

    assert any(
        f"{told[0]}: cannot be resolved with this answer: {refuted} cannot carry" in line
        for line in lines(forged(example, tmp_path / "two", cites))
    )


@pytest.mark.rule("D44")
def test_a_question_dropped_from_the_gaps_is_missed(cut_short: Path, tmp_path: Path) -> None:
    assert lines(cut_short) == []
    value = evidence(cut_short)
    gone = next(q["id"] for q in value["questions"] if q["status"] == "pending")

    def change(e: Any) -> None:
        e["gaps"] = [gap for gap in e["gaps"] if gap["question_id"] != gone]
        kept = [line for line in e["report"]["text"].split("\n") if f"({gone})" not in line]
        assert len(kept) < len(e["report"]["text"].split("\n"))
        e["report"]["text"] = "\n".join(kept)

    found = lines(forged(cut_short, tmp_path, change))
    assert f"evidence.json: report: does not name {gone} under its gaps, which was not answered" in found
    assert any("gaps: are not what the records give" in line for line in found)


def test_lowered_thresholds_show_in_the_report(example: Path, tmp_path: Path) -> None:
    """They are the run's own, so nothing can say what they were; but the report tells them, and must tell the same."""

    def change(e: Any) -> None:
        e["thresholds"]["min_independent_sources"] = 1

    (found,) = lines(forged(example, tmp_path, change))
    assert re.search(r"evidence.json: report: is not the text that the records give, .*1 independent source,", found)

    def consistently(e: Any) -> None:
        change(e)
        e["report"]["text"] = e["report"]["text"].replace(
            "at least 2 independent sources", "at least 1 independent source"
        )

    assert lines(forged(example, tmp_path / "two", consistently)) == []


def with_version(folder: Path, version: str) -> None:
    """Makes the proof one of another version of the program."""
    (proof,) = folder.glob("proof_artifacts/*.json")
    told = json.loads(proof.read_text())
    told["checker"]["version"] = version
    proof.write_text(json.dumps(told))


@pytest.mark.rule("L5")
def test_a_pack_of_another_version_is_not_verified_in_full(small: Path, tmp_path: Path) -> None:
    def other_version(e: Any) -> None:
        e["written_by"] = "zetetic 99.0"
        e["report"]["text"] = e["report"]["text"].replace("stated by at least", "said by no fewer than")

    place = forged(small, tmp_path, other_version)
    (unlike,) = lines(place)
    assert re.search(r"proof_artifacts/.*: checker.version: is '.+', and .* written by version '99.0'$", unlike)
    with_version(place, "99.0")
    told = verified(place)
    (unchecked,) = told.unchecked
    assert unchecked.startswith("written by zetetic 99.0, and this is zetetic ")
    assert unchecked.endswith("install zetetic 99.0 and verify with it")
    assert (told.findings, told.notes, told.passed) == ([], [], False)
    assert verified(small).passed

    def and_more(e: Any) -> None:
        other_version(e)
        unknown_number(e)
        undecided("ch_001")(e)

    found = "\n".join(lines(forged(small, tmp_path / "two", and_more)))
    assert "number 7: is cited, and stands for no source" in found
    assert "has survived 0 challenge(s) of 1" in found


def test_a_figure_that_another_version_is_said_to_have_written_is_found(small: Path, tmp_path: Path) -> None:
    def change(e: Any) -> None:
        e["written_by"] = "zetetic 99.0"
        e["report"]["text"] = e["report"]["text"].replace("## Details\n\n", "## Details\n\nIt fell in 1950 [1]. ")

    place = forged(small, tmp_path, change)
    with_version(place, "99.0")
    assert lines(place) == ["report.md: states figures that stand in no quote of a claim it cites: 1950"]


def test_a_report_whose_draft_is_not_kept_is_not_verified(cut_short: Path, tmp_path: Path) -> None:
    def change(e: Any) -> None:
        e["run"] |= {"status": "stopped", "stop_reason": "user"}
        e["report"] |= {"draft": "", "accepted": False, "rendered_by_code": False, "references": [], "sentences": []}
        e["report"]["text"] = "# All is well\n\nIt was painted.\n"

    (unchecked,) = verified(forged(cut_short, tmp_path, change)).unchecked
    assert unchecked.startswith("the report is of an earlier end of the run and its draft is not kept")
    assert unchecked.endswith(f"`zetetic resume {cut_short.name}` gives the run a report of its own")


# What cannot be told, and what nobody can change without signing anew.

TAKEN_AS_GIVEN = re.compile(
    r"run\.(stop_detail|exploration_stop|exploration_detail|model|forked_from|holdings\..*)|"
    r"thresholds\..*|"
    r"questions\.\*\.(rationale|priority|validation_criteria|why_.*|attempts|partial|created_at|updated_at)|"
    r"claims\.\*\.(unit|context|check|at|evidence\.\*\.(end|independence))|"
    r"challenges\.\*\.(version|negation|expected_if_false|evidence|at)|"
    r"queries\.\*\.(seq|query|tool|outcome|attempt|at)|"
    r"sources\.\*\.(canonical|final_url|length|work_id|question_id)|"
    r"attempts\.\*\.(number|objective|outcome|verdict|guidance|missing|steer)"
)
"""Fields that one change can alter so that the folder still agrees with itself, where the forger signs anew: what was
said and when, what nothing else repeats, bounds that nothing came near. Everything else is noticed."""


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(value: Any, path: tuple[str | int, ...], other: Callable[[Any], Any]) -> Any:
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other(inner[path[-1]])
    return value


def another(old: Any) -> st.SearchStrategy[Any]:
    kinds = st.one_of(st.none(), st.booleans(), st.integers(-5, 2000), st.floats(0, 9), st.text(max_size=12))
    return kinds.filter(lambda new: new != old)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_one_value_that_is_changed_is_noticed_or_known_as_taken_as_given(
    data: st.DataObject, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    value = evidence(small)
    path = data.draw(st.sampled_from(sorted(leaves(value), key=str)))
    inner = value
    for key in path:
        inner = inner[key]
    new = data.draw(another(inner))
    place = copied(small, tmp_path_factory.mktemp("leaf"))
    written(place, changed(value, path, lambda old: new))
    name = ".".join("*" if isinstance(key, int) else key for key in path)
    if not lines(place):
        assert TAKEN_AS_GIVEN.fullmatch(name), (path, inner, new)


@pytest.mark.rule("L5")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_byte_that_is_changed_and_not_signed_anew_is_noticed(
    data: st.DataObject, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = copied(small, tmp_path_factory.mktemp("byte"))
    file = data.draw(
        st.sampled_from(sorted([place / "evidence.json", place / "report.md", *(place / "pages").iterdir()]))
    )
    held = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(held) - 1))
    held[at] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(held))
    name = str(file.relative_to(place))
    assert any(name in line for line in lines(place))


def test_all_faults_are_told_at_once(small: Path, tmp_path: Path) -> None:
    def change(e: Any) -> None:
        for one in (
            change_quote,
            undecided("ch_003"),
            other_domain,
            uncited_sentence,
            without_verdicts,
            unknown_number,
        ):
            one(e)

    place = forged(small, tmp_path, change)
    (place / "iterations.jsonl").unlink()
    page = page_of(place, by_id(evidence(small)["sources"], "s_002")["sha256"])
    page.write_bytes(page.read_bytes().replace(b"42", b"43"))
    found = "\n".join(lines(place))
    for said in (
        "its quote does not stand",
        "has not survived a challenge",
        "is given as from",
        "Every factual sentence cites a claim",
        "are not all met",
        "number 7: is cited",
        "iterations.jsonl: is missing",
        f"was changed: its SHA-256 is {hashlib.sha256(page.read_bytes()).hexdigest()}",
    ):
        assert said in found
    assert not verified(place).passed
