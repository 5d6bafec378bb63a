"""Decisions on the frontier: what is taken, what is refused, and the rows they leave."""

from collections.abc import Mapping
from typing import Any

import pytest
from state.build import ROOT, Run

from zetetic.state import answers, frontier_commands
from zetetic.state import events as ev
from zetetic.state.frontier_commands import (
    decide_add_question,
    decide_atomic,
    decide_drop_dependency,
    decide_prune,
    decide_reopen,
    decide_rewrite,
    decide_select,
    decide_set_criteria,
    decide_set_priority,
)

ASKED: Mapping[str, Any] = {
    "parent_id": ROOT,
    "question": "Who built the plant?",
    "rationale": "it matters",
    "priority": 0.5,
    "validation_criteria": "a name",
}


def two_in_a_row(run: Run) -> tuple[str, str]:
    """A question, and one that waits on it."""
    needed = run.add("Who built the plant?")
    return needed, run.add("What else did the builder build?", depends_on=[needed])


# Adding.


@pytest.mark.rule("D7")
def test_the_root_is_q_001_and_children_follow() -> None:
    run = Run()
    assert list(run.research.questions) == ["q_001"]
    assert run.question(ROOT).question == "How much power does the plant give?"
    assert (run.question(ROOT).depth, run.question(ROOT).priority, run.question(ROOT).parent_id) == (0, 1.0, None)
    assert [run.add(), run.add(), run.add()] == ["q_002", "q_003", "q_004"]


@pytest.mark.rule("D7")
def test_ids_go_on_after_999() -> None:
    run = Run(max_questions=10_000)
    last = run.question(ROOT).model_copy(update={"id": "q_999", "parent_id": ROOT})
    run.happen(ev.QuestionAdded(at=run.now, question=last, actor="code"))
    assert run.add() == "q_1000"
    assert run.add() == "q_1001"


@pytest.mark.rule("D8")
def test_depth_is_the_parents_plus_one_by_code() -> None:
    run = Run()
    child = run.add()
    grandchild = run.add(parent_id=child)
    assert (run.question(child).depth, run.question(grandchild).depth) == (1, 2)


@pytest.mark.rule("D8")
def test_a_question_deeper_than_the_cap_is_cut_and_belongs_into_the_notes() -> None:
    run = Run(max_depth=1)
    child = run.add()
    said = run.refused(decide_add_question, **{**ASKED, "parent_id": child})
    assert "Cut by the depth cap (max_depth 1): record it as an open gap with notes_append" in said
    assert len(run.research.questions) == 2


@pytest.mark.rule("D9")
@pytest.mark.parametrize("priority", [-0.1, 1.1, float("nan")])
def test_a_priority_lies_between_0_and_1(priority: float) -> None:
    run = Run()
    assert "priority must lie between 0 and 1" in run.refused(decide_add_question, **{**ASKED, "priority": priority})
    child = run.add()
    assert "priority" in run.refused(decide_set_priority, child, priority, "why")


@pytest.mark.rule("D9", "D19")
def test_a_question_without_criteria_is_refused() -> None:
    assert "validation_criteria is empty" in Run().refused(decide_add_question, **{**ASKED, "validation_criteria": " "})


@pytest.mark.rule("D19")
@pytest.mark.parametrize("again", ["Who built the plant?", "who  BUILT the plant", "Who was it that built the plant?"])
def test_a_near_duplicate_is_refused(again: str) -> None:
    run = Run()
    run.add("Who built the plant?")
    assert "q_002 asks nearly the same" in run.refused(decide_add_question, **{**ASKED, "question": again})


@pytest.mark.rule("D19")
def test_a_pruned_question_may_be_asked_again() -> None:
    run = Run()
    run.do(decide_prune, run.add("Who built the plant?"), "not needed")
    run.do(decide_add_question, **ASKED)
    assert run.status("q_003") == "pending"


@pytest.mark.rule("D19")
def test_another_year_is_another_question() -> None:
    run = Run()
    words = "average electrical output main power station northern region measured outside public regulator office"
    run.add(f"What was the {words} during 2019?")
    run.add(f"What was the {words} during 2020?")
    run.add(f"What was not the {words} during 2020?")
    assert len(run.research.questions) == 4


@pytest.mark.rule("D19")
def test_the_cap_on_questions_counts_the_root_and_not_what_code_asked() -> None:
    run = Run(max_questions=2)
    run.add()
    assert "max_questions (2)" in run.refused(decide_add_question, **ASKED)
    one, other = run.claim("It gives 240 MW."), run.claim("It gives 100 MW.")
    from zetetic.state.claims import decide_link

    run.do(decide_link, one, "contradicts", other)
    assert len(run.research.questions) == 3


