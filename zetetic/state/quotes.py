"""Finding a verbatim quote in a stored page (D31).

Whitespace, hyphenation, ligatures, dashes and quotation marks are folded on both sides; nothing else is, so a changed
number, negation or name is not found. Nor is a quote that begins or ends inside a word, number, compound or
contraction: "smokers" does not stand in "non-smokers", nor "5 mg" in "5 mg/kg".
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from html import unescape
from typing import NamedTuple

_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u2039\u203a\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u300c\u300d\u300e\u300f\u301d\u301e\u301f", '"'),
    **dict.fromkeys("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u2044": "/",
}
_HYPHENS = frozenset("-\u2010\u2011\u00ad")
_DASHES = re.compile("--+|[\u2014\u2015]+")
_CLAUSE_END = re.compile("[\u2014\u2015]|--|\\s[-\u2010-\u2013]\\s")
_CLAUSE_DASHES = frozenset("\u2014\u2015")
_INVISIBLE = frozenset("\u00ad\u061c\u180e\ufeff").union(
    *(map(chr, range(*span)) for span in ((0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070), (0xFE00, 0xFE10)))
)
_SPACE = re.compile(rf"[\s{''.join(sorted(_INVISIBLE))}]*")
_LINE_END = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]")
_PLAIN = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")
_SET_APART = {"<super>": "^", "<sub>": "_", "<fraction>": " "}
_CLOSING = frozenset(",.;:!?)]}%\u2030\u00b0")
_OPENING = frozenset("([{")
# Scripts in which a line's end stands for nothing and a passage begins anywhere: Thai and Lao, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u3001-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CJK_NUMERALS = frozenset("〇零一二三四五六七八九十百千万萬億亿兆割")
_BOUND_TO_NUMBER = frozenset("<>\u2264\u2265\u00b1~\u2248^_")
_NUMBER = re.compile(
    r"(?:(?<![\w)\]%])[-\u2010\u2011\u2013\u2212](?=\d))?"
    r"(?:\d{1,3}(?:[\u00a0\u202f'\u2019 ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8}\d{0,2});")
_LEFT_OUT = ("[...]", "(...)")
_AROUND_START = re.compile(r"^(?:[\s'\"*_\u2022,;:]|\.{3,}+|\[\.\.\.\]|\(\.\.\.\)|>(?=[\s-])|-(?!\d))+")
_AROUND_END = " \t\n*_.,;:-"
MIN_QUOTE = 3


class Span(NamedTuple):
    """Character positions in a page text: `text[start:end]` is what was found."""

    start: int
    end: int


class _Folded(NamedTuple):
    """A folded text and, for each of its characters, the part of the original it stands for."""

    text: str
    starts: array[int]
    ends: array[int]
    original: str


class _Folding:
    """A text being folded, from left to right; what a character becomes depends on what stands before and after it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.out: list[str] = []
        self.starts = array("l")
        self.ends = array("l")

    def folded(self) -> _Folded:
        here, size = 0, len(self.text)
        while here < size:
            if plain := _PLAIN.match(self.text, here):
                after = plain.end()
                self.out.extend(self.text[here:after])
                self.starts.extend(range(here, after))
                self.ends.extend(range(here + 1, after + 1))
            else:
                after = self._take(here)
            here = after
        return _Folded("".join(self.out), self.starts, self.ends, self.text)

    def _take(self, here: int) -> int:
        """Folds the character at a place; where the next one stands."""
        char, after = self.text[here], here + 1
        last = self.out[-1] if self.out else ""
        if char.isspace():
            after = self._past_space(after)
            if last and last != " " and last not in _OPENING and not self._between_unspaced(last, after):
                self._put(" ", here, after)
            return after
        if char in _HYPHENS and last.isalpha():
            joined = self._past_space(after) if char == "\u00ad" else self._past_line_end(after)
            if joined and self._is(joined, "alpha"):
                return joined  # a word broken at a line's end
        if char in _INVISIBLE:
            return after
        if last.isdigit():  # 10² is not 102, and 1½ is not 11/2
            mark = _SET_APART.get(unicodedata.decomposition(char).partition(" ")[0])
            if mark:
                self._put(mark, here, after)
        for piece in unicodedata.normalize("NFKC", _QUOTES.get(char, char)):
            piece = _QUOTES.get(piece, piece)
            if piece == "-":
                return self._dash(here, after)
            if piece in ("'", '"'):
                after = self._quotation_mark(piece, here, after)
            elif not self._combined(piece, after):
                if last == " " and piece in _CLOSING and not self._is(after, "digit"):
                    self._drop()
                self._put(piece, here, after)
        return after

    def _put(self, piece: str, start: int, end: int) -> None:
        self.out.append(piece)
        self.starts.append(start)
        self.ends.append(end)

    def _drop(self) -> None:
        del self.out[-1], self.starts[-1], self.ends[-1]

    def _is(self, at: int, kind: str) -> bool:
        if at >= len(self.text):
            return False
        char = self.text[at]
        return char.isalpha() if kind == "alpha" else char.isdigit()

    def _past_space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _past_line_end(self, at: int) -> int:
        """Where the text goes on after a line's end; 0 if none stands here."""
        after = self._past_space(at)
        return after if _LINE_END.search(self.text, at, after) and after < len(self.text) else 0

    def _between_unspaced(self, last: str, after: int) -> bool:
        return bool(_UNSPACED.match(last)) and bool(_UNSPACED.match(self.text, after))

    def _combined(self, piece: str, end: int) -> bool:
        """Joins an accent, or the vowel of a Korean syllable, to what stands before it."""
        if self.out and (unicodedata.combining(piece) or "\u1161" <= piece <= "\u11ff"):
            joined = unicodedata.normalize("NFC", self.out[-1] + piece)
            if len(joined) == 1:
                self.out[-1], self.ends[-1] = joined, end
                return True
        return False

    def _dash(self, here: int, after: int) -> int:
        """A dash. `--` is one; the spaces around one are typography, but that before a sign is not."""
        run = _DASHES.match(self.text, here)
        after = run.end() if run else after
        clause = after - here > 1 or self.text[here] in _CLAUSE_DASHES
        last = self.out[-1] if self.out else ""
        following = after
        if last == " ":
            clause = clause or self.text[here] == "\u2013"
            if self._spaced(after) or (clause and not self._is(after, "digit")):
                self._drop()
                following = self._past_space(after)
        elif last and clause:
            following = self._past_space(after)
        elif last.isalnum() and (joined := self._past_line_end(after)):
            following = joined if last.isdigit() or self._is(joined, "digit") else after
        self._put("-", here, after)
        return following

    def _spaced(self, after: int) -> bool:
        return after < len(self.text) and self.text[after].isspace()

    def _quotation_mark(self, piece: str, here: int, after: int) -> int:
        """One mark for all, but 5' and 5" are two heights. French marks have their spaces inside."""
        last = self.out[-1] if self.out else ""
        if last == "'" and self.ends[-1] == here:
            self.ends[-1] = after
            if piece == "'" and len(self.out) > 1 and self.out[-2].isdigit():
                self.out[-1] = '"'
            return after
        spaced = self._spaced(after)
        if self.text[here] in "\u00ab\u2039" and last in ("", " ", "(") and spaced:
            self._put("'", here, after)
            return self._past_space(after)
        if self.text[here] in "\u00bb\u203a" and last == " " and not self._is(after, "alpha"):
            self._drop()
            last = ""
        self._put(piece if last.isdigit() else "'", here, after)
        return after


