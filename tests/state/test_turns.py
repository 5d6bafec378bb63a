"""Deciding a turn: whether the run goes on, on what, in which stage, and with which tools."""

from typing import Any

import pytest
from state.build import REPORT_BY_CODE, ROOT, Run

from zetetic.state import events as ev
from zetetic.state.claims import decide_set_status
from zetetic.state.frontier_commands import decide_atomic, decide_prune, decide_reopen
from zetetic.state.runs import decide_finalize, decide_finish
from zetetic.state.turns import OUT_OF_TIME, allowed_tools, unverified_that_matter
from zetetic.state.values import PendingExtraction

REPORT = "# Answer\n\nThe plant gives 240 MW. [c_001]\n"


def stage(run: Run) -> tuple[str, str]:
    run.turn()
    return run.research.turn.stage, run.research.turn.question_id


# Planning.


@pytest.mark.rule("D24", "A26", "D50")
def test_the_first_turns_plan_and_belong_to_no_attempt() -> None:
    run = Run()
    assert stage(run) == ("planning", ROOT)
    assert (run.research.attempt, run.research.turns, run.research.turn.seq) == (None, 1, 1)
    run.add()
    assert stage(run) == ("acting", "q_002")


@pytest.mark.rule("R4")
def test_without_criteria_there_is_a_planning_turn() -> None:
    run = Run(criteria=())
    run.add()
    assert stage(run) == ("planning", ROOT)


@pytest.mark.rule("R4", "D24")
def test_after_the_planning_turns_code_decides() -> None:
    run = Run(criteria=(), planning_turns=2)
    assert [run.turn(), run.turn()] == ["planning", "planning"]
    assert stage(run) == ("acting", ROOT)
    assert run.research.criteria == ("The report answers: How much power does the plant give?",)
    assert run.research.atomic_reason == "no sub-question was proposed in 2 turns"


# Attempts.


@pytest.mark.rule("D3", "D16", "A26")
def test_a_question_is_selected_and_worked_on_until_its_attempt_ends() -> None:
    run = Run()
    run.add()
    assert [stage(run), stage(run), stage(run)] == [("acting", "q_002")] * 3
    assert run.research.attempt is not None
    assert run.research.attempt.turns == 3
    assert run.moves("q_002") == [("pending", "in_progress", "selected", "code")]


@pytest.mark.rule("D3")
def test_nothing_starts_while_an_attempt_is_evaluated() -> None:
    run = Run()
    run.add()
    run.start()
    run.resolve()
    version = run.research.version
    assert run.turn() == "nothing to start"
    assert run.research.version == version


@pytest.mark.rule("D30")
def test_what_must_be_read_is_read_first() -> None:
    run = Run()
    run.add()
    run.turn()
    item = PendingExtraction(key="k", sha256="x", question_id="q_002")
    run.happen(ev.ExtractionDue(at=run.now, items=(item, item)))
    assert stage(run) == ("extracting", "q_002")
    run.happen(ev.ExtractionTried(at=run.now, again=("k",)))
    assert run.research.pending[0].tries == 1
    run.happen(ev.ExtractionTried(at=run.now, done=("k",)))
    assert stage(run) == ("acting", "q_002")


@pytest.mark.rule("D39", "D50")
def test_a_turn_with_an_open_challenge_is_a_challenging_one() -> None:
    run = Run()
    run.add()
    run.turn()
    run.challenge("question_answer", "q_002", target_text="It gives 240 MW.")
    assert stage(run) == ("challenging", "q_002")


@pytest.mark.rule("A26")
@pytest.mark.parametrize(
    ("bounds", "wait", "outcome"),
    [
        ({"attempt_turns": 1}, 0, "turns"),
        ({"attempt_seconds": 100.0}, 200, "time"),
        ({"max_wall_time_seconds": 100.0}, 200, "ceiling"),
        ({"max_turns": 2}, 0, "breaker"),
        ({"attempt_turns": 2}, 0, ""),
    ],
)
def test_a_turn_that_reaches_a_bound_ends_the_attempt(bounds: dict[str, Any], wait: float, outcome: str) -> None:
    run = Run(**bounds)
    run.add()
    run.turn()
    run.wait(wait)
    run.close_turn("web_search")
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.expired) == (outcome, outcome == "ceiling")


