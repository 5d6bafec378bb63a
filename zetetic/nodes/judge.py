"""JUDGE: was the attempt conducted in a way the next one should inherit? (A4)"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from zetetic.state.briefing import briefing
from zetetic.state.evaluation import ArmResult, conservative
from zetetic.state.wording import one_line
from zetetic.tools.schemas import Args
from zetetic.tools.text import neutral, tried_lines

from .arms import ArmView, call_arm, run_arm
from .channels import Channels
from .context import Context

SYSTEM = """\
Stage: judge
You judge how an attempt was conducted, not whether its result is right. Call judge_attempt once.
- Proceed: it searched, read, recorded and checked; the next attempt may go on the same way.
- Steer: mostly sound, one thing must change; say which in one sentence.
- Restart: confident prose with nothing behind it, or a wrong direction; say in one sentence where to start instead.
The briefing is counted by code and goes before what the attempt says of itself.
"""


class JudgeAttempt(Args):
    """The verdict on conduct, and one sentence for the next attempt."""

    verdict: Literal["Proceed", "Steer", "Restart"]
    guidance: str = Field("", max_length=400)


async def judge(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Proceed, Steer or Restart, with one sentence for the next attempt's prompt."""
    return await run_arm(channels, runtime, "judge", _judge)


def _written(view: ArmView) -> list[str]:
    """Names of the files in the run folder that were written since the attempt began (A20)."""
    folder = view.bench.run_folder(view.research.run_id)
    if folder is None or not folder.is_dir():
        return []
    began = view.attempt.started_at.timestamp()
    names = []
    for path in folder.rglob("*"):
        with suppress(OSError):  # a file may be replaced meanwhile
            if path.is_file() and path.stat().st_mtime >= began:
                names.append(path.relative_to(folder).as_posix())
    return sorted(names)


async def _judge(view: ArmView) -> ArmResult:
    r = view.research
    counted = briefing(r, await asyncio.to_thread(_written, view))
    trace = tried_lines(r, view.question.id)
    prompt = "\n".join(
        [
            f"Question: [{view.question.id}] {neutral(view.question.question)}",
            f"Criteria: {neutral(view.question.validation_criteria or 'answers the objective')}",
            "Briefing:",
            counted.lines(),
            "Trace:",
            *(neutral(line) for line in trace),
            "Result:",
            neutral(view.result[:6000]) or "(the attempt ended without a result)",
        ]
    )
    args, text = await call_arm(view, "judge", SYSTEM, prompt, ("judge_attempt", JudgeAttempt))
    if args is not None:
        return ArmResult(
            arm="judge", attempt=view.attempt.number, verdict=args["verdict"], guidance=one_line(args["guidance"], 400)
        )
    word = text.strip().split(maxsplit=1)
    if not word:
        return conservative("judge", view.attempt.number, "no verdict could be read")
    # The verdict's wire form in plain text; what cannot be read as one becomes Restart in the merge (A8).
    return ArmResult(
        arm="judge",
        attempt=view.attempt.number,
        verdict=word[0].strip(".,:;*\"'"),
        guidance=one_line(word[1], 400) if len(word) > 1 else "",
    )
