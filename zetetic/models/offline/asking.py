"""Planning without a model: splitting an objective into questions, criteria and queries."""

from __future__ import annotations

import re

from zetetic.state.wording import folded, one_line, words

from .language import ASKS_FIGURE, ASKS_TIME, stem

_OPENERS = (
    r"(?:how|what|when|who|whom|whose|why|where|which|does|do|did|is|are|was|were|can|could|has|have|should|will)"
)
_JOINED = re.compile(rf"(?:,\s*(?:and\s+)?|;\s*|\s+and\s+)(?={_OPENERS}\b)", re.I)
_ASKED = re.compile(rf"^\s*(?:and\s+)?{_OPENERS}\b", re.I)
_WHETHER = re.compile(r"^\s*(?:does|do|did|is|are|was|were|can|could|has|have|had|will|would)\b", re.I)
_STOP = frozenset(
    [
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "how",
        "does",
        "do",
        "did",
        "is",
        "are",
        "was",
        "were",
        "can",
        "could",
        "has",
        "have",
        "had",
        "should",
        "will",
        "would",
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "and",
        "or",
        "if",
        "any",
        "there",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "be",
        "been",
        "being",
        "much",
        "many",
        "according",
        "between",
        "during",
        "about",
        "into",
        "than",
        "then",
        "their",
        "his",
        "her",
        "next",
    ]
)
MOST_QUESTIONS = 8


def sub_questions(objective: str) -> list[str]:
    """The questions an objective asks, one each; a single one means it is atomic."""
    text = " ".join(objective.split())
    parts = [p.strip() for p in re.split(r"(?<=[?.!])\s+(?=[A-Z\"'(])", text) if p.strip()]
    questions: list[str] = []
    for part in parts:
        pieces = _JOINED.split(part) if _ASKED.match(part) else [part]
        for piece in pieces:
            piece = piece.strip(" ,;.")
            if len(words(piece)) >= 3:
                asked = piece if piece.endswith("?") or not _ASKED.match(piece) else f"{piece}?"
                questions.append(asked[0].upper() + asked[1:])
    distinct = list({folded(q): q for q in questions}.values())
    asking = [q for q in distinct if _ASKED.match(q)]
    return (asking if len(asking) >= 2 else distinct)[:MOST_QUESTIONS]


def asks_whether(question: str) -> bool:
    """Whether something is to be confirmed or refuted, rather than found out."""
    return _WHETHER.match(question) is not None


def key_terms(text: str) -> list[str]:
    """The words of a text worth searching for, in order, once each."""
    found: dict[str, str] = {}
    for word in words(text):
        if word not in _STOP and len(word) > 1:
            found.setdefault(stem(word), word)
    return list(found.values())


def criteria_for(question: str) -> str:
    """What an acceptable answer must contain."""
    about = " ".join(key_terms(question))
    if ASKS_TIME.search(question):
        return f"States a date or year with a quoted source, about: {about}"
    if ASKS_FIGURE.search(question):
        return f"States a figure with its unit and a quoted source, about: {about}"
    return f"States with a quoted source what holds, about: {about}"


def run_criteria(questions: list[str]) -> list[str]:
    """Three to five binary statements the report is judged by."""
    found = [one_line(f"Answers, or names as a gap: {q}", 300) for q in questions[:5]]
    if len(questions) > 5:
        found[4] = one_line(f"Answers, or names as a gap: {' '.join(questions[4:])}", 500)
    for extra in (
        "Every statement cites a quoted source.",
        "Contradictions between sources are named with both sides.",
        "What could not be found is listed under gaps.",
    ):
        if len(found) < 3 or (len(found) < 5 and extra.startswith("Every")):
            found.append(extra)
    return found[:5]


def queries_for(question: str, criteria: str, objective: str, tried: list[tuple[str, str]], steer: str) -> list[str]:
    """Queries not asked yet on a question, best first."""
    asked = {folded(q) for q, _ in tried}
    proposed = []
    wanted = re.search(r"Start from the query '([^']+)'", steer)
    if wanted:
        proposed.append(wanted[1])
    terms = key_terms(question)
    proposed.append(" ".join(terms))
    proposed.append(" ".join(terms[-4:]))
    proposed.append(" ".join([*terms[:3], *key_terms(criteria)[:4]]))
    proposed.append(" ".join(dict.fromkeys([*terms[:2], *key_terms(objective)[:8]])))
    proposed.append(" ".join(sorted(terms, key=len, reverse=True)[:3]))
    found: dict[str, str] = {}
    for query in proposed:
        if query and folded(query) not in asked:
            found.setdefault(folded(query), query[:380])
    return list(found.values())
