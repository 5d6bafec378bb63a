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
YEAR = "in the year"
_ARTICLES = frozenset(
    {"the", "a", "an", "in", "on", "at", "by", "of", "his", "her", "its", "their", "this", "after", "as"}
)
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
    """A figure with what it counts: value in units, unit as a stem (YEAR for a bare year, '' if unknown)."""

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
        if not match["mark"] and unit == "" and "," not in match["value"] and 1000 <= value <= 2100:
            unit = YEAR
        found.append(Quantity(value, stem(unit) if unit not in (YEAR, "%") else unit))
    return tuple(found)


@lru_cache(maxsize=16384)
def names(text: str) -> frozenset[str]:
    """Capitalised words, folded; the one that opens the sentence counts only within a longer name."""
    found = set()
    for match in _NAME.finditer(text):
        parts = match.group().split()
        opens = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?"
        if opens and (len(parts) == 1 or parts[0].casefold() in _ARTICLES):
            parts = parts[1:]
        for part in parts:
            found |= {w for w in words(part) if len(w) > 1}
    return frozenset(found)


def phrases(text: str) -> list[str]:
    """Names of two words or more, as written."""
    found = []
    for match in _NAME.finditer(text):
        parts = match.group().split()
        if parts[0].casefold() in _ARTICLES:
            parts = parts[1:]
        if len(parts) >= 2:
            found.append(" ".join(parts))
    return list(dict.fromkeys(found))


def is_negated(text: str) -> bool:
    """Whether a statement denies something."""
    return bool(_NEGATION & set(words(text)))


def relation(a: str, b: str) -> Relation:
    """How two statements relate: same assertion, contradicting figures, names or negation, or neither."""
    first, second = stems(a), stems(b)
    plain_a = {s for s in first if not s[0].isdigit()}
    plain_b = {s for s in second if not s[0].isdigit()}
    if not plain_a or not plain_b:
        return "unrelated"
    common = len(plain_a & plain_b)
    share = common / min(len(plain_a), len(plain_b))
    whole = common / len(plain_a | plain_b)
    if share < 0.34 or common < 2:
        return "unrelated"
    figures_a, figures_b = by_unit(a), by_unit(b)
    both = [u for u in figures_a if u in figures_b and u != ""]
    differing = [u for u in both if not (figures_a[u] <= figures_b[u] or figures_b[u] <= figures_a[u])]
    counted = [u for u in both if u != YEAR]
    if differing:
        if YEAR in differing and counted and YEAR not in counted and len(differing) == 1:
            return "unrelated"  # the same kind of figure for another year
        close = share >= 0.5 if differing != [YEAR] else share >= 0.7 and whole >= 0.45
        return "contradicts" if close and not _other_year(figures_a, figures_b, differing) else "unrelated"
    foreign_a, foreign_b = names(a) - set(words(b)), names(b) - set(words(a))
    if foreign_a and foreign_b:
        shared = names(a) & names(b)
        return "contradicts" if shared and share >= 0.6 and whole >= 0.45 else "unrelated"
    if (foreign_a or foreign_b) and whole >= 0.7:
        return "unrelated"  # nearly the same words, but another name in them
    if is_negated(a) != is_negated(b):
        return "contradicts" if share >= 0.75 and whole >= 0.5 else "unrelated"
    if counted:
        return "same"
    if both:
        return "same" if share >= 0.6 else "unrelated"
    if bool(figures_a) != bool(figures_b) and whole < 0.6:
        return "unrelated"
    return "same" if share >= 0.7 and whole >= 0.45 else "unrelated"


def by_unit(text: str) -> dict[str, frozenset[float]]:
    """The figures of a text, by what they count."""
    found: dict[str, set[float]] = {}
    for figure in quantities(text):
        found.setdefault(figure.unit, set()).add(figure.value)
    return {unit: frozenset(values) for unit, values in found.items()}


def _other_year(a: dict[str, frozenset[float]], b: dict[str, frozenset[float]], differing: list[str]) -> bool:
    """Whether two statements speak of different years, so that other figures of theirs may both hold."""
    if YEAR in differing and len(differing) > 1:
        return True
    return YEAR not in differing and bool(a.get(YEAR) and b.get(YEAR) and not a[YEAR] & b[YEAR])


CONTAINED = 0.9
"""Share of a claim's words that must stand in what confirms it."""


