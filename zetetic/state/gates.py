"""The two gates: when exploration may end, and which report may go out (D41 to D44)."""

from __future__ import annotations

from . import citations
from .challenges import conclusion_challenged, conclusion_exhausted
from .frontier import is_actionable, must_be_closed
from .independence import sites
from .research import Research
from .values import ROOT, Claim, Contradiction, Source
from .wording import one_line


def read_sources(research: Research) -> tuple[Source, ...]:
    """Sources whose text was read."""
    return tuple(s for s in research.sources.values() if s.sha256)


def required_sources(research: Research) -> tuple[int, int]:
    """Sources and domains the gate asks for: what a local folder holds, if that is less (D42)."""
    t, held = research.thresholds, research.holdings
    if not held.local_only:
        return t.min_sources, t.min_domains
    return min(t.min_sources, held.sources), min(t.min_domains, held.domains)


def is_addressed(research: Research, pair: Contradiction) -> bool:
    """Whether a contradiction is settled: its question closed, or one side refuted or retracted (D42)."""
    sides = (research.claims.get(pair.claim_id), research.claims.get(pair.other_id))
    if any(side is not None and side.status in ("REFUTED", "RETRACTED") for side in sides):
        return True
    question = research.questions.get(pair.question_id)
    return question is None or question.status in ("resolved", "unresolvable", "pruned")


def exploration_gate(research: Research, why: str = "") -> tuple[str, ...]:
    """Everything that is missing before exploration may end; empty when it may (D42)."""
    missing: list[str] = []
    root = research.root
    if root.status not in ("resolved", "unresolvable"):
        missing.append(f"The objective ({ROOT}) is {root.status}: resolve it from the answers found.")
    for question in must_be_closed(research):
        if is_actionable(research, question) or question.status == "in_progress":
            missing.append(f"{question.id} (P {question.priority:.2f}) is open: {one_line(question.question, 100)}")
        elif question.status == "blocked":
            missing.append(f"{question.id} is blocked: rewrite_question, drop_dependency or prune_branch.")
    need_sources, need_domains = required_sources(research)
    read = read_sources(research)
    if len(read) < need_sources:
        missing.append(f"{len(read)} sources were read of at least {need_sources}: fetch more pages.")
    domains = {site for s in read for site in sites(s)}
    if len(domains) < need_domains:
        missing.append(f"The sources stem from {len(domains)} sites of at least {need_domains}: look elsewhere.")
    for question in research.questions.values():
        if question.status != "resolved" or question.why_unverified:
            continue
        if not any(research.claims[c].status == "VERIFIED" for c in question.claim_ids if c in research.claims):
            missing.append(
                f"{question.id} was resolved without a VERIFIED claim: verify one of {', '.join(question.claim_ids)}, "
                "or reopen_question and resolve it with why_unverified."
            )
    for pair in research.contradictions:
        if not is_addressed(research, pair):
            missing.append(f"{pair.claim_id} vs {pair.other_id} is open: close {pair.question_id}.")
    for challenge in research.open_challenges():
        missing.append(f"{challenge.id} is open: run its query and record_challenge_result.")
    missing += _conclusion_missing(research, why)
    return tuple(missing)


def _conclusion_missing(research: Research, why: str) -> tuple[str, ...]:
    if not research.conclusion.text:
        return ("There is no conclusion: state it with notes_scratch conclusion, then challenge it.",)
    if conclusion_challenged(research):
        return ()
    if conclusion_exhausted(research):
        if why.strip() or research.conclusion.explanation:
            return ()
        return ("Every challenge of the conclusion was inconclusive: say in why why it stands nevertheless.",)
    return (
        "The conclusion as it stands has not survived a challenge: challenge(target_type='conclusion'), run it, record "
        "the result; state it anew with notes_scratch conclusion if it does not hold.",
    )


def cited_claims(research: Research, report: str) -> tuple[Claim, ...]:
    """The claims a report cites, in order of first citation."""
    return tuple(research.claims[i] for i in citations.cited_ids(report) if i in research.claims)


def must_stand_under_gaps(research: Research) -> tuple[str, ...]:
    """Ids of the questions whose answer the report cannot give (D44)."""
    return tuple(
        q.id for q in research.questions.values() if q.status in ("unresolvable", "pending", "in_progress", "blocked")
    )


def finalization_gate(research: Research, report: str) -> tuple[str, ...]:
    """Everything that is wrong with a report; empty when it may go out (D44)."""
    if not report.strip():
        return ("The report is empty.",)
    body = citations.strip_bibliography(report)
    missing = _wrongly_cited(research, body)
    if not any(i in research.claims for i in citations.cited_ids(body)) and research.claims:
        missing.append("The report cites no claim.")
    named = set(citations.gap_question_ids(body))
    absent = [i for i in must_stand_under_gaps(research) if i not in named]
    if absent:
        missing.append(f"These questions were not answered and must stand under a heading 'Gaps': {', '.join(absent)}.")
    return (*missing, *_unsupported(body))


def section_faults(research: Research, text: str) -> tuple[str, ...]:
    """Everything that is wrong with one section of a report; empty when it can stand in it (D44, CASES 14)."""
    if not text.strip():
        return ("The section is empty.",)
    body = citations.strip_bibliography(text)
    return (*_wrongly_cited(research, body), *_unsupported(body))


def _wrongly_cited(research: Research, body: str) -> list[str]:
    """Ids that do not exist, and claims that no longer stand."""
    missing: list[str] = []
    unknown = [i for i in citations.cited_ids(body) if not _exists(research, i)]
    if unknown:
        missing.append(f"These ids do not exist: {', '.join(unknown)}. Cite claims by their ids in the notes.")
    for claim_id in citations.cited_ids(citations.outside_gaps(body)):
        claim = research.claims.get(claim_id)
        if claim is not None and claim.status in ("REFUTED", "RETRACTED"):
            missing.append(f"{claim_id} is {claim.status}: it may stand under gaps only.")
    return missing


def _unsupported(body: str) -> tuple[str, ...]:
    """Headings and sentences that state something without a claim."""
    missing: list[str] = []
    asserting = citations.asserting_headings(body)
    if asserting:
        shown = " / ".join(one_line(h, 80) for h in asserting[:5])
        missing.append(f"Headings are titles, not statements; these state something without a claim: {shown}")
    bare = citations.uncited_sentences(body)
    if bare:
        shown = " / ".join(one_line(s, 100) for s in bare[:5])
        more = f" (+{len(bare) - 5} more)" if len(bare) > 5 else ""
        missing.append(f"Every factual sentence cites a claim like [c_001]; these do not: {shown}{more}")
    return tuple(missing)


def _exists(research: Research, name: str) -> bool:
    return name in research.claims or name in research.questions or name in research.sources
