"""The report that goes out, and the plain results."""

import json

import pytest
from export.researches import (
    DRAFT,
    at,
    challenge,
    claim,
    drafted,
    ended,
    finished,
    gaps_of,
    opened,
    part,
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
from zetetic.state.citations import uncited_sentences
from zetetic.state.evolve import fold
from zetetic.state.research import Research


@pytest.mark.rule("D44", "D45", "L12")
def test_the_whole_report() -> None:
    assert render_report(finished()) == WHOLE.replace("(q_002)", "[no source]")  # there is no such question


WHOLE = """# How big is the plant?

- Scope: One plant.
- Status: complete
- Evidence Checked: 3 sources from 3 sites; claims: 1 verified, 1 unverified; put to a search for their opposite: 1 survived
- Iterations: 0 attempts (passes at one question) of at most 60, in 0 turns (calls of the model for its next step) of at most 60
- Decision: stop, since a report was written (finalized)
- Remaining Gaps: 1: Who paid is unknown.
- Next Action: none: the run is complete

| Question | Answer | Status | Sources |
|---|---|---|---|
| How big is the plant? | It gives 240 MW. | verified | [1][2] |

## Summary

It gives 240 MW. [1][2] It was built in 1990 [2, unverified].

## Details

- Both say so [1][2][2, unverified].

## Verification status

VERIFIED: stated by at least 2 independent sources, and unharmed by at least 1 search for the opposite. UNVERIFIED: that is not shown; it may be right all the same. Coverage: of 3 factual sentences 1 cite verified claims only, 2 cite a claim that is not verified, 0 cite none.

- **VERIFIED**: The plant gives 240 MW. [1][2]
  - "quote 1 of The plant gives 240 MW." [1]
  - "quote 2 of The plant gives 240 MW." [2] (not declared independent)
  - a search for its opposite found nothing against it ("query 1")
- **UNVERIFIED**: The plant was built in 1990. [2, unverified]
  - "quote 2 of The plant was built in 1990." [2]
  - to verify it: a second source
  - no search for its opposite was made

## Gaps and assumptions

- Who paid is unknown (q_002).

## Sources

1. Page 1. <https://site1.org/page> (site1.org; published 2016-05-01; read 2026-01-01)
2. Page 2. <https://site2.org/page> (site2.org; read 2026-01-01; file: docs/plant.pdf)

### Also read

- Page 3. <https://site3.org/page> (site3.org; read 2026-01-01; read, nothing relevant)
"""  # noqa: E501


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
    assert r"**VERIFIED**: It is \[1\] \*big\* \<b>. [3]" in report


# CASES 18: no source, no invented one, and the run is not complete.
@pytest.mark.rule("D46")
def test_without_sources_the_report_says_so() -> None:
    empty = fold(Research(), [opened(), synthesis("breaker:cost"), ended("reported", "breaker:cost")])
    report = render_report(empty)
    assert part(report, "Summary") == "Nothing could be established."
    assert part(report, "Sources") == "No source is cited."
    assert "- No source was read; of 0 searches 0 failed." in gaps_of(report)
    assert "| How big is the plant? | – | not answered | see the gaps |" in report
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
        '- Refuted: "It gives 90 MW." [3, refuted] — a search for its original source found: its own page [1]',
        '- Left out, since what it rests on fell: "It gives 90 MW." [3, refuted] — a search for its original source '
        "found: its own page [1]",
    ]
    assert "Coverage: of 2 factual sentences 1 cite verified claims only" in report


@pytest.mark.rule("D34", "D45")
def test_contradictions_name_both_sides() -> None:
    pair = ev.ClaimsLinked(at=at(5), claim_id="c_001", other_id="c_002", relation="contradicts", question_id="q_004")
    report = render_report(finished(question(4, "Which holds?"), pair, *settled("q_004", "unresolvable", "the first")))
    assert part(report, "Contradictions") == (
        "- [1][2] against [2, unverified] — which of the two holds was asked (q_004) and could not be settled: the "
        "first"
    )
    assert "- Not answered: Which holds? (q_004) Assumed in its place: the first" in gaps_of(report)
    untold = render_report(finished(question(4, "Which holds?"), pair, draft="It gives 240 MW [c_001]."))
    assert part(untold, "Contradictions") == (
        '- "The plant gives 240 MW." [1][2] against "The plant was built in 1990." [2, unverified] — which of the two '
        "holds was asked (q_004) and is still open"
    )


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
    assert "of 1 factual sentence 1 cite" in report


# CASES 24: a figure comes with its coverage.
@pytest.mark.rule("D44")
def test_sentences_that_cite_nothing_are_counted() -> None:
    report = render_report(finished(draft="One [c_001]. Two [c_002]. Three. Four [c_077].\n## Gaps\nFive."))
    assert (
        part(report, "Verification status")
        .split("\n")[0]
        .endswith(
            "Coverage: of 4 factual sentences 1 cite verified claims only, 1 cite a claim that is not verified, "
            "2 cite none."
        )
    )


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
    assert "- The research was cut short: its tokens were used up (breaker:tokens)." in gaps_of(report)


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
        (
            *("reported", "breaker:cost"),
            *("stopped, since its money was used up (reported, breaker:cost)", "incomplete analysis"),
        ),
        ("stopped", "user_stop", "stopped, since it was stopped by hand (user_stop)", "incomplete analysis"),
        (
            *("blocked", "blocked:model:connection"),
            *("blocked, since the model could not be reached (blocked:model:connection)", "incomplete analysis"),
        ),
        (
            *("failed", "breaker:tokens"),
            *("stopped, since its tokens were used up (failed, breaker:tokens)", "incomplete analysis"),
        ),
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
