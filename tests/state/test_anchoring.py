"""What a quote must be to carry a claim, and what is kept of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.state.anchoring import enclosing_sentence, unsaid, without_citations
from zetetic.state.quotes import find_quote

pytestmark = pytest.mark.rule("D31")
PAGE = "A heading\n\nIt is false that the lighthouse is 42 metres tall. It was lit in 1911.\n\nThe end"


def kept(quote: str, page: str = PAGE) -> str:
    at = page.index(quote)
    start, end = enclosing_sentence(page, at, at + len(quote))
    return page[start:end]


def test_the_whole_sentence_is_kept_so_that_a_denial_before_the_quote_shows() -> None:
    assert kept("the lighthouse is 42 metres tall") == "It is false that the lighthouse is 42 metres tall."


@pytest.mark.parametrize(
    ("quote", "whole"),
    [("lit in 1911", "It was lit in 1911."), ("A heading", "A heading"), ("The end", "The end")],
)
def test_a_block_ends_a_sentence(quote: str, whole: str) -> None:
    assert kept(quote) == whole


@pytest.mark.parametrize(
    ("page", "quote", "whole"),
    [
        ("The tower costs 3.5 million a year. It is old.", "tower costs", "The tower costs 3.5 million a year."),
        ("It is told at example.org in full. Later too.", "It is told", "It is told at example.org in full."),
        ("高さは42メートルです。建てられた。", "高さは42メートル", "高さは42メートルです。"),
    ],
)
def test_a_stop_within_a_number_or_an_address_ends_no_sentence(page: str, quote: str, whole: str) -> None:
    found = find_quote(page, quote)
    assert found is not None
    left, right = enclosing_sentence(page, found.start, found.end)
    assert page[left:right] == whole
    assert find_quote(page, whole) is not None


@given(st.text("ab .\n", min_size=1, max_size=80), st.data())
def test_what_is_kept_holds_the_quote(page: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(page) - 1))
    end = data.draw(st.integers(start + 1, len(page)))
    left, right = enclosing_sentence(page, start, end)
    assert left <= start or page[start:left].isspace()
    assert right >= end or page[right:end].isspace()


@pytest.mark.parametrize(
    ("text", "quote", "carried"),
    [
        ("The lighthouse is 42 metres tall.", "a height of 42 metres above its base", True),
        ("The lighthouse is 99 metres tall.", "a height of 42 metres above its base", False),
        ("Napoleon built the lighthouse.", "fish was landed every morning", False),
        ("The plants were sold.", "each plant was sold to the county", True),
    ],
)
def test_a_quote_holds_the_figures_and_speaks_of_the_thing(text: str, quote: str, carried: bool) -> None:
    assert (unsaid(text, quote) == "") is carried


def test_foreign_text_cites_nothing() -> None:
    assert without_citations("Financed by the mayor [c_001, d_002]【q_003】.") == (
        "Financed by the mayor (c_001, d_002)(q_003)."
    )
