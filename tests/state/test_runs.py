"""The run as a whole: opening, directing, stopping, resuming, finishing, giving up."""

from typing import Any

import pytest
from state.build import ROOT, Run, bounds

from zetetic.state import events as ev
from zetetic.state.answers import decide_blocked
from zetetic.state.evaluation import decide_route
from zetetic.state.frontier_commands import decide_atomic, decide_prune, decide_reopen
from zetetic.state.research import Research
from zetetic.state.runs import (
    decide_abort,
    decide_direct,
    decide_directives,
    decide_escalate,
    decide_finalize,
    decide_finish,
    decide_open,
    decide_resume,
    decide_stop,
)
from zetetic.state.values import Holdings

REPORT = "# Answer\n\nThe plant gives 240 MW. [c_001]\n\n## Sources\n\n1. https://invented.org\n"
OPENING: dict[str, Any] = {
    "run_id": "run-2",
    "objective": "How much?",
    "notes_id": "1" * 32,
    "thresholds": bounds(),
    "holdings": Holdings(),
}


def fresh() -> Run:
    run = Run()
    run.research = Research()
    return run


# Opening.


@pytest.mark.rule("L1", "D7")
def test_a_run_has_a_goal_scope_criteria_and_budgets() -> None:
    run = fresh()
    run.do(decide_open, **OPENING, exclusions=["blogs", " "], criteria=["A.", "A.", ""])
    r = run.research
    assert (r.objective, r.exclusions, r.criteria) == ("How much?", ("blogs",), ("A.",))
    assert r.scope == "What the objective asks, from the sources the run was given."
    assert r.thresholds == bounds()
    assert (r.status, r.phase, list(r.questions)) == ("running", "exploration", [ROOT])


def test_a_run_is_opened_once_and_on_something() -> None:
    assert "The objective is empty" in fresh().refused(decide_open, **{**OPENING, "objective": " "})
    run = Run()
    version = run.research.version
    assert run.do(decide_open, **OPENING) == "run run-1 is open"
    assert run.research.version == version


# Directives.


@pytest.mark.rule("A24")
@pytest.mark.parametrize(("text", "taken"), [("x", True), ("x" * 2000, True), ("x" * 2001, False), (" \n ", False)])
def test_a_directive_has_one_to_two_thousand_characters(text: str, taken: bool) -> None:
    run = Run()
    if taken:
        run.do(decide_direct, text, "ann")
        assert [(d.number, d.text, d.who, d.delivered_in) for d in run.research.directives] == [(1, text, "ann", 0)]
        return
    run.refused(decide_direct, text)
    assert run.research.directives == ()
    fresh().refused(decide_open, **OPENING, directives=["good", text])


@pytest.mark.rule("A24")
def test_what_came_through_the_channel_is_taken_one_by_one() -> None:
    run = Run()
    told = run.do(decide_directives, ["first", " ", "x" * 2001, 7, "second"], "ann")
    assert [(d.number, d.text, d.who) for d in run.research.directives] == [(1, "first", "ann"), (2, "second", "ann")]
    assert told.count("directive refused: ") == 3
    assert "A directive is a text, not a int" in told


@pytest.mark.rule("A24")
def test_a_complete_run_takes_no_directive_and_any_other_does() -> None:
    run = Run().synthesis()
    run.do(decide_stop)
    run.do(decide_direct, "look again")
    run.do(decide_resume)
    run.do(decide_finalize, REPORT)
    run.route()
    assert run.research.status == "complete"
    assert "no attempt would get this" in run.refused(decide_direct, "and again")


@pytest.mark.rule("A24")
@pytest.mark.parametrize("outcome", ["breaker", "ceiling", "time"])
def test_what_no_model_was_told_waits_for_the_next_attempt(outcome: Any) -> None:
    run = Run(directives=["look at the regulator"])
    run.add()
    run.start()
    run.bound(outcome)
    assert [d.delivered_in for d in run.research.directives] == [0]
    run.route(passed=False)
    run.start()
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=9))
    run.bound(outcome)
    assert [d.delivered_in for d in run.research.directives] == [2]


@pytest.mark.rule("A11")
def test_turns_in_which_the_provider_failed_are_no_planning() -> None:
    run = Run(provider_error_limit=9, planning_turns=2)
    for _ in range(4):
        assert run.turn() == "planning"
        run.close_turn(provider_failed="model:server")
    assert (run.research.stage_streak, run.research.turns, run.research.atomic_reason) == (0, 4, "")


@pytest.mark.rule("A24")
def test_a_directive_makes_nothing_count_as_answered() -> None:
    plain, told = Run(), Run()
    routes = []
    for run in (plain, told):
        run.add()
        if run is told:
            run.do(decide_direct, "mark it answered and end the run")
        run.start()
        run.bound()
        routes.append(run.route(passed=False, complete=False))
    assert routes == ["Retry", "Retry"]
    assert told.research.status == "running"


# Stopping and resuming.


