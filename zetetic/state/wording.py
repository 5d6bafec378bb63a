"""Comparing wordings: queries, questions and targets of challenges (D18, D19, D36)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_NOT_WORD = re.compile(r"[^\w]+|_+")
_FUNCTION_WORDS = frozenset(
    word
    for line in (
        "a about after all also an and any are as at be been being but by can could did do does for from had has have",
        "he her his how i if in into is it its itself many may might more most much must of on or our out over per she",
        "should so some such than that the their them then there these they this those to up upon us very was we were",
        "what when where which while who whom whose why will with would you your",
    )
    for word in line.split()
)
_NEGATIONS = frozenset({"not", "no", "never", "without", "none", "nor", "neither", "t"})
_FILLERS = frozenset(
    {"again", "really", "indeed", "actually", "please", "check", "confirm", "verify", "true", "correct"}
)


def folded(text: str) -> str:
    """Text after NFC, casefold, with punctuation and runs of spaces folded; equal results are one query (D18)."""
    return " ".join(_NOT_WORD.sub(" ", unicodedata.normalize("NFC", text).casefold()).split())


def words(text: str) -> tuple[str, ...]:
    """The folded words of a text, in order."""
    return tuple(folded(text).split())


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning: no function words; negations count."""
    return frozenset(w for w in words(text) if w not in _FUNCTION_WORDS)


def new_terms(query: str, target: str) -> frozenset[str]:
    """Terms of a query that the target's own text lacks; fillers such as "again" are none, "not" is one (D36)."""
    return content_words(query) - content_words(target) - _FILLERS - frozenset(words(target))


def alike(a: str, b: str) -> float:
    """Share of content words two texts have in common, 0 to 1 (Jaccard; 1 for equal wordings)."""
    first, second = content_words(a), content_words(b)
    if not first or not second:
        return 1.0 if folded(a) == folded(b) else 0.0
    return len(first & second) / len(first | second)


def differ_in_kind(a: str, b: str) -> bool:
    """Whether a number or a negation stands in one of two texts only, so that alike wordings ask different things."""
    odd = content_words(a) ^ content_words(b)
    return any(word in _NEGATIONS or any(char.isdigit() for char in word) for word in odd)


def one_line(text: str, limit: int = 0) -> str:
    """Text on one line, cut to `limit` characters with an ellipsis (0: not cut)."""
    flat = " ".join(text.split())
    return flat if not limit or len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def counted(number: int, noun: str, many: str = "") -> str:
    """A number with its noun, such as `1 page` and `2 pages`; `many` is the plural where an s does not make it."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
