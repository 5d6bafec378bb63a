"""The table at the top of a report: each part of the objective, its answer in short, how sure it is, where it stands.

How sure an answer is follows from the claims that the words shown rest on, never from what the model says of it.
"""

from __future__ import annotations

import re

from zetetic.state.citations import cited_claims, split_sentences, without_citations
from zetetic.state.independence import independent_support
from zetetic.state.research import Research
from zetetic.state.values import Claim, Question
from zetetic.state.wording import one_line

from .draft import FALLEN
from .references import References, literal

QUESTION_SHOWN = 120
ANSWER_SHOWN = 180
"""Characters of a cell."""
NOT_ANSWERED = "not answered"
_DISAGREE = re.compile(r"^sources disagree:\s*", re.IGNORECASE)


def answer_table(research: Research, references: References) -> str:
    """The table in Markdown; '' for the simple loop, which asks no questions of its own."""
    if research.loop == "simple" or not research.questions:
        return ""
    rows = [_row(research, question, references) for question in asked(research)]
    return "\n".join(["| Question | Answer | Status | Sources |", "|---|---|---|---|", *rows])


def asked(research: Research) -> tuple[Question, ...]:
    """The parts of the objective that the run asked for; the objective itself where it has none.

    Questions that code put about a conflict or a refutation are no parts: what they found is told with the claims.
    """
    parts = tuple(q for q in research.questions.values() if q.depth == 1 and not q.pair and q.status != "pruned")
    return parts or (research.root,)


def _row(research: Research, question: Question, references: References) -> str:
    shown, claims = _shown(research, question)
    if not shown:
        cells = (literal(one_line(question.question, QUESTION_SHOWN)), "–", NOT_ANSWERED, "see the gaps")
        return _cells(cells)
    against = _against(research, claims)
    where = references.cite([claim.id for claim in claims])
    if against:
        where += f"; against it: {references.cite([claim.id for claim in against])}"
    answer = literal(one_line(shown, ANSWER_SHOWN))
    status = "contradicted" if against else _status(research, claims)
    return _cells((literal(one_line(question.question, QUESTION_SHOWN)), answer, status, where))


def _cells(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _shown(research: Research, question: Question) -> tuple[str, tuple[Claim, ...]]:
    """The first sentence of an answer that still stands, without its citations, and the claims it rests on."""
    if question.status != "resolved":
        return "", ()
    for sentence in split_sentences(question.answer):
        ids = [i for i in cited_claims(sentence) or question.claim_ids if i in research.claims]
        claims = tuple(research.claims[i] for i in ids)
        words = _DISAGREE.sub("", without_citations(sentence).strip())
        if claims and re.search(r"[^\W_]", words) and not any(claim.status in FALLEN for claim in claims):
            return words, claims
    return "", ()


def _against(research: Research, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The claims that stand and contradict one of these."""
    own = {claim.id for claim in claims}
    pairs = [{pair.claim_id, pair.other_id} for pair in research.contradictions]
    ids = [name for pair in pairs if pair & own for name in sorted(pair - own) if name in research.claims]
    return tuple(research.claims[i] for i in dict.fromkeys(ids) if research.claims[i].status not in FALLEN)


def _status(research: Research, claims: tuple[Claim, ...]) -> str:
    verified = sum(claim.status == "VERIFIED" for claim in claims)
    if verified == len(claims):
        return "verified"
    if verified:
        return "verified in part"
    origins = max(independent_support(research, claim) for claim in claims)
    if origins > 1:
        return f"from {origins} sources, not verified"
    repeated = any(len(claim.links("supports")) > 1 for claim in claims)
    return "from sources not shown to be independent" if repeated else "from one source"
