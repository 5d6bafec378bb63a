"""The ladder: its order, its limits, its text forms, and what it does with a field that is missing (A8, A10, A18)."""

import itertools
from typing import Any

import pytest
from state.build import bounds

from zetetic.state.policy import (
    LADDER,
    ROUTES,
    VERDICTS,
    limits_of,
    parse_route,
    parse_verdict,
    route,
    routing_of,
    rung_for,
)
from zetetic.state.thresholds import MODES, Thresholds, thresholds_for

LIMITS = {"attempt_cap": 4, "unverified_streak_limit": 2, "unproductive_streak_limit": 2}
NOTHING: dict[str, Any] = {
    "blocked": False,
    "expired": False,
    "verified": False,
    "complete": False,
    "attempts": 1,
    "unverified_streak": 0,
    "unproductive_streak": 0,
    "thresholds": LIMITS,
}
BOOLEANS = ("blocked", "expired", "verified", "complete")
COUNTERS = ("attempts", "unverified_streak", "unproductive_streak")


def by_hand(signals: dict[str, Any]) -> str:
    """The ladder of A10, written out."""
    limits = signals["thresholds"]
    if signals["blocked"]:
        return "Blocked"
    if signals["expired"]:
        return "Reported"
    if signals["verified"] and signals["complete"]:
        return "Answered"
    if signals["attempts"] >= limits["attempt_cap"]:
        return "Reported"
    if signals["verified"]:
        return "Diversify"
    if signals["unverified_streak"] >= limits["unverified_streak_limit"]:
        return "Diversify"
    if signals["unproductive_streak"] >= limits["unproductive_streak_limit"]:
        return "Diversify"
    return "Retry"


@pytest.mark.rule("A10", "A14")
@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ({}, "Retry"),
        ({"blocked": True, "expired": True, "verified": True, "complete": True, "attempts": 9}, "Blocked"),
        ({"expired": True, "verified": True, "complete": True}, "Reported"),
        ({"verified": True, "complete": True, "attempts": 4}, "Answered"),
        ({"attempts": 4, "unverified_streak": 9}, "Reported"),
        ({"attempts": 4, "verified": True}, "Reported"),
        ({"verified": True}, "Diversify"),
        ({"complete": True}, "Retry"),
        ({"unverified_streak": 2}, "Diversify"),
        ({"unproductive_streak": 2}, "Diversify"),
        ({"unverified_streak": 1, "unproductive_streak": 1, "attempts": 3}, "Retry"),
    ],
)
def test_the_ladder_in_its_order(signals: dict[str, Any], expected: str) -> None:
    assert route({**NOTHING, **signals}) == expected


@pytest.mark.rule("A10", "A18", "A13")
@pytest.mark.parametrize("mode", MODES)
def test_every_reachable_combination_is_routed_as_the_rule_says(mode: Any) -> None:
    limits = limits_of(thresholds_for(mode))
    names = ("attempt_cap", "unverified_streak_limit", "unproductive_streak_limit")
    ranges = [range(limits[name] + 2) for name in names]
    seen = set()
    for flags in itertools.product((False, True), repeat=4):
        for counts in itertools.product(*ranges):
            signals = {**dict(zip(BOOLEANS, flags, strict=True)), **dict(zip(COUNTERS, counts, strict=True))}
            signals["thresholds"] = limits
            assert route(signals) == by_hand(signals)
            seen.add(route(signals))
    assert seen == {"Answered", "Reported", "Retry", "Diversify", "Blocked"}


@pytest.mark.rule("A18")
@pytest.mark.parametrize("field", [*BOOLEANS, *COUNTERS, "thresholds"])
@pytest.mark.parametrize("value", ["absent", None, "true", 1.5, []])
def test_a_field_that_is_missing_or_no_value_of_its_kind_gives_blocked(field: str, value: Any) -> None:
    signals = {k: v for k, v in NOTHING.items() if k != field}
    if value != "absent":
        signals[field] = value
    assert route(signals) == "Blocked"


@pytest.mark.rule("A18")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_that_is_missing_or_null_gives_blocked(limit: str) -> None:
    assert route({**NOTHING, "thresholds": {**LIMITS, limit: None}}) == "Blocked"
    assert route({**NOTHING, "thresholds": {k: v for k, v in LIMITS.items() if k != limit}}) == "Blocked"
    assert route({**NOTHING, "thresholds": {**LIMITS, limit: True}}) == "Blocked"
    assert route({}) == "Blocked"


