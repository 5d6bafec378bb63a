"""What the four arms and the ladder make of an attempt."""

import itertools
from typing import Any

import pytest
from state.build import ROOT, Run, arms_in_order, judged

from zetetic.state import events as ev
from zetetic.state.answers import decide_blocked, decide_retry
from zetetic.state.claims import decide_retract, decide_set_status
from zetetic.state.decision import Accepted
from zetetic.state.evaluation import (
    ARMS,
    ArmResult,
    conservative,
    decide_route,
    end_of_report,
    may_reopen,
    merge_arms,
)
from zetetic.state.frontier_commands import decide_atomic, decide_reopen, returned
from zetetic.state.runs import decide_abort, decide_finalize, decide_finish

REPORT = "# Answer\n\nThe plant gives 240 MW. [c_001]\n"


def at_work(**changed: Any) -> Run:
    run = Run(**changed)
    run.add()
    run.start()
    return run


def attempted(run: Run, **given: Any) -> str:
    """One more attempt at q_002 that ends without an answer; returns the route."""
    if run.research.attempt is None:
        run.start()
    run.bound()
    return run.route(**given)


# The arms.


@pytest.mark.rule("A9")
def test_the_conservative_value_of_each_arm() -> None:
    verify, judge = conservative("verify", 1, "timeout"), conservative("judge", 1, "timeout")
    critique, completeness = conservative("critique", 1, "timeout"), conservative("completeness", 1, "timeout")
    assert (verify.passed, verify.answered) == (False, False)
    assert judge.verdict == "Restart"
    assert completeness.passed is False
    assert critique.findings == ["critique unavailable"]


@pytest.mark.rule("A9", "A3")
@pytest.mark.parametrize("absent", ARMS)
def test_one_arm_that_is_missing_leaves_the_others_answers_standing(absent: str) -> None:
    run = at_work()
    run.resolve()
    arms = {arm: result for arm, result in judged(1, guidance="go on").items() if arm != absent}
    run.do(decide_route, arms)
    last = run.research.evaluations[-1]
    assert last.unavailable == (absent,)
    assert last.verified is (absent != "verify")
    assert last.satisfied is (absent != "completeness")
    assert last.verdict == ("Restart" if absent == "judge" else "Proceed")
    assert last.objections == (("critique unavailable",) if absent == "critique" else ())
    assert last.routing.route == {"verify": "Retry", "completeness": "Diversify"}.get(absent, "Answered")


@pytest.mark.rule("A3")
def test_no_arm_but_verify_unlocks_answered() -> None:
    run = at_work()
    run.resolve()
    assert run.route(passed=False, complete=True, verdict="Proceed") == "Retry"
    assert run.status("q_002") == "pending"


@pytest.mark.rule("A8")
def test_an_unreadable_verdict_is_restart_and_counted() -> None:
    run = at_work()
    run.resolve()
    run.route(verdict="Splendid")
    assert run.research.evaluations[-1].verdict == "Restart"
    assert run.research.parse_defaults == ("verdict",)


@pytest.mark.rule("A25")
def test_merging_is_the_same_in_all_24_orders() -> None:
    arms = judged(3, passed=False, verify=["no"], critique=["weak"])
    merged = []
    for order in itertools.permutations(ARMS):
        state: dict[str, ArmResult] = {"judge": ArmResult(arm="judge", attempt=2, verdict="Steer")}
        for written in arms_in_order(arms, order):
            state = merge_arms(state, written)
        merged.append(state)
    assert len(merged) == 24
    assert all(state == dict(arms) for state in merged)


@pytest.mark.rule("A25")
def test_a_replayed_or_older_result_changes_nothing() -> None:
    state: dict[str, ArmResult] = dict(judged(3))
    assert merge_arms(state, judged(3)) == state
    assert merge_arms(state, judged(2, passed=False)) == state
    assert merge_arms(state, {}) == state
    assert merge_arms(state, None) == {}, "a new run on an old thread starts without them"
    assert merge_arms(None, state) == state


@pytest.mark.rule("A25", "A9")
def test_results_of_another_attempt_are_not_read() -> None:
    run = at_work()
    run.resolve()
    run.do(decide_route, judged(7))
    assert run.research.evaluations[-1].unavailable == ARMS
    assert run.research.evaluations[-1].routing.route == "Retry"


