"""The report without a model: the answers as they stand, both sides of every conflict, and the gaps."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.citations import cited_ids, split_sentences

from .answering import FEW_SOURCES, NOT_FOUND, ranked, statement, weights_of
from .language import relevance
from .reading import ClaimSeen, Seen, is_living

MOST_ALSO = 6
MOST_UNASKED = 8


def report(seen: Seen) -> dict[str, Any]:
    """The arguments of finalize_report: the report, or the part of it that the prompt asks for."""
    if seen.part.startswith("section"):
        return {"report": _section(seen)}
    parts = [q for q in seen.answers if q[0] != "q_001"]
    asked = [a for a in parts if not _is_conflict(a[1])] or [a for a in seen.answers if a[0] == "q_001"]
    summary: list[str] = []
    details: list[str] = []
    for _, question, answer, _ in asked:
        sentences = _standing(seen, answer)
        if not sentences:
            continue
        first = 2 if sentences[0].startswith("Sources disagree") else 1
        summary.append(f"- {' '.join(sentences[:first])}")
        if further := sentences[first:]:  # what the summary says is not said again
            details += [f"### {question.rstrip()}", "", *(f"- {s}" for s in further), ""]
    told = "\n".join([*summary, *details])
    also = _also_stated(seen, told) if all(_is_conflict(a[1]) for a in parts) else []
    if also:
        details += ["### Also stated by the sources", "", *(f"- {statement(c)}" for c in also), ""]
    if seen.part == "summary":
        return {"report": "\n".join(["## Summary", "", *summary, "", *_gaps(seen)])}
    if not summary:  # nothing was answered: what was found all the same is no summary
        found = [*also, *(c for c in [*seen.claims.values()] if is_living(c) and c not in also)][:MOST_UNASKED]
        details = ["### Also stated by the sources", "", *(f"- {statement(c)}" for c in found), ""] if found else []
    if conflicts := _untold_conflicts(seen, "\n".join([*summary, *details])):
        details += ["### Where sources disagree", "", *conflicts, ""]
    lines = ["## Summary", "", *summary, ""] if summary else []
    lines += ["## Details", "", *details] if details else []
    lines += _gaps(seen)
    return {"report": "\n".join(lines or ["## Gaps", "", f"- {NOT_FOUND}{seen.objective}"])}


def _untold_conflicts(seen: Seen, told: str) -> list[str]:
    """The pairs in conflict of which the text so far does not tell both sides."""
    conflicts = []
    for a, b, _ in seen.pairs:
        one, other = seen.claims.get(a), seen.claims.get(b)
        if one is None or other is None or not (is_living(one) and is_living(other)):
            continue
        if not {a, b} <= set(cited_ids(told)):
            conflicts.append(f"- Sources disagree: {statement(one)} Against it: {statement(other)}")
    return conflicts


def _section(seen: Seen) -> str:
    """The details on the questions of one section: the answer's sentences, else the claims on it."""
    lines: list[str] = []
    disputes: list[str] = []
    for _, question, answer, _ in seen.answers:
        told = _standing(seen, answer)
        if _is_conflict(question):
            disputes += told
        elif told:
            lines += [f"### {question.rstrip()}", "", *(f"- {s}" for s in told), ""]
    pairs = [(seen.claims.get(a), seen.claims.get(b)) for a, b, _ in seen.pairs]
    sides = [(a, b) for a, b in pairs if a is not None and b is not None and is_living(a) and is_living(b)]
    disputes = [f"Sources disagree: {statement(a)} Against it: {statement(b)}" for a, b in sides] or disputes
    above = cited_ids("\n".join(lines))
    disputes = [d for d in disputes if not set(cited_ids(d)) <= set(above)]  # both sides stand there already
    if disputes:
        lines += ["### Where sources disagree", "", *(f"- {s}" for s in dict.fromkeys(disputes)), ""]
    if not lines:
        lines = ["### Also stated by the sources", "", *(f"- {statement(c)}" for c in seen.own()[:MOST_ALSO])]
    return "\n".join(lines)


def _also_stated(seen: Seen, told: str) -> list[ClaimSeen]:
    """For an objective of one question: the claims on it that its answer did not use, best first."""
    weights = weights_of(seen)
    few = len(seen.sources) <= FEW_SOURCES
    left = [
        c
        for c in seen.claims.values()
        if is_living(c)
        and c.id not in told
        and c.text not in told
        and (few or relevance(seen.objective, c.text, weights) > 0)
    ]
    return ranked(seen, seen.objective, left)[:MOST_ALSO]


def _gaps(seen: Seen) -> list[str]:
    lines: list[str] = []
    told: set[str] = set()
    for question_id, text in seen.unanswered:
        asked = re.sub(r" -> .*$", "", text)
        silent = [g for g in seen.gaps_noted if asked.rstrip("…") in g]
        told |= set(silent)
        lines.append(f"- {silent[0] if silent else f'{asked} No answer was found.'} [{question_id}]")
    lines += [f"- {gap}" for gap in dict.fromkeys(seen.gaps_noted) if gap not in told]
    return ["## Gaps", "", *lines] if lines else []


def _is_conflict(question: str) -> bool:
    return question.startswith(("Which holds: ", "What holds instead of the refuted statement: "))


def _standing(seen: Seen, answer: str) -> list[str]:
    """The sentences of an answer whose claims still stand."""
    kept = []
    for sentence in split_sentences(answer):
        ids = re.findall(r"\b[cd]_\d{3,}\b", sentence)
        if ids and all(i not in seen.claims or is_living(seen.claims[i]) for i in ids):
            kept.append(sentence)
    return kept