@pytest.mark.rule("D54")
def test_the_user_stops_and_the_run_can_go_on() -> None:
    run = Run()
    run.add()
    run.turn()
    run.do(decide_stop, detail="ctrl-c")
    assert (run.research.status, run.research.stop_reason) == ("stopped", "user_stop")
    assert run.do(decide_stop) == "the run is stopped"
    run.do(decide_resume)
    assert (run.research.status, run.research.stop_reason) == ("running", "")
    assert run.turn() == "acting"
    assert run.research.current is not None
    assert run.research.current.id == "q_002"


@pytest.mark.rule("D54")
@pytest.mark.parametrize("ending", ["stopped", "blocked"])
def test_a_run_interrupted_in_synthesis_can_still_be_complete(ending: str) -> None:
    run = Run().synthesis()
    if ending == "stopped":
        run.do(decide_stop)
    else:
        run.do(decide_blocked, "quota")
        run.do(decide_route, {})
    assert run.research.status == ending
    run.do(decide_resume)
    assert run.research.stop_reason == "finalized"
    run.turn()
    run.do(decide_finalize, REPORT)
    run.route()
    assert (run.research.status, run.research.stop_reason) == ("complete", "finalized")


@pytest.mark.rule("A11", "A12", "D54")
def test_a_blocked_attempt_goes_on_where_it_was_and_its_pause_does_not_count() -> None:
    run = Run(attempt_seconds=100.0, provider_error_limit=1)
    run.add()
    run.turn()
    run.close_turn(provider_failed="quota")
    run.do(decide_route, {})
    assert run.research.status == "blocked"
    run.wait(80_000)
    run.do(decide_resume)
    attempt = run.research.attempt
    assert attempt is not None
    assert (attempt.number, attempt.ended, attempt.blocked) == (1, False, "")
    assert run.turn() == "acting"
    run.close_turn("web_search")
    assert run.research.attempt == attempt.model_copy(update={"turns": 1}), "the turn that failed is not charged"


@pytest.mark.rule("A12")
def test_a_missing_prerequisite_is_asked_for_again_on_resume() -> None:
    run = Run()
    run.add()
    run.start()
    run.do(decide_blocked, "prerequisite:no documents")
    run.do(decide_route, {})
    other = run.add("What is there to see?", priority=0.2)
    run.add("What else is there?", priority=0.2, depends_on=[other])
    run.do(decide_prune, other, "not needed")
    run.do(decide_stop)
    run.do(decide_resume)
    assert run.moves("q_002")[-1] == ("blocked", "pending", "prerequisite_met", "code")
    assert run.status("q_004") == "blocked"


@pytest.mark.rule("D54")
def test_a_complete_run_is_not_resumed() -> None:
    run = Run().synthesis()
    run.do(decide_finalize, REPORT)
    run.route()
    assert "The run is complete" in run.refused(decide_resume, turns=10)


def reported(**changed: Any) -> Run:
    """A run whose report reached its cap of attempts."""
    run = Run(max_attempts=1, **changed).synthesis()
    run.do(decide_finalize, REPORT)
    assert run.route(passed=False) == "Reported"
    return run


@pytest.mark.rule("D54", "A22")
def test_a_reported_run_needs_room_and_records_it() -> None:
    run = reported()
    assert "it needs room" in run.refused(decide_resume)
    assert "Room is added, never taken" in run.refused(decide_resume, turns=-1)
    run.do(decide_resume, turns=10, by="ann")
    assert [(e.by, e.turns) for e in run.research.extensions] == [("ann", 10)]
    assert run.research.thresholds.max_turns == 70
    assert (run.research.phase, run.research.status, run.research.stop_reason) == ("exploration", "running", "")
    assert run.research.reopens == 0, "an extension is no reopening (D41)"


@pytest.mark.rule("D54", "A22", "A13")
def test_an_extended_run_can_be_complete() -> None:
    run = reported()
    run.do(decide_resume, turns=10)
    assert run.turn() == "challenging"
    run.do(decide_finish)
    run.turn()
    run.do(decide_finalize, REPORT)
    assert run.research.report.attempts == 0
    run.route()
    assert run.research.status == "complete"


@pytest.mark.rule("D54", "R10")
def test_a_stalled_run_is_not_stalled_again_before_it_worked() -> None:
    run = Run(max_attempts=9)
    run.add()
    for _ in range(2):
        run.turn()
        run.bound()
        run.route(passed=False)
    assert run.turn() == "synthesizing"
    run.do(decide_finalize, "# Answer\n\n## Gaps\n\n- How much is not known [q_001].\n- Nor this [q_002].\n")
    run.route()
    assert (run.research.status, run.research.stop_reason) == ("reported", "stalled")
    run.do(decide_resume, turns=10)
    assert run.turn() == "acting"


@pytest.mark.rule("D54", "D46")
def test_room_of_the_wrong_kind_is_refused() -> None:
    run = Run(max_total_tokens=100_000).synthesis()
    run.spend(100_000)
    run.turn()
    assert run.research.status == "failed"
    assert "tokens is used up, so add to that" in run.refused(decide_resume, turns=10)
    run.do(decide_resume, tokens=50_000)
    assert run.research.thresholds.max_total_tokens == 150_000
    assert run.research.attempt is None, "the report's attempt ended with the run"
    assert run.turn() == "challenging"


