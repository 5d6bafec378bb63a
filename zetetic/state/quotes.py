"""Finding a verbatim quote in a stored page (D31).

Whitespace, hyphenation, ligatures and quotation marks are folded on both sides; nothing else is, so a changed number,
negation or name is not found.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u2044": "/",
}
_BREAKS_A_WORD = frozenset("-\u2010\u2011\u00ad")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_LINE_END = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]")
_SET_APART = {"<super>": "^", "<sub>": "_", "<fraction>": " "}
_NUMBER = re.compile(
    r"(?:(?<![\w)\]%])[-\u2010\u2011\u2013\u2212](?=\d))?"
    r"(?:\d{1,3}(?:[\u00a0\u202f'\u2019 ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
)
MIN_QUOTE = 3


class Span(NamedTuple):
    """Character positions in a page text: `text[start:end]` is what was found."""

    start: int
    end: int


class _Folded(NamedTuple):
    """A folded text and, for each of its characters, the part of the original it stands for."""

    text: str
    starts: list[int]
    ends: list[int]


def _fold(text: str) -> _Folded:
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def put(piece: str, start: int, end: int) -> None:
        if piece.isspace():
            if not out or out[-1] == " ":
                return
            piece = " "
        elif out and unicodedata.combining(piece):
            joined = unicodedata.normalize("NFC", out[-1] + piece)
            if len(joined) == 1:
                out[-1], ends[-1] = joined, end
                return
        out.append(piece)
        starts.append(start)
        ends.append(end)

    size, here = len(text), 0
    while here < size:
        char, after = text[here], here + 1
        if char in _BREAKS_A_WORD and out and out[-1].isalpha():
            following = after
            while following < size and (text[following].isspace() or text[following] in _INVISIBLE):
                following += 1
            if following < size and text[following].isalpha() and _LINE_END.search(text, after, following):
                here = following  # a word broken at a line's end
                continue
        if char not in _INVISIBLE:
            if out and out[-1].isdigit():  # 10² is not 102, and 1½ is not 11/2
                mark = _SET_APART.get(unicodedata.decomposition(char).partition(" ")[0])
                if mark:
                    put(mark, here, after)
            for piece in unicodedata.normalize("NFKC", _QUOTES.get(char, char)):
                put(_QUOTES.get(piece, piece), here, after)
        here = after
    return _Folded("".join(out), starts, ends)


def fold_quote(text: str) -> str:
    """Text as quotes are compared: spaces, hyphenation, ligatures and quotation marks folded; case kept."""
    return _fold(unicodedata.normalize("NFC", text)).text.strip()


def find_quote(page: str, quote: str) -> Span | None:
    """Where a quote stands in a page, or None. Positions are those of the page as given.

    A word that a line break cut may stand in the quote joined or with its hyphen; both are found. An ellipsis at
    either end of the quote is taken for the quoter's.
    """
    needle = fold_quote(quote).strip("\"' ").removeprefix("...").removesuffix("...").strip("\"' ")
    if len(needle) < MIN_QUOTE:
        return None
    whole = _fold(page)
    bare = _without_hyphens(_fold(needle)).text
    for haystack, wanted in ((whole, needle), (_without_hyphens(whole), bare)):
        at = _whole_words(haystack.text, wanted)
        if at >= 0:
            return Span(haystack.starts[at], haystack.ends[at + len(wanted) - 1])
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
    """Whether the cut falls inside a number such as 1,250, 3.7 or -5, which would change its value."""
    left = at >= 2 and haystack[at].isdigit() and haystack[at - 1] in ".," and haystack[at - 2].isdigit()
    sign = at >= 1 and haystack[at].isdigit() and haystack[at - 1] == "-" and not haystack[max(0, at - 2)].isalnum()
    right = (
        end + 1 < len(haystack)
        and haystack[end - 1].isdigit()
        and haystack[end] in ".,"
        and haystack[end + 1].isdigit()
    )
    return left or sign or right


def _without_hyphens(folded: _Folded) -> _Folded:
    """The text with hyphens between letters dropped, for words a line break cut in one copy and not in the other."""
    text = folded.text
    kept = [
        i
        for i, char in enumerate(text)
        if not (char == "-" and 0 < i < len(text) - 1 and text[i - 1].isalpha() and text[i + 1].isalpha())
    ]
    return _Folded("".join(text[i] for i in kept), [folded.starts[i] for i in kept], [folded.ends[i] for i in kept])


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text with their signs and without their thousands separators, in order."""
    found = []
    for match in _NUMBER.finditer(text):
        raw = re.sub(r"[\u00a0\u202f'\u2019 ]", "", match.group())
        raw = re.sub(r"^[\u2010\u2011\u2013\u2212]", "-", raw)
        if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", raw):
            raw = raw.replace(",", "")
        found.append(raw.replace(",", "."))
    return tuple(found)


def number_stands_in(value: str, quote: str) -> bool:
    """Whether every number of a value stands in its quote; one without a digit must stand as it is (D31)."""
    wanted = numbers(value)
    if not wanted:
        word = fold_quote(value).casefold()
        return bool(word) and _whole_words(fold_quote(quote).casefold(), word) >= 0
    return set(wanted) <= set(numbers(quote))