def _fold(text: str) -> _Folded:
    return _Folding(text).folded()


def fold_quote(text: str) -> str:
    """Text as quotes are compared: spaces, hyphenation, ligatures, dashes and quotation marks folded; case kept."""
    return _fold(unicodedata.normalize("NFC", text)).text.strip()


def find_quote(page: str, quote: str) -> Span | None:
    """Where a quote stands in a page, or None. Positions are those of the page as given.

    A word that a line break cut may stand in the quote joined or with its hyphen; both are found. What the quoter put
    around the passage is taken off: quotation marks, an ellipsis, Markdown, a full stop. So are HTML entities.
    """
    whole = _fold(page)
    loose: _Folded | None = None
    for given in (quote, unescape(quote)) if _ENTITY.search(quote) else (quote,):
        needle = _bare(fold_quote(given))
        if len(needle) < MIN_QUOTE:
            continue
        at = _whole_words(whole, needle)
        if at >= 0:
            return Span(whole.starts[at], whole.ends[at + len(needle) - 1])
        loose = loose or _without_hyphens(whole)
        bare = _HYPHEN_IN_WORD.sub(lambda found: "-" if found.lastgroup == "space" else "", needle)
        at = _whole_words(loose, bare)
        if at >= 0:
            return Span(loose.starts[at], loose.ends[at + len(bare) - 1])
    return None


def _bare(quote: str) -> str:
    """A folded quote without what the quoter put around it; in `5"` the mark is closing only if another opened."""
    opening = _AROUND_START.match(quote)
    rest = quote[opening.end() :] if opening else quote
    quoted = opening is not None and not set(opening.group()).isdisjoint("'\"")
    while True:
        shorter = rest.rstrip(_AROUND_END)
        for mark in _LEFT_OUT:
            shorter = shorter.removesuffix(mark)
        if shorter.endswith(("'", '"')) and (quoted or not shorter[-2:-1].isdigit()):
            shorter = shorter[:-1]
        if shorter == rest:
            return rest
        rest = shorter


