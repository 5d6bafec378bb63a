"""Plain text analysis for the offline model: sentences, stems, quantities, and how two statements relate."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from zetetic.state.citations import split_sentences
from zetetic.state.wording import content_words, words

Relation = Literal["same", "contradicts", "unrelated"]

_QUANTITY = re.compile(
    r"(?<![\w.])(?P<value>\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s*(?P<mark>%|\u00b0[CF]?)"
    r"|[\s-]+(?P<unit>[^\W\d_]+(?:-[^\W\d_]+)?))?"
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.I)
_PRONOUN = re.compile(
    r"^(?:it|its|he|she|they|their|his|her|this|these|those|that|such|both|the latter|the former|however|but|and)\b",
    re.I,
)
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")
_NEGATION = frozenset({"not", "no", "never", "without", "neither", "nor", "cannot", "none"})
_FILLER_UNITS = frozenset(
    [
        "and",
        "or",
        "of",
        "in",
        "to",
        "the",
        "a",
        "an",
        "by",
        "for",
        "from",
        "at",
        "on",
        "with",
        "as",
        "is",
        "was",
        "were",
        "are",
        "per",
        "than",
        "more",
        "less",
        "out",
        "it",
        "its",
        "that",
        "which",
        "when",
        "he",
        "she",
        "they",
        "who",
        "but",
        "also",
        "while",
    ]
)


_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its English endings (Porter 2): forms of one word mostly share it."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=16384)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's content words, figures included."""
    return frozenset(stem(w) for w in content_words(text))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure with what it counts: value in units, unit as a stem ('year' for a bare year, '' if unknown)."""

    value: float
    unit: str


@lru_cache(maxsize=16384)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The figures of a text with their units."""
    found = []
    text = _NUMBER_WORD.sub(lambda m: _WORDS[m[0].casefold()], text)
    for match in _QUANTITY.finditer(text):
        raw = match["value"].replace("\u00a0", "").replace("\u202f", "").replace(" ", "").replace(",", "")
        value = float(raw)
        unit = (match["mark"] or match["unit"] or "").casefold()
        if unit in _SCALES:
            value *= _SCALES[unit]
            following = re.match(r"\s+(?:of\s+)?([^\W\d_]+)", text[match.end() :])
            unit = following.group(1).casefold() if following else ""
        if unit in ("percent", "per", "%") or text[match.end() :].lstrip().casefold().startswith("percent"):
            unit = "%"
        if unit in _FILLER_UNITS:
            unit = ""
        if not match["mark"] and unit in ("", "year") and "," not in match["value"] and 1000 <= value <= 2100:
            unit = "year"
        found.append(Quantity(value, stem(unit) if unit not in ("year", "%") else unit))
    return tuple(found)


def names(text: str) -> frozenset[str]:
    """Capitalised names, folded; the word that opens the sentence counts only within a longer name."""
    found = set()
    for match in _NAME.finditer(text):
        parts = match.group().split()
        if match.start() == 0:
            parts = (
                parts[1:] if len(parts) == 1 or parts[0].casefold() in ("the", "a", "an", "in", "on", "at") else parts
            )
        found |= {p.casefold().removesuffix("'s").removesuffix("’s") for p in parts}
    return frozenset(found)


def is_negated(text: str) -> bool:
    """Whether a statement denies something."""
    return bool(_NEGATION & set(words(text)))


def relation(a: str, b: str) -> Relation:
    """How two statements relate: same assertion, contradicting figures or negation, or neither."""
    first, second = stems(a), stems(b)
    figures_a, figures_b = quantities(a), quantities(b)
    plain_a = {s for s in first if not s[0].isdigit()}
    plain_b = {s for s in second if not s[0].isdigit()}
    if not plain_a or not plain_b:
        return "unrelated"
    common = len(plain_a & plain_b)
    share = common / min(len(plain_a), len(plain_b))
    whole = common / len(plain_a | plain_b)
    units_a = {f.unit for f in figures_a if f.unit not in ("", "year")}
    shared_units = units_a & {f.unit for f in figures_b}
    if shared_units and common >= 2:
        equal = {(f.value, f.unit) for f in figures_a if f.unit in shared_units} & {
            (f.value, f.unit) for f in figures_b if f.unit in shared_units
        }
        if equal:
            return "same" if share >= 0.34 else "unrelated"
        return "contradicts" if share >= 0.5 and not _other_year(figures_a, figures_b) else "unrelated"
    years_a, years_b = _years(figures_a), _years(figures_b)
    if years_a and years_b and not units_a:
        if years_a & years_b:
            return "same" if share >= 0.6 else "unrelated"
        return "contradicts" if share >= 0.75 and len(years_a) == len(years_b) == 1 and whole >= 0.5 else "unrelated"
    if is_negated(a) != is_negated(b):
        return "contradicts" if share >= 0.75 and whole >= 0.5 else "unrelated"
    if figures_a or figures_b:
        return (
            "same"
            if whole >= 0.6 and not (units_a ^ {f.unit for f in figures_b if f.unit not in ("", "year")})
            else "unrelated"
        )
    return "same" if (share >= 0.7 and whole >= 0.45) else "unrelated"


