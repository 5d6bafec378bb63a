"""Quotes: found whatever the typesetting did to them, and not found once a word or number was changed."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from zetetic.state.quotes import find_quote, fold_quote, number_stands_in, numbers

pytestmark = pytest.mark.rule("D31")

WORDS = st.sampled_from(
    [
        *("plant", "gives", "power", "official", "efficient", "Müller's", "output", "field", "to", "A", "is", "“good”"),
        *("naïve", "self-made", "240", "3.7", "1,250", "not", "Berlin", "costs", "in", "2019", "cooperation", "waffle"),
    ]
)
PHRASES = st.lists(WORDS, min_size=3, max_size=30)
SPACES = st.sampled_from([" ", "  ", "\n", "\r\n", "\t", "\u00a0", " \n ", "\u2009", "\u200b "])


def found(page: str, quote: str) -> str | None:
    span = find_quote(page, quote)
    return None if span is None else page[span.start : span.end]


def typeset(data: st.DataObject, word: str) -> str:
    """A word as a page may print it: broken at a line's end, with soft hyphens, ligatures, other quotation marks."""
    for plain, ligature in (("ffi", "ﬃ"), ("ff", "ﬀ"), ("fi", "ﬁ")):
        if plain in word and data.draw(st.booleans()):
            word = word.replace(plain, ligature)
    word = word.replace("'", data.draw(st.sampled_from(["'", "’", "ʼ"])))
    word = word.replace("“", data.draw(st.sampled_from(["“", '"', "„", "«"])))
    word = word.replace("”", data.draw(st.sampled_from(["”", '"', "»"])))
    if len(word) > 4 and word.isalpha() and data.draw(st.booleans()):
        at = data.draw(st.integers(2, len(word) - 2))
        break_ = data.draw(st.sampled_from(["-\n", "\u00ad", "\u2010\n  ", "-\r\n", "\u00ad\n"]))
        word = f"{word[:at]}{break_}{word[at:]}"
    return word


@given(st.data())
def test_every_passage_of_a_page_is_found_in_it(data: st.DataObject) -> None:
    words = data.draw(PHRASES)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    quote = " ".join(words[first:last])
    assume(len(fold_quote(quote).strip("\"'")) >= 3)
    parts: list[str] = []
    for word in words:
        parts += [typeset(data, word), data.draw(SPACES)]
    page = "".join(parts)
    passage = found(page, quote)
    assert passage is not None
    assert found(page, passage) is not None, "what is stored can be found again"


@given(PHRASES, st.data())
def test_a_changed_number_is_not_found(words: list[str], data: st.DataObject) -> None:
    words = [*words, "1,024"]
    numeric = [i for i, word in enumerate(words) if word[0].isdigit()]
    at = data.draw(st.sampled_from(numeric))
    digit = data.draw(st.integers(0, len(words[at]) - 1).filter(lambda i: words[at][i].isdigit()))
    changed = data.draw(st.sampled_from("0123456789").filter(lambda d: d != words[at][digit]))
    altered = words[at][:digit] + changed + words[at][digit + 1 :]
    quote = " ".join([*words[:at], altered, *words[at + 1 :]])
    assert find_quote(" ".join(words), quote) is None


@given(PHRASES, st.data(), st.sampled_from(["not", "never", "no"]))
def test_an_added_negation_is_not_found(words: list[str], data: st.DataObject, negation: str) -> None:
    plain = ["The", *(w for w in words if w != negation), "now"]
    at = data.draw(st.integers(1, len(plain) - 1))
    quote = " ".join([*plain[:at], negation, *plain[at:]])
    assert find_quote(" ".join(plain), quote) is None


@given(PHRASES, PHRASES)
def test_a_removed_negation_is_not_found(before: list[str], after: list[str]) -> None:
    before, after = [*(w for w in before if w != "not"), "is"], ["a", *(w for w in after if w != "not")]
    page = " ".join([*before, "not", *after])
    assert find_quote(page, " ".join([*before, *after])) is None


