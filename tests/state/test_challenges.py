"""Challenges: how an attack is registered, run and judged, and what follows."""

from typing import Any

import pytest
from state.build import ROOT, Run

from zetetic.state.challenges import (
    answer_challenge,
    conclusion_challenged,
    conclusion_exhausted,
    decide_challenge,
    decide_record_result,
)
from zetetic.state.claims import decide_scratch
from zetetic.state.frontier import frontier_summary
from zetetic.state.gates import exploration_gate

STRATEGIES = [
    "negation",
    "discrepancy",
    "criticism",
    "alternative_method",
    "scope_limit",
    "primary_source",
    "staleness",
]


def attack(**changed: Any) -> dict[str, Any]:
    return {
        "target_type": "claim",
        "target_id": "c_001",
        "negation": "it gives less",
        "strategy": "negation",
        "expected_if_false": "a lower figure",
        "query": "plant output overstated",
        "question_id": ROOT,
        **changed,
    }


def claimed() -> Run:
    run = Run()
    run.claim("The plant gives 240 MW.")
    return run


# Registering.


@pytest.mark.rule("D35", "D37", "D25")
def test_a_challenge_is_registered_and_not_run() -> None:
    run = claimed()
    said = run.do(decide_challenge, **attack())
    assert "run it with web_search(query='plant output overstated', challenge_id='ch_001')" in said
    challenge = run.research.challenges["ch_001"]
    assert (challenge.status, challenge.executed, challenge.outcome) == ("open", False, None)
    assert challenge.target_text == "The plant gives 240 MW."
    assert run.research.queries == {}


@pytest.mark.rule("D35")
@pytest.mark.parametrize("field", ["negation", "expected_if_false", "query"])
def test_no_field_is_empty(field: str) -> None:
    assert f"{field} is empty" in claimed().refused(decide_challenge, **attack(**{field: " "}))


@pytest.mark.rule("D35")
def test_a_target_exists() -> None:
    run = claimed()
    assert "There is no claim 'c_099'" in run.refused(decide_challenge, **attack(target_id="c_099"))
    assert "There is no question 'q_099'" in run.refused(
        decide_challenge, **attack(target_type="question_answer", target_id="q_099", target_text="x")
    )
    assert "Give in target_text the answer" in run.refused(
        decide_challenge, **attack(target_type="question_answer", target_id=ROOT)
    )
    assert "State the conclusion first" in run.refused(
        decide_challenge, **attack(target_type="conclusion", target_id="")
    )


@pytest.mark.rule("D36")
def test_a_query_equal_to_one_on_the_question_or_the_target_is_refused() -> None:
    run = claimed()
    run.search("Plant output, OVERSTATED?", question_id=ROOT)
    assert "An equal query was asked before" in run.refused(decide_challenge, **attack())
    run.do(decide_challenge, **attack(query="plant output doubtful"))
    assert "An equal query was asked before" in run.refused(
        decide_challenge, **attack(query="plant output DOUBTFUL", strategy="staleness")
    )


@pytest.mark.rule("D36")
def test_a_strategy_is_used_once_on_a_target() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    said = run.refused(decide_challenge, **attack(query="wholly other words"))
    assert "Strategy negation was used on this target (used: negation): take another one" in said


@pytest.mark.rule("D36")
def test_a_target_is_challenged_at_most_as_often_as_the_bound_says() -> None:
    run = Run(max_challenges_per_target=2)
    run.claim("The plant gives 240 MW.")
    for strategy in STRATEGIES[:2]:
        run.do(decide_challenge, **attack(strategy=strategy, query=f"output {strategy}"))
    said = run.refused(decide_challenge, **attack(strategy=STRATEGIES[2], query="output criticism"))
    assert "challenged 2 times, which is all (max_challenges_per_target)" in said


@pytest.mark.rule("D36")
@pytest.mark.parametrize(
    ("query", "adversarial"),
    [
        ("The plant gives 240 MW again", False),
        ("is it really true that the plant gives 240 MW", False),
        ("240 MW plant", False),
        ("The plant gives not 240 MW", True),
        ("plant gives 180 MW", True),
        ("plant 240 MW criticism", True),
    ],
)
def test_a_query_has_a_term_that_the_target_lacks(query: str, adversarial: bool) -> None:
    run = claimed()
    if adversarial:
        run.do(decide_challenge, **attack(query=query))
    else:
        assert "no term that the target lacks" in run.refused(decide_challenge, **attack(query=query))


@pytest.mark.rule("D36")
def test_a_query_too_long_to_be_run_is_refused() -> None:
    run = Run(query_max_chars=50)
    run.claim("The plant gives 240 MW.")
    said = run.refused(decide_challenge, **attack(query="doubt " * 20))
    assert "longer than 50 characters" in said


