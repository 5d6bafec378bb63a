"""Each arm answers, fails, hangs or talks nonsense: all 256 combinations, and what must not be swallowed."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from arms.stage import NODES, answered_by, up_to_the_arms
from graph.rig import Rig, arm_of, arms, content_answer, whole, worker
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from zetetic.nodes.workbench import Workbench, workbench
from zetetic.state.decision import Accepted
from zetetic.state.evaluation import ARMS, ArmResult, decide_route
from zetetic.state.events import AttemptEvaluated
from zetetic.state.research import Research
from zetetic.testing import ScriptedModel, call, turn

HOW = ("answers", "fails", "hangs", "nonsense")
COMBINATIONS = list(product(HOW, repeat=4))
SECONDS = (0.3, 2.0, 10.0)
"""Time of an arm; the longer ones where a busy machine kept an arm from its answer."""
behaviour: ContextVar[dict[str, str]] = ContextVar("behaviour")


def moody() -> ScriptedModel:
    def script(messages: Any, tools: list[dict[str, Any]]) -> Any:
        how = behaviour.get({}).get(arm_of(tools), "answers")
        return turn(call("no_such_tool", colour="blue")) if how == "nonsense" else content_answer(tools)

    class Model(ScriptedModel):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            how = behaviour.get({}).get(arm_of(kwargs["tools"]), "answers")
            if how == "hangs":
                await asyncio.Event().wait()
            if how == "fails":
                raise ConnectionError("wire cut")
            return await super()._agenerate(messages, *args, **kwargs)

    return Model(script=script)


async def judged(bench: Workbench, run_id: str, combination: tuple[str, ...]) -> dict[str, ArmResult]:
    behaviour.set(dict(zip(ARMS, combination, strict=True)))
    return await answered_by(bench, run_id, thread=f"{run_id}-{'-'.join(combination)}")


def kept_waiting(said: dict[str, ArmResult], combination: tuple[str, ...]) -> bool:
    """Whether an arm that does not hang was too slow, which is the machine's fault."""
    hanging = dict(zip(ARMS, combination, strict=True))
    return any(said[a].trouble.startswith("no answer in") and hanging[a] != "hangs" for a in ARMS)


def assert_merged(r: Research, combination: tuple[str, ...], said: dict[str, ArmResult]) -> None:
    """Conservative values for the arms that failed, the others' answers as they are, and a route."""
    good = {arm for arm, how in zip(ARMS, combination, strict=True) if how == "answers"}
    decided = decide_route(r, said, at=r.updated_at or datetime.now(UTC))
    assert isinstance(decided, Accepted)
    (evaluated,) = (e.evaluation for e in decided.events if isinstance(e, AttemptEvaluated))
    assert set(evaluated.unavailable) == set(ARMS) - good
    assert evaluated.verdict == ("Proceed" if "judge" in good else "Restart")
    assert evaluated.verified == ("verify" in good)
    assert evaluated.satisfied == ("completeness" in good)
    assert evaluated.objections == (() if "critique" in good else ("critique unavailable",))
    answered = {"verify", "completeness"} <= good
    diversify = "verify" in good and not answered
    assert decided.message == ("Answered" if answered else "Diversify" if diversify else "Retry")


@pytest.mark.rule("A9", "A3", "A10")
async def test_all_256_combinations(home: Path) -> None:
    left = COMBINATIONS
    for number, seconds in enumerate(SECONDS):
        rig = Rig(home / str(number), worker(whole()), moody())
        slow = []
        async with workbench(rig.context(arm_seconds=seconds, write_files=False)) as bench:
            r = await up_to_the_arms(bench)
            for start in range(0, len(left), 16):
                batch = left[start : start + 16]
                said = await asyncio.gather(*(asyncio.create_task(judged(bench, "run-1", c)) for c in batch))
                for combination, results in zip(batch, said, strict=True):
                    if kept_waiting(results, combination) and number + 1 < len(SECONDS):
                        slow.append(combination)
                    else:
                        assert_merged(r, combination, results)
        left = slow
        if not left:
            break


@pytest.mark.rule("A9", "A2")
@pytest.mark.parametrize("arm", ARMS)
async def test_langgraphs_own_signals_pass_through(home: Path, arm: str) -> None:
    rig = Rig(home, worker(whole()), arms(**{arm: GraphInterrupt(())}))
    async with workbench(rig.context()) as bench:
        await up_to_the_arms(bench)
        with pytest.raises(GraphBubbleUp):
            await _alone(bench, arm)


async def _alone(bench: Workbench, arm: str) -> None:
    """One arm's node, called as LangGraph calls it, without the loop that takes its signals."""
    info = SimpleNamespace(thread_id="t", checkpoint_ns=arm, checkpoint_id="c")
    runtime = SimpleNamespace(context=bench.context, execution_info=info)
    await NODES[arm]({"run_id": "run-1"}, runtime)  # type: ignore[arg-type]


@pytest.mark.rule("A9", "A21")
async def test_a_cancelled_evaluation_is_cancelled_and_leaves_the_attempt_as_it_was(home: Path) -> None:
    rig = Rig(home, worker(whole()), moody())
    async with workbench(rig.context(cancel_grace_seconds=0.05)) as bench:
        before = await up_to_the_arms(bench)
        task = asyncio.create_task(judged(bench, "run-1", ("hangs",) * 4))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await bench.store.load("run-1")).attempt == before.attempt
        said = await judged(bench, "run-1", ("answers",) * 4)
        assert all(result.answered for result in said.values())
