"""A query as a service takes it: in its length, and by its telling words."""

from __future__ import annotations

import re

from zetetic.sources.extracted import one_line

MAX_TERMS = 16
_TERM = re.compile(r'"([^"]+)"|(\w+(?:[.-]\w+)*)')
# fmt: off
_EMPTY_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "has", "have", "how", "in", "is",
    "it", "its", "not", "of", "on", "or", "that", "the", "their", "this", "to", "was", "were", "what", "when", "where",
    "which", "who", "why", "will", "with",
))
# fmt: on


def capped(query: str, chars: int) -> str:
    """A query on one line, at most `chars` characters, cut between words where it can be."""
    line = one_line(query, len(query) + 1)
    if len(line) <= chars:
        return line
    head, _, _ = line[: chars + 1].rpartition(" ")
    return (head or line[:chars]).rstrip()


def telling_terms(query: str) -> list[str]:
    """The words and quoted phrases of a query, each once, without the words that say nothing."""
    found = [phrase.strip() or word for phrase, word in _TERM.findall(query)]
    telling = [term for term in found if term.casefold() not in _EMPTY_WORDS] or found
    return list(dict.fromkeys(telling))[:MAX_TERMS]


def any_term(query: str) -> str:
    """A query for any of its telling terms, where it holds several: `one OR "two words"`; '' where it does not."""
    terms = telling_terms(query)
    return " OR ".join(f'"{term}"' if " " in term else term for term in terms) if len(terms) > 1 else ""
