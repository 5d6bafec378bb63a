"""Ending an attempt on a question: a proposed answer, a retry, a bound."""

from typing import Any

import pytest
from state.build import ROOT, Run

from zetetic.state.answers import cited_in, decide_blocked, decide_bound, decide_resolve, decide_retry
from zetetic.state.claims import decide_retract
from zetetic.state.decision import Accepted
from zetetic.state.frontier_commands import decide_atomic

REASONS: dict[str, Any] = {"why_unverified": "nothing better", "why_unchallenged": "not needed"}


def at_work(**question: Any) -> Run:
    """A run whose attempt at q_002 is under way."""
    run = Run()
    run.add(**question)
    run.start()
    return run


# Proposing an answer.


@pytest.mark.rule("D17", "A19", "A26")
def test_resolving_proposes_and_moves_nothing() -> None:
    run = at_work()
    said = run.do(decide_resolve, "q_002", "It gives\n240 MW.", **REASONS)
    assert said == "answer to q_002 proposed; it is being evaluated"
    assert run.status("q_002") == "in_progress"
    assert run.research.attempt is not None
    assert (run.research.attempt.ended, run.research.attempt.outcome) == (True, "resolved")
    assert run.research.attempt.answer == "It gives 240 MW."


@pytest.mark.rule("D17")
def test_claims_that_do_not_exist_or_fell_carry_no_answer() -> None:
    run = at_work()
    fallen = run.claim("The plant gives 100 MW.")
    run.do(decide_retract, fallen, "misread")
    said = run.refused(decide_resolve, "q_002", "It gives 100 MW [d_007].", [fallen, "c_099"], **REASONS)
    assert "Unknown claim ids: c_099, d_007" in said
    assert "c_001 cannot carry an answer: refuted or retracted" in said


@pytest.mark.rule("D17")
def test_ids_in_the_text_are_cited_too() -> None:
    run = at_work()
    claim = run.claim("The plant gives 240 MW.")
    run.do(decide_resolve, "q_002", "It gives 240 MW [c_001].", **REASONS)
    assert run.research.attempt is not None
    assert run.research.attempt.claim_ids == (claim,)
    assert cited_in("[c_001, d_002] c_001 and c_12") == ("c_001", "d_002")


@pytest.mark.rule("D17", "D42")
def test_without_a_verified_claim_there_must_be_a_reason() -> None:
    run = at_work()
    claim = run.claim("The plant gives 240 MW.")
    said = run.refused(decide_resolve, "q_002", "It gives 240 MW.", [claim], why_unchallenged="not needed")
    assert "cites no VERIFIED claim" in said
    run.do(decide_resolve, "q_002", "It gives 240 MW.", [claim], **REASONS)


@pytest.mark.rule("D17")
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_an_answer_at_depth_0_or_1_was_challenged(depth: int) -> None:
    run = Run()
    if depth == 0:
        run.do(decide_atomic, "one figure")
    if depth > 0:
        run.add(priority=0.5)
    if depth == 2:
        run.add(priority=0.9, parent_id="q_002")
    current = run.start()
    assert run.question(current).depth == depth
    decision = run.decide(decide_resolve, current, "It gives 240 MW.", why_unverified="nothing better")
    assert isinstance(decision, Accepted) is (depth == 2)


@pytest.mark.rule("D17")
def test_the_challenge_is_of_this_very_answer() -> None:
    run = at_work()
    run.survive("question_answer", "q_002", target_text="It gives 240 MW.")
    given = {"why_unverified": "nothing better"}
    assert "no closed challenge" in run.refused(decide_resolve, "q_002", "It gives 250 MW.", **given)
    run.do(decide_resolve, "q_002", "it gives 240 MW", **given)


