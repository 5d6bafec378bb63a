"""Hard budgets, the reserve for the report, and what is left."""

from typing import Any

import pytest
from state.build import Run, bounds

from zetetic.state import events as ev
from zetetic.state.breakers import (
    arms_allowance,
    attempt_affordable,
    breaker,
    budget_left,
    ceiling_passed,
    covers,
    evaluation_seconds,
    kept_for_evaluation,
    time_is_up,
    work_seconds,
)
from zetetic.state.thresholds import Thresholds

TURN = {"stage": "acting", "question_id": "q_001"}


def spent(turns: int = 0, tokens: int = 0, usd: float = 0.0, seconds: float = 0.0, **changed: Any) -> Run:
    run = Run(**changed)
    for seq in range(turns):
        run.happen(ev.StateRecorded(at=run.now, seq=seq + 1, stage="acting"))
    if tokens or usd:
        run.spend(tokens, usd)
    run.wait(seconds)
    return run


def fired(run: Run) -> str | None:
    return breaker(run.research, run.now)


@pytest.mark.rule("D46", "D52")
def test_of_sixty_turns_exploration_has_fifty_one() -> None:
    t = bounds()
    assert (t.max_turns, t.exploration_turns(), t.reserve_turns()) == (60, 51, 9)


@pytest.mark.rule("D46")
@pytest.mark.parametrize(("turns", "exploration"), [(1, 0), (2, 1), (3, 2), (10, 8), (20, 17), (100, 85)])
def test_a_turn_at_least_is_kept_for_the_report(turns: int, exploration: int) -> None:
    t = bounds(max_turns=turns)
    assert (t.exploration_turns(), t.reserve_turns()) == (exploration, turns - exploration)


@pytest.mark.rule("D46")
def test_at_most_half_of_the_turns_are_kept() -> None:
    assert bounds(max_turns=10, synthesis_reserve=0.9).exploration_turns() == 5


@pytest.mark.rule("D46")
@pytest.mark.parametrize(("turns", "name"), [(50, None), (51, "iterations")])
def test_turns(turns: int, name: str | None) -> None:
    assert fired(spent(turns=turns)) == name


@pytest.mark.rule("D46")
@pytest.mark.parametrize(("tokens", "name"), [(849, None), (850, "tokens")])
def test_tokens(tokens: int, name: str | None) -> None:
    assert fired(spent(tokens=tokens, max_total_tokens=1000)) == name


@pytest.mark.rule("D46")
@pytest.mark.parametrize(("usd", "name"), [(0.84, None), (0.86, "cost")])
def test_cost(usd: float, name: str | None) -> None:
    assert fired(spent(usd=usd, max_cost_usd=1.0)) == name


@pytest.mark.rule("D46")
def test_the_largest_call_so_far_stands_for_the_next_one() -> None:
    run = Run(max_total_tokens=10_000)
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=2500))
    # 10,000 less what was spent, less two such calls kept for the report: a third one still fits.
    assert (budget_left(run.research, run.now).tokens, fired(run)) == (2500, None)
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=1))
    assert fired(run) == "tokens"


@pytest.mark.rule("D46")
@pytest.mark.parametrize(("seconds", "name"), [(800, None), (850, "wall_clock")])
def test_wall_clock(seconds: float, name: str | None) -> None:
    assert fired(spent(seconds=seconds, max_wall_time_seconds=1000.0)) == name


@pytest.mark.rule("D46")
def test_zero_is_unlimited_for_tokens_and_money() -> None:
    run = spent(tokens=10**9, usd=10**6)
    assert fired(run) is None
    assert (budget_left(run.research, run.now).tokens, budget_left(run.research, run.now).usd) == (None, None)


@pytest.mark.rule("D46")
def test_synthesis_has_the_reserve() -> None:
    run = spent(turns=51, tokens=900, max_total_tokens=1000)
    run.happen(ev.PhaseChanged(at=run.now, phase="synthesis", reason="breaker:iterations"))
    assert fired(run) is None
    left = budget_left(run.research, run.now)
    assert (left.turns, left.tokens) == (9, 100)


@pytest.mark.rule("L4", "R2")
def test_one_record_is_kept_for_the_report() -> None:
    run = Run(max_iterations=2)
    assert budget_left(run.research, run.now).records == 1
    run.add()
    run.answer()
    assert fired(run) == "iterations"
    run.happen(ev.PhaseChanged(at=run.now, phase="synthesis", reason="breaker:iterations"))
    assert (fired(run), budget_left(run.research, run.now).records) == (None, 1)


@pytest.mark.rule("A21")
def test_the_ceiling_is_the_whole_wall_clock() -> None:
    run = spent(seconds=900, max_wall_time_seconds=1000.0)
    assert not ceiling_passed(run.research, run.now)
    run.wait(200)
    assert ceiling_passed(run.research, run.now)


@pytest.mark.rule("A21", "D54")
def test_time_without_a_process_does_not_count() -> None:
    run = Run(max_wall_time_seconds=1000.0)
    run.wait(5000)
    run.happen(ev.RunResumed(at=run.now, paused_seconds=5000))
    assert budget_left(run.research, run.now, whole=True).seconds >= 995


@pytest.mark.rule("A27")
def test_an_attempt_begins_only_if_its_evaluation_is_covered() -> None:
    room = arms_allowance(bounds_of := spent(max_total_tokens=100_000).research)
    assert room == 4 * bounds_of.thresholds.arm_max_tokens  # an arm makes one call
    call = 81  # the largest of the thousand calls, which a turn of the attempt may take
    enough = spent(tokens=85_000 - room - call - 1, max_total_tokens=100_000)
    short = spent(tokens=85_000 - room - call, max_total_tokens=100_000)
    assert enough.research.usage.largest == short.research.usage.largest == call
    assert attempt_affordable(enough.research, enough.now)
    assert not attempt_affordable(short.research, short.now)
    assert fired(short) is None


