"""CRITIQUE: what is wrong with the result as reasoning? A list of citable objections, possibly empty (A5)."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from zetetic.state.evaluation import ArmResult, conservative
from zetetic.state.gates import is_addressed
from zetetic.tools.schemas import Args
from zetetic.tools.text import neutral

from .arms import FEWER, ArmView, call_arm, fewer, run_arm
from .channels import Channels
from .context import Context
from .prompts import claim_line
from .verify import cited_by

SYSTEM = """\
Stage: critique
You look for what is wrong with a result as reasoning, whether or not it is right. Call list_objections once; the list \
may be empty. Each objection is one sentence that names the claim or statement: it contradicts a claim on record, it \
asserts as established what the claims do not support, or the reasoning does not suffice for the conclusion. Do not \
repeat yourself, and do not ask for more research as such.
"""


class ListObjections(Args):
    """Specific objections, none if there are none."""

    objections: list[str] = Field(default=[], max_length=10)


async def critique(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Objections to the result."""
    return await run_arm(channels, runtime, "critique", _critique)


async def _critique(view: ArmView) -> ArmResult:
    r, number = view.research, view.attempt.number
    if not view.result:
        return ArmResult(arm="critique", attempt=number, findings=[])
    cited = cited_by(view)
    ids = {c.id for c in cited}
    objections = []
    for pair in r.contradictions:
        mine = ids & {pair.claim_id, pair.other_id}
        other = {pair.claim_id, pair.other_id} - ids
        if mine and other and not is_addressed(r, pair):
            objections.append(f"{mine.pop()} is contradicted by {other.pop()}, which the result does not mention")
    refuted = [c for c in r.claims.values() if c.status == "REFUTED"]

    def prompt(step: int) -> str | None:
        """All claims, then fewer."""
        if step > FEWER:
            return None
        shown, more = fewer(cited, step)
        fallen, more_fallen = fewer(refuted, step)
        return "\n".join(
            [
                f"Question: {neutral(view.question.question)}",
                f"Result: {neutral(view.result[:20000])}",
                "Cited claims:",
                *(neutral(claim_line(c)) for c in shown),
                *more,
                "Contradictions on record:",
                *(f"{p.claim_id} vs {p.other_id} ({p.question_id})" for p in r.contradictions),
                "Refuted claims:",
                *(neutral(claim_line(c)) for c in fallen),
                *more_fallen,
            ]
        )

    args, _ = await call_arm(view, "critique", SYSTEM, prompt, ("list_objections", ListObjections))
    if args is None:
        return conservative("critique", number, "no objections could be read")
    return ArmResult(
        arm="critique", attempt=number, findings=[*objections, *(o[:400] for o in args["objections"] if o.strip())]
    )