@pytest.mark.rule("D12")
def test_a_dependency_that_is_unknown_pruned_or_the_objective_is_refused() -> None:
    run = Run()
    gone = run.add("Who paid for it?")
    run.do(decide_prune, gone, "not needed")
    said = run.refused(decide_add_question, **ASKED, depends_on=[gone, "q_099", ROOT])
    assert "q_002 is pruned and cannot be waited for" in said
    assert "There is no question 'q_099'" in said
    assert "The objective is answered last and cannot be waited for" in said


@pytest.mark.rule("D12")
@pytest.mark.parametrize("through", ["q_002", "q_003"])
def test_a_blocking_child_that_waits_on_the_current_question_is_a_cycle(through: str) -> None:
    run = Run()
    current, _ = two_in_a_row(run)
    assert run.start() == current
    assert "cycle" in run.refused(
        decide_add_question, **ASKED | {"question": "New?"}, depends_on=[through], blocks_current=True
    )


@pytest.mark.rule("D19", "D15", "A26")
def test_a_blocking_child_returns_the_current_question_to_the_queue_uncharged() -> None:
    run = Run()
    current = run.add(priority=0.8)
    run.start()
    child = run.add(priority=0.3, parent_id=current, blocks_current=True)
    assert run.question(child).priority == 0.8
    assert run.research.dependencies == {current: (child,)}
    assert run.moves(current)[-1] == ("in_progress", "pending", "dependency_added", "agent")
    assert (run.research.attempt, run.question(current).attempts, run.research.evaluations) == (None, 0, ())
    assert run.start() == child


@pytest.mark.rule("D19")
def test_nothing_is_added_before_a_question_under_evaluation() -> None:
    run = Run()
    run.add()
    run.start()
    run.resolve()
    said = run.refused(decide_add_question, **ASKED, blocks_current=True)
    assert said == "Refused. (1) The attempt at q_002 has ended and is being evaluated."


def test_a_refusal_lists_everything_at_once() -> None:
    said = Run().refused(
        decide_add_question,
        **{**ASKED, "parent_id": "q_099", "question": " ", "priority": 2.0, "validation_criteria": ""},
        blocks_current=True,
    )
    assert [said.count(f"({n})") for n in range(1, 7)] == [1, 1, 1, 1, 1, 0]


@pytest.mark.rule("D25")
def test_adding_says_what_was_added_in_short() -> None:
    assert Run().do(decide_add_question, **ASKED) == "added [q_002] (P 0.50, depth 1)"


# Selecting.


@pytest.mark.rule("D24")
def test_the_first_selection_is_refused_until_the_objective_is_expanded() -> None:
    run = Run()
    assert "add three to eight with add_question" in run.refused(decide_select)
    run.add()
    assert run.start() == "q_002"


@pytest.mark.rule("D24")
def test_an_atomic_objective_needs_a_reason() -> None:
    run = Run()
    assert "Say in atomic_reason" in run.refused(decide_atomic, " ")
    run.do(decide_atomic, "one figure is asked")
    assert run.research.atomic_reason == "one figure is asked"
    assert run.start() == ROOT


@pytest.mark.rule("D14")
def test_no_more_than_max_parallel_are_in_progress() -> None:
    run = Run(max_parallel=1)
    run.add()
    other = run.add()
    busy = run.question(other)
    run.happen(frontier_commands.moved(busy, "in_progress", "selected", "code", run.now, worker="w2"))
    assert "1 questions are in progress, which is all that max_parallel allows" in run.refused(decide_select)


@pytest.mark.rule("D16", "D15")
def test_selecting_moves_the_question_and_its_attempt_begins() -> None:
    run = Run()
    run.add()
    run.start()
    assert run.moves("q_002") == [("pending", "in_progress", "selected", "code")]
    assert run.research.attempt is not None
    assert (run.research.attempt.number, run.research.attempt.question_id) == (1, "q_002")


@pytest.mark.rule("D16")
def test_with_a_current_question_the_next_is_that_one() -> None:
    run = Run()
    run.add(priority=0.5)
    run.start()
    run.add(priority=0.9)
    version = run.research.version
    assert run.do(decide_select).startswith("[q_002] in_progress")
    assert run.research.version == version


@pytest.mark.rule("A27")
def test_nothing_is_selected_where_the_evaluation_cannot_be_paid() -> None:
    run = Run(max_total_tokens=12_000, arm_max_tokens=1000)
    run.add()
    run.spend(8300)
    assert "does not cover an attempt and its evaluation" in run.refused(decide_select)


# Priorities.


@pytest.mark.rule("D15", "D25")
def test_a_change_of_priority_is_a_row_from_a_status_to_itself() -> None:
    run = Run()
    child = run.add(priority=0.5)
    assert run.do(decide_set_priority, child, 0.9, "it decides") == "q_002 has priority 0.90"
    assert run.moves(child) == [("pending", "pending", "reprioritized", "agent")]
    assert run.question(child).priority == 0.9


