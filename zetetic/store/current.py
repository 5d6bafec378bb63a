"""The current row of each record, from the research (D49)."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Table

from zetetic.state import events as ev
from zetetic.state.research import Research
from zetetic.state.values import Claim, QueryRecord, Question

from . import leases, schema


def run_row(r: Research) -> dict[str, Any]:
    """The current row of a run."""
    return {
        "run_id": r.run_id,
        "objective": r.objective,
        "scope": r.scope,
        "exclusions": json_text(r.exclusions),
        "criteria": json_text(r.criteria),
        "user_id": r.user,
        "notes_id": r.notes_id,
        "mode": r.mode,
        "model": r.model,
        "thresholds": r.thresholds.model_dump_json(),
        "forked_from": r.forked_from,
        "status": r.status,
        "phase": r.phase,
        "stop_reason": r.stop_reason,
        "stop_detail": r.stop_detail,
        "turns": r.turns,
        "attempts": r.attempts,
        "calls": r.usage.calls,
        "input_tokens": r.usage.input_tokens,
        "output_tokens": r.usage.output_tokens,
        "cached_tokens": r.usage.cached_tokens,
        "usd": r.usage.usd,
        "conclusion": r.conclusion.text,
        "conclusion_version": r.conclusion.version,
        "report": r.report.final,
        "created_at": r.forked_at or r.opened_at,
        "updated_at": r.updated_at,
    }


_JSON_OF_QUESTION = ("target_sources", "claim_ids", "pair")


def question_row(r: Research, question: Question) -> dict[str, Any]:
    """The current row of a question, with the lease that keeps it while it is in progress (D7, D49, D51)."""
    row = question.model_dump()
    row |= {name: json_text(row[name]) for name in _JSON_OF_QUESTION}
    lease = leases.name_of(r.run_id, question.worker) if question.status == "in_progress" else ""
    return _columns(schema.frontier_questions, row, run_id=r.run_id, lease=lease)


def source_row(r: Research, source_id: str) -> dict[str, Any]:
    """The current row of a source (D33)."""
    source = r.sources[source_id]
    return _columns(schema.sources, source.model_dump(), run_id=r.run_id, created_at=source.at)


def claim_row(r: Research, claim: Claim, e: ev.Event) -> dict[str, Any]:
    """The row of a claim as of an event (D31)."""
    times = {"created_at": claim.at, "updated_at": e.at}
    return _columns(schema.claims, claim.model_dump(), run_id=r.run_id, check_note=claim.check, **times)


def challenge_row(r: Research, challenge_id: str) -> dict[str, Any]:
    """The row of a challenge, without the time of its verdict (D35)."""
    challenge = r.challenges[challenge_id]
    more = {"conclusion_version": challenge.version, "outcome": challenge.outcome or ""}
    times = {"created_at": challenge.at, "closed_at": None}
    return _columns(schema.challenges, challenge.model_dump(), run_id=r.run_id, **more, **times)


def query_row(r: Research, record: QueryRecord) -> dict[str, Any]:
    """The row of an executed query (D10)."""
    more = {"urls": json_text(record.urls), "created_at": record.at}
    return _columns(schema.frontier_attempts, record.model_dump(), run_id=r.run_id, **more)


def evidence_row(r: Research, claim: Claim, seq: int, e: ev.Event) -> dict[str, Any]:
    """The row of a claim's evidence number `seq`, from 1 (D31)."""
    link = claim.evidence[seq - 1]
    more = {"claim_id": claim.id, "seq": seq, "span_start": link.start, "span_end": link.end, "created_at": e.at}
    return _columns(schema.claim_sources, link.model_dump(), run_id=r.run_id, **more)


def _columns(table: Table, record: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What of a record the table has columns for."""
    return {name: value for name, value in (record | more).items() if name in table.columns}


def json_text(value: Any) -> str:
    """JSON, with letters of all scripts as they are."""
    return json.dumps(value, ensure_ascii=False)
