"""The defaults of each mode fit each other and their purpose; what could never work is refused (A17, L3)."""

import re
from typing import Any

import pytest

from zetetic.state.thresholds import MODES, Thresholds, thresholds_for

IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"synthesis_reserve": 1.0}, "synthesis_reserve 1 keeps everything for the report"),
    ({"min_challenges": 4}, "min_challenges 4 is more than max_challenges_per_target 3 allows"),
    (
        {"max_challenges_per_target": 1, "min_challenges": 2},
        "min_challenges 2 is more than max_challenges_per_target 1",
    ),
    ({"max_challenges_per_target": 20, "min_challenges": 8}, "min_challenges 8 is more than the 7 strategies"),
    ({"near_duplicate_share": 0.0}, "near_duplicate_share 0 makes any two sources one"),
    ({"near_duplicate_question": 0.0}, "near_duplicate_question 0 makes any two questions one"),
]
POSSIBLE: list[dict[str, Any]] = [
    {"synthesis_reserve": 0.99},
    {"synthesis_reserve": 0.0},
    {"min_challenges": 3},
    {"min_challenges": 0, "max_challenges_per_target": 1},
    {"max_challenges_per_target": 20, "min_challenges": 7},
    {"near_duplicate_share": 0.0, "min_independent_sources": 1},
    {"max_turns": 1},
    {"max_iterations": 1},
    {"max_attempts": 1},
]


@pytest.mark.rule("A17", "D36", "D32")
@pytest.mark.parametrize(("given", "says"), IMPOSSIBLE)
def test_bounds_that_could_never_work_are_refused_in_a_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        Thresholds(**given)


@pytest.mark.rule("A17")
@pytest.mark.parametrize("given", POSSIBLE)
def test_bounds_that_are_only_narrow_are_taken(given: dict[str, Any]) -> None:
    assert Thresholds(**given).model_dump().items() >= given.items()


@pytest.mark.rule("A17")
@pytest.mark.parametrize("name", Thresholds.model_fields)
def test_a_description_ends_in_its_unit(name: str) -> None:
    said = str(Thresholds.model_fields[name].description)
    assert re.fullmatch(r"[^()]+ \([^()]+\)", said)
    if name.endswith(("_seconds", "_usd", "_tokens", "_turns")):
        assert name.rsplit("_", 1)[1].replace("usd", "US dollars") in said


@pytest.mark.rule("L3", "A13", "D46")
@pytest.mark.parametrize("mode", MODES)
def test_the_defaults_of_a_mode_fit_each_other(mode: Any) -> None:
    t = thresholds_for(mode)
    assert t.attempt_turns * t.max_parallel <= t.exploration_turns(), "each worker has room for a whole attempt"
    assert t.conclusion_turns <= t.exploration_turns()
    assert t.attempt_seconds <= t.max_wall_time_seconds * t.exploration_share()
    limits = (t.unverified_streak_limit, t.unproductive_streak_limit)
    assert min(limits) < t.max_attempts, "a streak can change the approach before the attempts are used up"
    assert max(limits) <= t.max_attempts
    assert t.min_domains <= t.min_sources
    assert t.min_independent_sources <= t.min_sources, "who has read so few can have verified nothing"
    assert t.min_challenges < t.max_challenges_per_target, "there is a challenge more for support of one origin (D33)"
    assert t.gate_priority < t.contradiction_priority, "a contradiction must be closed before the report (D34)"


@pytest.mark.rule("D46", "D52")
def test_bounded_research_has_the_defaults_of_the_seed() -> None:
    assert thresholds_for() == thresholds_for("bounded-research") == Thresholds()
    t = Thresholds()
    assert (t.max_turns, t.exploration_turns(), t.reserve_turns(), t.synthesis_reserve) == (60, 51, 9, 0.15)
    assert (t.max_depth, t.max_attempts, t.max_questions, t.max_iterations, t.max_hops) == (3, 4, 40, 60, 20)
    assert (t.keep_turns, t.extraction_threshold, t.notes_max_tokens, t.window_max_tokens) == (2, 4000, 6000, 3000)
    assert (t.min_sources, t.min_domains, t.min_independent_sources) == (5, 3, 2)
    assert (t.min_challenges, t.max_challenges_per_target) == (1, 3)
    assert (t.gate_priority, t.max_reopens, t.max_parallel) == (0.5, 1, 1)


@pytest.mark.rule("L3")
def test_what_the_modes_are_for() -> None:
    usual = thresholds_for()
    assert thresholds_for("monitor").max_turns < usual.max_turns
    assert thresholds_for("monitor").max_wall_time_seconds < usual.max_wall_time_seconds
    assert thresholds_for("implementation-support").min_domains == 0, "local files have no domain"
    assert thresholds_for("panel-loop").max_parallel > 1
    assert thresholds_for("recovery").max_turns <= min(thresholds_for(mode).max_turns for mode in MODES)