def _years(figures: Iterable[Quantity]) -> set[float]:
    return {f.value for f in figures if f.unit == "year"}


def _other_year(a: Iterable[Quantity], b: Iterable[Quantity]) -> bool:
    """Whether two statements speak of different years, so that different figures may both hold."""
    first, second = _years(a), _years(b)
    return bool(first and second and not first & second)


def sentences_of(text: str) -> list[str]:
    """The sentences of a page, headings, tables and other fragments left out."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=[#\-*|>•])", _with_headings_apart(text)):
        flat = " ".join(block.lstrip("#-*>• ").split())
        if not flat:
            continue
        found += [s.strip() for s in split_sentences(flat) if s.strip()]
    return found


def _with_headings_apart(text: str) -> str:
    """The text with a blank line after each short line that ends no sentence, where a new one starts after it."""
    lines = text.split("\n")
    width = max((len(line) for line in lines), default=0)
    apart: list[str] = []
    for place, line in enumerate(lines):
        apart.append(line)
        after = lines[place + 1].lstrip() if place + 1 < len(lines) else ""
        ends = line.rstrip()
        if ends and len(ends) < 0.6 * width and ends[-1] not in ".!?:;,\"'”)" and after[:1].isupper():
            apart.append("")
    return "\n".join(apart)


def needs_context(sentence: str) -> bool:
    """Whether a sentence leans on the one before it."""
    return bool(_PRONOUN.match(sentence))


def is_statement(sentence: str) -> bool:
    """Whether a sentence can stand as a claim: a full sentence, neither a question, a fragment nor a menu."""
    count = len(words(sentence))
    if not 4 <= count <= 90 or sentence.rstrip().endswith("?") or len(sentence) > LONGEST_CLAIM:
        return False
    if len(_SEPARATORS.findall(sentence)) >= 2 or _MENU.search(sentence):
        return False
    tokens = sentence.split()
    return count < 8 or sum(t[0].isupper() for t in tokens) <= 0.6 * len(tokens)


LONGEST_CLAIM = 560
_SEPARATORS = re.compile(r"\s[·|•»›>^]\s")
_MENU = re.compile(r"\[\s*edit\s*\]|Privacy policy|Cookie statement|Toggle the table", re.I)
ASKS_FIGURE = re.compile(
    r"\bhow (?:much|many|large|big|long|far|high|tall|old|often|fast|deep|wide|heavy)\b|\b(?:capacity|cost|price|percent|"
    r"percentage|rate|share|number|amount|figure|length|height|size|output|budget)\b",
    re.I,
)
ASKS_TIME = re.compile(r"\bwhen\b|\bwhat (?:year|date|day)\b|\bwhich year\b|\ba date\b|\bdate or year\b", re.I)
_DATE = re.compile(
    r"\b(?:1[0-9]{3}|20[0-9]{2}|January|February|March|April|May|June|July|August|September|October|November|December|spring|summer|autumn|winter)\b"
)


def fits_kind(question: str, sentence: str) -> bool:
    """Whether a sentence has the kind of answer a question asks for: a date for when, a figure for how much."""
    if ASKS_TIME.search(question):
        return bool(_DATE.search(sentence))
    if ASKS_FIGURE.search(question):
        return bool(quantities(sentence))
    return True


_ASKING = frozenset(
    stem(w) for w in ["much", "many", "next", "according", "happen", "happened", "take", "place", "first"]
)


class Weights:
    """How much each word tells among a set of texts: a word that stands in most of them tells little."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        total = 0
        for text in texts:
            counts.update(stems(text))
            total += 1
        self._counts, self._total = counts, total

    def of(self, word: str) -> float:
        """Between 0.1 for a word in every text and 1 for one in a single text; 0.6 for one in none."""
        if word not in self._counts:
            return 0.6
        if self._total < 3:
            return 1.0
        spread = math.log((self._total + 1) / (self._counts[word] + 0.5)) / math.log((self._total + 1) / 1.5)
        return min(1.0, max(0.1, spread))

    def sum(self, words: Iterable[str]) -> float:
        """The weights of several words together."""
        return math.fsum(self.of(w) for w in words)


def relevance(question: str, sentence: str, weights: Weights, context: str = "") -> float:
    """How much of what a question asks a sentence carries, 0 to about 1.2; 0 for next to nothing."""
    wanted = stems(question) - _ASKING
    direct = wanted & stems(sentence)
    lent = (wanted & stems(context)) - direct if context else frozenset()
    asks_kind = ASKS_TIME.search(question) or ASKS_FIGURE.search(question)
    if not direct and not (lent and asks_kind and fits_kind(question, sentence)):
        return 0.0
    score = (weights.sum(direct) + 0.5 * weights.sum(lent)) / weights.sum(wanted)
    return score * (1.15 if fits_kind(question, sentence) and (quantities(sentence) or names(sentence)) else 1.0)