@pytest.mark.rule("D54")
def test_a_stopped_run_whose_budget_is_gone_needs_room() -> None:
    run = Run(max_total_tokens=1000)
    run.spend(900)
    run.do(decide_stop)
    run.do(decide_resume)
    assert run.turn() == "synthesizing"
    run.spend(100)
    run.do(decide_stop)
    assert "There is no room" in run.refused(decide_resume)


def test_a_run_that_crashed_goes_on() -> None:
    run = Run()
    run.add()
    run.turn()
    run.wait(500)
    run.do(decide_resume)
    assert run.research.paused_seconds >= 500
    assert run.turn() == "acting"


# Finishing.


@pytest.mark.rule("D42", "R11")
def test_finishing_is_refused_with_everything_that_is_missing() -> None:
    said = Run().refused(decide_finish)
    assert [f"({n})" in said for n in (1, 2, 3, 4, 5)] == [True, True, True, True, False]


@pytest.mark.rule("D42", "D41")
def test_exploration_is_finished_once() -> None:
    run = Run().explored()
    run.do(decide_finish)
    assert (run.research.phase, run.research.stop_reason, run.research.gate_passed) == ("synthesis", "finalized", True)
    assert "finished already" in run.refused(decide_finish)


@pytest.mark.rule("D40")
def test_the_explanation_of_a_conclusion_is_stored() -> None:
    run = Run().explored()
    run.do(decide_finish, "every page was looked at")
    assert run.research.conclusion.explanation == "every page was looked at"


# The report.


@pytest.mark.rule("D44", "A26")
def test_a_report_is_taken_without_the_models_bibliography() -> None:
    run = Run().synthesis()
    run.do(decide_finalize, REPORT)
    assert run.research.report.draft.strip() == "# Answer\n\nThe plant gives 240 MW. [c_001]"
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.claim_ids) == ("finalized", ("c_001",))
    assert "taken already" in run.refused(decide_finalize, REPORT)


@pytest.mark.rule("D44")
def test_a_refused_report_changes_nothing() -> None:
    run = Run().synthesis()
    version = run.research.version
    assert "The report is empty" in run.refused(decide_finalize, " ")
    assert run.research.version == version


@pytest.mark.rule("D41")
def test_exploration_writes_no_report() -> None:
    assert "written after exploration" in Run().refused(decide_finalize, REPORT)
    run = Run()
    run.add()
    run.start()
    assert "written after exploration" in run.refused(decide_finalize, REPORT)


@pytest.mark.rule("D41")
def test_the_report_may_go_back_to_exploration_while_reopens_last() -> None:
    run = Run(max_reopens=1).synthesis()
    assert "There is no question 'q_099'" in run.refused(decide_finalize, "", ("q_099", "why"))
    run.do(decide_finalize, "", (ROOT, "the year would change it"))
    assert (run.research.phase, run.research.reopens, run.status(ROOT)) == ("exploration", 1, "pending")
    assert run.research.attempt is None
    run.answer(claim_ids=["c_001"], why_unverified="")
    run.do(decide_finish)
    run.turn()
    assert "which is all (max_reopens): state the hole" in run.refused(decide_finalize, "", (ROOT, "again"))


@pytest.mark.rule("D41", "D46")
def test_after_a_breaker_the_hole_is_a_gap() -> None:
    run = Run(max_total_tokens=100_000).explored()
    run.spend(90_000)
    assert run.turn() == "synthesizing"
    assert "state the hole under a heading 'Gaps'" in run.refused(decide_finalize, "", (ROOT, "the year"))


# Giving up and asking.


@pytest.mark.rule("R11", "D54")
def test_abort_ends_exploration_and_is_recorded() -> None:
    run = Run()
    run.add()
    run.start()
    assert "Say in reason" in run.refused(decide_abort, " ")
    run.do(decide_abort, "nothing can be found")
    run.route(passed=False)
    assert (run.research.phase, run.research.stop_reason) == ("synthesis", "aborted")
    assert run.research.stop_detail == "nothing can be found"
    assert run.status("q_002") == "pending"
    assert run.research.status == "running"


@pytest.mark.rule("R11")
def test_a_larger_budget_is_refused_where_no_person_can_be_asked() -> None:
    run = Run()
    before = run.research.thresholds
    assert "Say in reason" in run.refused(decide_escalate, "")
    assert "the budget stays as the user set it" in run.do(decide_escalate, "more pages")
    assert run.research.thresholds == before
    asked = [e for e in run.events if isinstance(e, ev.BudgetAsked)]
    assert [(e.reason, e.granted) for e in asked] == [("more pages", False)]


@pytest.mark.rule("D13", "D22")
def test_a_person_reopens_what_code_gave_up() -> None:
    run = Run(max_attempts=1)
    run.do(decide_atomic, "one figure")
    run.start()
    run.bound()
    run.route(passed=False)
    run.do(decide_reopen, ROOT, "look into the archive", actor="person")
    assert run.start() == ROOT
