"""The simple loop without a model: search what is asked, read the best pages, answer with their own sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage

from zetetic.state.wording import folded

from .asking import queries_for, sub_questions
from .challenging import Calls
from .language import (
    Weights,
    confirms,
    fits_kind,
    is_statement,
    relevance,
    sentences_of,
    stems,
)
from .reading import Seen, read_prompt

PAGES_A_TURN = 10
READS = 2
"""Turns of reading after a turn of searches."""
MOST_SEARCHES = 2
"""Queries asked on one question."""
STATEMENTS = 5
"""Sentences that answer one question at most."""
BEARS_ON = 0.3
"""Relevance of the best sentence below which nothing that was read answers the question."""
_PAGE = re.compile(r'^<page address="(?P<address>[^"]*)"[^>]*>\n(?P<text>.*?)\n</page>$', re.S | re.M)


@dataclass(frozen=True)
class Told:
    """A sentence, how well it answers a question, and the addresses of the pages that say so."""

    text: str
    relevance: float
    addresses: tuple[str, ...]


def answer(messages: Sequence[BaseMessage]) -> Calls:
    """The next calls: searches, then the pages they gave, once more where that answers nothing, then the report."""
    seen = read_prompt(messages)
    questions = sub_questions(seen.objective) or [seen.objective]
    if re.match(r"# Now\nThe budget is used up", messages[-1].text):
        return [_report(seen, questions)]
    searched = [names for names, _ in seen.rounds if "web_search" in names]
    fetched = seen.fetched()
    unread = [h.url for h in seen.hits() if h.url not in fetched] if searched else []
    if unread and _reads_since_search(seen) < READS:
        return [("fetch_page", {"url": url}) for url in unread[:PAGES_A_TURN]]
    if len(searched) < MOST_SEARCHES:
        silent = [q for q in questions if not _answers(seen, q)] if searched else questions
        queries = [query for q in silent for query in _queries(seen, q)[:1]]
        if queries:
            return [("web_search", {"query": query}) for query in dict.fromkeys(queries)]
    return [_report(seen, questions)]


def _reads_since_search(seen: Seen) -> int:
    names = [names for names, _ in seen.rounds]
    last = max((n for n, called in enumerate(names) if "web_search" in called), default=-1)
    return sum("fetch_page" in called for called in names[last + 1 :])


def _queries(seen: Seen, question: str) -> list[str]:
    asked = [(query, "") for query in _asked(seen)]
    return queries_for(question, "", seen.objective, asked, "")


def _asked(seen: Seen) -> Iterator[str]:
    for _, results in seen.rounds:
        for message in results:
            if message.name == "web_search" and isinstance(message.artifact, dict):
                yield str(message.artifact.get("query", ""))


def _pages(seen: Seen) -> dict[str, str]:
    """The texts of the pages that were read, by address."""
    found: dict[str, str] = {}
    for _, results in seen.rounds:
        for message in results:
            if message.name == "fetch_page" and (page := _PAGE.search(message.text)):
                found.setdefault(page["address"], page["text"])
    return found


def _answers(seen: Seen, question: str) -> list[Told]:
    """The sentences of the pages that answer a question, best first, none that says what another one says."""
    pages = {address: sentences_of(text) for address, text in _pages(seen).items()}
    weights = Weights(s for sentences in pages.values() for s in sentences)
    found: dict[str, tuple[float, list[str]]] = {}
    for address, sentences in pages.items():
        for sentence in sentences:
            if not is_statement(sentence, loose=True) or "://" in sentence:
                continue
            score = relevance(question, sentence, weights) * (1.0 if fits_kind(question, sentence) else 0.5)
            if score > 0:
                known = found.setdefault(folded(sentence), (score, [sentence]))
                if address not in known[1][1:]:
                    known[1].append(address)
    ranked = sorted((Told(told[0], score, tuple(told[1:])) for score, told in found.values()), key=_order)
    return [_with_all_addresses(told, ranked, question) for told in _distinct(ranked)]


def _order(told: Told) -> tuple[float, int, str]:
    return (-told.relevance, -len(told.addresses), told.text)


def _with_all_addresses(told: Told, ranked: Sequence[Told], question: str) -> Told:
    """A sentence with the addresses of every page that says all of it."""
    also = (a for other in ranked if confirms(told.text, other.text, question) for a in other.addresses)
    return replace(told, addresses=tuple(dict.fromkeys([*told.addresses, *also])))


def _distinct(ranked: Sequence[Told]) -> Iterator[Told]:
    kept: list[Told] = []
    for told in ranked:
        if len(kept) >= STATEMENTS or ranked[0].relevance < BEARS_ON:
            return
        if any(stems(told.text) <= stems(k.text) for k in kept):
            continue
        kept.append(told)
        yield told


def _report(seen: Seen, questions: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The report: each question's sentences with their addresses, and what no page answers."""
    summary: list[str] = []
    details: list[str] = []
    gaps: list[str] = []
    for question in questions:
        told = _answers(seen, question)
        if not told:
            gaps.append(f"- No page that was read answers: {question}")
            continue
        summary.append(f"- {_cited(told[0])}")
        details += [f"### {question}", "", *(f"- {_cited(t)}" for t in told), ""]
    lines = ["## Summary", "", *summary, "", "## Details", "", *details, *(["## Gaps", "", *gaps] if gaps else [])]
    return ("finalize_report", {"report": "\n".join(lines)})


def _cited(told: Told) -> str:
    return f"{told.text.rstrip()} ({', '.join(told.addresses)})"
