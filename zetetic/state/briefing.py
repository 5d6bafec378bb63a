"""What an attempt did, counted and never read (A20)."""

from __future__ import annotations

from collections.abc import Sequence

from .gates import is_addressed
from .research import Research
from .values import Frozen


class Briefing(Frozen):
    """Counts over one question and its attempt, and the faults that follow from them."""

    question_id: str
    outcome: str
    turns: int
    queries: int
    queries_failed: int
    challenge_queries: int
    pages_fetched: int
    claims_unverified: int
    claims_verified: int
    claims_refuted: int
    claims_retracted: int
    quotes_anchored: int
    challenges_open: int
    challenges_survived: int
    challenges_weakened: int
    challenges_refuted: int
    challenges_inconclusive: int
    contradictions_open: int
    answer_cites: int
    files_written: int
    faults: tuple[str, ...] = ()

    def lines(self) -> str:
        """The briefing as the judge reads it."""
        counted = [
            f"{name.replace('_', ' ')}: {value}" for name, value in self if name not in ("faults", "question_id")
        ]
        faults = [f"fault: {fault}" for fault in self.faults] or ["no fault found"]
        return "\n".join(counted + faults)


def briefing(research: Research, files: Sequence[str] = ()) -> Briefing:
    """The counted account of the attempt under way or just ended (A20). `files`: names written by the attempt."""
    attempt = research.attempt
    question_id = attempt.question_id if attempt else research.turn.question_id
    number = attempt.number if attempt else research.attempts
    whole_run = attempt is not None and attempt.kind == "report"
    if whole_run:
        log = research.all_queries()
        claims = tuple(research.claims.values())
        challenges = tuple(research.challenges.values())
        pages = sum(1 for s in research.sources.values() if s.sha256)
    else:
        log = tuple(r for r in research.queries.get(question_id, ()) if r.attempt == number)
        claims = research.claims_of(question_id) if question_id in research.questions else ()
        mine = {c.id for c in claims} | {question_id}
        challenges = tuple(
            c for c in research.challenges.values() if c.question_id == question_id or c.target_id in mine
        )
        pages = sum(1 for s in research.sources.values() if s.sha256 and s.question_id == question_id)
    asked = tuple(r for r in log if r.tool != "fetch_page")  # pages are counted by what was read
    answer = attempt.answer if attempt else ""
    cited = attempt.claim_ids if attempt else ()
    established = any(c.status in ("VERIFIED", "UNVERIFIED") for c in claims)
    faults = []
    if answer and not cited:
        faults.append("answer cites no claim")
    if claims and not any(s.sha256 for s in research.sources.values()):
        faults.append("claims but no source fetched")
    if (files or answer) and not established and not cited:
        faults.append("outputs but nothing established")
    if attempt is not None and not answer and attempt.outcome in ("turns", "time", "ceiling", "breaker"):
        faults.append("ended by a bound without a report")
    if attempt is not None and not whole_run and not log and not cited:
        faults.append("nothing was searched")

    def statuses(name: str) -> int:
        return sum(c.status == name for c in claims)

    def outcomes(name: str) -> int:
        return sum(c.outcome == name for c in challenges)

    return Briefing(
        question_id=question_id,
        outcome=attempt.outcome if attempt else "",
        turns=attempt.turns if attempt else 0,
        queries=sum(not r.challenge_id for r in asked),
        queries_failed=sum(r.status not in ("ok", "no_results") for r in asked),
        challenge_queries=sum(bool(r.challenge_id) for r in asked),
        pages_fetched=pages,
        claims_unverified=statuses("UNVERIFIED"),
        claims_verified=statuses("VERIFIED"),
        claims_refuted=statuses("REFUTED"),
        claims_retracted=statuses("RETRACTED"),
        quotes_anchored=sum(len(c.evidence) for c in claims),
        challenges_open=sum(c.status == "open" for c in challenges),
        challenges_survived=outcomes("survived"),
        challenges_weakened=outcomes("weakened"),
        challenges_refuted=outcomes("refuted"),
        challenges_inconclusive=outcomes("inconclusive"),
        contradictions_open=sum(not is_addressed(research, p) for p in research.contradictions),
        answer_cites=len(cited),
        files_written=len(files),
        faults=tuple(faults),
    )
