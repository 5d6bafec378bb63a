"""What a report lists as not established: each thing once, in words, and counted in the summary."""

import pytest
from export.researches import (
    at,
    claim,
    drafted,
    ended,
    evaluated,
    finished,
    gaps_of,
    opened,
    question,
    settled,
    source,
    synthesis,
)

from zetetic.export import final_summary, render_report, shortfalls
from zetetic.state import events as ev
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.values import Gap, Holdings


@pytest.mark.rule("D21", "D44")
def test_questions_the_draft_does_not_name_are_added() -> None:
    asked = [question(2, "Who paid?"), question(3, "Who runs it?"), question(4, "Is it safe?")]
    research = finished(
        *asked,
        *settled("q_003", "unresolvable", "the state"),
        *settled("q_004", "blocked", ""),
        draft="A [c_001].\n## Open questions\nWho paid?",
    )
    assert gaps_of(render_report(research)) == [
        "Who paid?",
        "- Not answered: Who runs it? (q_003) Assumed in its place: the state",
        "- Not answered: Is it safe? (q_004) It waits for something that was missing.",
    ]


@pytest.mark.rule("D40", "D42", "D43", "D46", "A8")
def test_everything_the_run_lacks_stands_under_gaps() -> None:
    research = fold(
        Research(),
        [
            opened(holdings=Holdings(local_only=True, sources=2, domains=1)),
            source(1),
            claim(1, "It gives 240 MW.", 1),
            ev.GapNoted(at=at(3), gap=Gap(text="no price list")),
            ev.ConclusionStated(at=at(4), text="It gives 240 MW."),
            ev.ConclusionExplained(at=at(4), why="no page argues with it"),
            evaluated(1, "Retry", 10, parse_defaults=("verdict",), unavailable=("judge", "critique")),
            synthesis(
                "breaker:cost",
                detail="0.50 US dollars",
                missing=("1 sources were read of at least 5: fetch more pages.",),
            ),
            drafted("It gives 240 MW [c_001]."),
            evaluated(2, "Reported", 25, kind="report", failures=("no quote",), missing="the year"),
            ended("reported", "breaker:cost", detail="0.50 US dollars"),
        ],
    )
    assert gaps_of(render_report(research)) == [
        "- Not answered: How big is the plant? (q_001) 1 attempt found no answer that was accepted.",
        "- no price list",
        "- Stated as the conclusion, but not established: It gives 240 MW.",
        "- No search for the opposite of the conclusion came to a verdict; it stands because: no page argues with it",
        "- The research was cut short: its money was used up (breaker:cost; 0.50 US dollars).",
        "- 1 of the 5 sources that a report should rest on could be read.",
        "- The evaluation did not accept the report: no quote; the year",
        "- Answers of the evaluation that could not be read, each of which was taken as a no: 1.",
        "- Checks of the evaluation that gave no answer, each of which was taken as a no: 2.",
        "- Only local documents could be searched. They hold 2 sources of 1 origin, so that was asked for in place of "
        "5 sources of 3 origins.",
    ]


@pytest.mark.rule("D43", "L12")
def test_each_gap_is_told_once_and_the_summary_counts_what_the_report_lists() -> None:
    noted = ev.GapNoted(at=at(3), gap=Gap(text="No answer was established: Who runs it?", question_id="q_003"))
    twice = ev.GapNoted(at=at(4), gap=Gap(text="no price list", question_id="q_001"))
    research = finished(
        question(2, "Who paid?"),
        question(3, "Who runs it?"),
        noted,
        twice,
        draft="A [c_001].\n\n## Gaps\n\n- None.\n- Who paid? [q_002]\n- No price list",
    )
    listed = gaps_of(render_report(research))
    assert listed == [
        "- None.",
        "- Who paid? (q_002)",
        "- No price list",
        "- Not answered: Who runs it? (q_003) It was not looked into.",
    ]
    assert final_summary(research)["Remaining Gaps"] == (
        "3: Who paid?; No price list; Not answered: Who runs it? (q_003) It was not looked into."
    )
    assert [gap.text for gap in shortfalls(research)].count("No answer was established: Who runs it?") == 0


@pytest.mark.rule("D45")
def test_a_gap_section_that_says_none_gives_way_to_what_code_finds() -> None:
    draft = "A [c_001].\n\n## Gaps\n\nNone."
    assert gaps_of(render_report(finished(draft=draft))) == ["- None that code could find."]
    assert gaps_of(render_report(finished(question(2, "Who paid?"), draft=draft))) == [
        "- Not answered: Who paid? (q_002) It was not looked into."
    ]


@pytest.mark.rule("D45")
def test_no_heading_stands_over_nothing() -> None:
    draft = "## Summary\n\n## Details\n\n### Power\n\nIt gives 240 MW [c_001].\n\n### Age\n\n## More\n"
    report = render_report(finished(draft=draft))
    assert "## Details\n\n### Power\n\nIt gives 240 MW [1][2].\n\n## Verification status" in report
    assert "## Summary" not in report


@pytest.mark.rule("D45")
def test_titles_are_whole_where_cited_and_short_elsewhere() -> None:
    long = "All that is known of " + "the plant and " * 12 + "its age"
    report = render_report(
        finished(
            source(2, title=long, location="docs/plant.pdf"),
            source(3, title=long),
            source(4, note="nearly the same text as s_002"),
        )
    )
    assert f"2. {long}. <https://site2.org/page>" in report
    also = report.partition("### Also read")[2]
    short = f"{long[:79].rstrip()}…"
    assert f"- {short}. <https://site3.org/page>" in also
    assert f"nearly the same text as “{short}”" in also
    assert long not in also


@pytest.mark.rule("D17")
def test_what_passed_on_a_stored_reason_is_told() -> None:
    research = finished(*settled("q_001", "resolved", "240", "c_002", why_unverified="one page only"))
    assert gaps_of(render_report(research))[-1] == (
        "- The answer to “How big is the plant?” (q_001) rests on no verified claim: one page only"
    )