@pytest.mark.rule("A25")
def test_an_attempt_is_routed_once() -> None:
    run = at_work()
    assert run.decide(decide_route, judged(1)) == Accepted((), "")
    run.resolve()
    run.route()
    assert run.decide(decide_route, judged(1)) == Accepted((), "")


# Questions.


@pytest.mark.rule("A19", "D17")
def test_answered_resolves_by_code_with_the_attempts_answer() -> None:
    run = at_work()
    claim = run.claim("The plant gives 240 MW.")
    run.resolve("It gives 240 MW.", [claim])
    run.route()
    question = run.question("q_002")
    assert (question.status, question.answer, question.claim_ids) == ("resolved", "It gives 240 MW.", (claim,))
    assert (question.why_unverified, question.attempts) == ("nothing better", 1)
    assert run.moves("q_002")[-1] == ("in_progress", "resolved", "resolved", "code")


@pytest.mark.rule("A7", "A19")
@pytest.mark.parametrize("ending", ["turns", "time", "breaker", "retried"])
def test_an_attempt_without_an_answer_is_evaluated_and_never_answered(ending: Any) -> None:
    run = at_work()
    if ending == "retried":
        run.do(decide_retry, "q_002", "other words", "nothing found")
    else:
        run.bound(ending)
    assert run.route(passed=True, complete=True) == "Retry"
    assert run.research.evaluations[-1].failures == ("the attempt ended without an answer",)
    assert run.status("q_002") == "pending"


@pytest.mark.rule("A19", "D17", "D38")
@pytest.mark.parametrize("fall", ["claim", "answer"])
def test_what_fell_between_proposal_and_routing_closes_nothing(fall: str) -> None:
    run = at_work()
    claim = run.claim("The plant gives 240 MW.")
    challenge = run.challenge("question_answer", "q_002", target_text="It gives 240 MW.")
    run.run_challenge(challenge)
    run.resolve("It gives 240 MW.", [claim])
    if fall == "claim":
        run.do(decide_retract, claim, "misread")
    else:
        run.record(challenge, "refuted", [run.source("against")])
    assert run.route() == "Retry"
    assert run.status("q_002") == "pending"
    assert "meanwhile" in run.question("q_002").steer


@pytest.mark.rule("A6", "A10")
def test_verified_and_partial_is_diversify_and_names_what_is_missing() -> None:
    run = at_work()
    run.search("plant output")
    run.resolve()
    assert run.route(complete=False, completeness=["the year"]) == "Diversify"
    assert run.status("q_002") == "pending"
    assert run.moves("q_002")[-1] == ("in_progress", "pending", "retried", "code")
    assert run.question("q_002").steer == (
        "Change the approach: other sources, another strategy, rewrite_question if it cannot be answered as put, or "
        'add_question for the missing part. Missing: the year. These queries are spent: "plant output".'
    )


@pytest.mark.rule("A4", "A5", "A15")
def test_the_steer_carries_what_the_arms_said() -> None:
    run = at_work()
    run.do(decide_retry, "q_002", "other words", "nothing found")
    run.route(
        verdict="Restart",
        guidance="Look at the regulator.",
        passed=False,
        complete=False,
        verify=["no source"],
        critique=["contradicts c_001"],
        completeness=["the year"],
    )
    assert run.question("q_002").steer == (
        "Start afresh: the last direction is discarded. Look at the regulator. "
        "Start from the query 'other words' (nothing found). Missing: the year. Not verified: no source. "
        "Objection: contradicts c_001."
    )


@pytest.mark.rule("A4", "A16")
def test_a_retry_keeps_the_approach_and_says_what_is_missing() -> None:
    run = at_work()
    run.search("plant output")
    run.resolve()
    run.route(passed=False, complete=False, guidance="Read the table", completeness=["the year"], verify=["no source"])
    steer = "Read the table. Keep the approach and mend what is named here. Missing: the year. Not verified: no source."
    assert run.question("q_002").steer == steer


