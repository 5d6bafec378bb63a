"""The final summary, in one fixed shape: at the top of the report, on the terminal, and in the status (L12)."""

from __future__ import annotations

from collections import Counter

from zetetic.state.citations import without_citations
from zetetic.state.research import Research
from zetetic.state.wording import counted, one_line

from .contents import contents_of, has_report
from .gaps import shortfalls
from .ledger import iteration_records, loop_status, next_safe_action
from .plain_words import why_stopped

INCOMPLETE = "incomplete analysis"
GAPS_NAMED = 3
GAP_SHOWN = 100
"""Characters of a gap that is named in the summary."""


def final_summary(research: Research) -> dict[str, str]:
    """Scope, Status, Evidence Checked, Iterations, Decision, Remaining Gaps, Next Action, in this order (L12)."""
    gaps = _gaps(research)
    shown = "; ".join(one_line(gap, GAP_SHOWN) for gap in gaps[:GAPS_NAMED])
    more = f"; and {len(gaps) - GAPS_NAMED} more" if len(gaps) > GAPS_NAMED else ""
    last = iteration_records(research)[-1:]
    decision = last[0]["decision"] if last else ("stop" if research.status != "running" else "continue")
    reason = (last[0]["stop_reason"] if last else "") or research.stop_reason
    since = f", since {why_stopped(reason)}" if research.status == "complete" and reason else ""
    excluded = f" Excluded: {'; '.join(research.exclusions)}." if research.exclusions else ""
    t = research.thresholds
    return {
        "Scope": one_line((research.scope or research.objective) + excluded),
        "Status": _status(research),
        "Evidence Checked": _evidence(research),
        "Iterations": (
            f"{counted(len(research.evaluations), 'attempt')} (passes at one question) of at most {t.max_iterations}, "
            f"in {counted(research.turns, 'turn')} (calls of the model for its next step) of at most {t.max_turns}"
        ),
        "Decision": decision + since + (f" ({reason})" if reason else ""),
        "Remaining Gaps": f"{len(gaps)}: {shown}{more}" if gaps else "none",
        "Next Action": next_safe_action(research),
    }


def _gaps(research: Research) -> tuple[str, ...]:
    """The gaps that the report lists; before there is one, those that are known."""
    if research.loop == "simple" or not has_report(research):
        return tuple(without_citations(gap.text) for gap in shortfalls(research))
    return tuple(without_citations(gap) for gap in contents_of(research).every_gap())


def summary_lines(research: Research) -> tuple[str, ...]:
    """The summary as lines; "incomplete analysis" comes first where the run is not complete (L12)."""
    lines = tuple(f"{name}: {value}" for name, value in final_summary(research).items())
    return lines if research.status == "complete" else (INCOMPLETE, *lines)


def _status(research: Research) -> str:
    """complete, stopped or blocked; in brackets what the run itself calls it, where that says more."""
    if research.status == "complete":
        return "complete"
    words = loop_status(research)
    more = f"{research.status if research.status != words else ''} {research.stop_reason}".split()
    since = f", since {why_stopped(research.stop_reason)}" if research.stop_reason else ""
    if since and research.status == "running":
        since = f"; the report is being written{since}"
    return f"{words}{since} ({', '.join(more)})" if more else words


def _evidence(research: Research) -> str:
    read = [source for source in research.sources.values() if source.sha256]
    domains = len({source.domain for source in read})
    statuses: Counter[str] = Counter(claim.status for claim in research.claims.values())
    claims = ", ".join(f"{statuses[name]} {name.lower()}" for name in STATUSES if statuses[name]) or "none"
    outcomes: Counter[str] = Counter(c.outcome or "open" for c in research.challenges.values())
    challenges = ", ".join(f"{outcomes[name]} {said}" for name, said in OUTCOMES.items() if outcomes[name]) or "none"
    return (
        f"{counted(len(read), 'source')} from {counted(domains, 'site')}; claims: {claims}; "
        f"put to a search for their opposite: {challenges}"
    )


STATUSES = ("VERIFIED", "UNVERIFIED", "REFUTED", "RETRACTED")
OUTCOMES = {
    "survived": "survived",
    "weakened": "weakened",
    "refuted": "refuted",
    "inconclusive": "undecided",
    "open": "not finished",
}