@pytest.mark.rule("A21", "A12")
def test_a_turn_that_its_deadline_cut_off_is_no_providers_error() -> None:
    run = Run(attempt_seconds=100.0, provider_error_limit=1)
    run.add()
    run.turn()
    run.wait(100)
    run.close_turn(provider_failed=OUT_OF_TIME)
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.blocked) == ("time", "")
    assert run.research.provider_errors == 0


@pytest.mark.rule("A21", "D46", "A10")
def test_the_end_of_explorations_time_is_reported_and_leads_to_the_report() -> None:
    run = Run(max_wall_time_seconds=1000.0)
    run.add()
    run.turn()
    run.wait(850)
    run.close_turn(provider_failed=OUT_OF_TIME)
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.expired) == ("ceiling", True)
    assert run.route(passed=False) == "Reported"
    assert run.status("q_002") == "pending"
    assert run.turn() == "synthesizing"
    assert run.research.stop_reason == "breaker:wall_clock"


@pytest.mark.rule("A21")
def test_the_state_node_ends_an_attempt_whose_time_is_up() -> None:
    run = Run(max_wall_time_seconds=1000.0)
    run.add()
    run.turn()
    run.wait(900)
    run.turn()
    assert run.research.attempt is not None
    assert (run.research.attempt.outcome, run.research.attempt.expired) == ("ceiling", True)


@pytest.mark.rule("D4")
def test_plain_text_is_no_end_and_is_counted_for_the_reminder() -> None:
    run = Run()
    run.add()
    run.turn()
    run.close_turn()
    run.close_turn()
    assert (run.research.reminders, run.research.status) == (2, "running")
    run.close_turn("web_search")
    assert run.research.reminders == 0


@pytest.mark.rule("A12", "A11")
def test_one_provider_error_is_not_enough() -> None:
    run = Run(provider_error_limit=2)
    run.add()
    run.turn()
    run.close_turn(provider_failed="quota")
    run.close_turn("web_search")
    run.close_turn(provider_failed="quota")
    assert run.research.attempt is not None
    assert not run.research.attempt.ended
    run.close_turn(provider_failed="quota")
    assert (run.research.attempt.outcome, run.research.attempt.blocked) == ("blocked", "quota")


@pytest.mark.rule("A12", "D54")
def test_a_provider_that_refuses_outside_an_attempt_ends_the_run() -> None:
    run = Run(provider_error_limit=1)
    run.turn()
    run.close_turn(provider_failed="rate_limited")
    assert (run.research.status, run.research.stop_reason) == ("blocked", "blocked:rate_limited")


@pytest.mark.rule("A24")
def test_directives_reach_the_next_attempt_once_and_in_order() -> None:
    run = Run(directives=["Look at the regulator.", "  No blogs.  "])
    run.add()
    run.turn()
    assert [(d.text, d.delivered_in) for d in run.research.directives] == [
        ("Look at the regulator.", 1),
        ("  No blogs.  ", 1),
    ]
    delivered = [e.number for e in run.events if isinstance(e, ev.DirectiveDelivered)]
    assert delivered == [1, 2]
    run.bound()
    run.route(passed=False)
    run.turn()
    assert [e.number for e in run.events if isinstance(e, ev.DirectiveDelivered)] == [1, 2]


# Blocked questions.


def blocked_chain(run: Run) -> None:
    """q_003 waits on q_002, which is pruned, and q_004 waits on q_003."""
    run.add("Who built the plant?")
    run.add("What else did they build?", priority=0.6, depends_on=["q_002"])
    run.add("What became of that?", priority=0.7, depends_on=["q_003"])
    run.do(decide_prune, "q_002", "not needed")


@pytest.mark.rule("D11")
def test_when_only_blocked_questions_are_open_a_planning_turn_names_them() -> None:
    run = Run(planning_turns=2)
    blocked_chain(run)
    assert [stage(run), stage(run)] == [("planning", "q_003")] * 2
    assert run.research.turn.detail == "unblock"