def _whole_words(haystack: _Folded, needle: str) -> int:
    """First place where the needle does not begin or end inside a word or number; -1 if there is none."""
    at = haystack.text.find(needle)
    while at >= 0:
        if not (_cut_at_start(haystack, at) or _cut_at_end(haystack, at + len(needle))):
            return at
        at = haystack.text.find(needle, at + 1)
    return -1


def _joined(left: str, right: str) -> bool:
    """Whether two characters belong to one word."""
    if left in _CJK_NUMERALS or left.isdigit():
        return right in _CJK_NUMERALS or (right.isalnum() and not _UNSPACED.match(right))
    if _UNSPACED.match(left) or _UNSPACED.match(right):
        return unicodedata.category(right).startswith("M")
    return left.isalnum() and (right.isalnum() or unicodedata.category(right).startswith("M"))


def _cut_at_start(page: _Folded, at: int) -> bool:
    """Whether a passage that begins here leaves out a part of its first word or number."""
    text = page.text
    if at == 0:
        return False
    first, before = text[at], text[at - 1]
    if _clause_ends(page, at):
        return False
    if _joined(before, first) or (before == "-" and at > 1 and text[at - 2].isalnum() and _is_hyphen(page, at - 1)):
        return True
    then = text[at + 1 : at + 2]
    if (first in ".,:-" and before.isdigit() and then.isdigit()) or (
        first == "/" and before.isalnum() and then.isalnum()
    ):
        return True
    return first.isdigit() and (
        (before in _BOUND_TO_NUMBER and (before != "_" or text[at - 2 : at - 1].isalnum()))  # x_2, not _2 emphasized_
        or (before == "-" and _is_hyphen(page, at - 1))
        or (before in ".,:/" and at > 1 and text[at - 2].isdigit())
        or (before == "." and (at == 1 or text[at - 2] in " (-"))
    )


def _cut_at_end(page: _Folded, end: int) -> bool:
    """Whether a passage that ends here leaves out a part of its last word or number."""
    text = page.text
    if end >= len(text):
        return False
    last, after, then = text[end - 1], text[end], text[end + 1 : end + 2]
    if _clause_ends(page, end):
        return False
    if _joined(last, after):
        return True
    if then.isalnum() and last.isalnum():
        if after == "-" and _is_hyphen(page, end):
            return True
        if after == "/" or (after == "'" and last.isalpha() and not _UNSPACED.match(then)):
            return True
    if not last.isdigit():
        return False
    if after == "_":  # 2_5, not _up to 2_
        return then.isalnum()
    return after in "%\u2030\u00b0^" or (after in ".,:" and then.isdigit()) or text.startswith(_FRACTIONS, end)


def _clause_ends(page: _Folded, at: int) -> bool:
    """Whether a clause's dash stood before this character and was left out (see `_without_hyphens`)."""
    between = page.original[page.ends[at - 1] : page.starts[at]]
    return _CLAUSE_END.search(between) is not None


def _is_hyphen(page: _Folded, at: int) -> bool:
    """Whether a folded dash joins what stands beside it, as a hyphen, a sign or a range does."""
    start, end = page.starts[at], page.ends[at]
    original = page.original
    if end - start > 1 or original[start] in _CLAUSE_DASHES or (start and original[start - 1].isspace()):
        number = at + 1 < len(page.text) and page.text[at + 1].isdigit()
        spaced = original[end : end + 1].isspace()
        return number and at > 0 and (page.text[at - 1].isdigit() or (page.text[at - 1] == " " and not spaced))
    letters = page.text[at - 1 : at].isalpha() and page.text[at + 1 : at + 2].isalpha()
    return original[start] in _HYPHENS or not letters


def _without_hyphens(folded: _Folded) -> _Folded:
    """The text without hyphens between letters and without the space after one between other characters.

    For words that a line break cut in one copy and not in the other.
    """
    parts, starts, ends, kept = [], array("l"), array("l"), 0
    for found in _HYPHEN_IN_WORD.finditer(folded.text):
        first, after = found.span(found.lastgroup or 0)
        parts.append(folded.text[kept:first])
        starts += folded.starts[kept:first]
        ends += folded.ends[kept:first]
        kept = after
    text = "".join([*parts, folded.text[kept:]])
    return _Folded(text, starts + folded.starts[kept:], ends + folded.ends[kept:], folded.original)


_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W\d_])(?P<out>- ?)(?=[^\W\d_])|(?<=\w)-(?P<space> )(?=\w)")
_FRACTIONS = tuple(
    f" {top}/{bottom}"
    for top, bottom in ("12", "13", "14", "15", "16", "18", "23", "25", "34", "35", "38", "45", "56", "58", "78")
)


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
        return bool(word) and _whole_words(_fold(fold_quote(quote).casefold()), word) >= 0
    return set(wanted) <= set(numbers(quote))
