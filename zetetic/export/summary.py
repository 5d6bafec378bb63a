"""The final summary, in one fixed shape: at the top of the report, on the terminal, and in the status (L12)."""

from __future__ import annotations

from collections import Counter

from zetetic.state.citations import without_citations
from zetetic.state.research import Research
from zetetic.state.wording import one_line

from .gaps import shortfalls
from .ledger import iteration_records, loop_status, next_safe_action

INCOMPLETE = "incomplete analysis"


def final_summary(research: Research) -> dict[str, str]:
    """Scope, Status, Evidence Checked, Iterations, Decision, Remaining Gaps, Next Action, in this order (L12)."""
    gaps = shortfalls(research)
    shown = "; ".join(one_line(without_citations(gap.text), 100) for gap in gaps[:3])
    more = f"; and {len(gaps) - 3} more" if len(gaps) > 3 else ""
    last = iteration_records(research)[-1:]
    decision = last[0]["decision"] if last else ("stop" if research.status != "running" else "continue")
    reason = (last[0]["stop_reason"] if last else "") or research.stop_reason
    excluded = f" Excluded: {'; '.join(research.exclusions)}." if research.exclusions else ""
    return {
        "Scope": one_line((research.scope or research.objective) + excluded),
        "Status": _status(research),
        "Evidence Checked": _evidence(research),
        "Iterations": f"{len(research.evaluations)} of {research.thresholds.max_iterations}",
        "Decision": decision + (f" ({reason})" if reason else ""),
        "Remaining Gaps": f"{len(gaps)}: {shown}{more}" if gaps else "none",
        "Next Action": next_safe_action(research),
    }


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
    return f"{words} ({', '.join(more)})" if more else words


def _evidence(research: Research) -> str:
    read = [source for source in research.sources.values() if source.sha256]
    domains = len({source.domain for source in read})
    statuses = Counter(claim.status for claim in research.claims.values())
    claims = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "none"
    outcomes = Counter(c.outcome or "open" for c in research.challenges.values())
    challenges = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
    return f"{len(read)} sources over {domains} domains; claims: {claims}; challenges: {challenges}"