@pytest.mark.rule("D11")
def test_what_nobody_freed_is_pruned_by_code_and_named_as_a_gap() -> None:
    run = Run(planning_turns=1)
    blocked_chain(run)
    run.turn()
    assert stage(run) == ("acting", ROOT)
    assert run.moves("q_003")[-1] == ("blocked", "pruned", "pruned_scope", "code")
    assert [run.status(q) for q in ("q_003", "q_004")] == ["pruned", "pruned"]
    assert [g.question_id for g in run.research.gaps] == ["q_003", "q_004"]


@pytest.mark.rule("D11")
def test_a_long_chain_of_blocked_questions_is_unwound() -> None:
    run = Run(planning_turns=1, max_questions=100)
    first = run.add("0 zero?")
    previous = [first]
    for number in range(1, 90):
        previous = [run.add(f"{number} is asked?", priority=0.9, depends_on=previous)]
    run.do(decide_prune, first, "not needed")
    run.turn()
    assert stage(run) == ("acting", ROOT)


@pytest.mark.rule("D11", "D24")
def test_a_root_that_waits_on_a_pruned_question_is_freed() -> None:
    run = Run(planning_turns=1)
    run.do(decide_atomic, "one figure")
    assert run.start() == ROOT
    child = run.add(blocks_current=True)
    run.do(decide_prune, child, "not needed")
    assert run.status(ROOT) == "blocked"
    assert stage(run) == ("planning", ROOT)
    assert stage(run) == ("acting", ROOT)
    assert run.moves(ROOT)[-2] == ("blocked", "pending", "dependency_met", "code")


# The end of exploration.


@pytest.mark.rule("D43", "D50")
def test_with_everything_answered_the_conclusion_is_worked_on() -> None:
    run = Run(conclusion_turns=3)
    run.do(decide_atomic, "one figure")
    claim = run.claim("The plant gives 240 MW.")
    run.answer(claim_ids=[claim])
    assert unverified_that_matter(run.research) == (claim,)
    assert [run.turn(), run.turn(), run.turn()] == ["verifying", "challenging", "challenging"]
    assert run.research.attempt is None
    assert "finish_exploration" in allowed_tools(run.research)
    assert run.turn() == "synthesizing"
    assert run.research.stop_reason == "frontier_exhausted"


@pytest.mark.rule("D43")
def test_an_exhausted_frontier_goes_through_the_same_gate() -> None:
    run = Run(conclusion_turns=1).explored()
    run.turn()
    run.turn()
    assert (run.research.phase, run.research.gate_passed, run.research.exploration_missing) == ("synthesis", True, ())
    lacking = Run(conclusion_turns=1).explored()
    lacking.do(decide_set_status, "c_001", "UNVERIFIED", "in doubt")
    reason = lacking.question(ROOT).model_copy(update={"why_unverified": ""})
    lacking.research = lacking.research.model_copy(update={"questions": {ROOT: reason}})
    lacking.turn()
    lacking.turn()
    assert not lacking.research.gate_passed
    assert "q_001 was resolved without a VERIFIED claim" in lacking.research.exploration_missing[0]


@pytest.mark.rule("D42")
def test_questions_below_the_gates_priority_are_not_worked_on() -> None:
    run = Run()
    run.add(priority=0.2)
    run.answer()
    assert run.status(ROOT) == "resolved"
    assert stage(run) == ("challenging", ROOT)


@pytest.mark.rule("D46", "D3", "D54")
def test_a_breaker_in_exploration_leads_to_synthesis() -> None:
    run = Run(max_turns=2)
    run.add()
    run.turn()
    run.close_turn("web_search")
    run.route(passed=False)
    assert run.turn() == "synthesizing"
    assert (run.research.phase, run.research.stop_reason) == ("synthesis", "breaker:iterations")
    assert run.research.exploration_missing


