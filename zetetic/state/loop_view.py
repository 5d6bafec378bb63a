"""The reflective loop's state as a view of the research (R1 to R6)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .breakers import budget_left
from .research import Research
from .values import ROOT


def loop_view(research: Research, at: datetime) -> dict[str, Any]:
    """The `loop` object: round, budget_remaining, context, progress, decision (R1).

    `cost_usd` and `latency_seconds` are what is left; cost is null where it is unlimited. All values are plain JSON.
    """
    left = budget_left(research, at, whole=True)
    last = research.evaluations[-1] if research.evaluations else None
    here = last.question_id if last else ""
    closed = last is not None and last.kind == "question" and last.routing.route == "Answered"
    answered = [research.questions[here].question] if closed and research.questions[here].status == "resolved" else []
    action = research.action
    evidence = [
        {
            "claim_id": claim.id,
            "text": claim.text,
            "status": claim.status,
            "source_id": link.source_id,
            "url": research.sources[link.source_id].url if link.source_id in research.sources else "",
            "quote": link.quote,
            "stance": link.stance,
        }
        for claim in research.claims.values()
        for link in claim.evidence
    ]
    return {
        "round": len(research.evaluations),
        "budget_remaining": {
            "rounds": left.records,
            "cost_usd": left.usd,
            "latency_seconds": int(left.seconds),
        },
        "context": {"query": research.objective, "rubrics": list(research.criteria)},
        "progress": {
            "gaps": [q.question for q in research.open_questions()],
            "answered_gaps": answered,
            "all_questions": [q.question for q in research.questions.values()],
            "visited_urls": [s.canonical for s in research.sources.values()],
            "bad_urls": [f"{url} ({reason})" for url, reason in research.bad_urls.items()],
            "evidence": evidence,
            "evaluator_failures": evaluator_failures(research),
        },
        "decision": {
            "next_action": action.next_action,
            "next_queries": list(action.next_queries) if action.next_queries else None,
            "next_urls_to_fetch": list(action.next_urls_to_fetch) if action.next_urls_to_fetch else None,
            "stop_reason": research.stop_reason or None,
        },
    }


def evaluator_failures(research: Research) -> list[str]:
    """What the last round's evaluation found wanting: criteria not met, failed checks, objections (R5)."""
    if not research.evaluations:
        return []
    last = research.evaluations[-1]
    found = [*last.failures, *last.objections]
    if not last.satisfied and last.missing:
        found.insert(0, last.missing)
    return found


def is_complete(research: Research) -> bool:
    """Whether the root is resolved and the last evaluation found nothing (R10)."""
    return research.questions[ROOT].status == "resolved" and not evaluator_failures(research)
