"""The run's ledger as plain JSON values: loop state, budget, iteration records, recovery (L2, L4, L9, LEDGER.md).

Each is a function of the research, so the folder can be rebuilt at any time and gives the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from zetetic.state.breakers import Breaker, budget_left
from zetetic.state.frontier import select_next
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import Evaluation
from zetetic.state.wording import one_line

from .gaps import shortfalls

SCHEMA_VERSION = "1.0"
DEFAULT_CRITERION = "The objective is answered by claims that passed the exploration gate and the finalization gate."
LoopStatus = Literal["initialized", "running", "stopped", "blocked"]
LoopDecision = Literal["continue", "revise", "delegate", "stop", "blocked"]


def timestamp(at: datetime | None) -> str:
    """UTC in RFC 3339, such as `2026-01-01T00:00:00Z`; '' for None."""
    if at is None:
        return ""
    moment = at.astimezone(UTC) if at.tzinfo else at
    return moment.replace(tzinfo=None).isoformat() + "Z"


def loop_status(research: Research, unproven: str = "") -> LoopStatus:
    """The run's status in the ledger's words. With a budget used up no record can follow, so the loop has stopped; a
    success that is `unproven` is blocked by that (L5)."""
    if unproven:
        return "blocked"
    if research.status == "running":
        if used_up(research):
            return "stopped"
        return "running" if research.turns or research.evaluations else "initialized"
    return "blocked" if research.status == "blocked" else "stopped"


def used_up(research: Research) -> Breaker | None:
    """The budget of which a run that is under way has nothing left, not even for its report (L4)."""
    if research.status != "running" or research.updated_at is None:
        return None
    left = budget_left(research, research.updated_at, whole=True)
    if left.records <= 0 or left.turns <= 0:
        return "iterations"
    if left.tokens == 0:
        return "tokens"
    if left.usd == 0.0:
        return "cost"
    return "wall_clock" if left.seconds <= 0 else None


def plateau_rule(t: Thresholds) -> str:
    """The rules that end a run in which nothing moves, with the numbers in force (L11, R10)."""
    return (
        f"{t.plateau_records} records in a row in which gaps do not shrink and no question or claim changes status, "
        f"or {t.barren_rounds_limit} in a row without new evidence"
    )


def plateau_numbers(rule: str) -> tuple[int, int] | None:
    """Records of a plateau, and without new evidence (1 where a text names one number only); None where it has none."""
    found = [int(number) for number in re.findall(r"[0-9]{1,9}", rule)]
    return (found[0], found[1] if len(found) > 1 else 1) if found else None


def loop_state(research: Research, unproven: str = "") -> dict[str, Any]:
    """`loop_state.json` (L1)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": research.run_id,
        "goal": research.objective,
        "success_criteria": list(research.criteria) or [DEFAULT_CRITERION],
        "scope": research.scope,
        "exclusions": list(research.exclusions),
        "default_mode": research.mode,
        "status": loop_status(research, unproven),
        "stop_flags": {
            "stop_on_guard_fail": True,
            "stop_on_missing_evidence": True,
            "stop_on_scope_change": True,
        },
        "plateau_rule": plateau_rule(research.thresholds),
        "created_at": timestamp(research.opened_at),
        "updated_at": timestamp(research.updated_at),
        "last_iteration": len(research.evaluations),
    }


def budget(research: Research, at: datetime) -> dict[str, Any]:
    """`budget.json`. Tokens and US dollars of 0 are unlimited; seconds of wall clock.

    Turns and the reserve stand here so that a stop for want of them can be recomputed (L5).
    """
    t = research.thresholds
    return {
        "schema_version": SCHEMA_VERSION,
        "budget_owner": "user",
        "max_iterations": t.max_iterations,
        "max_wall_time_seconds": t.max_wall_time_seconds,
        "max_tokens": t.max_total_tokens,
        "max_usd": t.max_cost_usd,
        "max_depth": t.max_depth,
        "max_hops": t.max_hops,
        "max_child_workers": t.max_parallel,
        "spent_iterations": len(research.evaluations),
        "spent_tokens": research.usage.tokens,
        "spent_usd": research.usage.usd,
        "max_turns": t.max_turns,
        "spent_turns": research.turns,
        "synthesis_reserve": t.synthesis_reserve,
        "extensions": [
            {
                "at": timestamp(extension.at),
                "by": extension.by,
                "iterations": extension.iterations,
                "tokens": extension.tokens,
                "usd": extension.usd,
                "seconds": extension.seconds,
            }
            for extension in research.extensions
        ],
        "created_at": timestamp(research.opened_at),
        "updated_at": timestamp(at),
    }