@pytest.mark.rule("D46", "A21", "A27")
def test_a_breaker_first_ends_the_attempt_and_lets_it_be_evaluated() -> None:
    run = Run(max_total_tokens=100_000)
    run.add()
    run.turn()
    run.spend(90_000)
    run.turn()
    assert run.research.attempt is not None
    assert (run.research.attempt.ended, run.research.attempt.outcome) == (True, "breaker")
    run.route()
    assert run.turn() == "synthesizing"
    assert run.research.stop_reason == "breaker:tokens"


@pytest.mark.rule("A27")
def test_an_attempt_that_cannot_be_evaluated_does_not_begin() -> None:
    run = Run(max_total_tokens=10_000)
    run.add()
    run.spend(7_000)
    assert run.turn() == "synthesizing"
    assert (run.research.stop_reason, run.status("q_002")) == ("breaker:tokens", "pending")


@pytest.mark.rule("R10", "D54")
def test_two_rounds_without_evidence_are_a_stall() -> None:
    run = Run()
    run.add()
    for _ in range(2):
        run.turn()
        run.bound()
        run.route(passed=False)
    assert run.turn() == "synthesizing"
    assert run.research.stop_reason == "stalled"


@pytest.mark.rule("L11", "D54")
def test_three_records_in_which_nothing_moves_are_a_plateau() -> None:
    run = Run(plateau_records=3, unverified_streak_limit=9)
    run.add()
    for number in range(3):
        assert stage(run) == ("acting", "q_002")
        run.source(f"page {number}")
        run.bound()
        run.route(passed=False)
    assert run.turn() == "synthesizing"
    assert run.research.stop_reason == "plateau"


@pytest.mark.rule("L11")
def test_a_claim_that_changes_status_is_no_plateau() -> None:
    run = Run(plateau_records=1)
    run.add()
    run.turn()
    run.bound()
    run.happen(ev.ClaimMoved(at=run.now, claim_id="c_001", status="VERIFIED", actor="agent"))
    run.route(passed=False)
    assert run.research.still_rounds == 1
    run.verified()
    assert stage(run) == ("acting", "q_002")


@pytest.mark.rule("R10", "A28")
def test_a_reopened_exploration_starts_its_counts_anew() -> None:
    run = Run(barren_rounds_limit=1)
    run.explored()
    assert run.research.barren_rounds == 1
    run.do(decide_finish)
    run.turn()
    run.do(decide_finalize, "", (ROOT, "the year is missing"))
    assert run.research.barren_rounds == 0
    assert stage(run) == ("acting", ROOT)


# Synthesis.


@pytest.mark.rule("D41", "A26")
def test_in_synthesis_the_attempt_is_the_report() -> None:
    run = Run().synthesis()
    assert run.research.attempt is not None
    assert (run.research.attempt.kind, run.research.attempt.question_id) == ("report", ROOT)
    assert run.research.current is None


@pytest.mark.rule("D46")
def test_the_last_turn_forces_the_report() -> None:
    run = Run(max_turns=3, synthesis_reserve=0.1).synthesis()
    assert run.research.turn.forced_tool == ""
    run.close_turn("notes_read")
    run.turn()
    assert run.research.turn.forced_tool == ""
    run.close_turn("notes_read")
    run.turn()
    assert run.research.turn.forced_tool == "finalize_report"
    assert allowed_tools(run.research) == {"finalize_report"}


@pytest.mark.rule("D46", "D54")
def test_a_last_turn_without_an_accepted_report_ends_with_the_one_rendered_by_code() -> None:
    run = Run(max_turns=2).synthesis()
    run.close_turn("finalize_report")
    assert run.research.status == "running"
    run.turn()
    run.close_turn("finalize_report")
    assert (run.research.status, run.research.report.final) == ("reported", REPORT_BY_CODE)
    assert run.research.report.rendered_by_code
    assert run.research.attempt is None


@pytest.mark.rule("D46", "D54")
def test_a_reserve_that_is_gone_without_a_report_is_a_failure_with_the_breakers_name() -> None:
    run = Run(max_total_tokens=100_000).synthesis()
    run.spend(100_000)
    run.turn()
    assert (run.research.status, run.research.stop_reason) == ("failed", "breaker:tokens")
    assert run.research.report.final == REPORT_BY_CODE


