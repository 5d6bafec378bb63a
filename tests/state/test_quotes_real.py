"""Quotes of real pages: what typesetting, copying and models do to them, and what makes them say something else."""

import importlib.util
import random
import sys
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.state.quotes import find_quote

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
EACH = 12

pytestmark = pytest.mark.rule("D31")
real = pytest.mark.skipif(not (DATA / "pages").is_dir(), reason=f"{DATA} holds no pages")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


benchmark = load("quotes")


@cache
def pages() -> Any:
    return benchmark.load_pages(DATA)


@real
@pytest.mark.parametrize("kind", benchmark.TRUE)
def test_a_true_quote_is_found_whatever_was_done_to_it(kind: str) -> None:
    (row,) = benchmark.measure(pages(), {kind: benchmark.TRUE[kind]}, each=EACH, seed=7, true=True)
    assert row.cases == EACH
    assert len(row.wrong) <= 1, row.wrong[0][1]


@real
@pytest.mark.parametrize("kind", benchmark.ALTERED)
def test_an_altered_quote_is_not_found(kind: str) -> None:
    (row,) = benchmark.measure(pages(), {kind: benchmark.ALTERED[kind]}, each=EACH, seed=7, true=False)
    assert row.cases == EACH
    assert [quote for _, quote in row.wrong] == []


def prose(seed: int, words: int) -> str:
    chance = random.Random(seed)
    return " ".join(
        "".join(chance.choices("abcdefgh", k=chance.randint(1, 9))) + chance.choice(["", "", ",", ".", " –", "’s"])
        for _ in range(words)
    )


def test_a_long_page_is_searched_quickly() -> None:
    page = prose(1, 36_000)
    assert len(page) > 200_000
    for quote in (page[-200:].partition(" ")[2], "words that the page lacks", ". " * 5_000, "-" * 5_000):
        started = time.process_time()
        find_quote(page, quote)
        assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("rates in the pre-\nand post-war years", "rates in the pre- and post-war years"),
        ("rates in the pre- and post-war years", "the pre-\nand post-war"),
        ("a dose of 10-\n20 mg", "a dose of 10-20 mg"),
        ("in COVID-\n19 patients", "in COVID-19 patients"),
        ("a 14-inch screen", "a 14- inch screen"),
        ("the price rose \u2014 not fell", "the price rose--not fell"),
        ("the price rose\u2014not fell", "price rose - not fell"),
        ("from 1990 \u2013 1995 they", "from 1990-1995 they"),
        ("in 2025 , at ( noon ) .", "in 2025, at (noon)."),
        ("about 10 % of it", "about 10% of it"),
        ("said ``quoted words'' here", 'said "quoted words" here'),
        ('he said "it is good" here', "he said 'it is good' here"),
        ("dit \u00ab\u00a0un mot\u00a0\u00bb ici", 'dit "un mot" ici'),
        ("sagte \u00bbein Wort\u00ab und", 'sagte "ein Wort" und'),
        ("衆院議院運営委員会は午後の理事会\nで決めた", "委員会は午後の理事会で"),
        ("output is 240 MW in 2019", "output is 240 MW."),
        ("output is 240 MW in 2019", '**"output is 240 MW."**'),
        ("AT&T grew < 5 percent", "AT&amp;T grew &lt; 5 percent"),
        ("in the year 1999 it", '"in the year 1999"'),
        ("the Hindi-language film \u2013 New Hope, a suc-\ncess", "New Hope, a success"),
    ],
)
def test_more_that_does_not_matter(page: str, quote: str) -> None:
    span = find_quote(page, quote)
    assert span is not None
    assert find_quote(page, page[span.start : span.end]) is not None


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("found in non-smokers only", "smokers only"),
        ("a smoke-free room", "in a smoke"),
        ("that we can't say", "that we can"),
        ("given 5 mg/kg daily", "given 5 mg"),
        ("about 5% of them", "about 5"),
        ("about 5 % of them", "about 5"),
        ("about 10² km", "about 10"),
        ("about 1½ km", "about 1"),
        ("at most 3/4 of it", "at most 3"),
        ("from 10\u201320 km", "km from 10"),
        ("from 10-20 km away", "20 km away"),
        ("from 10 \u2013 20 km away", "20 km away"),
        ("had p <0.05 there", "0.05 there"),
        ("in 2.26 (September pack)", ".26 (September pack)"),
        ("between 0.55-0.90 there", "-0.90 there"),
        ("at 10:30 today", "30 today"),
        ("in 12万人", "in 12"),
        ("a height of 5' here", 'a height of 5" here'),
        ("about 2\u20133 hours", "about 2\u2013-3 hours"),
        ("it is \u2014 5 below", "it is -5 below"),
        ("a profit - 5 million", "a profit -5 million"),
        ("about 1 .5 km", "about 1.5 km"),
    ],
)
def test_more_that_says_something_else(page: str, quote: str) -> None:
    assert find_quote(page, quote) is None


SAID = st.lists(st.sampled_from(["rose", "fell", "not", "5", "10", "mg", "x"]), max_size=6)
JOINTS = st.lists(st.sampled_from([" ", " ", "-", " - ", "\u2014"]), min_size=14, max_size=14)


@given(SAID, SAID, JOINTS)
def test_a_dash_between_numbers_lost_or_gained_is_not_found(
    before: list[str], after: list[str], joints: list[str]
) -> None:
    words, at = [*before, "5", "10", *after], len(before)

    def printed(between: list[str]) -> str:
        return "".join(word + joint for word, joint in zip(words, between, strict=False)).strip(" -\u2014")

    changed = [*joints[:at], "-" if joints[at] == " " else " ", *joints[at + 1 :]]
    assert find_quote(printed(joints), printed(changed)) is None