@pytest.mark.rule("A16")
def test_a_diversify_names_the_sites_read_and_every_query_that_ran_challenges_too() -> None:
    run = at_work()
    run.search("plant output")
    run.search("plant output table", status="failed")
    run.search('Plant: output, "in MW"', status="no_results")
    claim = run.claim("The plant gives 240 MW.", run.source("The plant gives 240 MW.", "fans.org"))
    run.source("nothing of it", "fans.org", note="read, nothing relevant")
    run.source("a page of a folder", "local:a/page.md")
    run.run_challenge(run.challenge("claim", claim, query="plant never reached 240"))
    run.resolve()
    run.route(complete=False, completeness=["the year"])
    steer = run.question("q_002").steer
    assert "Read so far: fans.org (2 pages, nothing relevant in 1), local documents (1 page)." in steer
    assert steer.endswith(
        'These queries are spent: "plant never reached 240", "Plant: output, "in MW"", "plant output".'
    ), "the one that failed may be run again"


@pytest.mark.rule("A16")
def test_a_steer_is_bounded_and_counts_what_it_leaves_out() -> None:
    run = at_work(directive_max_chars=300)
    queries = [f"{'plant output ' * 6}{n}" for n in range(20)]
    for query in queries:
        run.search(query)
    run.resolve()
    guidance = "Look at the regulator, since the operator copies a press release."
    run.route(
        verdict="Steer",
        complete=False,
        guidance=guidance,
        completeness=["w" * 5000, "the year"],
        critique=[f"o{n} {'v' * 90}" for n in range(9)],
    )
    steer = run.question("q_002").steer
    assert len(steer) < 4 * 300 + 200
    assert steer.startswith(guidance)
    assert "(+10 more found wanting.)" in steer
    shown = [q for q in queries if f'"{q}"' in steer]
    assert shown == queries[-len(shown) :], "the latest are shown"
    assert f"and {20 - len(shown)} earlier ones." in steer
    assert 0 < len(shown) < 20


@pytest.mark.rule("A16")
def test_the_objective_is_not_to_be_rewritten() -> None:
    run = Run()
    run.do(decide_atomic, "one figure")
    run.start()
    run.resolve()
    run.route(complete=False)
    assert "rewrite_question" not in run.question(ROOT).steer
    assert "add_question for the missing part" in run.question(ROOT).steer


@pytest.mark.rule("A13")
def test_the_streaks_count_independently() -> None:
    run = at_work(unverified_streak_limit=9, unproductive_streak_limit=9, max_attempts=9)

    def streaks(**given: Any) -> tuple[int, int, int]:
        if run.research.attempt is None:
            run.start()
        run.resolve()
        run.route(complete=False, **given)
        q = run.question("q_002")
        return q.attempts, q.unverified_streak, q.unproductive_streak

    assert streaks(passed=False, verdict="Restart") == (1, 1, 1)
    assert streaks(passed=False, verdict="Proceed") == (2, 2, 0)
    assert streaks(passed=True, verdict="Restart") == (3, 0, 1)
    assert streaks(passed=True, verdict="Restart") == (4, 0, 2)
    assert streaks(passed=False, verdict="Steer") == (5, 1, 0)


@pytest.mark.rule("A13")
def test_a_diversify_resets_the_streak_that_caused_it_only() -> None:
    run = at_work(unverified_streak_limit=2, unproductive_streak_limit=9, max_attempts=9)
    assert attempted(run, verdict="Restart") == "Retry"
    assert attempted(run, verdict="Restart") == "Diversify"
    q = run.question("q_002")
    assert (q.unverified_streak, q.unproductive_streak) == (0, 2)


@pytest.mark.rule("A13")
def test_counters_belong_to_their_question() -> None:
    run = at_work()
    attempted(run, verdict="Restart")
    run.add(priority=0.9)
    run.answer()
    assert (run.question("q_002").attempts, run.question("q_002").unverified_streak) == (1, 1)
    assert (run.question("q_003").attempts, run.question("q_003").unverified_streak) == (1, 0)


@pytest.mark.rule("A14")
def test_on_the_cap_attempt_verified_and_satisfied_is_answered() -> None:
    run = at_work(max_attempts=1)
    run.resolve()
    assert run.route() == "Answered"


