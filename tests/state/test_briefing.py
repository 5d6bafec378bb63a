"""The briefing: counted, never read (A20)."""

from typing import Any

import pytest
from state.build import Run

from zetetic.state.briefing import Briefing, briefing
from zetetic.state.claims import decide_link, decide_retract

pytestmark = pytest.mark.rule("A20")


def at_work() -> Run:
    run = Run()
    run.add()
    run.start()
    return run


def test_it_counts_what_the_attempt_did() -> None:
    run = at_work()
    run.search("plant output")
    run.search("plant power", status="failed")
    good = run.verified("The plant gives 240 MW.")
    bad = run.claim("The plant gives 100 MW.")
    run.do(decide_link, good, "contradicts", bad)
    run.do(decide_retract, run.claim("The plant is new."), "misread")
    challenge = run.challenge("claim", bad)
    run.run_challenge(challenge)
    run.record(challenge, "inconclusive")
    run.challenge("question_answer", "q_002", target_text="It gives 240 MW.")
    run.resolve("It gives 240 MW.", [good])
    assert briefing(run.research, ["notes.md"]) == Briefing(
        question_id="q_002",
        outcome="resolved",
        turns=0,
        queries=2,
        queries_failed=1,
        challenge_queries=2,
        pages_fetched=4,
        claims_unverified=1,
        claims_verified=1,
        claims_refuted=0,
        claims_retracted=1,
        quotes_anchored=4,
        challenges_open=1,
        challenges_survived=1,
        challenges_weakened=0,
        challenges_refuted=0,
        challenges_inconclusive=1,
        contradictions_open=1,
        answer_cites=1,
        files_written=1,
        faults=(),
    )


def test_queries_of_an_earlier_attempt_are_not_counted() -> None:
    run = at_work()
    run.search("plant output")
    run.bound()
    run.route(passed=False)
    run.start()
    assert briefing(run.research).queries == 0


@pytest.mark.parametrize(
    ("answer", "cited", "files", "fault"),
    [
        ("It gives 240 MW.", (), (), "answer cites no claim"),
        ("It gives 240 MW.", (), (), "outputs but nothing established"),
        ("It gives 240 MW.", (), (), "nothing was searched"),
    ],
)
def test_faults_of_an_answer(answer: str, cited: Any, files: Any, fault: str) -> None:
    run = at_work()
    run.resolve(answer, cited)
    assert fault in briefing(run.research, files).faults


def test_files_without_anything_established_are_a_fault() -> None:
    run = at_work()
    assert "outputs but nothing established" in briefing(run.research, ["draft.md"]).faults
    assert "outputs but nothing established" not in briefing(run.research).faults


def test_claims_without_a_page_are_a_fault() -> None:
    run = at_work()
    run.claim("The plant gives 240 MW.")
    bare = {k: s.model_copy(update={"sha256": ""}) for k, s in run.research.sources.items()}
    assert "claims but no source fetched" in briefing(run.research.model_copy(update={"sources": bare})).faults
    assert "claims but no source fetched" not in briefing(run.research).faults


@pytest.mark.parametrize("bound", ["turns", "time", "ceiling", "breaker"])
def test_an_attempt_that_timed_out_is_still_counted(bound: Any) -> None:
    run = at_work()
    run.search("plant output")
    run.claim("The plant gives 240 MW.")
    run.bound(bound)
    counted = briefing(run.research)
    assert counted.faults == ("ended by a bound without a report",)
    assert (counted.queries, counted.claims_unverified, counted.pages_fetched) == (1, 1, 1)


def test_for_the_report_the_whole_run_is_counted() -> None:
    run = Run().synthesis()
    counted = briefing(run.research)
    assert (counted.pages_fetched, counted.claims_verified, counted.challenges_survived) == (5, 1, 2)
    assert counted.challenge_queries == 2


def test_it_reads_as_lines() -> None:
    run = at_work()
    lines = briefing(run.research).lines().splitlines()
    assert lines[0] == "outcome: "
    assert "pages fetched: 0" in lines
    assert lines[-1] == "fault: nothing was searched"
    run.search("plant output")
    assert briefing(run.research).lines().endswith("no fault found")


def test_nothing_is_read_from_the_words() -> None:
    one, other = at_work(), at_work()
    one.search("plant output")
    other.search("wholly other words")
    assert briefing(one.research) == briefing(other.research)
