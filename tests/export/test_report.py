"""The report that goes out, and the plain results."""

import json

import pytest
from export.researches import (
    at,
    challenge,
    claim,
    drafted,
    ended,
    evaluated,
    opened,
    plant,
    question,
    settled,
    source,
    synthesis,
)
from hypothesis import given
from hypothesis import strategies as st

from zetetic.export import (
    References,
    final_summary,
    render_report,
    result_claims,
    result_gaps,
    result_sources,
    shortfalls,
    summary_lines,
)
from zetetic.export.draft import notes_draft
from zetetic.state import events as ev
from zetetic.state.citations import sections, uncited_sentences
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.values import Gap, Holdings

DRAFT = """# A title of the model

It gives 240 MW. [c_001] It was built in 1990 [c_002].

## Details
- Both say so [c_002, c_001].

## Gaps
- Who paid is unknown [q_002].

## References
1. https://example.com
"""


def finished(*more: ev.Event, draft: str = DRAFT, **run: object) -> Research:
    return plant(*more, synthesis(), drafted(draft), ended(), **run)


def part(report: str, title: str) -> str:
    """The text of one section of a report."""
    return next(section.body for section in sections(report) if section.title == title)


def gaps_of(report: str) -> list[str]:
    return [line for line in part(report, "Gaps and assumptions").split("\n") if line]


@pytest.mark.rule("D44", "D45", "L12")
def test_the_whole_report() -> None:
    assert (
        render_report(finished())
        == """# How big is the plant?

- Scope: One plant.
- Status: complete
- Evidence Checked: 3 sources over 3 domains; claims: 1 UNVERIFIED, 1 VERIFIED; challenges: 1 survived
- Iterations: 0 of 60
- Decision: stop (finalized)
- Remaining Gaps: none
- Next Action: none: the run is complete

## Summary

It gives 240 MW. [1][2] It was built in 1990 [2, unverified].

## Details

- Both say so [1][2][2, unverified].

## Verification status

Coverage: of 3 factual sentences 1 cite verified claims only, 2 cite a claim that is not verified, 0 cite none.

- **VERIFIED**: The plant gives 240 MW. [1][2]
  - "quote 1 of The plant gives 240 MW." [1]
  - "quote 2 of The plant gives 240 MW." [2] (not declared independent)
  - Challenges: negation survived (query 1)
- **UNVERIFIED**: The plant was built in 1990. [2, unverified]
  - "quote 2 of The plant was built in 1990." [2]
  - to verify it: a second source
  - Challenges: none

## Gaps and assumptions

- Who paid is unknown (q_002).

- None that code could find.

## Sources

1. Page 1. <https://site1.org/page> (site1.org; published 2016-05-01; read 2026-01-01)
2. Page 2. <https://site2.org/page> (site2.org; read 2026-01-01; file: docs/plant.pdf)

### Also read

- Page 3. <https://site3.org/page> (site3.org; read 2026-01-01; read, nothing relevant)
""".replace("(q_002)", "[no source]")
    )  # there is no such question


# References and sources.


@pytest.mark.rule("D44")
def test_numbers_follow_the_first_citation() -> None:
    research = plant(source(9), claim(9, "First.", 9, 2, status="VERIFIED"), claim(8, "Second.", 1, status="VERIFIED"))
    references = References(research)
    assert references.resolve("B [c_009]. A [c_008] [c_009]") == "B [1][2]. A [3] [1][2]"
    assert [s.id for s in references.sources()] == ["s_009", "s_002", "s_001"]


@pytest.mark.rule("D45")
def test_what_is_not_verified_is_marked() -> None:
    research = plant(
        claim(3, "Fell.", 3, status="REFUTED"),
        claim(4, "Withdrawn.", 3, status="RETRACTED"),
        claim(5, "Bare."),
        question(2, "Who?"),
        challenge(7, "c_001", "survived"),
    )
    references = References(research)
    assert references.resolve("[c_001, c_002] [c_003] [c_004] [c_005] [q_002] [s_003] [ch_007]") == (
        "[1][2][2, unverified] [3, refuted] [3, retracted] [unverified] (q_002) [3] (ch_007)"
    )