@pytest.mark.rule("D35")
def test_a_refutation_is_not_challenged() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001")
    run.record("ch_001", "refuted", ["s_001"])
    said = run.refused(decide_challenge, **attack(strategy="staleness", query="newer output"))
    assert "c_001 is REFUTED already" in said


# Verdicts.


@pytest.mark.rule("D38")
@pytest.mark.parametrize("outcome", ["survived", "weakened", "refuted", "inconclusive"])
def test_a_verdict_needs_an_executed_query(outcome: str) -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    said = run.refused(decide_record_result, "ch_001", outcome, "found", ["s_001"], amended_text="less")
    assert "ch_001 was not run" in said


@pytest.mark.rule("D38")
@pytest.mark.parametrize("outcome", ["survived", "weakened", "refuted"])
@pytest.mark.parametrize("status", ["failed", "rate_limited", "quota", "not_configured", "unknown"])
def test_a_search_that_failed_is_inconclusive(outcome: str, status: str) -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001", status)
    said = run.refused(decide_record_result, "ch_001", outcome, "found", ["s_001"], amended_text="less")
    assert f"Its search ended as {status}: only inconclusive can be recorded" in said
    run.record("ch_001", "inconclusive")


@pytest.mark.rule("D38")
@pytest.mark.parametrize("outcome", ["weakened", "refuted"])
def test_against_the_target_there_must_be_a_source(outcome: str) -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001", "no_results")
    assert f"{outcome} needs at least one source" in run.refused(
        decide_record_result, "ch_001", outcome, "found", amended_text="less"
    )
    assert "Unknown sources: s_099" in run.refused(
        decide_record_result, "ch_001", outcome, "found", ["s_099"], amended_text="less"
    )


@pytest.mark.rule("D38")
def test_a_verdict_is_set_once() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001")
    run.record("ch_001", "survived")
    said = run.refused(decide_record_result, "ch_001", "inconclusive", "on second thought")
    assert "ch_001 is closed with survived; a verdict is set once" in said


@pytest.mark.rule("D38")
def test_a_result_names_another_claim() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001")
    assert "not the target" in run.refused(decide_record_result, "ch_001", "refuted", "x", ["s_001"], "c_001")
    assert "There is no claim 'c_099'" in run.refused(decide_record_result, "ch_001", "survived", "x", [], "c_099")
    assert "Say in evidence" in run.refused(decide_record_result, "ch_001", "survived", " ")
    assert "There is no challenge 'ch_099'" in run.refused(decide_record_result, "ch_099", "survived", "x")


@pytest.mark.rule("D38")
def test_weakened_amends_the_claim_and_a_verified_one_must_be_verified_again() -> None:
    run = Run()
    claim = run.verified("The plant gives 240 MW.")
    run.do(decide_challenge, **attack(strategy="scope_limit"))
    run.run_challenge("ch_002")
    assert "needs amended_text" in run.refused(decide_record_result, "ch_002", "weakened", "x", ["s_001"])
    assert "says what the target says already" in run.refused(
        decide_record_result, "ch_002", "weakened", "x", ["s_001"], amended_text="the plant gives 240 MW"
    )
    run.record("ch_002", "weakened", ["s_001"], amended_text="The plant gives 240 MW in summer.")
    assert run.research.claims[claim].text == "The plant gives 240 MW in summer."
    assert run.research.claims[claim].status == "UNVERIFIED"


@pytest.mark.rule("D38")
def test_refuted_marks_the_claim_and_asks() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001")
    assert run.record("ch_001", "refuted", ["s_001"]) == "ch_001 refuted; [q_002] added"
    assert run.research.claims["c_001"].status == "REFUTED"
    assert run.question("q_002").priority == 0.9


@pytest.mark.rule("D38")
def test_inconclusive_allows_another_strategy() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    run.run_challenge("ch_001")
    run.record("ch_001", "inconclusive")
    run.do(decide_challenge, **attack(strategy="criticism", query="plant criticism"))
    assert list(run.research.challenges) == ["ch_001", "ch_002"]


@pytest.mark.rule("D38")
def test_an_answer_that_is_refuted_later_is_reopened() -> None:
    run = Run()
    run.add()
    run.answer("It gives 240 MW.")
    for text in ("It gives 100 MW.", "It gives 240 MW."):
        challenge = run.challenge("question_answer", "q_002", target_text=text)
        run.run_challenge(challenge)
        run.record(challenge, "refuted", [run.source("against")])
        assert run.status("q_002") == ("resolved" if "100" in text else "pending")
    assert run.moves("q_002")[-1] == ("resolved", "pending", "contradiction", "code")


