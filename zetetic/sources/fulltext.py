"""Full-text search over texts in memory: SQLite FTS5, porter stemming, bm25, and the passage that answers best."""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence

TITLE_WEIGHT = 3.0
SNIPPET_CHARACTERS = 300

# fmt: off
STOP_WORDS = frozenset((
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "being", "both", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "into", "is",
    "it", "its", "may", "me", "might", "more", "most", "my", "no", "nor", "not", "of", "on", "one", "or", "our", "s",
    "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your",
))
# fmt: on

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+")
_ENDINGS = (
    *("ization", "ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly"),
    *("s", "y", "e"),
)


def content_words(query: str) -> tuple[str, ...]:
    """The words of a query that say what it is about, lower case, each once; all of them if there are no others."""
    words = tuple(dict.fromkeys(word.casefold() for word in _TOKEN.findall(query)))
    return tuple(word for word in words if word not in STOP_WORDS) or words


class FullText:
    """An index of (title, text) pairs, numbered in order. Safe to use from several threads; `close` frees it."""

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._close = weakref.finalize(self, self._connection.close)
        self._connection.execute(
            "CREATE VIRTUAL TABLE entry USING fts5(title, body, content='', tokenize='porter unicode61')"
        )
        rows = [(number, _spaced(title), _spaced(body)) for number, (title, body) in enumerate(entries)]
        self._size = len(rows)
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO entry (rowid, title, body) VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def ranked(self, words: Sequence[str], limit: int) -> list[int]:
        """Numbers of the entries with any of the words, best first. Raises ValueError once closed."""
        if not words:
            return []
        query = " OR ".join(_phrase(word) for word in words)
        sql = "SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY bm25(entry, ?, 1.0), rowid LIMIT ?"
        return [row[0] for row in self._rows(sql, (query, TITLE_WEIGHT, limit))]

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """How telling each word is here: rare ones more (inverse document frequency)."""
        found = {}
        for word in words:
            sql = "SELECT count(*) FROM entry WHERE entry MATCH ?"
            held = self._rows(sql, (_phrase(word),))[0][0]
            found[word] = math.log(1 + (self._size - held + 0.5) / (held + 0.5))
        return found

    def close(self) -> None:
        """Free the index. Twice is harmless."""
        with self._lock:
            self._close()

    def _rows(self, sql: str, arguments: tuple[object, ...]) -> list[tuple[int, ...]]:
        with self._lock:
            if not self._close.alive:
                raise ValueError("The index is closed.")
            return self._connection.execute(sql, arguments).fetchall()


def _phrase(word: str) -> str:
    """The word as an FTS5 string, in which no character is an operator."""
    return '"' + _spaced(word).strip().replace('"', '""') + '"'


def _spaced(text: str) -> str:
    """Scripts without spaces are indexed by character, so that a word inside a line is found as a phrase."""
    if text.isascii():
        return text
    return _UNSPACED_RUN.sub(lambda run: " " + " ".join(run[0]) + " ", text)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


_BOUNDARY = re.compile(r"(?<=[.!?。！？])[\"”’)\]]*\s+|\n+|(?<=[。！？])")


def best_passage(text: str, weights: dict[str, float], limit: int = SNIPPET_CHARACTERS) -> str:
    """At most `limit` characters, verbatim from the text, that hold most of the weight of the words; whole sentences
    where they fit. The text's beginning if none of the words occurs.
    """
    stems = {_stem(word): weight for word, weight in weights.items()}
    places: list[tuple[int, int, str]] = []
    if stems:
        words = "|".join(
            re.escape(stem) if _UNSPACED_RUN.match(stem) else rf"\b{re.escape(stem)}"
            for stem in sorted(stems, key=len, reverse=True)
        )
        places = [
            (found.start(), found.end(), found[1].lower())
            for found in re.finditer(rf"({words})\w{{0,6}}", text, re.IGNORECASE)
        ]
    start = end = 0
    best = -1.0
    for index, (left, _, _) in enumerate(places):
        held: dict[str, float] = {}
        last = left
        for _, right, stem in places[index : index + 60]:
            if right - left > limit:
                break
            held.setdefault(stem, stems.get(stem, 0.0))
            last = right
        if (score := sum(held.values())) > best + 1e-9:
            start, end, best = left, last, score
    return _widened(text, start, end, limit)


def _widened(text: str, start: int, end: int, limit: int) -> str:
    """The span, widened to whole sentences while they fit, else to whole words."""
    lower, upper = max(start - limit, 0), min(end + limit, len(text))
    cuts = [lower + found.end() for found in _BOUNDARY.finditer(text[lower:upper])]
    begins = [cut for cut in [*([0] if lower == 0 else []), *cuts] if cut <= start and end - cut <= limit]
    begin = max(begins) if begins else _word_start(text, start, max(end - limit, 0))
    finishes = [cut for cut in [*cuts, *([len(text)] if upper == len(text) else [])] if end <= cut]
    fitting = [cut for cut in finishes if len(text[begin:cut].rstrip()) <= limit]
    finish = max(fitting) if fitting else _word_end(text, end, begin + limit)
    return text[begin:finish].strip()


def _word_start(text: str, start: int, earliest: int) -> int:
    """The first word that begins at or after `earliest`, at most 60 characters before `start`."""
    earliest = max(earliest, start - 60)
    space = re.search(r"\s", text[earliest:start])
    return earliest + space.end() if space else start


def _word_end(text: str, end: int, latest: int) -> int:
    """The last place at or before `latest` where a word ends."""
    if latest >= len(text):
        return len(text)
    space = text.rfind(" ", end, latest + 1)
    return space if space > 0 else max(min(latest, len(text)), min(end, latest))
