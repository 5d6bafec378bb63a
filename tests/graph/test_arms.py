"""An arm that fails costs its own answer and never the run."""

from pathlib import Path
from typing import Any

import pytest
from graph.rig import OBJECTIVE, Mute, Rig, arms, content_answer, whole, worker
from langgraph.runtime import RunControl

from zetetic import aresearch
from zetetic.state.research import Research
from zetetic.state.values import Evaluation
from zetetic.testing import ScriptedModel, call, turn

ARMS = ("judge", "verify", "critique", "completeness")


async def evaluated(home: Path, evaluator: ScriptedModel, **bounds: object) -> Evaluation:
    """The evaluation of the first attempt, after which the run is stopped."""
    control = RunControl()

    def progress(update: dict[str, Any], research: Research) -> None:
        if research.evaluations:
            control.request_drain()

    context = Rig(home, worker(whole()), evaluator).context(**bounds)
    result = await aresearch(OBJECTIVE, context=context, control=control, progress=progress)
    assert result.status == "stopped"
    return result.research.evaluations[0]


def assert_conservative(evaluation: Evaluation, arm: str) -> None:
    """The failed arm's conservative value, and the other three as they were."""
    assert evaluation.unavailable == (arm,)
    assert evaluation.verdict == ("Restart" if arm == "judge" else "Proceed")
    assert evaluation.verified == (arm != "verify")
    assert evaluation.satisfied == (arm != "completeness")
    assert evaluation.objections == (("critique unavailable",) if arm == "critique" else ())


@pytest.mark.rule("A9", "A3")
@pytest.mark.parametrize("arm", ARMS)
async def test_an_arm_that_raises(home: Path, arm: str) -> None:
    assert_conservative(await evaluated(home, arms(**{arm: OSError("wire cut")})), arm)


@pytest.mark.rule("A9")
@pytest.mark.parametrize("arm", ARMS)
async def test_an_arm_that_answers_nonsense(home: Path, arm: str) -> None:
    nonsense = turn(call("no_such_tool", colour="blue"))
    assert_conservative(await evaluated(home, arms(**{arm: nonsense})), arm)


@pytest.mark.rule("A9", "A2", "A23")
@pytest.mark.parametrize("arm", ARMS)
async def test_an_arm_that_never_answers(home: Path, arm: str) -> None:
    names = {"judge": "judge_attempt", "verify": "verify_answer"}
    names |= {"critique": "list_objections", "completeness": "judge_completeness"}
    mute = Mute(script=lambda messages, tools: content_answer(tools), silent=names[arm])
    evaluation = await evaluated(home, mute, arm_seconds=2.0)
    assert_conservative(evaluation, arm)
    assert evaluation.seconds < 30


@pytest.mark.rule("A9", "A7")
async def test_all_arms_that_raise_leave_the_run_going(home: Path) -> None:
    evaluation = await evaluated(home, arms(**{arm: RuntimeError("gone") for arm in ARMS}))
    assert evaluation.unavailable == ARMS
    assert not evaluation.verified


@pytest.mark.rule("A8", "A15")
async def test_an_unreadable_verdict_is_restart_and_counted(home: Path) -> None:
    rig = Rig(home, worker(whole()), arms(judge="Perhaps; it depends."))
    result = await rig.research()
    first = result.research.evaluations[0]
    assert (first.verdict, first.parse_defaults) == ("Restart", ("verdict",))
    assert first.routing.unproductive_streak == 1
    assert result.research.parse_defaults == ("verdict", "verdict")  # of the answer, and of the report


@pytest.mark.rule("A8")
@pytest.mark.parametrize("text", ["proceed", "  PROCEED\n", "Proceed: all counted.", "**Proceed**"])
async def test_a_verdict_is_read_from_plain_text(home: Path, text: str) -> None:
    evaluation = await evaluated(home, arms(judge=text))
    assert (evaluation.verdict, evaluation.parse_defaults) == ("Proceed", ())


@pytest.mark.rule("A3", "A5", "A19")
async def test_content_critics_do_not_unlock_what_verify_denies(home: Path) -> None:
    denied = turn(call("verify_answer", passed=False, failures=["the quote names another tower"]))
    rig = Rig(home, worker(whole(), "…"), arms(verify=denied))
    result = await rig.research(max_attempts=1, max_turns=14)
    assert result.research.evaluations[0].routing.route == "Reported"
    assert result.research.questions["q_001"].status == "unresolvable"
    assert result.status == "reported"