# Iteration records.


UNPROVEN = "blocked:evidence"
"""The reason in the ledger of a run whose gates passed, and whose evidence does not verify (L5)."""


def iteration_records(research: Research, proof_ids: Sequence[str] = (), unproven: str = "") -> list[dict[str, Any]]:
    """`iterations.jsonl`, a record an attempt. `proof_ids` are cited by the record of a success; where `unproven` says
    why its evidence does not verify, the record claims none and is blocked by that (L5)."""
    records = [_record(research, n, evaluation) for n, evaluation in enumerate(research.evaluations, 1)]
    if records and research.status != "running":
        _end(research, records[-1])
    elif records and (fired := used_up(research)):
        records[-1] |= {"decision": "stop", "next_objective": "", "stop_reason": f"breaker:{fired}"}
    if records and records[-1]["stop_reason"] == "success_criteria_met":
        records[-1]["evidence_checked"]["evidence_ids"] = list(proof_ids)
        if unproven:
            records[-1] |= {"decision": "blocked", "blocker": _blocked_by(unproven), "stop_reason": UNPROVEN}
    return records


def _blocked_by(unproven: str) -> str:
    return one_line(f"the evidence does not verify: {unproven}", 300)


def _record(research: Research, number: int, evaluation: Evaluation) -> dict[str, Any]:
    decision = decision_for(
        evaluation.routing.route.lower(), evaluation.kind == "report", research.thresholds.max_parallel
    )
    blocker = (evaluation.missing or evaluation.steer or evaluation.outcome) if _is_blocked(evaluation) else ""
    stop_reason = ""
    if number >= _cap_at(research, evaluation.at) and decision not in ("stop", "blocked"):
        decision, stop_reason = "stop", "breaker:iterations"
    elif decision == "stop":
        stop_reason = "reported"
    going_on = decision in ("continue", "revise", "delegate")
    return {
        "schema_version": SCHEMA_VERSION,
        "iteration": number,
        "timestamp": timestamp(evaluation.at),
        "mode": research.mode,
        "objective": evaluation.objective or research.objective,
        "input_refs": [evaluation.question_id],
        "evidence_checked": {
            "source_ids": list(evaluation.source_ids),
            "claim_ids": list(evaluation.claim_ids),
            "evidence_ids": [],
            "guard_refs": _challenges_of(research, evaluation),
        },
        "actions_taken": list(evaluation.actions),
        "output": evaluation.output,
        "remaining_gaps": list(evaluation.remaining_gaps),
        "new_evidence": evaluation.new_evidence,
        "budget_delta": {
            "iterations": 1,
            "tokens": evaluation.tokens,
            "usd": evaluation.usd,
            "wall_time_seconds": evaluation.seconds,
        },
        "decision": decision,
        "next_objective": _next_objective(research, evaluation) if going_on else "",
        "blocker": one_line(blocker),
        "stop_reason": stop_reason,
        "gates": [gate.model_dump() for gate in evaluation.gates],
        "routing": {**evaluation.routing.model_dump(), "route": evaluation.routing.route.lower()},
    }


def _is_blocked(evaluation: Evaluation) -> bool:
    return evaluation.routing.route == "Blocked"


def decision_for(route: str, is_report: bool, workers: int) -> LoopDecision:
    """Route, in lower case → decision, one table (LEDGER.md)."""
    match route:
        case "retry":
            return "revise"
        case "diversify":
            return "delegate" if workers > 1 else "revise"
        case "blocked":
            return "blocked" if is_report else "revise"
        case _:
            return "stop" if is_report else "continue"


def _cap_at(research: Research, at: datetime) -> int:
    """The cap on records that was in force at a time: later extensions do not count (L4)."""
    later = sum(extension.iterations for extension in research.extensions if extension.at > at)
    return research.thresholds.max_iterations - later


def _challenges_of(research: Research, evaluation: Evaluation) -> list[str]:
    start = evaluation.at - timedelta(seconds=evaluation.seconds)
    return [
        c.id
        for c in research.challenges.values()
        if c.question_id == evaluation.question_id and start <= c.at <= evaluation.at
    ]


def _next_objective(research: Research, evaluation: Evaluation) -> str:
    """From this record alone, so that a line once written stays as it is."""
    if evaluation.routing.route in ("Answered", "Reported"):
        return evaluation.remaining_gaps[0] if evaluation.remaining_gaps else f"Report: {research.objective}"
    return " ".join(part for part in (evaluation.objective or research.objective, evaluation.steer) if part)


