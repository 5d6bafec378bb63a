"""Budgets: what ends exploration, what the reserve is for, and how a run then ends."""

from pathlib import Path

import pytest
from graph.rig import ANSWER, REPORT, Rig, Step, arms, fetch, plan, record, report, search, stage_of, whole, worker

from zetetic.testing import call, turn

CUT_SHORT = f"## Summary\n\n{ANSWER}\n\n## Gaps\n\n- [q_001] The height was not settled.\n"


@pytest.mark.rule("D46", "D54", "D48")
async def test_too_few_turns_lead_to_a_report_that_names_the_breaker(home: Path) -> None:
    model = worker([plan(), search(), fetch(), record(), report(CUT_SHORT)])
    result = await Rig(home, model).research(max_turns=5)
    assert (result.status, result.stop_reason) == ("reported", "breaker:iterations")
    assert result.research.turns == 5
    assert stage_of(model.prompts[4]) == "synthesizing"
    assert "breaker:iterations" in result.report
    assert "q_001" in [gap.get("question_id") for gap in result.gaps]
    assert "incomplete analysis" in result.report.splitlines()[2]


@pytest.mark.rule("D46")
async def test_the_last_turn_forces_the_report(home: Path) -> None:
    model = worker([plan(), search(), fetch(), record(), report(CUT_SHORT)])
    await Rig(home, model).research(max_turns=5)
    assert model.choices == [None, None, None, None, "finalize_report"]


@pytest.mark.rule("D46", "D54")
@pytest.mark.parametrize(
    "refused",
    [
        report("## Summary\n\nThe tower is 42 metres tall. It has nine floors.\n"),
        report(REPORT.replace("c_001", "c_900")),
        report(""),
        turn(call("web_search", query="one more")),
        "The Ortel lighthouse is 42 metres tall.",
    ],
    ids=["uncited", "unknown claim", "empty", "another tool", "text"],
)
async def test_a_refused_report_on_the_last_turn_is_rendered_by_code(home: Path, refused: Step) -> None:
    result = await Rig(home, worker([plan(), search(), fetch(), record()], refused)).research(max_turns=5)
    assert (result.status, result.stop_reason) == ("reported", "breaker:iterations")
    assert result.research.report.rendered_by_code
    assert "The Ortel lighthouse is 42 metres tall" in result.report
    assert "https://harbour-office.org/tower" in result.report
    assert "nine floors" not in result.report


@pytest.mark.rule("D46", "D54")
async def test_a_single_turn_goes_to_the_report(home: Path) -> None:
    model = worker([], "Nothing.")
    result = await Rig(home, model).research(max_turns=1)
    assert (result.status, result.stop_reason, result.research.turns) == ("reported", "breaker:iterations", 1)
    assert result.sources == []


@pytest.mark.rule("D46", "A27", "D54")
@pytest.mark.parametrize("budget", [20_000, 40_000])
async def test_a_token_budget_is_respected(home: Path, budget: int) -> None:
    rig = Rig(home, worker(whole(), "…"))
    result = await rig.research(max_total_tokens=budget)
    assert result.research.usage.tokens <= budget
    assert result.stop_reason == "breaker:tokens"
    assert result.status in ("reported", "failed")
    assert "breaker:tokens" in result.report


@pytest.mark.rule("D47")
async def test_usage_counts_every_recorded_call_and_only_those(home: Path) -> None:
    model, evaluator = worker(whole()), arms()
    result = await Rig(home, model, evaluator).research()
    assert result.usage["calls"] == len(model.prompts) + len(evaluator.prompts) == 18


@pytest.mark.rule("A21", "D54")
async def test_the_wall_clock_ceiling_ends_in_a_report(home: Path) -> None:
    rig = Rig(home, worker([plan(), search()], "…"))
    result = await rig.research(max_wall_time_seconds=0.05)
    assert result.stop_reason == "breaker:wall_clock"
    assert result.status in ("reported", "failed")
    assert result.report


@pytest.mark.rule("A22", "D21", "A13")
async def test_a_question_ends_at_its_attempt_cap_and_the_partial_answer_stands_as_assumption(home: Path) -> None:
    again = [turn(call("retry_question", id="q_001", new_query=f"Ortel tower metres {n}", why="no figure"))
             for n in range(3)]  # fmt: skip
    result = await Rig(home, worker([plan(), search(), *again], "…")).research(max_attempts=2, max_turns=12)
    assert result.research.questions["q_001"].status == "unresolvable"
    assert result.research.questions["q_001"].attempts == 2
    assert result.status == "reported"


@pytest.mark.rule("D54", "R11")
async def test_an_abort_is_recorded_and_is_never_success(home: Path) -> None:
    steps = [
        plan(),
        search(),
        turn(call("abort", reason="the pages are useless")),
        report(CUT_SHORT),
        report(CUT_SHORT),
    ]
    result = await Rig(home, worker(steps, "…")).research(max_turns=12)
    assert (result.status, result.stop_reason) == ("reported", "aborted")


@pytest.mark.rule("D41", "D54")
async def test_a_report_that_the_arms_deny_to_the_cap_is_reported(home: Path) -> None:
    denied = turn(call("judge_completeness", criteria=[{"number": 1, "met": False, "missing": "the year"}]))
    steps: list[Step] = [*whole(), report(), report(), report()]
    content = [True]

    def completeness() -> object:
        if content:
            content.pop()
            return turn(call("judge_completeness", criteria=[{"number": 1, "met": True}]))
        return denied

    rig = Rig(home, worker(steps, "…"), arms(completeness=completeness))  # type: ignore[arg-type]
    result = await rig.research(max_attempts=2, max_reopens=0, max_turns=20)
    assert result.status == "reported"
    assert "the year" in result.report