# Answers.


@pytest.mark.rule("D17", "D35")
@pytest.mark.parametrize(("outcome", "holds"), [("survived", True), ("inconclusive", True), ("refuted", False)])
def test_a_closed_challenge_of_this_answer_text_holds_unless_refuted(outcome: str, holds: bool) -> None:
    run = Run()
    run.add()
    run.start()
    challenge = run.challenge("question_answer", "q_002", target_text="It gives 240 MW.")
    assert answer_challenge(run.research, "q_002", "It gives 240 MW.") is None
    run.run_challenge(challenge)
    run.record(challenge, outcome, [run.source("page")])
    assert (answer_challenge(run.research, "q_002", "it gives 240 MW") is not None) is holds
    assert answer_challenge(run.research, "q_002", "It gives 250 MW.") is None


@pytest.mark.rule("D36")
def test_challenges_of_an_answer_are_counted_for_its_text() -> None:
    run = Run(max_challenges_per_target=1)
    run.add()
    run.challenge("question_answer", "q_002", target_text="It gives 240 MW.", query="overstated output")
    run.challenge("question_answer", "q_002", target_text="It gives 100 MW.", query="understated output")
    assert len(run.research.challenges) == 2


# The conclusion.


@pytest.mark.rule("D40")
def test_caps_and_strategies_are_counted_for_each_version_of_the_conclusion() -> None:
    run = Run(max_challenges_per_target=1)
    run.survive("conclusion", target_text="It gives 240 MW.")
    assert conclusion_challenged(run.research)
    run.challenge("conclusion", target_text="It gives 240 MW in summer.")
    assert run.research.conclusion.version == 2
    assert not conclusion_challenged(run.research)


@pytest.mark.rule("D40")
def test_a_conclusion_that_was_weakened_is_stated_anew_by_code() -> None:
    run = Run()
    challenge = run.challenge("conclusion", target_text="It gives 240 MW.")
    run.run_challenge(challenge)
    run.record(challenge, "weakened", [run.source("only in summer")], amended_text="It gives 240 MW in summer.")
    assert (run.research.conclusion.text, run.research.conclusion.version) == ("It gives 240 MW in summer.", 2)


@pytest.mark.rule("D40")
def test_a_verdict_on_an_older_conclusion_does_not_overwrite_a_newer_one() -> None:
    run = Run()
    challenge = run.challenge("conclusion", target_text="It gives 240 MW.")
    run.run_challenge(challenge)
    run.do(decide_scratch, "", "It gives 100 MW.")
    run.record(challenge, "weakened", [run.source("only in summer")], amended_text="It gives 240 MW in summer.")
    assert (run.research.conclusion.text, run.research.conclusion.version) == ("It gives 100 MW.", 2)


@pytest.mark.rule("D40", "D38")
def test_a_refuted_conclusion_asks_what_holds_instead() -> None:
    run = Run()
    challenge = run.challenge("conclusion", target_text="It gives 240 MW.")
    run.run_challenge(challenge)
    run.record(challenge, "refuted", [run.source("it gives 100")])
    assert run.question("q_002").spawned_by == "code"
    assert not conclusion_challenged(run.research)


@pytest.mark.rule("D40")
@pytest.mark.parametrize("cap", [1, 3, 7, 12])
def test_when_every_allowed_strategy_was_inconclusive_an_explanation_passes(cap: int) -> None:
    run = Run(max_challenges_per_target=cap)
    run.do(decide_scratch, "", "It gives 240 MW.")
    for number, strategy in enumerate(STRATEGIES[:cap], 1):
        assert not conclusion_exhausted(run.research)
        challenge = run.challenge("conclusion", strategy=strategy, query=f"other words {number}")
        run.run_challenge(challenge, "no_results")
        run.record(challenge, "inconclusive")
    assert conclusion_exhausted(run.research)
    assert "say in why why it stands nevertheless" in " ".join(exploration_gate(run.research))
    assert "conclusion" not in " ".join(exploration_gate(run.research, "the folder holds nothing else")).lower()


@pytest.mark.rule("D39")
def test_an_open_challenge_shows_in_the_summary_and_stops_the_gate() -> None:
    run = claimed()
    run.do(decide_challenge, **attack())
    assert "- [ch_001] on c_001 by negation" in frontier_summary(run.research)
    assert "ch_001 is open: run its query and record_challenge_result." in exploration_gate(run.research)
    run.run_challenge("ch_001")
    assert "run, ok" in frontier_summary(run.research)
    run.record("ch_001", "survived")
    assert "ch_001" not in frontier_summary(run.research) + " ".join(exploration_gate(run.research))
