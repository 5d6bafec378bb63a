"""The figures of a result, and whether they stand in what it rests on (A3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from .citations import factual_sentences, without_citations
from .quotes import numbers
from .research import Research
from .values import Claim, Question


def stated(result: str, *, is_report: bool) -> str:
    """What a result states, without the ids, whose digits are no figures; of a report all but gaps and lead-ins."""
    text = "\n".join(factual_sentences(result)) if is_report else result
    return re.sub(r"\b(?:ch|[cdqs])_\d+\b", "", without_citations(text))


def known_text(research: Research, cited: Sequence[Claim], asked: Iterable[Question], *, is_report: bool) -> str:
    """Where a result's numbers may come from: quotes, what a datapoint is of, the sources' names, what was asked."""
    links = [link for claim in cited for link in claim.evidence]
    sources = [research.sources[link.source_id] for link in links if link.source_id in research.sources]
    return "\n".join(
        [
            *(link.quote for link in links),
            *(claim.context for claim in cited),
            *(f"{s.title}\n{s.published}" for s in sources),
            *(f"{q.question}\n{q.validation_criteria}" for q in asked),
            *((research.objective, *research.criteria) if is_report else ()),
        ]
    )


# Numbers, as far as they can be compared without understanding the text.

_SCALES = {"thousand": 3, "million": 6, "millions": 6, "mn": 6, "billion": 9, "billions": 9, "bn": 9, "trillion": 12}
_SCALE = "|".join(_SCALES)
# fmt: off
_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
# fmt: on
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {**{w: n for n, w in enumerate(_ONES)}, **{w: 10 * n for n, w in enumerate(_TENS, 2)}}
# fmt: off
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)
# fmt: on
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES[1:10])}))?|{'|'.join(_ONES)})"
_SPELT = re.compile(
    rf"\b(?P<first>{_BELOW_100})(?P<hundred>[- ]hundred(?:[- ](?:and[- ])?(?P<rest>{_BELOW_100}))?)?"
    rf"(?:[- ](?P<scale>{_SCALE}))?\b",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"(?P<number>(?:(?<![\w)\]%])[-\u2212])?\d(?:[\d.,'\u2019\u00a0\u202f ]*\d)?)[\s\u00a0-]*"
    rf"(?:(?P<scale>{_SCALE})\b|(?:%|per ?cent\b))",
    re.IGNORECASE,
)


class Figure(NamedTuple):
    """A number of a text as written, its bare value, and its value with the scale that a word gives it."""

    shown: str
    value: Decimal | str
    whole: Decimal | str
    measured: bool = False
    """Whether a scale or a percent sign stands with it."""


def figures(text: str) -> list[Figure]:
    """The numbers of a text; those in words among them."""
    found = []
    for match in _MEASURED.finditer(text):
        raw = numbers(match["number"])[-1]
        power = _SCALES[match["scale"].lower()] if match["scale"] else 0
        shown = raw + match.group()[len(match["number"]) :]
        found.append(Figure(shown, _value(raw), _scaled(_value(raw), power), measured=True))
    for raw in numbers(_MEASURED.sub(_but_the_last, text)):
        found.append(Figure(raw, _value(raw), _value(raw)))
    return found + _spelt(text)


def _but_the_last(match: re.Match[str]) -> str:
    """Of the numbers before a scale all but the last, which is the one that it belongs to."""
    return " ; ".join(["", *numbers(match["number"])[:-1], ""])


def _spelt(text: str) -> list[Figure]:
    found: list[Figure] = []
    ended, last_power = -1, 0
    for match in _SPELT.finditer(text):
        value = _below_100(match["first"])
        if match["hundred"]:
            value = value * 100 + (_below_100(match["rest"]) if match["rest"] else 0)
        power = _SCALES[match["scale"].lower()] if match["scale"] else 0
        whole = value.scaleb(power)
        figure = Figure(match.group(), value, whole, measured=bool(power))
        if found and last_power > power and re.fullmatch(r"[- ](?:and )?", text[ended : match.start()]):
            before = found.pop()  # two thousand five hundred
            total = Decimal(before.whole) + whole
            figure = Figure(f"{before.shown} {figure.shown}", total, total, measured=True)
        found.append(figure)
        ended, last_power = match.end(), power
    return found


def _below_100(words: str) -> Decimal:
    return Decimal(sum(_WORDS[word] for word in re.split(r"[- ]", words.lower())))


def _scaled(value: Decimal | str, power: int) -> Decimal | str:
    """1.2 million is 1,200,000."""
    return value.scaleb(power) if isinstance(value, Decimal) else value


def _value(raw: str) -> Decimal | str:
    try:
        return Decimal(raw)
    except InvalidOperation:
        return raw  # a version or a section, such as 1.2.3


def loose_figures(stated: str, known: str) -> tuple[str, ...]:
    """Numbers of a statement that stand nowhere in what is known, as they are written (A3).

    Small counts without a unit ("two of them", "3 sites") are nobody's figures and are let through. A number without a
    scale may have left out the one of its neighbour ("from 42 to 45 million").
    """
    given = figures(known)
    bare = {f.value for f in given} | _months_in(known)
    unscaled = {f.value for f in given if f.value == f.whole}
    whole = {f.whole for f in given}
    loose = []
    for figure in figures(stated):
        small = isinstance(figure.value, Decimal) and abs(figure.value) < 10 and figure.value == int(figure.value)
        if small and not figure.measured:
            continue
        if figure.whole not in whole and figure.value not in (bare if figure.value == figure.whole else unscaled):
            loose.append(figure.shown)
    return tuple(dict.fromkeys(loose))


def _months_in(text: str) -> set[Decimal | str]:
    """The numbers of the months named in a text, in full or by three letters, for dates that are written in figures."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return {Decimal(n) for n, name in enumerate(_MONTHS, 1) if words & {name, name[:3]}}