@pytest.mark.rule("A18")
def test_a_boolean_is_no_counter_and_a_number_no_boolean() -> None:
    assert route({**NOTHING, "attempts": True}) == "Blocked"
    assert route({**NOTHING, "verified": 1}) == "Blocked"
    assert route({**NOTHING, "verified": 1.0}) == "Blocked"


@pytest.mark.rule("A18")
def test_a_counter_is_a_whole_number_from_0_on_and_json_knows_one_kind_of_number() -> None:
    assert route({**NOTHING, "attempts": 4.0}) == "Reported"
    for wrong in (-1, 1.5, float("nan"), float("inf"), 2**53):
        assert route({**NOTHING, "attempts": wrong}) == "Blocked"


@pytest.mark.rule("A18")
@pytest.mark.parametrize("signals", [None, [], "retry", 0, True])
def test_what_is_no_record_gives_blocked(signals: Any) -> None:
    assert rung_for(signals) is None
    assert route(signals) == "Blocked"


@pytest.mark.rule("A10", "A18")
def test_the_policy_is_data() -> None:
    assert [(rung.number, rung.route) for rung in LADDER] == [
        ("1", "Blocked"),
        ("1b", "Reported"),
        ("2", "Answered"),
        ("3", "Reported"),
        ("4", "Diversify"),
        ("5", "Diversify"),
        ("6", "Diversify"),
        ("7", "Retry"),
    ]
    assert LADDER[-1].when == ()


@pytest.mark.rule("A14")
def test_answered_and_reported_share_no_condition() -> None:
    answered = {c for rung in LADDER if rung.route == "Answered" for c in rung.when}
    reported = {c for rung in LADDER if rung.route == "Reported" for c in rung.when}
    assert answered == {"verified", "complete"}
    assert answered & reported == set()


@pytest.mark.rule("A3")
def test_without_verify_nothing_is_answered() -> None:
    for flags in itertools.product((False, True), repeat=3):
        blocked, expired, complete = flags
        for attempts in range(6):
            signals = {**NOTHING, "blocked": blocked, "expired": expired, "complete": complete, "attempts": attempts}
            assert route(signals) != "Answered"


@pytest.mark.rule("A8")
@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_verdict_is_read_trimmed_and_in_any_case(verdict: str) -> None:
    for text in (verdict, verdict.upper(), f"  {verdict.lower()}\n"):
        assert parse_verdict(text) == (verdict, False)


@pytest.mark.rule("A8")
@pytest.mark.parametrize("name", ROUTES)
def test_a_route_is_read_trimmed_and_in_any_case(name: str) -> None:
    for text in (name, name.upper(), f"\t{name.lower()} "):
        assert parse_route(text) == (name, False)


@pytest.mark.rule("A8")
@pytest.mark.parametrize("text", ["", "Proceed!", "Pro ceed", "null", None, 3, ["Proceed"], {}])
def test_what_cannot_be_read_is_the_conservative_value(text: object) -> None:
    assert parse_verdict(text) == ("Restart", True)
    assert parse_route(text) == ("Blocked", True)


@pytest.mark.rule("A15", "A8")
def test_restart_is_no_route_and_the_texts_are_these() -> None:
    assert VERDICTS == ("Proceed", "Steer", "Restart")
    assert ROUTES == ("Answered", "Reported", "Retry", "Diversify", "Blocked")


@pytest.mark.rule("A13")
@pytest.mark.parametrize(
    ("streaks", "resets"),
    [((2, 0), "unverified"), ((0, 2), "unproductive"), ((2, 2), "unverified"), ((1, 1), ""), ((3, 0), "unverified")],
)
def test_a_diversify_names_the_streak_that_caused_it(streaks: tuple[int, int], resets: str) -> None:
    signals = {k: v for k, v in NOTHING.items() if k != "thresholds"}
    signals |= {"unverified_streak": streaks[0], "unproductive_streak": streaks[1]}
    routing, reset = routing_of(bounds(), **signals)
    assert reset == resets
    assert (routing.unverified_streak, routing.unproductive_streak) == streaks, "the record is from before the reset"


@pytest.mark.rule("A18")
def test_a_record_recomputes_its_own_route() -> None:
    signals = {k: v for k, v in NOTHING.items() if k != "thresholds"}
    routing, _ = routing_of(bounds(), **signals)
    assert route(routing.model_dump(exclude={"route"})) == routing.route == "Retry"


@pytest.mark.rule("A17")
def test_the_ladder_reads_the_bounds_it_is_given() -> None:
    assert limits_of(Thresholds(max_attempts=9, unverified_streak_limit=8, unproductive_streak_limit=7)) == {
        "attempt_cap": 9,
        "unverified_streak_limit": 8,
        "unproductive_streak_limit": 7,
    }
