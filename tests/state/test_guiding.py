"""One step at a time: when it begins, what is due, and that it leads somewhere (D2, D3, D17, D36, D55)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state.build import Run

from zetetic.state import guiding, turns
from zetetic.state.guiding import Step, attack_query, citing, due_step, fresh_queries, is_guided
from zetetic.state.wording import folded, new_terms


def close(run: Run, *, wasted: bool) -> None:
    run.do(turns.decide_update, called=() if wasted else ("web_search",), wasted=wasted, render=lambda *_: "")


def due(run: Run) -> Step:
    step = due_step(run.research)
    assert step is not None
    return step


def rivals() -> Run:
    """A question with two claims, of which one carries the answer that was challenged and its query run."""
    run = Run(guide_after=0)
    run.add()
    run.turn()
    for text in ("The plant gives 42 megawatts.", "The plant gives 40 megawatts."):
        run.claim(text)
    run.challenge("question_answer", "q_002", target_text="It gives 42 megawatts [c_001].")
    run.run_challenge("ch_001")
    return run


@pytest.mark.rule("D4", "D55")
def test_turns_of_which_nothing_came_are_counted_in_a_row() -> None:
    run = Run(guide_after=2)
    run.add()
    for wasted in (True, False, True):
        run.turn()
        close(run, wasted=wasted)
        assert not is_guided(run.research)
    run.turn()
    close(run, wasted=True)
    assert is_guided(run.research)
    assert run.research.lost == 1


@pytest.mark.rule("A11", "D55")
def test_a_providers_trouble_is_no_wasted_turn() -> None:
    run = Run(guide_after=1)
    run.add()
    run.turn()
    run.do(turns.decide_update, called=(), wasted=True, provider_failed="model:timeout", render=lambda *_: "")
    assert not is_guided(run.research)


@pytest.mark.rule("D55")
def test_lost_it_is_guided_to_the_end_of_the_attempt_and_lost_often_to_the_end_of_the_run() -> None:
    run = Run(guide_after=2, unproductive_streak_limit=9, unverified_streak_limit=9, barren_rounds_limit=9)
    run.add()
    for expected in (False, True):
        for _ in range(2):
            run.turn()
            close(run, wasted=True)
        assert is_guided(run.research)
        run.bound()
        run.route(passed=False)
        assert is_guided(run.research) is expected
    run.turn()
    assert is_guided(run.research)


def test_zero_guides_from_the_start() -> None:
    run = Run(guide_after=0)
    assert is_guided(run.research)
    run.turn()
    assert due(run).kind == "questions"


@pytest.mark.rule("D17", "D36", "D37", "D38")
def test_the_steps_of_a_question_lead_to_its_answer() -> None:
    run = Run(guide_after=0)
    run.add()
    run.turn()
    assert due(run).kind == "search"
    found = ("https://plant.example/facts", "https://register.example/plant")
    run.search("plant output", urls=found)
    assert due(run) == Step(kind="pages", urls=found)
    run.search(found[0], tool="fetch_page")
    source = run.source("The plant gives 42 megawatts.", url=found[0], canonical=found[0])
    assert due(run).kind == "search", "nothing is recorded yet, and one search was made"
    run.claim("The plant gives 42 megawatts.", source)
    step = due(run)
    assert (step.kind, step.claim_ids, step.last) == ("answer", ("c_001",), False)
    answer = citing("It gives 42 megawatts.", step.claim_ids)
    run.challenge("question_answer", "q_002", target_text=answer)
    (made,) = due(run).calls
    assert (made.name, made.args["challenge_id"]) == ("web_search", "ch_001")
    run.run_challenge("ch_001")
    assert due(run) == Step(kind="verdict", challenge_id="ch_001"), "no other claim could speak against it"
    run.record("ch_001", "survived")
    (made,) = due(run).calls
    assert (made.name, made.args["answer"], made.args["claim_ids"]) == ("resolve_question", answer, ["c_001"])
    assert made.args["why_unverified"] == guiding.UNVERIFIED


@pytest.mark.rule("D37", "D38")
def test_what_leaves_no_choice_is_done_without_asking() -> None:
    run = Run(guide_after=0)
    run.add()
    run.turn()
    run.challenge("question_answer", "q_002", target_text="It gives 42 megawatts.")
    run.run_challenge("ch_001", status="failed")
    (made,) = due(run).calls
    assert made.args == {"challenge_id": "ch_001", "outcome": "inconclusive", "evidence": "its search ended as failed"}


@pytest.mark.rule("D38")
def test_only_a_claim_that_the_answer_does_not_rest_on_can_speak_against_it() -> None:
    run = rivals()
    assert due(run).claim_ids == ("c_002",)


TEXTS = st.text(alphabet="ab 1.?é-", max_size=40)


@given(target=TEXTS, query=TEXTS, asked=st.lists(TEXTS, max_size=4))
@pytest.mark.rule("D18", "D36")
def test_an_attacks_query_is_one_that_may_be_asked(target: str, query: str, asked: list[str]) -> None:
    run = Run()
    run.add()
    run.turn()
    for earlier in asked:
        if earlier.strip():
            run.search(earlier)
    made = attack_query(run.research, target, query, "negation")
    assert new_terms(made, target)
    assert folded(made) not in {folded(record.query) for record in run.research.all_queries()}


@given(proposed=st.lists(TEXTS, max_size=4), asked=st.lists(TEXTS, max_size=6))
@pytest.mark.rule("D18")
def test_there_is_always_another_query(proposed: list[str], asked: list[str]) -> None:
    run = Run()
    run.add()
    run.turn()
    question: Any = run.research.current
    for earlier in asked:
        if earlier.strip():
            run.search(earlier)
    for _ in range(4):
        found = fresh_queries(run.research, question, proposed, 2)
        assert found
        for query in found:
            assert folded(query) not in {folded(record.query) for record in run.research.all_queries()}
            run.search(query)
