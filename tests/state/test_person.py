"""What a person may do that no agent may, what the clarifying step must give, what a turn records of its challenges."""

import pytest
from state.build import ROOT, Run

from zetetic.state import events as ev
from zetetic.state.frontier_commands import decide_reopen, decide_set_criteria
from zetetic.state.runs import decide_direct


def given_up(**bounds: int) -> Run:
    """A run whose one question ran out of attempts."""
    run = Run(max_attempts=1, **bounds)
    run.add("What does it give in winter?", 0.8)
    run.start()
    run.bound()
    run.route(passed=False)
    assert run.status("q_002") == "unresolvable"
    return run


@pytest.mark.rule("D13", "A22", "A24")
def test_an_unresolvable_question_is_reopened_by_whom_a_person_told_to() -> None:
    run = given_up()
    assert "only a person or a contradiction" in run.refused(decide_reopen, "q_002", "it matters")
    run.do(decide_direct, "Look at q_002 once more, there is a new register.")
    assert "only a person or a contradiction" in run.refused(decide_reopen, "q_002", "it matters"), "not delivered yet"
    run.add("What does it give in summer?", 0.8)
    run.start()
    run.do(decide_reopen, "q_002", "a person asked for it")
    question = run.question("q_002")
    assert (question.status, question.attempts) == ("pending", 0)


@pytest.mark.rule("D13", "A24")
@pytest.mark.parametrize("text", ["Look at q_0021.", "Look once more.", "Mind q_003."])
def test_a_directive_that_names_another_question_reopens_nothing(text: str) -> None:
    run = given_up()
    run.do(decide_direct, text)
    run.add("What does it give in summer?", 0.8)
    run.start()
    assert "only a person" in run.refused(decide_reopen, "q_002", "it matters")


@pytest.mark.rule("D13")
def test_what_was_said_before_a_question_was_given_up_reopens_it_not() -> None:
    run = Run(max_attempts=1, directives=["Mind q_002."])
    run.add("What does it give in winter?", 0.8)
    run.start()
    run.bound()
    run.route(passed=False)
    run.add("What does it give in summer?", 0.8)
    run.start()
    assert "only a person" in run.refused(decide_reopen, "q_002", "it matters")


@pytest.mark.rule("R4")
@pytest.mark.parametrize(("count", "taken"), [(0, False), (1, False), (2, False), (3, True), (5, True), (6, False)])
def test_the_clarifying_step_gives_three_to_five_criteria(count: int, taken: bool) -> None:
    run = Run(criteria=())
    criteria = [f"It tells number {n}." for n in range(count)]
    if taken:
        run.do(decide_set_criteria, criteria)
        assert run.research.criteria == tuple(criteria)
    else:
        assert "three to five" in run.refused(decide_set_criteria, criteria)


@pytest.mark.rule("R4")
def test_the_users_criteria_may_be_as_many_as_the_user_likes() -> None:
    assert Run(criteria=("one",)).research.criteria == ("one",)


@pytest.mark.rule("D50")
def test_a_challenge_is_a_recorded_state_of_its_own_and_no_turn() -> None:
    run = Run()
    run.add("What does it give?", 0.8)
    run.start()
    run.turn()
    claim = run.claim("The plant gives 240 MW.")
    turns, before = run.research.turns, run.research.turn
    challenge = run.challenge("claim", claim)
    recorded = [e for e in run.events if isinstance(e, ev.StateRecorded)]
    last = recorded[-1]
    assert (last.stage, last.question_id, last.detail, last.is_turn) == ("challenging", "q_002", challenge, False)
    assert [e.seq for e in recorded] == list(range(1, len(recorded) + 1))
    assert (run.research.turns, run.research.turn) == (turns, before), "the turn goes on as it was"
    assert run.question(ROOT).status == "pending"
