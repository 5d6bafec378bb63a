"""Finding a verbatim quote in a stored page (D31).

Whitespace, hyphenation, ligatures and quotation marks are folded on both sides; nothing else is, so a changed number,
negation or name is not found.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
}
_HYPHENS = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d+)*")
MIN_QUOTE = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Character positions in a page text: `text[start:end]` is what was found."""

    start: int
    end: int


def _fold(text: str) -> tuple[str, list[int]]:
    """The folded text and, for each of its characters, where it came from."""
    out: list[str] = []
    origin: list[int] = []
    size = len(text)
    position = 0
    while position < size:
        char = text[position]
        if char in _INVISIBLE:
            position += 1
            continue
        if char.isspace():
            if out and out[-1] != " ":
                out.append(" ")
                origin.append(position)
            position += 1
            continue
        if char in _HYPHENS:
            following = position + 1
            while following < size and (text[following].isspace() or text[following] in _INVISIBLE):
                following += 1
            broken = "\n" in text[position + 1 : following] or "\r" in text[position + 1 : following]
            before_letter = bool(out) and out[-1].isalpha()
            if broken and before_letter and following < size and text[following].isalpha():
                position = following  # a word broken at a line's end
                continue
            char = "-"
        for piece in unicodedata.normalize("NFKC", _QUOTES.get(char, char)):
            if piece.isspace():
                if out and out[-1] != " ":
                    out.append(" ")
                    origin.append(position)
                continue
            out.append(piece)
            origin.append(position)
        position += 1
    return "".join(out), origin


def fold_quote(text: str) -> str:
    """Text as quotes are compared: spaces, hyphenation, ligatures and quotation marks folded; case kept."""
    return _fold(unicodedata.normalize("NFC", text))[0].strip()


def find_quote(page: str, quote: str) -> Span | None:
    """Where a quote stands in a page, or None. Positions are those of the page as given.

    A word that a line break cut may stand in the quote joined or with its hyphen; both are found.
    """
    needle = fold_quote(quote).strip("\"' ").removesuffix("…").strip()
    if len(needle) < MIN_QUOTE:
        return None
    folded, origin = _fold(page)
    for haystack, places in ((folded, origin), _without_hyphens(folded, origin)):
        wanted = needle if haystack is folded else needle.replace("-", "")
        at = _whole_words(haystack, wanted)
        if at >= 0:
            return Span(places[at], places[at + len(wanted) - 1] + 1)
    return None


def _whole_words(haystack: str, needle: str) -> int:
    """First place where the needle does not begin or end inside a word or number; -1 if there is none."""
    at = haystack.find(needle)
    while at >= 0:
        end = at + len(needle)
        before = haystack[at - 1] if at else " "
        after = haystack[end] if end < len(haystack) else " "
        if not (_joined(before, needle[0]) or _joined(needle[-1], after) or _in_number(haystack, at, end)):
            return at
        at = haystack.find(needle, at + 1)
    return -1


def _joined(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum()


def _in_number(haystack: str, at: int, end: int) -> bool:
    """Whether the cut falls inside a number such as 1,250 or 3.7, which would change its value."""
    left = at >= 2 and haystack[at].isdigit() and haystack[at - 1] in ".," and haystack[at - 2].isdigit()
    right = (
        end + 1 < len(haystack)
        and haystack[end - 1].isdigit()
        and haystack[end] in ".,"
        and haystack[end + 1].isdigit()
    )
    return left or right


def _without_hyphens(folded: str, origin: list[int]) -> tuple[str, list[int]]:
    """The text with hyphens between letters dropped, for words a line break cut in one copy and not in the other."""
    kept = [
        i
        for i, char in enumerate(folded)
        if not (char == "-" and 0 < i < len(folded) - 1 and folded[i - 1].isalpha() and folded[i + 1].isalpha())
    ]
    return "".join(folded[i] for i in kept), [origin[i] for i in kept]


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text without their thousands separators, in order."""
    found = []
    for match in _NUMBER.finditer(text):
        raw = re.sub(r"[\u00a0\u202f' ]", "", match.group())
        if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", raw):
            raw = raw.replace(",", "")
        found.append(raw.replace(",", "."))
    return tuple(found)


def number_stands_in(value: str, quote: str) -> bool:
    """Whether every number of a value stands in its quote; one without a digit must stand as it is (D31)."""
    wanted = numbers(value)
    if not wanted:
        return fold_quote(value).casefold() in fold_quote(quote).casefold()
    return set(wanted) <= set(numbers(quote))
