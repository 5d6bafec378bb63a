"""The text a report is made of: the accepted draft, or what code writes from the notes (D46), without fallen claims."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zetetic.state.citations import (
    Section,
    cited_claims,
    cited_ids,
    cited_sentences,
    split_sentences,
    strip_bibliography,
)
from zetetic.state.research import Research
from zetetic.state.values import Claim, Question
from zetetic.state.wording import one_line

FALLEN = frozenset({"REFUTED", "RETRACTED"})
HEADING_SHOWN = 160
"""Characters of a question as a heading."""


def draft_of(research: Research) -> tuple[str, bool]:
    """The draft with its citations by id, and whether code wrote it: there was none, or it was rendered by code."""
    report = research.report
    written = report.draft or (report.final if cited_ids(report.final) else "")
    if written.strip():
        return strip_bibliography(written), report.rendered_by_code
    return notes_draft(research), True


def notes_draft(research: Research) -> str:
    """A report from the notes alone (D46): the answers with the claims they rest on, then the other claims.

    Every sentence cites a claim, so that it passes the same gate as a model's report once the gaps are added.
    """
    parts: list[str] = []
    told: set[str] = set()
    root = next(iter(research.questions.values()), None)
    if root is not None and (answer := _answer(research, root)):
        parts += ["## Summary", answer]
    details: list[str] = []
    for question in research.questions.values():
        answer = "" if question is root else _answer(research, question)
        lines = [f"- {line}" for claim in _standing(research, question.id) if (line := _claim(claim, told))]
        if answer or lines:
            title = "The objective" if question is root else one_line(question.question, HEADING_SHOWN).strip("#* ")
            details += [f"### {title}", *([answer] if answer else []), *(["\n".join(lines)] if lines else [])]
    loose = [c for c in research.claims.values() if c.status not in FALLEN and c.id not in told]
    if loose:
        details += ["### Other findings", "\n".join(f"- {_claim(c, told)}" for c in loose)]
    if details:
        parts += ["## Details", *details]
    return "\n\n".join(parts)


def _standing(research: Research, question_id: str) -> list[Claim]:
    standing = [c for c in research.claims_of(question_id) if c.status not in FALLEN]
    return sorted(standing, key=lambda claim: claim.status != "VERIFIED")


def _answer(research: Research, question: Question) -> str:
    ids = [c for c in question.claim_ids if c in research.claims and research.claims[c].status not in FALLEN]
    if question.status != "resolved" or not ids:
        return ""
    if cited_claims(question.answer):
        return " ".join(question.answer.split())
    return cited_sentences(question.answer, ids)


def _claim(claim: Claim, told: set[str]) -> str:
    if claim.id in told:
        return ""
    told.add(claim.id)
    return cited_sentences(claim.text, [claim.id])


_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+•]|\(?\d{1,3}[.)])\s+|\s*(?:>\s*)+")


def without_fallen(research: Research, section: Section) -> tuple[str, tuple[str, ...]]:
    """A section's body without the sentences that cite a refuted or retracted claim outside gaps, and those sentences.

    A claim can fall after the draft was accepted; it is then never stated (D44, D45).
    """
    fallen = {c.id for c in research.claims.values() if c.status in FALLEN}
    if section.gaps or not fallen & set(cited_ids(section.body)):
        return section.body, ()
    kept: list[str] = []
    left_out: list[str] = []
    for block in blocks(section.body):
        if not fallen & set(cited_ids(block)):
            kept.append(block)
            continue
        mark = _ITEM.match(block)
        lead = mark[0] if mark else ""
        is_row = block.lstrip().startswith("|")
        sentences = (block,) if is_row else split_sentences(block[len(lead) :])
        standing = [s for s in sentences if not fallen & set(cited_ids(s))]
        left_out += [s for s in sentences if s not in standing]
        if standing:
            kept.append(lead + " ".join(standing))
    return "\n".join(kept), tuple(left_out)


def blocks(body: str) -> Iterator[str]:
    """Paragraphs, list items and table rows, each with its line breaks; joined by line breaks they are the body."""
    block: list[str] = []
    for line in body.split("\n"):
        starts = not line.strip() or line.lstrip().startswith("|") or _ITEM.match(line)
        if block and (starts or not block[-1].strip() or block[-1].lstrip().startswith("|")):
            yield "\n".join(block)
            block = []
        block.append(line)
    yield "\n".join(block)