@pytest.mark.rule("A22", "D21", "A13")
def test_at_the_cap_the_question_is_unresolvable_with_the_models_assumption() -> None:
    run = at_work(max_attempts=2)
    attempted(run)
    run.start()
    run.do(decide_retry, "q_002", "other words", "nothing found", "about 200 MW")
    assert run.route() == "Reported"
    assert (run.status("q_002"), run.question("q_002").answer) == ("unresolvable", "about 200 MW")
    assert run.moves("q_002")[-1] == ("in_progress", "unresolvable", "attempts_exhausted", "code")


@pytest.mark.rule("A22", "D21")
def test_without_an_assumption_the_best_partial_answer_stands_in() -> None:
    run = at_work(max_attempts=2)
    claim = run.claim("The plant gives 240 MW.")
    run.resolve("Perhaps 240 MW.", [claim])
    run.route(passed=False)
    attempted(run)
    assert run.question("q_002").answer == ("no attempt was accepted; the best partial answer: Perhaps 240 MW.")
    empty = at_work(max_attempts=1)
    attempted(empty)
    assert empty.question("q_002").answer == "no answer was found in the sources at hand"


@pytest.mark.rule("A22", "D38")
def test_a_partial_answer_does_not_lean_on_a_claim_that_fell() -> None:
    run = at_work(max_attempts=1)
    good, fallen = run.claim("The plant gives 240 MW."), run.claim("The plant gives 100 MW.")
    run.resolve("Either.", [good, fallen])
    run.do(decide_retract, fallen, "misread")
    assert run.route(passed=False) == "Reported"
    assert run.question("q_002").claim_ids == (good,)


@pytest.mark.rule("A10", "A21", "A22")
@pytest.mark.parametrize("when", ["in the attempt", "during its evaluation"])
def test_the_ceiling_is_reported_and_gives_the_question_back(when: str) -> None:
    run = at_work(max_wall_time_seconds=1000.0)
    if when == "in the attempt":
        run.bound("ceiling", expired=True)
    else:
        run.resolve()
        run.wait(2000)
    assert run.route() == "Reported"
    assert run.status("q_002") == "pending"
    assert run.moves("q_002")[-1] == ("in_progress", "pending", "released", "code")
    assert run.research.evaluations[-1].routing.expired


@pytest.mark.rule("A11", "A12")
def test_a_missing_prerequisite_blocks_the_question_uncharged() -> None:
    run = at_work()
    run.do(decide_blocked, "prerequisite:no documents")
    assert run.do(decide_route, {}) == "Blocked"
    assert run.moves("q_002")[-1] == ("in_progress", "blocked", "prerequisite_missing", "code")
    assert (run.question("q_002").attempts, run.research.evaluations) == (0, ())
    assert (run.research.status, run.research.attempt) == ("running", None)


@pytest.mark.rule("A11", "A12", "D54")
def test_a_refusing_provider_ends_the_run_and_moves_no_question() -> None:
    run = at_work()
    run.do(decide_blocked, "rate_limited")
    assert run.do(decide_route, judged(1)) == "Blocked"
    assert (run.research.status, run.research.stop_reason) == ("blocked", "blocked:rate_limited")
    assert (run.status("q_002"), run.question("q_002").attempts) == ("in_progress", 0)
    assert run.research.evaluations == ()


@pytest.mark.rule("A11")
def test_a_prerequisite_missing_for_the_report_blocks_the_run_and_not_the_root() -> None:
    run = Run().synthesis()
    run.do(decide_blocked, "prerequisite:no model")
    run.do(decide_route, {})
    assert (run.research.status, run.status(ROOT)) == ("blocked", "resolved")


@pytest.mark.rule("D11")
def test_a_question_returns_blocked_when_what_it_waits_on_was_pruned() -> None:
    run = at_work()
    needed = run.add(priority=0.1)
    run.happen(ev.DependencyAdded(at=run.now, question_id="q_002", depends_on_id=needed))
    run.happen(*(e for e in returned(run.research, run.question(needed), "released", "code", run.now)))
    from zetetic.state.frontier_commands import decide_prune

    run.do(decide_prune, needed, "not needed")
    attempted(run)
    assert run.moves("q_002")[-2:] == [
        ("in_progress", "pending", "retried", "code"),
        ("pending", "blocked", "dependency_failed", "code"),
    ]