def test_the_objectives_priority_is_fixed() -> None:
    assert "fixed" in Run().refused(decide_set_priority, ROOT, 0.5, "why")


@pytest.mark.rule("D13")
def test_a_closed_question_has_no_priority_to_change() -> None:
    run = Run()
    run.add()
    run.answer()
    assert "q_002 is resolved; reopen it first" in run.refused(decide_set_priority, "q_002", 0.9, "why")


# Pruning.


@pytest.mark.rule("D13")
def test_the_objective_cannot_be_pruned() -> None:
    assert "The objective cannot be pruned" in Run().refused(decide_prune, ROOT, "why")


@pytest.mark.rule("D23", "D15")
def test_pruning_drops_pending_and_blocked_descendants_and_leaves_the_others() -> None:
    run = Run()
    top = run.add(priority=0.1)
    answered = run.add(parent_id=top, priority=0.9)
    below_answered = run.add(parent_id=answered, priority=0.2)
    gone = run.add(parent_id=top, priority=0.2)
    blocked = run.add(parent_id=top, priority=0.2, depends_on=[gone])
    outside = run.add(priority=0.3)
    run.do(decide_prune, gone, "dead end")
    assert run.answer() == answered
    said = run.do(decide_prune, top, "deprecated")
    assert {q: run.status(q) for q in (top, answered, below_answered, blocked, outside)} == {
        top: "pruned",
        answered: "resolved",
        below_answered: "pruned",
        blocked: "pruned",
        outside: "pending",
    }
    assert said == f"pruned {top}, {below_answered}, {blocked}"
    assert run.moves(below_answered)[-1] == ("pending", "pruned", "pruned_branch", "agent")
    assert run.question(below_answered).answer == "deprecated"


@pytest.mark.rule("D23", "A26")
def test_pruning_the_current_question_ends_its_attempt() -> None:
    run = Run()
    run.add()
    run.start()
    run.do(decide_prune, "q_002", "not needed")
    assert run.research.attempt is not None
    assert (run.research.attempt.ended, run.research.attempt.outcome) == (True, "pruned")
    run.route()
    assert run.status("q_002") == "pruned"
    assert run.research.attempt is None


def test_a_question_under_evaluation_is_not_pruned() -> None:
    run = Run()
    run.add()
    run.start()
    run.resolve()
    assert "being evaluated" in run.refused(decide_prune, "q_002", "why")


@pytest.mark.rule("D11", "D15")
def test_what_waits_on_a_pruned_question_is_blocked_by_code() -> None:
    run = Run()
    needed, waiting = two_in_a_row(run)
    run.do(decide_prune, needed, "not needed")
    assert run.moves(waiting) == [("pending", "blocked", "dependency_failed", "code")]


@pytest.mark.rule("D11")
@pytest.mark.parametrize("way", ["rewrite", "drop", "prune"])
def test_a_blocked_question_is_freed_in_three_ways(way: str) -> None:
    run = Run()
    needed, waiting = two_in_a_row(run)
    run.do(decide_prune, needed, "not needed")
    if way == "rewrite":
        run.do(decide_rewrite, waiting, "What was built nearby?", "a list", "the builder does not matter")
        assert run.moves(waiting)[-1] == ("blocked", "pending", "rewritten", "agent")
        assert run.research.dependencies[waiting] == ()
    elif way == "drop":
        run.do(decide_drop_dependency, waiting, needed, "it stands alone")
        assert run.moves(waiting)[-1] == ("blocked", "pending", "dependency_met", "agent")
    else:
        run.do(decide_prune, waiting, "not needed either")
        assert run.status(waiting) == "pruned"


@pytest.mark.rule("D11")
def test_dropping_one_of_two_failed_dependencies_frees_nothing() -> None:
    run = Run()
    one, two, three = run.add(), run.add(), run.add()
    waiting = run.add(depends_on=[one, two, three])
    run.do(decide_prune, one, "no")
    run.do(decide_prune, two, "no")
    run.do(decide_drop_dependency, waiting, three, "not needed")
    assert run.status(waiting) == "blocked"
    run.do(decide_drop_dependency, waiting, one, "not needed")
    assert run.status(waiting) == "blocked"
    run.do(decide_drop_dependency, waiting, two, "not needed")
    assert run.status(waiting) == "pending"


