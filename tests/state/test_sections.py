"""A report in sections: when, which questions each is on, what is refused, how they come together."""

import pytest
from state.build import Run

from zetetic.state.citations import sections
from zetetic.state.runs import decide_finalize
from zetetic.state.sections import composed, next_section, plan_sections


def large(questions: int = 4, claims: int = 5, **bounds: object) -> Run:
    """A run in synthesis whose notes are several times what one prompt holds."""
    run = Run(notes_max_tokens=200, min_sources=0, min_domains=0, **bounds)
    for number in range(questions):
        run.add(f"What does unit {number} give on wheel {'abcdefghij'[number]}?", 0.4)
    for number in range(questions):
        run.start()
        told = [
            run.claim(f"Unit {number} gave {claims * number + n + 20} megawatts in the dry summer of its year {n}.")
            for n in range(claims)
        ]
        run.resolve(f"Unit {number} gave {claims * number + 20} megawatts [{told[0]}].", told[:1])
        run.route()
    return run.synthesis()


def hand_in(run: Run, text: str) -> str:
    return run.do(decide_finalize, text)


@pytest.mark.rule("D45")
def test_small_notes_are_reported_in_one() -> None:
    run = Run()
    run.add("What does it give?", 0.4)
    run.answer()
    assert plan_sections(run.synthesis().research, 9) == ()


@pytest.mark.rule("D45", "D55")
def test_large_notes_are_reported_in_sections_that_together_hold_every_question_once() -> None:
    run = large()
    assert run.turn() == "synthesizing"
    plan = run.research.report.plan
    assert len(plan) > 1
    assert [q for part in plan for q in part] == ["q_002", "q_003", "q_004", "q_005"]
    assert run.research.turn.detail == f"section 1 of {len(plan)}"


@pytest.mark.rule("D46")
@pytest.mark.parametrize("turns", range(2, 12))
def test_there_are_never_more_sections_than_turns_allow(turns: int) -> None:
    run = large(questions=8)
    plan = plan_sections(run.research, turns)
    assert len(plan) <= max(0, turns - 3)
    if plan:
        assert sorted(q for part in plan for q in part) == [f"q_{n:03d}" for n in range(2, 10)]


@pytest.mark.rule("D44")
def test_a_section_is_refused_for_what_is_wrong_in_it_and_nothing_else() -> None:
    run = large()
    run.turn()
    refused = run.refused(decide_finalize, "### Unit 0\n\nUnit 0 gave 20 megawatts. It gave 21 [c_999].")
    assert "c_999" in refused
    assert "Every factual sentence cites a claim" in refused
    assert "Gaps" not in refused
    assert "is empty" in run.refused(decide_finalize, "  ")
    assert run.research.report.parts == ()


@pytest.mark.rule("D44", "D45")
def test_the_sections_become_the_details_of_the_report() -> None:
    run = large()
    run.turn()
    count = len(run.research.report.plan)
    for number in range(count):
        assert run.research.turn.detail == f"section {number + 1} of {count}"
        assert next_section(run.research) == run.research.report.plan[number]
        hand_in(run, f"# Unit {number}\n\nIt gave something in year {number} [c_001].\n\n## Sources\n\n1. x")
        run.close_turn("finalize_report")
        run.turn()
    assert run.research.turn.detail == "summary"
    hand_in(run, "## Summary\n\nThe units gave power [c_001].\n\n## Gaps\n\n- The winters are not told.\n")
    draft = run.research.report.draft
    assert [(s.level, s.title) for s in sections(draft)] == [
        (2, "Summary"),
        (2, "Details"),
        *((3, f"Unit {n}") for n in range(count)),
        (2, "Gaps"),
    ]
    assert "Sources" not in draft


@pytest.mark.rule("A28", "A13")
def test_a_report_that_is_tried_again_is_written_anew() -> None:
    run = large()
    run.turn()
    for _ in range(len(run.research.report.plan)):
        hand_in(run, "### Unit\n\nIt gave something [c_001].")
        run.close_turn("finalize_report")
        run.turn()
    hand_in(run, "## Summary\n\nThe units gave power [c_001].\n\n## Gaps\n\nNone.\n")
    run.close_turn("finalize_report")
    run.route(passed=False)
    run.turn()
    assert run.research.report.parts == ()
    assert run.research.turn.detail.startswith("section 1 of")


@pytest.mark.rule("D46")
def test_the_last_turn_asks_for_all_of_it() -> None:
    run = large(max_turns=4, synthesis_reserve=0.5)
    while run.research.status == "running" and not run.research.turn.forced_tool:
        run.turn()
        run.close_turn()
    assert (run.research.turn.forced_tool, run.research.turn.detail) == ("finalize_report", "")


def test_without_sections_a_report_stays_as_it_is() -> None:
    text = "intro\n\n## Summary\n\nx [c_001]\n"
    assert composed(text, ()) == text


def test_text_before_the_first_heading_and_gaps_in_the_middle_find_their_places() -> None:
    made = composed("Told at once [c_001].\n\n## Gaps\n\n- a\n\n## Summary\n\nb [c_001]", ("# One\n\nc [c_001]",))
    assert made == (
        "Told at once [c_001].\n\n## Summary\n\nb [c_001]\n\n## Details\n\n### One\n\nc [c_001]\n\n## Gaps\n\n- a\n"
    )
