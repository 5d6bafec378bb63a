"""What a research did not establish, as code finds it; no report goes out without it (D21, D40, D42, D43, D46, A8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from zetetic.state.citations import gap_question_ids, under_gaps
from zetetic.state.notes import cut_short
from zetetic.state.research import Research
from zetetic.state.values import OPEN, ROOT, Claim, Frozen, Gap, Question
from zetetic.state.wording import counted, folded

from .plain_words import gate_in_words, named, sought, why_stopped


class Shortfall(Frozen):
    """One thing that was not established. `by` says what speaks against it; the ids say where that stands."""

    kind: str
    text: str
    question_id: str = ""
    claim_ids: tuple[str, ...] = ()
    by: str = ""
    source_ids: tuple[str, ...] = ()


def shortfalls(research: Research, draft: str = "") -> tuple[Shortfall, ...]:
    """Everything that belongs under gaps, without the questions and free gaps that a draft already names there."""
    if research.loop == "simple":
        return tuple(_simple(research, draft))
    told = gap_question_ids(draft, {q.id: q.question for q in research.questions.values()}) if draft else ()
    said = folded(under_gaps(draft)) if draft else ""
    noted = {folded(gap.text) or gap.text: gap for gap in research.gaps if not _asks_again(research, gap)}
    return (
        *(gap for gap in _questions(research) if gap.question_id not in told),
        *(
            Shortfall(kind="gap", text=gap.text, question_id=gap.question_id)
            for gap in noted.values()
            if not folded(gap.text) or folded(gap.text) not in said
        ),
        *_refuted(research),
        *_reasons(research),
        *_run(research),
    )


def _asks_again(research: Research, gap: Gap) -> bool:
    """Whether a noted gap says no more than that a question is not answered which is a gap of its own."""
    lacking = (q for q in research.questions.values() if q.status == "unresolvable" or q.status in OPEN)
    return any(folded(q.question) in folded(gap.text) for q in lacking if folded(q.question))


SIMPLE = (
    "Nothing was verified: the simple loop puts no statement against independent sources or a search for its opposite."
)
_OF_THE_INVESTIGATION = frozenset({"no_claim", "holdings"})


def _simple(research: Research, draft: str) -> Iterator[Shortfall]:
    """What a run of the simple loop lacks: it has neither questions nor claims nor gates that could lack anything."""
    yield Shortfall(kind="unverified", text=SIMPLE)
    said = folded(under_gaps(draft)) if draft else ""
    for gap in research.gaps:
        if folded(gap.text) not in said:
            yield Shortfall(kind="gap", text=gap.text)
    yield from (gap for gap in _run(research) if gap.kind not in _OF_THE_INVESTIGATION)


def _questions(research: Research) -> Iterator[Shortfall]:
    for question in research.questions.values():
        asked = f"Not answered: {question.question} ({question.id})"
        if question.id == ROOT and len(research.questions) > 1:  # its parts are told each for itself
            asked = f"Not answered as a whole: the objective ({ROOT})."
        if question.status == "unresolvable":
            assumption = question.answer or question.partial
            text = f"{asked} Assumed in its place: {assumption}" if assumption else asked
            yield Shortfall(kind="unresolvable", text=text, question_id=question.id)
        elif question.status in OPEN:
            yield Shortfall(kind="open", text=f"{asked} {_how_far(question)}", question_id=question.id)


def _how_far(question: Question) -> str:
    """How far a question came that is still open."""
    if question.status == "blocked":
        return "It waits for something that was missing."
    if question.status == "in_progress":
        return "Work on it was cut off."
    if not question.attempts:
        return "It was not looked into."
    return f"{counted(question.attempts, 'attempt')} found no answer that was accepted."


def _refuted(research: Research) -> Iterator[Shortfall]:
    for claim in research.claims.values():
        if claim.status == "REFUTED":
            by, source_ids = refutation(research, claim)
            text = f'Refuted: "{claim.text}"'
            yield Shortfall(kind="refuted", text=text, claim_ids=(claim.id,), by=by, source_ids=source_ids)


def refutation(research: Research, claim: Claim) -> tuple[str, tuple[str, ...]]:
    """What a claim was refuted by, in words and as the ids of sources."""
    words: list[str] = []
    sources: dict[str, None] = {}
    for challenge in research.challenges_on("claim", claim.id):
        if challenge.outcome == "refuted":
            words.append(f"a search for {sought(challenge)} found: {challenge.evidence}")
            sources.update(dict.fromkeys(challenge.source_ids))
    for pair in research.contradictions:
        if claim.id in (pair.claim_id, pair.other_id):
            other = research.claims.get(pair.other_id if claim.id == pair.claim_id else pair.claim_id)
            if other is not None and other.status in ("VERIFIED", "UNVERIFIED"):
                words.append(f'it contradicts "{other.text}"')
                sources.update(dict.fromkeys(link.source_id for link in other.links("supports")))
    sources.update(dict.fromkeys(link.source_id for link in claim.links("contradicts")))
    if claim.check and not words:
        words.append(claim.check)
    return "; ".join(words), tuple(name for name in sources if name in research.sources)


def _reasons(research: Research) -> Iterator[Shortfall]:
    """Stored reasons that let something pass without its proof (D17, D40, D42)."""
    for question in research.questions.values():
        if question.status != "resolved":
            continue
        known = (research.claims[c] for c in question.claim_ids if c in research.claims)
        verified_since = any(claim.status == "VERIFIED" for claim in known)
        for lacking, why in (
            ("rests on no verified claim", "" if verified_since else question.why_unverified),
            ("was not put to a search for its opposite", question.why_unchallenged),
            ("was given without a search that could refute it", question.why_no_refuting),
        ):
            if why:
                text = f"The answer to {named(research, question.id)} {lacking}: {why}"
                yield Shortfall(kind="reason", text=text, question_id=question.id)
    stated = research.conclusion
    if stated.text and ROOT in research.questions and research.root.status != "resolved":
        yield Shortfall(kind="conclusion", text=f"Stated as the conclusion, but not established: {stated.text}")
    if stated.explanation:
        text = (
            f"No search for the opposite of the conclusion came to a verdict; it stands because: {stated.explanation}"
        )
        yield Shortfall(kind="conclusion", text=text)


def _run(research: Research) -> Iterator[Shortfall]:
    """What the run as a whole lacks."""
    reason = cut_short(research)
    if reason:
        detail = f"; {research.stop_detail}" if research.stop_detail else ""
        yield Shortfall(kind="breaker", text=f"The research was cut short: {why_stopped(reason)} ({reason}{detail}).")
    for missing in research.exploration_missing:
        if text := gate_in_words(research, missing):
            yield Shortfall(kind="gate", text=text)
    if not research.sources:
        tried = research.all_queries()
        failed = sum(record.status not in ("ok", "no_results") for record in tried)
        yield Shortfall(
            kind="no_source",
            text=f"No source was read; of {counted(len(tried), 'search', 'searches')} {failed} failed.",
        )
    elif not research.claims:
        yield Shortfall(kind="no_claim", text="No claim was recorded from the sources that were read.")
    report = next((e for e in reversed(research.evaluations) if e.kind == "report"), None)
    if report is not None and report.routing.route != "Answered":
        found = "; ".join([*report.failures, *([report.missing] if report.missing else [])]) or report.guidance
        yield Shortfall(
            kind="evaluation", text=f"The evaluation did not accept the report: {found or 'no reason given'}"
        )
    defaults = len(research.parse_defaults)
    if defaults:
        text = f"Answers of the evaluation that could not be read, each of which was taken as a no: {defaults}."
        yield Shortfall(kind="parse_default", text=text)
    unavailable = sum(len(evaluation.unavailable) for evaluation in research.evaluations)
    if unavailable:
        text = f"Checks of the evaluation that gave no answer, each of which was taken as a no: {unavailable}."
        yield Shortfall(kind="unavailable", text=text)
    for name, calls in Counter(research.usage.stood_in).items():
        text = f"Calls that {name} answered as the fallback, since the model chosen for them failed: {calls}."
        yield Shortfall(kind="fallback", text=text)
    held, bounds = research.holdings, research.thresholds
    if held.local_only and (held.sources < bounds.min_sources or held.domains < bounds.min_domains):
        yield Shortfall(
            kind="holdings",
            text=(
                f"Only local documents could be searched. They hold {counted(held.sources, 'source')} of "
                f"{counted(held.domains, 'origin')}, so that was asked for in place of {bounds.min_sources} sources of "
                f"{bounds.min_domains} origins."
            ),
        )