def _end(research: Research, record: dict[str, Any]) -> None:
    """The last record of a run that ended: stop or blocked, with the reason (L4, D48)."""
    blocked = research.status == "blocked"
    won = research.status == "complete" and research.stop_reason != "no_change"
    reason = "success_criteria_met" if won else (research.stop_reason or record["stop_reason"] or research.status)
    record |= {"decision": "blocked" if blocked else "stop", "next_objective": "", "stop_reason": reason}
    if blocked:
        record["blocker"] = one_line(active_blockers(research))


# Recovery.

RECOVERY_TITLE = "# Autonomous Research Loop Recovery"
BULLETS = (
    *("Goal", "Status", "Last completed iteration", "Next safe action"),
    *("Remaining evidence gaps", "Active blockers", "Budget remaining"),
)
COMPLETE = "none: the run is complete"


def active_blockers(research: Research) -> str:
    """What keeps the run, or some of its questions, from going on; '' if nothing does."""
    found = [research.stop_reason.removeprefix("blocked:")] if research.status == "blocked" else []
    if found and research.stop_detail:
        found[0] += f" ({research.stop_detail})"
    found += [
        f"{q.id} is blocked: {one_line(q.question, 120)}" for q in research.questions.values() if q.status == "blocked"
    ]
    return "; ".join(found)


REVERIFY = "look at what `zetetic verify` says of this folder, and do not rely on its report as proven"
MORE_ROOM = "resume the run with a larger budget"
_OTHERWISE = "by --documents, --search or zetetic steer, and resume the run with a few more turns"
_ADVICE = {
    "stalled": f"more budget alone would find no more: give other sources or other words to look for, {_OTHERWISE}",
    "plateau": f"more budget alone would change no more: give other sources or another direction, {_OTHERWISE}",
    "frontier_exhausted": f"see under gaps what the report lacks: give other sources or a direction, {_OTHERWISE}",
    "finalized": f"see under gaps why the report was not accepted: give other sources or a direction, {_OTHERWISE}",
    "aborted": f"the model gave up: give another model (--model), other sources or a direction, {_OTHERWISE}",
}
"""What would help a run that ended for a reason which is no lack of budget (D48, D54)."""


def next_safe_action(research: Research) -> str:
    """The one action that recovery may take (L3, L9)."""
    if research.status == "complete":
        return COMPLETE
    if research.status == "blocked":
        return f"remove the blocker ({active_blockers(research) or 'unknown'}), then resume the run"
    if research.loop == "simple" and research.stop_reason == "finalized":
        return "accept the report, unverified as it is, or research the objective with the investigative loop"
    if research.status in ("reported", "failed"):
        return f"{_ADVICE.get(research.stop_reason, MORE_ROOM)}; or accept the report with its gaps"
    if research.phase == "synthesis":
        return "resume: write the report from the notes"
    if research.pending:
        return f"resume: extract the {len(research.pending)} texts that were read and not yet recorded"
    current = research.current or select_next(research)
    if current is None:
        return "resume: check the exploration gate"
    return f"resume: work on {current.id}: {one_line(current.question, 200)}"


def recovery(research: Research, at: datetime, unproven: str = "") -> str:
    """`recovery.md` (L9)."""
    left = budget_left(research, at, whole=True)
    fired = used_up(research)
    reason = UNPROVEN if unproven else f"breaker:{fired}" if fired else research.stop_reason
    tokens = "unlimited" if left.tokens is None else str(left.tokens)
    usd = "unlimited" if left.usd is None else f"{left.usd:.4f}"
    gaps = [one_line(gap.text, 200) for gap in shortfalls(research)]
    values = (
        one_line(research.objective),
        loop_status(research, unproven) + (f" ({reason})" if reason else ""),
        str(len(research.evaluations)),
        REVERIFY if unproven else next_safe_action(research),
        "; ".join(gaps) or "none",
        one_line(_blocked_by(unproven) if unproven else active_blockers(research)) or "none",
        f"{left.records} iterations, {left.turns} turns, {tokens} tokens, {usd} US dollars, {left.seconds:.0f} seconds",
    )
    bullets = "".join(f"- {name}: {value}\n" for name, value in zip(BULLETS, values, strict=True))
    return f"{RECOVERY_TITLE}\n\n{bullets}"