@pytest.mark.rule("R10")
def test_a_round_without_new_evidence_is_barren_and_one_with_it_is_not() -> None:
    run = at_work(max_attempts=9, unverified_streak_limit=9)
    attempted(run)
    attempted(run)
    assert run.research.barren_rounds == 2
    run.start()
    run.source("a page")
    run.bound()
    run.route(passed=False)
    assert run.research.barren_rounds == 0


@pytest.mark.rule("L11")
def test_records_in_which_nothing_changes_status_are_counted() -> None:
    run = at_work(max_attempts=9, unverified_streak_limit=9)
    attempted(run)
    attempted(run)
    assert run.research.still_rounds == 2
    claim = run.verified()
    assert run.research.still_rounds == 0
    attempted(run)
    run.do(decide_set_status, claim, "UNVERIFIED", "in doubt")
    assert run.research.still_rounds == 0
    attempted(run)
    run.answer()
    assert run.research.still_rounds == 0


@pytest.mark.rule("L4", "L7")
def test_the_record_of_an_attempt() -> None:
    run = at_work()
    run.add("Who paid for it?", priority=0.3)
    run.search("plant output")
    claim = run.claim("The plant gives 240 MW.")
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=100, output_tokens=20, usd=0.01))
    run.resolve("It gives 240 MW.", [claim])
    run.route()
    record = run.research.evaluations[-1]
    assert (record.number, record.kind, record.question_id, record.outcome) == (1, "question", "q_002", "resolved")
    assert (record.tokens, record.usd, record.new_evidence) == (120, 0.01, 2)
    assert (record.source_ids, record.claim_ids) == (("s_001",), ("c_001",))
    assert record.actions == ("web_search: plant output",)
    assert record.remaining_gaps == ("q_001: How much power does the plant give?", "q_003: Who paid for it?")
    assert [(g.gate, g.passed) for g in record.gates] == [("source_claims", True), ("verified", True)]


@pytest.mark.rule("L7")
def test_an_answer_without_a_claim_fails_its_gate() -> None:
    run = at_work()
    run.resolve()
    run.route(passed=False, verify=["cites nothing"])
    gates = {g.gate: (g.passed, g.why) for g in run.research.evaluations[-1].gates}
    assert gates == {"source_claims": (False, "no claim cited"), "verified": (False, "cites nothing")}


# The report.


def reported(run: Run, **given: Any) -> str:
    if run.research.attempt is None:
        assert run.turn() == "synthesizing"
    run.do(decide_finalize, REPORT)
    return run.route(**given)


@pytest.mark.rule("D54", "A14")
def test_finalized_and_answered_is_complete() -> None:
    run = Run().synthesis()
    assert reported(run) == "Answered"
    assert (run.research.status, run.research.stop_reason) == ("complete", "finalized")
    assert run.research.report.accepted


@pytest.mark.rule("D54", "A22")
def test_the_cap_of_the_report_is_reported_and_leaves_the_root_unmoved() -> None:
    run = Run(max_attempts=1).synthesis()
    assert reported(run, passed=False) == "Reported"
    assert (run.research.status, run.research.stop_reason) == ("reported", "finalized")
    assert (run.status(ROOT), run.research.report.accepted) == ("resolved", False)


TABLE = [
    ("finalized", True, True, "complete"),
    ("finalized", True, False, "reported"),
    ("finalized", False, True, "reported"),
    ("frontier_exhausted", True, True, "complete"),
    ("frontier_exhausted", True, False, "reported"),
    ("frontier_exhausted", False, True, "reported"),
    *((reason, True, True, "reported") for reason in ("stalled", "plateau", "aborted", "breaker:iterations")),
    *((f"breaker:{name}", False, True, "reported") for name in ("tokens", "cost", "wall_clock", "attempts")),
]


@pytest.mark.rule("D54")
@pytest.mark.parametrize(("reason", "gate_passed", "answered", "status"), TABLE)
def test_how_a_run_with_a_report_ends(reason: str, gate_passed: bool, answered: bool, status: str) -> None:
    run = Run()
    run.happen(ev.PhaseChanged(at=run.now, phase="synthesis", reason=reason, detail="d", gate_passed=gate_passed))
    ended = end_of_report(run.research, run.now, answered=answered)
    assert (ended.status, ended.stop_reason, ended.detail) == (status, reason, "d")