# CASES 19, 20, 21: only sources of the research are listed, once, and number n opens source n.
@pytest.mark.rule("D44")
def test_only_sources_that_were_read_are_listed() -> None:
    draft = "It gives 240 MW [c_001] [7] (https://evil.org/a). See [this](https://example.com) [c_099, s_099].\n\n"
    report = render_report(finished(draft=draft + "## Sources\n\n7. https://evil.org/b\n"))
    assert "evil" not in report
    assert "example.com" not in report
    assert "[7]" not in report
    assert "It gives 240 MW [1][2]. See this [no source]." in report
    assert part(report, "Sources").count("site") == 4


@pytest.mark.rule("D44")
def test_the_stored_text_of_a_source_can_be_named() -> None:
    report = render_report(finished(), page_path=lambda s: f"pages/{s.id}.txt")
    assert (
        "1. Page 1. <https://site1.org/page> (site1.org; published 2016-05-01; read 2026-01-01; text: pages/s_001.txt)"
        in report
    )


@pytest.mark.rule("D45")
def test_foreign_text_cannot_pass_for_a_reference() -> None:
    research = finished(source(4), claim(4, "It is [1] *big* <b>.", 4, status="VERIFIED"), draft="It is big [c_004].")
    report = render_report(research)
    assert r"**VERIFIED**: It is \[1\] \*big\* \<b>. [1]" in report


# CASES 18: no source, no invented one, and the run is not complete.
@pytest.mark.rule("D46")
def test_without_sources_the_report_says_so() -> None:
    empty = fold(Research(), [opened(), synthesis("breaker:cost"), ended("reported", "breaker:cost")])
    report = render_report(empty)
    assert part(report, "Summary") == "Nothing could be established."
    assert part(report, "Sources") == "No source is cited."
    assert "- No source was read; of 0 searches 0 failed." in gaps_of(report)
    assert "- incomplete analysis\n" in report


# What stands and what fell.


@pytest.mark.rule("D44", "D45")
def test_a_refuted_claim_is_stated_under_gaps_only() -> None:
    fell = [
        claim(3, "It gives 90 MW.", 3, status="REFUTED"),
        challenge(2, "c_003", "refuted", strategy="primary_source", evidence="its own page", source_ids=("s_001",)),
    ]
    draft = "It gives 240 MW [c_001]. It gives 90 MW [c_003].\n\n- A\n- Only 90 MW [c_003].\n\n|a|\n|-|\n|90 [c_003]|\n"
    report = render_report(finished(*fell, draft=draft))
    assert part(report, "Summary") == "It gives 240 MW [1][2].\n\n- A\n\n|a|\n|-|"
    assert "90" not in part(report, "Verification status")
    assert gaps_of(report)[:2] == [
        '- Refuted: "It gives 90 MW." [3, refuted] — a search for primary source found: its own page [1]',
        '- Left out, since what it rests on fell: "It gives 90 MW." [3, refuted] — a search for primary source found: '
        "its own page [1]",
    ]
    assert "Coverage: of 2 factual sentences 1 cite verified claims only" in report


@pytest.mark.rule("D34", "D45")
def test_contradictions_name_both_sides() -> None:
    pair = ev.ClaimsLinked(at=at(5), claim_id="c_001", other_id="c_002", relation="contradicts", question_id="q_004")
    report = render_report(finished(question(4, "Which holds?"), pair, *settled("q_004", "unresolvable", "the first")))
    assert part(report, "Contradictions") == (
        '- "The plant gives 240 MW." [1][2] against "The plant was built in 1990." [2, unverified] — the question '
        "about it (q_004) is unresolvable: the first"
    )
    assert "- Not resolved (q_004): Which holds? Assumption: the first" in gaps_of(report)


@pytest.mark.rule("D34")
def test_a_contradiction_that_was_settled_is_told_as_a_refutation() -> None:
    pair = ev.ClaimsLinked(at=at(5), claim_id="c_001", other_id="c_003", relation="contradicts", question_id="q_004")
    report = render_report(finished(claim(3, "It gives 90 MW.", 3, status="REFUTED"), pair))
    assert "### Contradictions" not in report
    assert '- Refuted: "It gives 90 MW." [3, refuted] — it contradicts "The plant gives 240 MW." [1][2]' in gaps_of(
        report
    )