def within(kind: str = "question", **changed: Any) -> Run:
    """A run with an attempt under way."""
    run = Run(**changed)
    if kind == "report":
        run.happen(ev.PhaseChanged(at=run.now, phase="synthesis", reason="finalized"))
    run.add()
    assert run.turn() == ("acting" if kind == "question" else "synthesizing")
    return run


@pytest.mark.rule("A27")
def test_a_turn_of_an_attempt_leaves_its_evaluation_what_that_needs() -> None:
    run = within(max_total_tokens=100_000)
    room = arms_allowance(run.research)
    run.spend(85_000 - room - 81)
    assert (run.research.usage.largest, fired(run)) == (81, None)
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=1))
    assert fired(run) == "tokens"
    run.bound("breaker")
    assert fired(run) is None  # it is kept for the arms, which come now


@pytest.mark.rule("A27")
def test_a_call_of_an_attempt_is_not_covered_by_what_its_evaluation_needs() -> None:
    run = within(max_total_tokens=100_000)
    room = arms_allowance(run.research)
    run.spend(90_000)
    assert covers(run.research, 10_000 - room, run.now)
    assert not covers(run.research, 10_000 - room + 1, run.now)
    run.bound("breaker")
    assert covers(run.research, 10_000, run.now)


@pytest.mark.rule("A27")
def test_money_is_kept_at_the_price_of_the_tokens_so_far() -> None:
    run = within(max_cost_usd=1.0)
    run.spend(tokens=100_000, usd=0.5)  # four arms of 1,024 tokens are about 2 cents
    tokens, usd = kept_for_evaluation(run.research)
    assert (tokens, round(usd, 4)) == (4096, 0.0205)
    run.happen(ev.UsageRecorded(at=run.now, role="worker", input_tokens=0, usd=0.33))
    assert fired(run) == "cost"


@pytest.mark.rule("A27", "D46")
def test_a_report_leaves_nothing_to_its_evaluation() -> None:
    assert kept_for_evaluation(within("report", max_total_tokens=100_000).research) == (0, 0.0)


@pytest.mark.rule("A21")
@pytest.mark.parametrize(
    ("kind", "wait", "left"),
    [("question", 0, 99), ("question", 90, 9), ("question", 300, 0), ("report", 0, 1000), ("report", 900, 100)],
)
def test_an_attempts_deadline_is_its_own_time_or_what_is_left_of_the_ceiling(kind: str, wait: int, left: int) -> None:
    run = within(kind, max_wall_time_seconds=1000.0, attempt_seconds=100.0)
    assert work_seconds(run.wait(wait).research, run.now) == pytest.approx(left, abs=6)


@pytest.mark.rule("A21", "D46")
def test_late_in_exploration_an_attempt_has_what_is_left_of_its_share() -> None:
    run = within(max_wall_time_seconds=1000.0, attempt_seconds=900.0).wait(800)
    assert work_seconds(run.research, run.now) == pytest.approx(50, abs=6)
    assert time_is_up(run.wait(50).research, run.now)
    assert not ceiling_passed(run.research, run.now)
    assert work_seconds(run.research, run.now) == 0


@pytest.mark.rule("A20", "A21", "A23")
@pytest.mark.parametrize(("wait", "left"), [(0, 60), (840, 53), (950, 16), (1100, 0)])
def test_an_evaluation_has_an_arms_time_and_at_most_a_part_of_the_reserve(wait: int, left: int) -> None:
    run = within(max_wall_time_seconds=1000.0).wait(wait)
    assert evaluation_seconds(run.research, run.now) == pytest.approx(left, abs=3)


@pytest.mark.rule("A27")
def test_no_attempt_begins_on_a_budget_that_is_gone() -> None:
    for run in (
        spent(turns=51),
        spent(usd=0.9, max_cost_usd=1.0),
        spent(seconds=900, max_wall_time_seconds=1000.0),
        spent(max_iterations=1),
    ):
        assert not attempt_affordable(run.research, run.now)


@pytest.mark.rule("D47", "A27")
def test_usage_only_grows_and_arms_count_as_tokens_and_no_turns() -> None:
    run = spent(turns=3)
    run.happen(ev.UsageRecorded(at=run.now, role="judge", input_tokens=10, output_tokens=5, cached_tokens=4, usd=0.5))
    run.happen(ev.StateRecorded(at=run.now, seq=4, stage="evaluating", is_turn=False))
    usage = run.research.usage
    assert (usage.calls, usage.tokens, usage.cached_tokens, usage.usd) == (1, 15, 4, 0.5)
    assert run.research.turns == 3


@pytest.mark.rule("D52", "D46", "A17")
def test_the_defaults() -> None:
    t = Thresholds()
    assert {name: getattr(t, name) for name in DEFAULTS} == DEFAULTS


DEFAULTS = {
    "max_turns": 60,
    "max_iterations": 60,
    "synthesis_reserve": 0.15,
    "max_depth": 3,
    "max_attempts": 4,
    "max_questions": 40,
    "max_parallel": 1,
    "gate_priority": 0.5,
    "max_reopens": 1,
    "max_hops": 20,
    "keep_turns": 2,
    "window_max_tokens": 3000,
    "extraction_threshold": 4000,
    "notes_max_tokens": 6000,
    "min_sources": 5,
    "min_domains": 3,
    "min_independent_sources": 2,
    "min_challenges": 1,
    "max_challenges_per_target": 3,
    "provider_error_limit": 2,
    "directive_max_chars": 2000,
    "plateau_records": 3,
    "barren_rounds_limit": 2,
}