@pytest.mark.rule("A28", "D41")
def test_diversify_reopens_exploration_while_reopens_last() -> None:
    run = Run(max_reopens=1).synthesis()
    assert reported(run, complete=False, completeness=["the year"]) == "Diversify"
    assert (run.research.phase, run.research.reopens, run.research.stop_reason) == ("exploration", 1, "")
    spawned = run.question("q_002")
    assert spawned.rationale == "the evaluation of the report found it missing"
    assert "Exploration is reopened for what is missing" in spawned.steer
    assert "These queries are spent: " in spawned.steer
    assert "rewrite the report" not in run.research.report.steer
    assert (spawned.question, spawned.spawned_by) == ("What is still missing for the objective: the year", "code")
    assert run.turn() == "acting"
    assert run.research.current is not None
    assert run.research.current.id == "q_002"


@pytest.mark.rule("A28")
def test_diversify_is_a_rewrite_with_the_hole_as_a_gap_after_that() -> None:
    run = Run(max_reopens=0).synthesis()
    for _ in range(2):
        assert reported(run, complete=False, completeness=["the year"]) == "Diversify"
        assert run.research.phase == "synthesis"
        assert [g.text for g in run.research.gaps] == ["the year"]
        assert "Missing: the year." in run.research.report.steer
        assert "rewrite the report, and state under '## Gaps' what is missing" in run.research.report.steer
        assert "spent" not in run.research.report.steer, "synthesis cannot search"


@pytest.mark.rule("A28", "D54")
@pytest.mark.parametrize("reason", ["stalled", "plateau", "aborted", "breaker:tokens"])
def test_after_a_bound_or_an_abort_exploration_stays_ended(reason: str) -> None:
    run = Run().explored()
    run.happen(ev.PhaseChanged(at=run.now, phase="synthesis", reason=reason))
    run.turn()
    assert not may_reopen(run.research, run.now)
    assert reported(run, complete=False) == "Diversify"
    assert run.research.phase == "synthesis"


@pytest.mark.rule("A13", "A28")
def test_the_report_has_counters_of_its_own() -> None:
    run = Run(max_reopens=0).synthesis()
    attempts, barren = run.question(ROOT).attempts, run.research.barren_rounds
    reported(run, passed=False, verdict="Restart")
    report = run.research.report
    assert (report.attempts, report.unverified_streak, report.unproductive_streak) == (1, 1, 1)
    assert run.question(ROOT).attempts == attempts
    assert run.research.barren_rounds == barren, "synthesis cannot search, so it is no barren round (R10)"


@pytest.mark.rule("A7")
def test_a_report_attempt_without_a_report_is_not_verified() -> None:
    run = Run().synthesis()
    run.bound()
    assert run.route() == "Retry"
    assert run.research.evaluations[-1].failures == ("no report was given",)


@pytest.mark.rule("A26")
def test_finishing_gives_the_question_at_work_back() -> None:
    run = Run().explored()
    other = run.add("Who paid for it?", priority=0.1)
    assert run.start() == other
    run.do(decide_finish)
    run.route()
    assert run.moves(other)[-1] == ("in_progress", "pending", "released", "code")
    assert run.research.phase == "synthesis"


@pytest.mark.rule("R11", "D54")
def test_abort_is_recorded_and_never_success() -> None:
    run = Run().explored()
    run.do(decide_abort, "the folder is empty")
    assert run.turn() == "synthesizing"
    assert reported(run) == "Answered"
    assert (run.research.status, run.research.stop_reason) == ("reported", "aborted")
    assert run.research.stop_detail == "the folder is empty"


@pytest.mark.rule("D22")
def test_a_reopened_root_is_answered_again() -> None:
    run = Run()
    run.do(decide_atomic, "one figure")
    run.answer()
    run.do(decide_reopen, ROOT, "it was measured anew")
    assert run.answer("It gives 250 MW.") == ROOT
    assert run.question(ROOT).answer == "It gives 250 MW."
