"""No deadlock: from every state a small world gets into, tool calls lead to a passed gate and an accepted report.

The states are those that wayward calls reach through the real decisions; the way out is found by a player that does
what refusals say and nothing else. `DEADLOCK_STATES` in the environment sets how many states each world is left from
(200 by default); with 3,000 the sweep took 25 minutes on a busy machine.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from deadlock import moves
from deadlock.exploring import Silent, explore, shown
from deadlock.obedient import Obedient
from deadlock.small_world import after_turn, called, opened, thresholds

from zetetic.state import turns
from zetetic.state.frontier import effective_priorities, failed_dependencies, must_be_closed, select_next
from zetetic.state.research import Research
from zetetic.state.values import ROOT, Question

STATES = int(os.environ.get("DEADLOCK_STATES", "200"))
FRONTIER = moves.together(moves.planning, moves.questions, moves.tending, moves.attempts)
EVIDENCE = moves.together(
    moves.planning, moves.attempts, moves.reading, moves.claiming, moves.judging, moves.attacking, moves.verdicts
)
ENDING = moves.together(
    moves.planning, moves.attempts, moves.tending, moves.attacking, moves.verdicts, moves.concluding
)
ALL = moves.together(FRONTIER, moves.reading, moves.claiming, moves.judging, moves.attacking, moves.verdicts,
                     moves.concluding)  # fmt: skip
WORLDS: dict[str, tuple[moves.Moves, dict[str, Any]]] = {
    "the frontier": (FRONTIER, {}),
    "the evidence": (EVIDENCE, {"max_questions": 2}),
    "the end": (ENDING, {"max_questions": 2, "max_reopens": 2}),
    "all of it": (ALL, {}),
    "one challenge of a target": (ALL, {"max_challenges_per_target": 1}),
    "one attempt at a question": (ALL, {"max_attempts": 1, "max_depth": 1}),
    "one source is enough": (ALL, {"min_independent_sources": 1, "min_challenges": 0}),
    "every page must be read": (ALL, {"min_sources": 4, "min_domains": 4}),
    "everything matters": (ALL, {"gate_priority": 0.0}),
    "nothing else matters": (ALL, {"gate_priority": 1.0, "contradiction_priority": 0.1}),
}


@pytest.mark.rule("D42", "D41", "D11", "D36", "D40")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", [None, 1], ids=["near the start", "far from it"])
def test_whatever_was_done_doing_what_refusals_say_leads_to_an_accepted_report(world: str, seed: int | None) -> None:
    alphabet, bounds = WORLDS[world]
    found = explore([opened(thresholds(**bounds))], alphabet, most=STATES, seed=seed)
    print(f"{world}: {found.states} states, up to {found.deepest} calls deep, out in at most {found.longest} turns")
    assert not found.stuck, shown(found)
    assert found.states == STATES or found.whole


@pytest.mark.rule("R4", "D24")
def test_a_run_without_criteria_gets_through_as_well() -> None:
    research = opened(thresholds(), criteria=())
    player = Obedient()
    for _ in range(20):
        research = player.turn(research) if research.status == "running" else research
    assert (research.status, research.gate_passed) == ("complete", True)


@pytest.mark.rule("D43", "D54", "D5")
@pytest.mark.parametrize("seed", [None, 2], ids=["near the start", "far from it"])
def test_where_nothing_more_is_done_code_ends_the_run_as_reported_and_by_no_breaker(seed: int | None) -> None:
    few = thresholds(attempt_turns=2, planning_turns=2, conclusion_turns=2)
    found = explore([opened(few)], ALL, most=STATES, seed=seed, player=Silent, ends="reported")
    assert not found.stuck, shown(found)


def _blind_to_what_the_root_waits_on(research: Research) -> tuple[Question, ...]:
    """A frontier that leaves blocked questions of low priority alone, although the objective waits on them."""
    chosen = select_next(research)
    if chosen is not None and effective_priorities(research)[chosen.id] >= research.thresholds.gate_priority:
        return ()
    stuck = tuple(q for q in must_be_closed(research) if q.status == "blocked")
    freed = research.root.status == "blocked" and failed_dependencies(research, ROOT)
    return (*stuck, research.root) if freed else stuck


def test_a_hole_in_a_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "stuck_on_blocked", _blind_to_what_the_root_waits_on)
    found = explore([opened(thresholds())], FRONTIER, most=3000, seed=1, faults=1)
    assert found.stuck
    assert "The objective (q_001) is pending" in found.stuck[0][1]


def test_the_plays_change_nothing_where_they_are_refused() -> None:
    research = opened(thresholds())
    for play in [("resolve_question", {"id": "q_001", "answer": "42"}), ("finish_exploration", {})]:
        step = called(research, play)
        assert step.refused
        assert step.research == research
    assert after_turn(research, (), "answered").status == "running"
