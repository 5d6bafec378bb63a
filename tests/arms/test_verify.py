"""VERIFY by code: what no model can talk away, and what is asked of the model only after that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arms.stage import up_to_the_arms
from graph.rig import ANSWER, OFFICE, Rig, arms, whole, worker

from zetetic.nodes.arms import ArmView
from zetetic.nodes.verify import _verify
from zetetic.nodes.workbench import Workbench, workbench
from zetetic.state.evaluation import ArmResult
from zetetic.state.figures import loose_figures
from zetetic.state.research import Research

pytestmark = pytest.mark.rule("A3")
Change = Callable[[Research], Research]


def with_claim(**update: Any) -> Change:
    def change(r: Research) -> Research:
        claim = r.claims["c_001"].model_copy(update=update)
        return r.model_copy(update={"claims": {**r.claims, "c_001": claim}})

    return change


def with_link(number: int, **update: Any) -> Change:
    def change(r: Research) -> Research:
        links = list(r.claims["c_001"].evidence)
        links[number] = links[number].model_copy(update=update)
        return with_claim(evidence=tuple(links))(r)

    return change


def with_attempt(**update: Any) -> Change:
    def change(r: Research) -> Research:
        assert r.attempt is not None
        return r.model_copy(update={"attempt": r.attempt.model_copy(update=update)})

    return change


def without_source(r: Research) -> Research:
    return r.model_copy(update={"sources": {"s_001": r.sources["s_001"]}})


def with_one_site(r: Research) -> Research:
    moved = r.sources["s_002"].model_copy(update={"domain": r.sources["s_001"].domain})
    return r.model_copy(update={"sources": {**r.sources, "s_002": moved}})


def with_challenge(outcome: str) -> Change:
    def change(r: Research) -> Research:
        closed = r.challenges["ch_001"].model_copy(update={"outcome": outcome})
        return r.model_copy(update={"challenges": {**r.challenges, "ch_001": closed}})

    return change


def as_it_is(r: Research) -> Research:
    return r


async def verified(bench: Workbench, r: Research) -> ArmResult:
    """What VERIFY says of the attempt in this research."""
    assert r.attempt is not None
    return await _verify(ArmView(bench, r, r.attempt, r.questions[r.attempt.question_id], f"key-{id(r)}", 1e12))


async def said_of(home: Path, change: Change) -> tuple[ArmResult, int]:
    """What VERIFY says of a changed research with a model that passes everything, and how often that was asked."""
    rig = Rig(home, worker(whole()), arms())
    async with workbench(rig.context()) as bench:
        said = await verified(bench, change(await up_to_the_arms(bench)))
    return said, len(rig.evaluator.prompts)


async def test_a_sound_answer_is_asked_about_once_and_passes(home: Path) -> None:
    said, asked = await said_of(home, as_it_is)
    assert (said.passed, said.findings, asked) == (True, [], 1)


REFUSED: dict[str, tuple[Change, str]] = {
    "a quote that the page does not have": (
        with_link(0, quote="The Ortel lighthouse is 43 metres tall."),
        "the quote of c_001 does not stand in s_001",
    ),
    "a page that is not stored": (with_link(1, sha256="0" * 64), "the page that c_001 quotes from s_002 is not stored"),
    "a source that does not exist": (without_source, "c_001 quotes s_002, which is no source"),
    "a claim that does not exist": (with_attempt(claim_ids=("c_001", "c_077")), "there is no claim c_077"),
    "an id in the text that does not exist": (with_attempt(answer=f"{ANSWER} [c_078]"), "there is no claim c_078"),
    "two sources of one site": (with_one_site, "c_001 is not verified: c_001 has 1 independent supporting source(s)"),
    "a link without a reason": (with_link(1, independence=""), "c_001 is not verified: c_001 has 1 independent"),
    "a challenge that was inconclusive": (with_challenge("inconclusive"), "c_001 has survived 0 challenge(s) of 1"),
    "another wording than the one challenged": (
        with_claim(text="The Ortel lighthouse is exactly 42 metres tall."),
        "c_001 has survived 0 challenge(s) of 1",
    ),
    "a refuted claim": (with_claim(status="REFUTED"), "c_001 is REFUTED"),
    "a retracted claim": (with_claim(status="RETRACTED"), "c_001 is RETRACTED"),
    "another number": (with_attempt(answer="It is 43 metres tall [c_001]."), "stand in none of its quotes: 43"),
    "a number that only the claim's own words have": (
        lambda r: with_claim(text="The tower is 42 metres or 138 feet tall.", status="UNVERIFIED")(
            with_attempt(answer="It is 138 feet tall [c_001].")(r)
        ),
        "stand in none of its quotes: 138",
    ),
    "a number without any claim": (
        with_attempt(answer="It is 42 metres tall.", claim_ids=(), why_unverified="best"),
        "stand in none of its quotes: 42",
    ),
    "no claim and no reason": (
        with_attempt(answer="It is tall.", claim_ids=(), why_unverified=""),
        "the answer cites no claim",
    ),
}


@pytest.mark.rule("D31", "D32", "D33")
@pytest.mark.parametrize("fault", REFUSED)
async def test_what_code_finds_is_not_passed_and_no_model_is_asked(home: Path, fault: str) -> None:
    change, finding = REFUSED[fault]
    said, asked = await said_of(home, change)
    assert (said.passed, said.answered, asked) == (False, True, 0)
    assert any(finding in found for found in said.findings), said.findings


@pytest.mark.rule("L6")
async def test_a_page_that_was_changed_in_the_store_proves_nothing(home: Path) -> None:
    import sqlite3

    rig = Rig(home, worker(whole()), arms())
    async with workbench(rig.context()) as bench:
        r = await up_to_the_arms(bench)
        link = r.claims["c_001"].evidence[0]
        with sqlite3.connect(bench.context.database_path) as db:
            table = next(
                name
                for (name,) in db.execute("select name from sqlite_master where type='table' and name like '%page%'")
            )
            db.execute(f"update {table} set text = text || ' More.' where sha256 = ?", (link.sha256,))
        db.close()
        said = await verified(bench, r)
    assert not said.passed
    assert said.findings == ["the stored page of s_001 was changed, so the quote of c_001 proves nothing"]


async def test_an_unverified_claim_is_the_models_matter(home: Path) -> None:
    said, asked = await said_of(home, with_claim(status="UNVERIFIED"))
    assert (said.passed, asked) == (True, 1)


async def test_a_reasoned_nothing_was_found_is_asked_about(home: Path) -> None:
    said, asked = await said_of(
        home, with_attempt(answer="No height was found.", claim_ids=(), why_unverified="no page has one")
    )
    assert (said.passed, asked) == (True, 1)


@pytest.mark.rule("A7")
async def test_an_attempt_without_an_answer_is_not_passed_and_no_model_is_asked(home: Path) -> None:
    said, asked = await said_of(home, with_attempt(outcome="turns", answer="", claim_ids=()))
    assert (said.passed, asked) == (False, 0)


@pytest.mark.rule("D31")
@pytest.mark.parametrize(
    ("stated", "quoted"),
    [
        ("1.2 million", "1,200,000 people"),
        ("1,200,000", "1.2 million people"),
        ("1 200 000", "1.2 million"),
        ("3 billion", "3bn"),
        ("2,500", "two thousand five hundred"),
        ("250", "two hundred and fifty"),
        ("twenty-four", "24 turbines"),
        ("12", "twelve turbines"),
        ("5 percent", "5%"),
        ("0.5", "0,5"),
        ("in 2011", "built in 2011."),
        ("the 1990s", "during the 1990s"),
        ("2019-11-12", "12 November 2019"),
        ("from 42 to 45 million", "42 million to 45 million"),
        ("two of 3 sites", "nothing"),
        ("1.20 m", "1.2 m"),
        ("version 1.2.3", "released 1.2.3"),
    ],
)
def test_numbers_that_stand_in_their_quote(stated: str, quoted: str) -> None:
    assert loose_figures(stated, quoted) == ()


@pytest.mark.rule("D31")
@pytest.mark.parametrize(
    ("stated", "quoted", "loose"),
    [
        ("1.3 million", "1,200,000", "1.3 million"),
        ("42 million", "42 thousand", "42 million"),
        ("5 %", "7 %", "5 %"),
        ("7 billion", "7 million", "7 billion"),
        ("in 2011", "in 2012", "2011"),
        ("twelve turbines", "13 turbines", "twelve"),
        ("8.5 m", "8.6 m", "8.5"),
        ("-12 degrees", "12 degrees", "-12"),
        ("1.2.4", "1.2.3", "1.2.4"),
    ],
)
def test_numbers_that_stand_in_no_quote(stated: str, quoted: str, loose: str) -> None:
    assert loose_figures(stated, quoted) == (loose,)


@pytest.mark.rule("A3", "A14")
async def test_a_model_that_passes_everything_does_not_carry_a_number_of_its_own(home: Path) -> None:
    """On the whole graph: the answer has a figure that no quote has."""
    wrong = ANSWER.replace("42", "45")
    steps = whole()
    told = {ANSWER: wrong}

    def swapped(step: Any) -> Any:
        text = step.model_dump_json()
        for old, new in told.items():
            text = text.replace(old, new)
        return type(step).model_validate_json(text)

    steps[3], steps[5] = swapped(steps[3]), swapped(steps[5])
    rig = Rig(home, worker(steps[:6], "…"), arms())
    result = await rig.research(max_attempts=1, max_turns=8)
    first = result.research.evaluations[0]
    assert (first.outcome, first.verified, first.routing.route) == ("resolved", False, "Reported")
    assert "45" in first.failures[0]
    assert OFFICE in result.report or result.report
