"""Reading pages without a model: the sentences that bear on a question become claims, word for word."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.wording import folded

from .bearing import bears_on
from .language import (
    LONGEST_CLAIM,
    Weights,
    fits_kind,
    is_statement,
    names,
    needs_context,
    phrases,
    relevance,
    sentences_of,
    stems,
)
from .reading import pages_in

MOST_PER_PAGE = 4
ENOUGH = 0.38
GOOD = 0.5
LITTLE = 0.22
"""Relevance from which a short page's best sentence is kept where nothing better stands on it."""
ANY = 0.05
"""The same where only a few pages were read at once: each of them is told."""
FEW_PAGES = 3
SHORT_PAGE = 2500
FRAGMENT = 300
UNFIT = 0.6
"""What is left of a sentence's relevance where it has not the kind of answer that is asked for, or not of that."""


def extract(prompt: str) -> dict[str, Any]:
    """The arguments of notes_append for an extraction prompt."""
    question = _field(prompt, "Question: ")
    objective = _field(prompt, "Objective: ")
    current = re.search(r"^Question: \[(q_\d+)\]", prompt, re.M)
    current_id = current.group(1) if current else ""
    others = re.findall(r"^- \[(q_\d+)\] (.*)$", prompt.split("<page ", 1)[0], re.M)
    asked = [(current_id, question), *others]
    known = set()
    for told, sources in re.findall(r"^\[[cd]_\d+\] \w+\s+(.*?)\s+src: (.*)$", prompt, re.M):
        known |= {f"{source.strip()} {folded(told)}" for source in sources.split(",")}
    return from_pages(asked, objective, pages_in(prompt), known)


def from_pages(
    asked: list[tuple[str, str]], objective: str, pages: list[tuple[str, str, str]], known: set[str]
) -> dict[str, Any]:
    """The arguments of notes_append for pages (source id, title, text) and questions, the current one first."""
    claims: list[dict[str, Any]] = []
    nothing: list[str] = []
    weights = Weights(s for _, _, text in pages for s in sentences_of(text))
    for source_id, title, text in pages:
        found = _claims(asked, objective, source_id, title, text, known, weights, many=len(pages) > FEW_PAGES)
        if found:
            claims += found
        elif source_id.startswith("s_"):
            nothing.append(source_id)
    return {"claims": claims[:40], "nothing_relevant": nothing[:20]}


def _field(prompt: str, name: str) -> str:
    match = re.search(rf"^{re.escape(name)}(.*)$", prompt, re.M)
    return re.sub(r"^\[q_\d+\] ", "", match.group(1)) if match else ""


def _claims(
    asked: list[tuple[str, str]],
    objective: str,
    source_id: str,
    title: str,
    text: str,
    known: set[str],
    weights: Weights,
    *,
    many: bool,
) -> list[dict[str, Any]]:
    sentences = sentences_of(text)
    subject = f"{title} {' '.join(phrases(sentences[0])[:2])}" if sentences else title
    scored: list[tuple[float, int, str]] = []
    for place, sentence in enumerate(sentences):
        if not is_statement(sentence, loose=len(text) <= SHORT_PAGE):
            continue
        before = sentences[place - 1] if place else ""
        context = f"{subject} {before}" if needs_context(sentence) else subject
        best, wanted = 0.0, asked[0][0]
        for number, (question_id, question) in enumerate(asked):
            score = relevance(question or objective, sentence, weights, context)
            if not fits_kind(question, sentence) or not bears_on(question, sentence):
                score *= UNFIT
            if score > best + (0.05 if number else 0.0):
                best, wanted = score, question_id
        if best > 0.0:
            scored.append((best, place, wanted))
    little = LITTLE if many else ANY
    floor = ENOUGH if any(s[0] >= ENOUGH for s in scored) or len(text) > SHORT_PAGE else little
    scored = sorted((s for s in scored if s[0] >= floor), key=lambda s: (-s[0], s[1]))
    if floor != ENOUGH:
        scored = scored[:1]
    found: list[dict[str, Any]] = []
    taken: dict[str, int] = {}
    for score, place, question_id in scored:
        most = MOST_PER_PAGE if question_id == asked[0][0] else 2
        if taken.get(question_id, 0) >= most or (score < GOOD and taken.get(question_id, 0) >= 3):
            continue
        sentence = sentences[place]
        quote = sentence
        before = sentences[place - 1] if place else ""
        asks = next(text for name, text in asked if name == question_id) or objective
        lent = (names(asks) & names(before)) - names(sentence)
        if before and (needs_context(sentence) or lent) and len(before) + len(sentence) < LONGEST_CLAIM:
            quote = f"{before} {sentence}"  # the sentence before names what this one speaks of
        if f"{source_id} {folded(quote)}" in known or any(folded(quote) == folded(f["text"]) for f in found):
            continue
        if any(stems(quote) <= stems(f["text"]) for f in found):
            continue
        taken[question_id] = taken.get(question_id, 0) + 1
        found.append({"text": quote, "quote": quote, "source_id": source_id, "question_id": question_id, "_at": place})
    if not found and not many and len(text) <= FRAGMENT and f"{source_id} {folded(text)}" not in known:
        # A page that is one fragment says what it says; where few pages were read, it is told as it stands.
        found.append(
            {"text": text.strip(), "quote": text.strip(), "source_id": source_id, "question_id": asked[0][0], "_at": 0}
        )
    found.sort(key=lambda f: f["_at"])
    for entry in found:
        del entry["_at"]
    return found