@pytest.mark.rule("D33")
def test_quotes_come_with_their_stance_and_independence() -> None:
    research = finished(
        ev.EvidenceAdded(
            at=at(9),
            claim_id="c_001",
            evidence={"source_id": "s_003", "quote": "240 MW it is", "independence": "other owner"},
        ),
        ev.EvidenceAdded(
            at=at(9), claim_id="c_002", evidence={"source_id": "s_003", "quote": "only 90", "stance": "contradicts"}
        ),
    )
    report = render_report(research)
    assert '  - "240 MW it is" [3] (independent: other owner)' in report
    assert '  - against it: "only 90" [3]' in report


@pytest.mark.rule("D33")
def test_a_copy_is_shown_as_not_counted() -> None:
    copy = {"source_id": "s_003", "quote": "240 MW it is", "independence": "other owner"}
    research = finished(ev.EvidenceAdded(at=at(9), claim_id="c_001", evidence=copy))
    same = research.sources["s_003"].model_copy(update={"sha256": research.sources["s_001"].sha256})
    copied = research.model_copy(update={"sources": {**research.sources, "s_003": same}})
    assert '"240 MW it is" [3] (not counted: it and an earlier source have the same text)' in render_report(copied)


@pytest.mark.rule("D45")
def test_the_drafts_own_verification_status_gives_way_to_the_codes() -> None:
    report = render_report(
        finished(draft="## Summary\nA [c_001].\n## Verification status\nAll sure.\n### More\nYes.\n")
    )
    assert report.count("## Verification status") == 1
    assert "All sure" not in report
    assert "### More" not in report
    assert "of 1 factual sentences 1 cite" in report


# CASES 24: a figure comes with its coverage.
@pytest.mark.rule("D44")
def test_sentences_that_cite_nothing_are_counted() -> None:
    report = render_report(finished(draft="One [c_001]. Two [c_002]. Three. Four [c_077].\n## Gaps\nFive."))
    assert part(report, "Verification status").split("\n")[0] == (
        "Coverage: of 4 factual sentences 1 cite verified claims only, 1 cite a claim that is not verified, "
        "2 cite none."
    )


# Gaps that code adds.


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
        "- Not resolved (q_003): Who runs it? Assumption: the state",
        "- Still open (q_004, blocked): Is it safe?",
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
            synthesis("breaker:cost", detail="0.50 US dollars", missing=("1 source of 5.",)),
            drafted("It gives 240 MW [c_001]."),
            evaluated(2, "Reported", 25, kind="report", failures=("no quote",), missing="the year"),
            ended("reported", "breaker:cost", detail="0.50 US dollars"),
        ],
    )
    assert gaps_of(render_report(research)) == [
        "- Still open (q_001, pending): How big is the plant?",
        "- no price list",
        "- Stated as the conclusion, but not established: It gives 240 MW.",
        "- No challenge of the conclusion came to a verdict; it stands because: no page argues with it",
        "- The research was cut short by breaker:cost (0.50 US dollars).",
        "- The exploration gate was not met: 1 source of 5.",
        "- The evaluation did not accept the report: no quote; the year",
        "- Evaluation answers that could not be read and were taken at their conservative value: 1.",
        "- Evaluation arms that gave no answer and were taken at their conservative value: 2.",
        "- Only local documents could be searched. They hold 2 sources of 1 origins, so that was asked for in place of "
        "5 sources over 3 domains.",
    ]


@pytest.mark.rule("D17")
def test_what_passed_on_a_stored_reason_is_told() -> None:
    research = finished(*settled("q_001", "resolved", "240", "c_002", why_unverified="one page only"))
    assert gaps_of(render_report(research))[-1] == "- Answered without a verified claim (q_001): one page only"


# Reports by code, and by the offline model.


@pytest.mark.rule("D46")
def test_without_an_accepted_draft_code_writes_the_report_from_the_notes() -> None:
    research = plant(
        question(2, "Who runs it?"),
        claim(3, "The state runs it.", 3, question_id="q_002"),
        claim(4, "It fell.", 3, status="REFUTED"),
        claim(5, "It is red.", 3, question_id="q_077"),
        *settled("q_002", "resolved", "The state does. It has for years.", "c_003"),
        synthesis("breaker:tokens"),
        ended("failed", "breaker:tokens"),
    )
    assert (
        notes_draft(research)
        == """## Summary

It gives 240 MW. [c_001]

## Details

### The objective

- The plant gives 240 MW. [c_001]
- The plant was built in 1990. [c_002]

### Who runs it?

The state does. [c_003] It has for years. [c_003]

- The state runs it. [c_003]

### Other findings

- It is red. [c_005]"""
    )
    assert uncited_sentences(notes_draft(research)) == ()
    report = render_report(research)
    assert "> This report was written by code from the notes; no report written by the model was accepted." in report
    assert "- The research was cut short by breaker:tokens." in gaps_of(report)


