"""Notes over their size: when a consolidation turn is due, what it may do, and what it never touches."""

import pytest
from state.build import Run

from zetetic.state import claims
from zetetic.state.consolidation import consolidation_due, near_pairs
from zetetic.state.decision import Refusal
from zetetic.state.frontier_commands import decide_atomic, decide_reopen
from zetetic.state.prompt_notes import notes_tokens, prompt_notes
from zetetic.state.turns import NOTES_TOOLS, allowed_tools


def told(run: Run, number: int, text: str) -> str:
    """A claim from a page of its own that says exactly this."""
    return run.claim(text, run.source(f"On the plant: {text} So the page ends, number {number}."))


def crowded(**bounds: int) -> Run:
    """A run whose notes have outgrown 300 tokens."""
    run = Run(notes_max_tokens=300, **bounds)
    run.do(decide_atomic, "one figure")
    for number in range(12):
        told(run, number, f"Unit {number} of the plant gives {number + 20} megawatts in a year of little rain.")
    return run


@pytest.mark.rule("D29", "D50")
def test_notes_over_their_size_make_the_next_turn_a_consolidation_and_not_the_one_after_it() -> None:
    run = crowded()
    assert notes_tokens(run.research) > 300
    stage = run.turn()
    assert stage == "consolidating"
    assert allowed_tools(run.research) == NOTES_TOOLS
    assert run.turn() == "acting"


@pytest.mark.rule("D29", "A26")
def test_it_belongs_to_no_attempt_and_charges_none() -> None:
    run = Run(notes_max_tokens=300, attempt_turns=3)
    run.do(decide_atomic, "one figure")
    assert run.turn() == "acting"
    before = run.research.attempt
    assert before is not None
    for number in range(12):
        told(run, number, f"Unit {number} of the plant gives {number + 20} megawatts in a year of little rain.")
    run.close_turn()
    assert run.turn() == "consolidating"
    run.close_turn()
    after = run.research.attempt
    assert after is not None
    assert (after.number, after.turns) == (before.number, before.turns)
    assert run.research.reminders == 0, "there may be nothing to merge, so silence is an answer"


@pytest.mark.rule("D29")
def test_it_comes_again_when_as_much_has_been_added() -> None:
    run = crowded()
    run.turn()
    assert consolidation_due(run.research) == 0
    size = run.research.consolidated
    for number in range(12, 40):
        told(run, number, f"Unit {number} of the plant gives {number + 20} megawatts in a year of little rain.")
    assert notes_tokens(run.research) >= size + 300
    assert consolidation_due(run.research) == notes_tokens(run.research)


@pytest.mark.rule("D29")
def test_what_nearly_repeats_is_found_and_what_differs_in_a_figure_or_contradicts_is_not() -> None:
    run = Run()
    run.do(decide_atomic, "one figure")
    first = told(run, 1, "The plant gives 40 megawatts of power to the whole valley below the dam each year.")
    second = told(
        run, 2, "The plant gives 40 megawatts of power to the whole valley below the dam each and every year."
    )
    told(run, 3, "The plant gives 41 megawatts of power to the whole valley below the dam each year.")
    other = told(run, 4, "The plant does not give 40 megawatts of power to the whole valley below the dam each year.")
    assert [(a.id, b.id) for a, b in near_pairs(run.research, 9)] == [(first, second)]
    run.do(claims.decide_link, first, "contradicts", second)
    assert near_pairs(run.research, 9) == ()
    assert other


@pytest.mark.rule("D29", "D26", "D27")
def test_in_it_scratch_is_replaced() -> None:
    run = crowded()
    run.do(claims.decide_scratch, "a long thought")
    run.do(claims.decide_scratch, "what matters", replace=True)
    assert run.research.scratch == "what matters"


@pytest.mark.rule("D29")
def test_a_merged_claim_stays_named_and_is_no_longer_told_in_the_prompt() -> None:
    run = crowded()
    run.do(claims.decide_retract, "c_005", "merged into c_004")
    line = next(x for x in prompt_notes(run.research, 10_000).split("\n") if x.startswith("[c_005]"))
    assert line.startswith("[c_005] RETRACTED merged into c_004")


@pytest.mark.rule("D17", "D38")
def test_a_claim_that_carries_an_answer_is_not_withdrawn_under_it() -> None:
    run = crowded()
    run.answer("The first unit gives 20 megawatts.", ["c_001"])
    assert run.research.questions["q_001"].status == "resolved"
    refused = run.decide(claims.decide_retract, "c_001", "misread")
    assert isinstance(refused, Refusal)
    assert "reopen_question first" in refused.message
    run.do(decide_reopen, "q_001", "c_001 was misread")
    run.do(claims.decide_retract, "c_001", "misread")
