"""The table at the top of the report."""

import pytest
from export.researches import at, claim, drafted, ended, plant, question, settled, source, synthesis

from zetetic.export import render_report
from zetetic.state import events as ev
from zetetic.state.research import Research
from zetetic.state.values import Evidence


def table_of(research: Research) -> list[list[str]]:
    """The rows of the one table that a report has before its first heading."""
    top = render_report(research).partition("\n## ")[0]
    lines = [line for line in top.splitlines() if line.startswith("|")]
    assert lines[:2] == ["| Question | Answer | Status | Sources |", "|---|---|---|---|"]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def reported(*more: ev.Event, **run: object) -> Research:
    return plant(*more, synthesis(), drafted("It gives 240 MW [c_001]."), ended(), **run)


@pytest.mark.rule("D45", "D32")
def test_each_part_of_the_objective_has_its_answer_its_status_and_its_sources() -> None:
    independent = Evidence(source_id="s_003", quote="Age", independence="another owner")
    research = reported(
        question(2, "How much power?"),
        question(3, "How old | when?"),
        question(4, "Who runs it?"),
        question(5, "Who paid?"),
        question(6, "How many homes?"),
        question(7, "Which holds?", pair=("c_003", "c_004"), spawned_by="code"),
        question(8, "Dropped?", status="pruned"),
        source(4),
        claim(3, "The state runs it.", 3, question_id="q_004"),
        claim(4, "A firm runs it.", 4, question_id="q_004"),
        claim(5, "It feeds 9 homes.", 4, question_id="q_006"),
        claim(6, "It is old.", 1, 2, status="REFUTED"),
        ev.EvidenceAdded(at=at(7), claim_id="c_002", evidence=independent),
        ev.ClaimsLinked(at=at(7), claim_id="c_003", other_id="c_004", relation="contradicts", question_id="q_007"),
        *settled("q_002", "resolved", "It gives 240 MW [c_001]. More is planned [c_002].", "c_001", "c_002"),
        *settled("q_003", "resolved", "Old [c_006]. Built in 1990 [c_002].", "c_006", "c_002"),
        *settled(
            "q_004", "resolved", "Sources disagree: The state runs it [c_003]. Against it: A firm [c_004].", "c_003"
        ),
        *settled("q_005", "unresolvable", "the state"),
        *settled("q_006", "resolved", "Nine homes", "c_005"),
    )
    assert table_of(research) == [
        ["How much power?", "It gives 240 MW.", "verified", "[1][2]"],
        ["How old \\| when?", "Built in 1990.", "from 2 sources, not verified", "[2, 3, unverified]"],
        ["Who runs it?", "The state runs it.", "contradicted", "[3, unverified]; against it: [4, unverified]"],
        ["Who paid?", "–", "not answered", "see the gaps"],
        ["How many homes?", "Nine homes", "from one source", "[4, unverified]"],
    ]


@pytest.mark.rule("D33")
def test_copies_do_not_make_two_sources() -> None:
    research = reported(
        question(2, "How old?"),
        claim(3, "Built in 1990.", 1, 2, question_id="q_002"),
        *settled("q_002", "resolved", "Built in 1990 [c_003].", "c_003"),
    )
    ((_, _, status, _),) = table_of(research)
    assert status == "from sources not shown to be independent"


def test_an_answer_that_rests_on_what_fell_is_none() -> None:
    fell = claim(3, "It gives 90 MW.", 3, status="REFUTED", question_id="q_002")
    research = reported(question(2, "How much?"), fell, *settled("q_002", "resolved", "90 MW [c_003].", "c_003"))
    assert table_of(research) == [["How much?", "–", "not answered", "see the gaps"]]


def test_the_simple_loop_has_no_table() -> None:
    research = plant(synthesis(), drafted("It gives 240 MW."), ended(), loop="simple")
    assert "| Question |" not in render_report(research)