@pytest.mark.rule("D46")
def test_a_draft_rendered_by_code_is_marked() -> None:
    research = plant(drafted("A [c_001].", rendered_by_code=True))
    assert "> This report was written by code" in render_report(research)
    assert "> This report was written by code" not in render_report(finished())


@pytest.mark.rule("D45")
def test_the_offline_model_is_named_as_extractive() -> None:
    assert "> This report is extractive:" in render_report(finished(model="offline"))
    assert "extractive" not in render_report(finished(model="openai:m"))


def test_a_rendered_report_whose_draft_is_not_at_hand_is_returned() -> None:
    assert render_report(plant(ended("stopped", "user_stop", report="# Report\n\nA [1].\n"))) == "# Report\n\nA [1].\n"


@pytest.mark.rule("D46", "D54")
def test_a_run_that_went_on_is_not_reported_with_its_old_report() -> None:
    research = plant(
        ended("reported", "breaker:cost", report="# An old report\n"),
        drafted("", rendered_by_code=True),
        ended("reported", "breaker:tokens"),
    )
    report = render_report(research)
    assert "An old report" not in report
    assert "- Decision: stop (breaker:tokens)" in report


@pytest.mark.rule("L2", "D46")
def test_rendering_the_ended_research_again_gives_the_report_that_went_out() -> None:
    for before in (plant(synthesis(), drafted(DRAFT)), plant(synthesis(), drafted("", rendered_by_code=True))):
        report = render_report(fold(before, [ended()]))
        assert render_report(fold(before, [ended(report=report)])) == report


# The final summary.


@pytest.mark.rule("L12")
@pytest.mark.parametrize(
    ("status", "reason", "words", "first"),
    [
        ("complete", "finalized", "complete", "Scope: One plant. Excluded: prices."),
        ("reported", "breaker:cost", "stopped (reported, breaker:cost)", "incomplete analysis"),
        ("stopped", "user_stop", "stopped (user_stop)", "incomplete analysis"),
        ("blocked", "blocked:provider", "blocked (blocked:provider)", "incomplete analysis"),
        ("failed", "breaker:tokens", "stopped (failed, breaker:tokens)", "incomplete analysis"),
    ],
)
def test_the_summary_has_one_shape(status: str, reason: str, words: str, first: str) -> None:
    research = plant(ended(status, reason), exclusions=("prices",))
    summary = final_summary(research)
    assert list(summary) == [
        "Scope",
        "Status",
        "Evidence Checked",
        "Iterations",
        "Decision",
        "Remaining Gaps",
        "Next Action",
    ]
    assert summary["Status"] == words
    assert summary_lines(research)[0] == first


# Plain results.


def test_results_are_plain_values() -> None:
    research = finished(question(2, "Who paid?"))
    claims, sources, gaps = result_claims(research), result_sources(research), result_gaps(research)
    assert json.loads(json.dumps([claims, sources, gaps])) == [claims, sources, gaps]
    assert claims[0]["evidence"][1]["url"] == "https://site2.org/page"
    assert claims[0]["challenges"] == [
        {"id": "ch_001", "strategy": "negation", "query": "query 1", "outcome": "survived"}
    ]
    assert [s["claim_ids"] for s in sources] == [["c_001"], ["c_001", "c_002"], []]
    assert [(g["kind"], g["question_id"]) for g in gaps] == [("open", "q_002")]
    assert len(shortfalls(research, DRAFT)) == 0


@given(st.text(), st.text())
def test_any_draft_and_claim_can_be_rendered(draft: str, text: str) -> None:
    report = render_report(finished(claim(3, text, 3), draft=f"{draft} [c_003]"))
    assert report.startswith("# How big is the plant?\n\n- Scope")
    assert report.count("\n## Verification status\n") >= 1