@pytest.mark.rule("D17")
def test_a_hypothesis_needs_a_confirming_and_a_refuting_search_that_were_executed() -> None:
    run = at_work(kind="hypothesis")
    said = run.refused(decide_resolve, "q_002", "Yes.", **REASONS)
    assert "needs a confirming search" in said
    assert "needs a refuting search" in said
    run.search("plant output")
    challenge = run.challenge("question_answer", "q_002", target_text="Yes.")
    run.run_challenge(challenge, "failed")
    assert "needs a refuting search" in run.refused(decide_resolve, "q_002", "Yes.", **REASONS)
    again = run.challenge("question_answer", "q_002", target_text="Yes.", strategy="criticism")
    run.run_challenge(again, "no_results")
    run.do(decide_resolve, "q_002", "Yes.", **REASONS)


@pytest.mark.rule("D17")
def test_a_hypothesis_without_a_refuting_search_gives_its_reason() -> None:
    run = at_work(kind="hypothesis")
    run.search("plant output")
    run.do(decide_resolve, "q_002", "Yes.", why_no_refuting="the law fixes it", **REASONS)
    assert run.research.attempt is not None
    assert run.research.attempt.why_no_refuting == "the law fixes it"


@pytest.mark.rule("D17")
def test_only_the_question_at_work_is_resolved_and_once() -> None:
    run = at_work()
    run.add(priority=0.1)
    assert "q_003 is not being worked on; q_002 is in progress" in run.refused(decide_resolve, "q_003", "a", **REASONS)
    assert "The answer is empty" in run.refused(decide_resolve, "q_002", " ", **REASONS)
    run.resolve()
    assert "has ended and is being evaluated" in run.refused(decide_resolve, "q_002", "a", **REASONS)


@pytest.mark.rule("D9")
def test_a_question_without_criteria_is_not_resolved() -> None:
    run = at_work()
    bare = run.question("q_002").model_copy(update={"validation_criteria": ""})
    run.research = run.research.model_copy(update={"questions": {**run.research.questions, "q_002": bare}})
    assert "no validation criteria" in run.refused(decide_resolve, "q_002", "a", **REASONS)


# Retrying.


@pytest.mark.rule("D18")
@pytest.mark.parametrize("again", ["plant output 2020", "PLANT, output  2020!", "plant\u00a0output-2020"])
def test_an_equal_query_is_refused(again: str) -> None:
    run = at_work()
    run.search("Plant output 2020")
    assert "was tried already: change its words" in run.refused(decide_retry, "q_002", again, "nothing found")


@pytest.mark.rule("D18")
def test_composed_and_decomposed_letters_are_equal() -> None:
    run = at_work()
    run.search("caf\u00e9 output")
    assert "was tried already" in run.refused(decide_retry, "q_002", "cafe\u0301 OUTPUT", "nothing found")


@pytest.mark.rule("D18", "A26")
def test_a_retry_ends_the_attempt_with_the_next_query() -> None:
    run = at_work()
    said = run.refused(decide_retry, "q_002", " ", "")
    assert "new_query is empty" in said
    assert "Say in why" in said
    run.do(decide_retry, "q_002", "plant output 2021", "nothing found", "about 200 MW")
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.next_query) == ("retried", "plant output 2021")
    assert run.research.attempt.assumption == "about 200 MW"


# Bounds.


@pytest.mark.rule("A21", "A26")
def test_a_bound_ends_the_attempt_once() -> None:
    run = at_work()
    run.bound("time")
    assert run.research.attempt is not None
    assert run.research.attempt.outcome == "time"
    for decide, args in ((decide_bound, ("turns",)), (decide_blocked, ("quota",))):
        assert run.decide(decide, *args) == Accepted((), "")


@pytest.mark.rule("A11")
def test_blocked_is_known_before_the_arms() -> None:
    run = at_work()
    run.do(decide_blocked, "prerequisite:no documents")
    assert run.research.attempt is not None
    assert (run.research.attempt.blocked, run.research.attempt.answer) == ("prerequisite:no documents", "")


def test_without_an_attempt_there_is_nothing_to_end() -> None:
    run = Run()
    assert run.decide(decide_bound, "turns") == Accepted((), "")
    assert run.decide(decide_blocked, "quota") == Accepted((), "")
    assert ROOT in run.research.questions
