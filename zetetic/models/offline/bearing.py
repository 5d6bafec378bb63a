"""What sets a question apart from others about the same thing, and whether a statement speaks of that.

A figure or a date of the right kind is no answer by itself: what it costs to build is not what it costs to run.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .language import ASKS_FIGURE, ASKS_TIME, cues, stem, stems

_MEANINGS = {
    name: frozenset(stem(word) for word in f"{name} {words}".split())
    for name, words in {
        "build": "built construct erect building construction builder",
        "run": "ran operate maintain running operation operating maintenance upkeep",
        "use": "consume consumption need",
        "generate": "produce output generation production yield supply",
        "buy": "bought purchase buyer purchased acquire",
        "sell": "sale sold seller",
        "open": "inaugurate opening start begin began launch found establish",
        "close": "shut closure end demolish dissolve",
        "plan": "propose design draft",
        "import": "imported",
        "export": "exported",
        "born": "birth",
        "die": "death dead killed",
        "win": "won victory",
        "lose": "lost defeat",
        "cost": "price spend spent pay paid expense expenditure budget worth fee charge",
        "repair": "refit refurbish renovate renew overhaul",
    }.items()
}
"""Words that say the same of a thing, by one of them."""
_OPPOSED = tuple(
    (_MEANINGS[one], _MEANINGS[other])
    for one, other in (
        *(("build", "run"), ("build", "repair"), ("build", "close"), ("plan", "close"), ("open", "close")),
        *(("use", "generate"), ("buy", "sell"), ("import", "export"), ("born", "die"), ("win", "lose")),
    )
)
"""Meanings that are about different things where a statement has the one and the question the other."""
_TO_DO = re.compile(
    r"\b(?:costs?|takes?|took|needed|need|required?|spent|paid|price)\b.{0,60}?\bto (?P<verb>[a-z]{2,})\b", re.I
)
_COUNTED = re.compile(r"\bhow (?:many|much) (?P<thing>[a-z]{3,})\b", re.I)
_MEASURED = re.compile(r"\b(?P<thing>costs?|price|budget|capacity)\b", re.I)
_MONEY = re.compile(
    r"[$€£¥]|\b(?:dollars?|euros?|pounds?|crowns?|yen|francs?|marks?|rupees?|yuan|pesos?|USD|EUR|GBP)\b"
)
_NO_THING = frozenset(
    {"did", "does", "has", "have", "had", "was", "were", "are", "will", "would", "can", "could", "more", "less"}
)


@lru_cache(maxsize=4096)
def _same(word: str) -> frozenset[str]:
    """A stem with those of the words that mean the same."""
    return frozenset({word}).union(*(meaning for meaning in _MEANINGS.values() if word in meaning))


@lru_cache(maxsize=4096)
def required(question: str) -> frozenset[str]:
    """Stems that a figure must be told with: what is counted, and what is to be done for it."""
    found = [m["verb"] for m in _TO_DO.finditer(question)]
    found += [m["thing"] for m in _MEASURED.finditer(question)]
    found += [m["thing"] for m in _COUNTED.finditer(question) if m["thing"].casefold() not in _NO_THING]
    return frozenset(stem(word.casefold()) for word in found)


def bears_on(question: str, statement: str) -> bool:
    """Whether a statement is about what a question about a figure or a time asks; any is, for other questions."""
    asks_figure = ASKS_FIGURE.search(question)
    if not asks_figure and not ASKS_TIME.search(question):
        return True
    asked, said = stems(question), stems(statement)
    for one, other in _OPPOSED:
        for wanted, told in ((one, other), (other, one)):
            if asked & wanted and not asked & told and said & told and not said & wanted:
                return False
    if not asks_figure or cues(question) & said:
        return True
    if _MONEY.search(statement):
        said |= {stem("cost")}
    return all(_same(word) & said for word in required(question))