@given(PHRASES, st.data())
def test_a_changed_name_is_not_found(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    quote = " ".join([*words[:at], "Potsdam", *words[at + 1 :]])
    assert find_quote(" ".join(words), quote) is None


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("an\nexam-\nple of it", "an example of it"),
        ("an exam\u00ad\nple of it", "an example of it"),
        ("an exam\u00adple of it", "an example of it"),
        ("a well-\nknown thing", "a well-known thing"),
        ("a well-\nknown thing", "a wellknown thing"),
        ("the ﬁnal ofﬁce", "the final office"),
        ("It’s “new”", 'It\'s "new"'),
        ("from 10–20 km", "from 10-20 km"),
        ("It is _3 metres_ deep", "3 metres"),
        ("It is _up to 3_ metres deep", "up to 3"),
        ("The cafe\u0301 is open", "The café is open"),
        ("The café is open", "The cafe\u0301 is open"),
        ("CO₂ rises", "CO2 rises"),
        ("1½ cups", "1 1/2 cups"),
        ("the output is high, they say", "“the output is high…”"),
        ("the output is high, they say", "... output is high"),
        ("a\u200bb output", "ab output"),
    ],
)
def test_the_typesetting_does_not_matter(page: str, quote: str) -> None:
    assert find_quote(page, quote) is not None


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("It is 5 degrees there", "-5 degrees there"),
        ("It is -5 degrees there", "5 degrees there"),
        ("It is \u22125 degrees there", "5 degrees there"),
        ("about 1020 km", "about 10-20 km"),
        ("about 10² km", "about 102 km"),
        ("about 1½ km", "about 11/2 km"),
        ("output of 1,250 MW", "output of 1,25"),
        ("output of 1,250 MW", "250 MW"),
        ("rate of 3.75 here", "rate of 3.7"),
        ("output of 240 MW", "output of 24"),
        ("levels of CO_2 rose", "2 rose"),
        ("in column x_2_5 there", "in column x_2"),
        ("it is unlikely here", "likely here"),
        ("it is likely here", "it is like"),
        ("The Plant gives", "the plant gives"),
        ("it gives, or so they say, 240 MW", "it gives … 240 MW"),
        ("anything", ""),
        ("anything", "a"),
        ("", "anything"),
    ],
)
def test_a_quote_that_says_something_else_is_not_found(page: str, quote: str) -> None:
    assert find_quote(page, quote) is None


def test_the_span_is_that_of_the_page_as_given() -> None:
    assert found("It gives  240\nMW now", "gives 240 MW") == "gives  240\nMW"
    assert found("the cafe\u0301 of\u00adfice", "the café office") == "the cafe\u0301 of\u00adfice"
    assert found("ends in cafe\u0301", "in café") == "in cafe\u0301"


def test_a_later_whole_word_is_taken_where_an_earlier_place_cuts_one() -> None:
    assert find_quote("unlikely or likely", "likely") == (12, 18)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("240 MW", ("240",)),
        ("1,250.5 and 3,7", ("1250.5", "3.7")),
        ("12 500 and 12\u202f500 and 1'250", ("12500", "12500", "1250")),
        ("in 2019 500 people", ("2019", "500")),
        ("-5, (−7), 10–20 and T-8", ("-5", "-7", "10", "20", "8")),
        ("none", ()),
    ],
)
def test_numbers_are_read_with_their_sign_and_without_separators(text: str, expected: tuple[str, ...]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("value", "quote", "stands"),
    [
        ("240", "It gives 240 MW", True),
        ("1250", "It gives 1,250 MW", True),
        ("240-260", "between 240 and 260 MW", True),
        ("240", "It gives 24 0MW", False),
        ("-5", "It is 5 degrees", False),
        ("5", "It is −5 degrees", False),
        ("500", "in 2019 500 people", True),
        ("500", "12 500 people", False),
        ("three", "It has Three turbines", True),
        ("ten", "It often fails", False),
        ("", "anything", False),
    ],
)
def test_a_datapoints_number_stands_in_its_quote(value: str, quote: str, stands: bool) -> None:
    assert number_stands_in(value, quote) is stands


@given(st.text(max_size=80), st.text(max_size=20))
def test_any_text_can_be_looked_up(page: str, quote: str) -> None:
    span = find_quote(page, quote)
    assert span is None or (0 <= span.start < span.end <= len(page))
    assert all(re.fullmatch(r"-?[\w.]+", n) for n in numbers(page))