@pytest.mark.rule("D46")
def test_a_draft_that_passes_the_gate_goes_out_when_the_reserve_is_gone() -> None:
    run = Run(max_total_tokens=100_000).synthesis()
    run.do(decide_finalize, REPORT)
    run.route(passed=False)
    run.spend(100_000)
    run.turn()
    assert (run.research.status, run.research.stop_reason) == ("reported", "finalized")


@pytest.mark.rule("D46", "D44")
def test_a_draft_that_passes_the_gate_no_longer_does_not_go_out() -> None:
    run = Run(max_total_tokens=100_000).synthesis()
    run.do(decide_finalize, REPORT)
    assert run.route(complete=False, completeness=["the year"]) == "Diversify"
    assert run.research.phase == "exploration"
    run.spend(100_000)
    run.turn()
    assert (run.research.status, run.research.stop_reason) == ("failed", "breaker:tokens")


def test_a_run_that_ended_starts_nothing() -> None:
    run = Run(max_total_tokens=100_000).synthesis()
    run.spend(100_000)
    run.turn()
    assert run.research.status == "failed"
    assert run.turn() == "nothing to start"


# Tools.


def tools_in(name: str, **changed: Any) -> frozenset[str]:
    run = Run()
    run.add()
    run.turn()
    turn = run.research.turn.model_copy(update={"stage": name, **changed})
    return allowed_tools(run.research.model_copy(update={"turn": turn}))


@pytest.mark.rule("D41")
@pytest.mark.parametrize("name", ["planning", "selecting", "acting", "extracting", "verifying", "challenging"])
def test_exploration_cannot_write_the_report(name: str) -> None:
    assert "finalize_report" not in tools_in(name)


@pytest.mark.rule("D41")
def test_synthesis_can_look_and_report_and_nothing_else() -> None:
    run = Run().synthesis()
    assert allowed_tools(run.research) == {"frontier_view", "challenges_view", "notes_read", "finalize_report"}


@pytest.mark.rule("D41")
def test_once_exploration_is_finished_nothing_more_is_searched_in_that_turn() -> None:
    run = Run().explored()
    run.turn()
    assert "web_search" in allowed_tools(run.research)
    run.do(decide_finish)
    assert allowed_tools(run.research) == {"frontier_view", "challenges_view", "notes_read"}


@pytest.mark.rule("D30")
@pytest.mark.parametrize("name", ["extracting", "consolidating"])
def test_an_extraction_turn_has_the_notes_tools_only(name: str) -> None:
    assert tools_in(name) == {"notes_append", "notes_update", "notes_scratch", "notes_read"}


@pytest.mark.rule("D24", "D41")
def test_planning_changes_the_frontier_and_searches_nothing() -> None:
    tools = tools_in("planning")
    assert {"add_question", "set_criteria", "rewrite_question", "drop_dependency", "prune_branch"} <= tools
    assert not tools & {"web_search", "fetch_page", "query", "resolve_question", "finish_exploration"}


@pytest.mark.rule("D25", "D41")
def test_acting_has_everything_but_the_report() -> None:
    assert tools_in("acting") == {
        *("web_search", "fetch_page", "query"),
        *("frontier_next", "frontier_view", "add_question", "reopen_question", "set_priority", "prune_branch"),
        *("rewrite_question", "drop_dependency", "resolve_question", "retry_question"),
        *("notes_append", "notes_update", "notes_scratch", "notes_read"),
        *("challenge", "record_challenge_result", "challenges_view"),
        *("finish_exploration", "escalate_budget", "abort"),
    }


@pytest.mark.rule("D41")
def test_outside_an_attempt_nothing_is_resolved() -> None:
    run = Run().explored()
    run.turn()
    assert not allowed_tools(run.research) & {"resolve_question", "retry_question"}


@pytest.mark.rule("D22", "D43")
def test_a_question_reopened_for_the_conclusion_is_worked_on_next() -> None:
    run = Run().explored()
    run.turn()
    run.do(decide_reopen, ROOT, "the newer page says otherwise")
    assert stage(run) == ("acting", ROOT)