def confirms(claim: str, other: str, question: str) -> bool:
    """Whether another statement says what a claim says: the same, with every name and figure of the claim in it."""
    if relation(claim, other) != "same" or not is_sentence(other):
        return False
    inside = set(words(other))
    asked = set(words(question))
    if any(name not in inside and name not in asked for name in names(claim)):
        return False
    held, shown = stems(claim), stems(other)
    if len(held & shown) < CONTAINED * len(held):
        return False  # the other says less than the claim does
    if names(other) - set(words(claim)) - asked:
        return False  # the claim's own words with another name among them may be an altered copy
    values = {q.value for q in quantities(other)}
    return all(q.value in values or str(int(q.value)) in asked for q in quantities(claim))


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


def is_sentence(text: str) -> bool:
    """Whether a text is a whole sentence, with a verb and an end."""
    return bool(_VERB.search(text)) and text.rstrip()[-1:] in ".!\"'”’)]"


def is_statement(sentence: str, *, loose: bool = False) -> bool:
    """Whether a sentence can stand as a claim: neither a question, a menu nor, unless `loose`, a fragment."""
    count = len(words(sentence))
    if not 4 <= count <= 90 or sentence.rstrip().endswith("?") or len(sentence) > LONGEST_CLAIM:
        return False
    if len(_SEPARATORS.findall(sentence)) >= 1 or _MENU.search(sentence):
        return False
    tokens = sentence.split()
    if not _VERB.search(sentence) and not loose:
        return False
    return count < 8 or sum(t[0].isupper() for t in tokens) <= 0.75 * len(tokens)


LONGEST_CLAIM = 560
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|may|might|must|should|became|becomes|"
    r"won|wrote|made|led|built|born|known|took|found|held|gave|began|rose|fell|left|said|says|grew|ran|sold|met|kept|"
    r"put|set|cost|costs|lies|lay|stands|stood|sits|makes|shows|spent|sent|told|came|went|saw|drew|cut|bore|sang|"
    r"[a-z]{2,}ed|[a-z]{3,}(?:s|es)(?= (?:the|a|an|in|on|at|to|by|from|that|about|more|less|between|into|up|\d)))\b"
)
_SEPARATORS = re.compile(r"\s[·•»›>^]\s|\s\|\s.*\s\|\s|Skip to ")
_MENU = re.compile(r"\[\s*edit\s*\]|Privacy policy|Cookie statement|Toggle the table", re.I)
ASKS_FIGURE = re.compile(
    r"\bhow (?:much|many|large|big|long|far|high|tall|old|often|fast|deep|wide|heavy)\b|\b(?:capacity|cost|price|"
    r"percent|percentage|rate|share|number|amount|figure|length|height|size|output|budget)\b",
    re.I,
)
ASKS_TIME = re.compile(r"\bwhen\b|\bwhat (?:year|date|day)\b|\bwhich year\b|\ba date\b|\bdate or year\b", re.I)
_DATE = re.compile(
    r"\b(?:1[0-9]{3}|20[0-9]{2}|January|February|March|April|May|June|July|August|September|October|November|December|spring|summer|autumn|winter)\b"
)


_CUES = {
    "party": "republican democrat democratic conservative liberal labour socialist party",
    "born": "born birthplace native",
    "population": "population inhabitants residents people",
    "director": "directed director",
    "sport": "football soccer baseball basketball hockey cricket tennis rugby golf athlete player coach",
    "occupation": "actor actress writer politician lawyer teacher engineer singer player journalist",
    "author": "wrote written author novel",
    "die": "died death killed",
}


def cues(question: str) -> frozenset[str]:
    """Stems that an answer to a question of a common kind is likely to hold, besides the question's own."""
    asked = stems(question)
    return frozenset().union(*(stems(told) for word, told in _CUES.items() if stem(word) in asked))


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
    cued = bool(cues(question) & stems(sentence))
    if not direct and not (lent and (cued or (asks_kind and fits_kind(question, sentence)))):
        return 0.0
    score = (weights.sum(direct) + 0.5 * weights.sum(lent)) / weights.sum(wanted)
    if cues(question) & stems(sentence):
        score += 0.2
    return score * (1.15 if fits_kind(question, sentence) and (quantities(sentence) or names(sentence)) else 1.0)