@pytest.mark.rule("D11")
def test_a_question_that_comes_back_to_a_pruned_dependency_is_blocked() -> None:
    run = Run()
    needed, waiting = two_in_a_row(run)
    assert [run.answer("Ann built it."), run.answer("A bridge.")] == [needed, waiting]
    run.do(decide_reopen, needed, "it was Bob")
    run.do(decide_prune, needed, "not needed")
    run.do(decide_reopen, waiting, "the builder was another")
    assert run.moves(waiting)[-2:] == [
        ("resolved", "pending", "reopened", "agent"),
        ("pending", "blocked", "dependency_failed", "code"),
    ]


# Rewriting.


@pytest.mark.rule("A16", "D25")
def test_a_question_is_put_in_other_words() -> None:
    run = Run()
    child = run.add()
    assert run.do(decide_rewrite, child, "Who paid for it?", "a name", "narrower") == "q_002 rewritten"
    assert (run.question(child).question, run.question(child).validation_criteria) == ("Who paid for it?", "a name")
    assert run.moves(child) == []


def test_the_objective_and_closed_questions_stay_as_they_are() -> None:
    run = Run()
    run.add("Who built the plant?")
    other = run.add("Who paid for it?")
    assert "the user's" in run.refused(decide_rewrite, ROOT, "Else?", "c", "why")
    assert "asks nearly the same" in run.refused(decide_rewrite, other, "who built the plant", "c", "why")
    run.answer()
    assert "reopen it first" in run.refused(decide_rewrite, "q_002", "Else?", "c", "why")


# Reopening.


@pytest.mark.rule("D22", "D13", "D10")
def test_reopening_needs_a_why_raises_the_priority_and_counts_from_there() -> None:
    run = Run(gate_priority=0.5)
    child = run.add(priority=0.2)
    run.research = run.research.model_copy(
        update={
            "questions": {**run.research.questions, ROOT: run.question(ROOT).model_copy(update={"status": "resolved"})}
        }
    )
    run.start()
    run.bound()
    run.route(passed=False, complete=False)
    run.answer()
    assert run.question(child).attempts == 2
    assert "Say in why" in run.refused(decide_reopen, child, "")
    run.do(decide_reopen, child, "a later page says otherwise")
    assert (run.question(child).priority, run.question(child).attempts, run.status(child)) == (0.5, 0, "pending")
    assert run.moves(child)[-1] == ("resolved", "pending", "reopened", "agent")


@pytest.mark.rule("D22")
@pytest.mark.parametrize(("own", "given", "raised"), [(0.9, 0.6, 0.9), (0.6, 0.8, 0.8), (0.6, None, 0.6)])
def test_the_raised_priority_is_the_highest_of_three(own: float, given: float | None, raised: float) -> None:
    run = Run(gate_priority=0.5)
    child = run.add(priority=own)
    run.answer()
    run.do(decide_reopen, child, "why", priority=given)
    assert run.question(child).priority == raised


@pytest.mark.rule("D13")
def test_an_unresolvable_question_is_reopened_by_a_person_or_code_only() -> None:
    run = Run(max_attempts=1)
    child = run.add()
    run.start()
    run.bound()
    run.route(passed=False)
    assert run.status(child) == "unresolvable"
    assert "only a person or a contradiction" in run.refused(decide_reopen, child, "try again")
    run.do(decide_reopen, child, "look again", actor="person")
    assert run.status(child) == "pending"


@pytest.mark.rule("D13")
@pytest.mark.parametrize("actor", ["agent", "code", "person"])
def test_a_pruned_question_stays_pruned(actor: str) -> None:
    run = Run()
    child = run.add()
    run.do(decide_prune, child, "not needed")
    assert "q_002 is pruned, not closed" in run.refused(decide_reopen, child, "why", actor=actor)


# Criteria.


@pytest.mark.rule("R4")
def test_criteria_of_the_user_stand() -> None:
    assert "set already" in Run().refused(decide_set_criteria, ["A", "B", "C"])


@pytest.mark.rule("R4")
def test_criteria_are_set_once_where_there_are_none() -> None:
    run = Run(criteria=())
    assert "three to five" in run.refused(decide_set_criteria, ["", " "])
    assert run.do(decide_set_criteria, ["A.", "B.", "B.", "C."]) == "3 criteria set."
    assert run.research.criteria == ("A.", "B.", "C.")


def test_an_unknown_question_is_named_with_what_there_is() -> None:
    run = Run()
    for decide, args in [
        (decide_reopen, ("q_099", "why")),
        (decide_set_priority, ("q_099", 0.5, "why")),
        (decide_prune, ("q_099", "why")),
        (decide_rewrite, ("q_099", "a", "b", "c")),
        (decide_drop_dependency, ("q_099", "q_001", "why")),
        (answers.decide_resolve, ("q_099", "answer")),
        (answers.decide_retry, ("q_099", "query", "why")),
    ]:
        said = run.refused(decide, *args)
        assert said == "Refused. (1) There is no question 'q_099'; the latest are q_001."
