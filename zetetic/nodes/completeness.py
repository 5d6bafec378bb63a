"""COMPLETENESS: does the result answer its criteria, or only their topic? (A6)"""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from zetetic.state.evaluation import ArmResult, conservative
from zetetic.tools.schemas import Args
from zetetic.tools.text import neutral

from .arms import ArmView, call_arm, run_arm
from .channels import Channels
from .context import Context

SYSTEM = """\
Stage: completeness
You check whether a result does what its criteria ask, not whether it is about the same topic. Call judge_completeness \
once with, for each criterion in turn, met true or false; for each that is not met say in missing what is lacking. A \
report that states under Gaps that something asked for could not be found meets the criterion as far as it can be met.
"""


class CriterionVerdict(Args):
    """One criterion by its number, and whether it is met."""

    number: int = Field(ge=1, le=20)
    met: bool
    missing: str = Field("", max_length=300)


class JudgeCompleteness(Args):
    """A verdict for each criterion."""

    criteria: list[CriterionVerdict] = Field(min_length=1, max_length=20)


async def completeness(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Satisfied, or partial with what is missing."""
    return await run_arm(channels, runtime, "completeness", _completeness)


def criteria_of(view: ArmView) -> tuple[str, ...]:
    """What the result is judged by: the run's criteria for the report, else the question's own."""
    if view.is_report:
        return view.research.criteria or (view.research.objective,)
    return (view.question.validation_criteria or f"Answers: {view.question.question}",)


async def _completeness(view: ArmView) -> ArmResult:
    number = view.attempt.number
    if not view.result:
        return ArmResult(arm="completeness", attempt=number, passed=False, findings=["there is no answer"])
    criteria = criteria_of(view)
    lines = [
        f"Question: {neutral(view.question.question)}",
        f"Result: {neutral(view.result[:20000])}",
        "Criteria:",
        *(f"{n}. {neutral(c)}" for n, c in enumerate(criteria, 1)),
    ]
    args, _ = await call_arm(view, "completeness", SYSTEM, "\n".join(lines), ("judge_completeness", JudgeCompleteness))
    if args is None:
        return conservative("completeness", number, "no verdict could be read")
    met = {v["number"]: v for v in args["criteria"]}
    missing = []
    for n, criterion in enumerate(criteria, 1):
        verdict = met.get(n)
        if verdict is None:
            missing.append(f"not judged: {criterion}"[:400])
        elif not verdict["met"]:
            missing.append((verdict["missing"] or f"not met: {criterion}")[:400])
    return ArmResult(arm="completeness", attempt=number, passed=not missing, findings=missing)
