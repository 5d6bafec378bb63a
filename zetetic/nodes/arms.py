"""What the four arms share: the attempt as each may see it, one narrowed call, a conservative value (A2, A9)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from zetetic.state.allowance import arm_allowance
from zetetic.state.breakers import evaluation_seconds
from zetetic.state.evaluation import Arm, ArmResult, conservative
from zetetic.state.research import Research
from zetetic.state.values import Attempt, Question
from zetetic.tools import Args, read_args, tool_schema

from .asking import ask
from .channels import Channels
from .context import Context
from .keys import task_key
from .workbench import Workbench, bench_of, known

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ArmView:
    """The attempt under evaluation: the same for all arms, and nothing of what another arm said."""

    bench: Workbench
    research: Research
    attempt: Attempt
    question: Question
    key: str
    until: float
    """When the arm's time is up, in the event loop's time."""

    @property
    def is_report(self) -> bool:
        """Whether the attempt is the run's report."""
        return self.attempt.kind == "report"

    @property
    def result(self) -> str:
        """What the attempt proposes: an answer or the report's draft; '' if it ended without one."""
        if self.attempt.outcome not in ("resolved", "finalized"):
            return ""
        return self.research.report.draft if self.is_report else self.attempt.answer


async def call_arm(
    view: ArmView, arm: Arm, system: str, prompt: str | Callable[[int], str | None], tool: tuple[str, type[Args]]
) -> tuple[dict[str, Any] | None, str]:
    """One forced call on the evaluator's narrowed budget; the arguments, or None and the answer's text (A23).

    `prompt` is a text, or one in steps: smaller at each, None where there is no smaller one.
    """
    name, schema = tool

    async def steps(step: int) -> Sequence[BaseMessage] | None:
        text = (prompt if step == 0 else None) if isinstance(prompt, str) else prompt(step)
        return None if text is None else [SystemMessage(system), HumanMessage(text)]

    answer = await ask(
        view.bench,
        view.research.run_id,
        view.key,
        "evaluator",
        steps,
        [tool_schema(name, schema)],
        allowed=frozenset({name}),
        choice=name,
        seconds=arm_allowance(view.research.thresholds).seconds,
        must_call=True,
        until=view.until,
        worker=view.research.worker,
    )
    for call in answer.calls:
        args = read_args(name, call.args, schema)
        if not isinstance(args, str):
            return args.model_dump(), answer.text
    return None, answer.text


async def run_arm(
    channels: Channels,
    runtime: Runtime[Context],
    arm: Arm,
    work: Callable[[ArmView], Awaitable[ArmResult]],
) -> dict[str, Any]:
    """Runs one arm within its time; whatever happens, the run goes on with the conservative value (A9, A21)."""
    bench = await bench_of(runtime)
    r = await known(bench, channels)
    attempt = r.attempt
    if attempt is None:
        return {}
    seconds = evaluation_seconds(r, bench.clock())
    until = asyncio.get_running_loop().time() + seconds
    view = ArmView(bench, r, attempt, r.questions[attempt.question_id], task_key(runtime), until)
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            result = await work(view)
    except GraphBubbleUp:
        raise
    except Exception as error:  # an arm costs its own answer, never the run (A9)
        late = limit.expired() and isinstance(error, TimeoutError)
        trouble = f"no answer in {seconds:.3g} seconds" if late else f"{type(error).__name__}: {error}"[:300]
        result = conservative(arm, attempt.number, trouble)
    return {"arms": {arm: result}}


FEWER = 3
"""How often the claims that an arm is shown are halved where its model's window is too small."""


def fewer(claims: Sequence[T], step: int) -> tuple[Sequence[T], list[str]]:
    """The first of the claims, half as many at each step, and a line that counts the others."""
    shown = claims[: max(1, len(claims) >> step)] if step else claims
    left_out = len(claims) - len(shown)
    return shown, [f"(+{left_out} more claims)"] if left_out else []
