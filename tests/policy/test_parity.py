"""One policy, three engines: Python, the compiled graph and jq give every record the same route (A18)."""

import itertools
import json
import math
from typing import Any, get_args

import jq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from policy.cases import (
    ALL_DIFFERENT,
    FLAGS,
    NO_RECORDS,
    by_edge,
    by_graph,
    by_jq,
    by_python,
    corners,
    disagreement,
    reachable,
    sets,
    spoilers,
    spoilt,
    unreadable,
)

from zetetic.graph.ladder import ladder_graph, route_by_graph
from zetetic.state import thresholds
from zetetic.state.policy import (
    COUNTERS,
    EXACT,
    LADDER,
    LIMITS,
    ROUTES,
    VERDICTS,
    Rung,
    is_readable,
    limits_of,
    parse_route,
    parse_verdict,
    route,
    rung_for,
)
from zetetic.state.policy_text import policy_jq
from zetetic.state.thresholds import MODES, Mode, Thresholds, thresholds_for

NAMES = {"answered", "reported", "retry", "diversify", "blocked"}
SETS = sets()
SAMPLE: dict[str, Any] = {
    "blocked": False,
    "expired": False,
    "verified": False,
    "complete": False,
    "attempts": 1,
    "unverified_streak": 0,
    "unproductive_streak": 0,
    "thresholds": limits_of(ALL_DIFFERENT),
}


# The sweep.


@pytest.mark.rule("A18", "A10", "A13")
@pytest.mark.parametrize("name", SETS)
def test_every_reachable_record_has_one_route(name: str) -> None:
    t = SETS[name]
    records = list(reachable(t))
    limits = (t.max_attempts, t.unverified_streak_limit, t.unproductive_streak_limit)
    assert len(records) == 2**4 * math.prod(limit + 2 for limit in limits)
    python = list(by_python(records))
    assert set(python) == NAMES
    assert all(rung_for(record) for record in records)
    assert disagreement(records, python, by_jq(records)) is None
    assert disagreement(records, python, by_graph(records)) is None
    print(f"{name}: {len(records)} reachable records, each through three engines")


@pytest.mark.rule("A18", "A8")
@pytest.mark.parametrize("name", SETS)
def test_every_unreadable_record_is_blocked(name: str) -> None:
    records = list(unreadable(SETS[name]))
    assert set(by_python(records)) == {"blocked"}
    assert not any(rung_for(record) for record in records)
    assert by_jq(records) == ["blocked"] * len(records)
    assert set(by_edge(records)) == {"blocked"}
    print(f"{name}: {len(records)} unreadable records")


@pytest.mark.rule("A18", "A8")
def test_each_way_of_being_unreadable_is_a_recorded_default_of_the_graph() -> None:
    would_be = [SAMPLE, SAMPLE | {"verified": True, "complete": True}]
    assert [route(record) for record in would_be] == ["Retry", "Answered"]
    records = [spoilt(record, field, value) for record in would_be for field, value in spoilers()]
    for record in [*records, *NO_RECORDS]:
        ended = ladder_graph().invoke({"routing": record})
        assert (ended["route"], ended["parse_default"]) == ("blocked", True), record
        assert route_by_graph(record) == "Blocked"
    ended = ladder_graph().invoke({"routing": SAMPLE | {"blocked": True}})
    assert (ended["route"], ended["parse_default"]) == ("blocked", False), "blocked by the harness is no default"


@pytest.mark.rule("A18")
def test_the_number_of_cases_follows_from_the_bounds() -> None:
    swept = {name: (sum(1 for _ in reachable(t)), sum(1 for _ in unreadable(t))) for name, t in SETS.items()}
    total = sum(map(sum, swept.values()))
    # Every field has at least the cases missing, null and wrong, each in 2**6 corners of the others at least.
    floor = sum(
        2**4 * t.max_attempts * t.unverified_streak_limit * t.unproductive_streak_limit + 3 * 11 * 2**6
        for t in (*(thresholds_for(mode) for mode in get_args(Mode)), ALL_DIFFERENT)
    )
    print(f"{total} cases in {len(swept)} sets of bounds (more than {floor}): {swept}")
    assert total > floor


# What is swept.


@pytest.mark.rule("A18", "A17")
def test_every_mode_is_swept_and_one_set_with_no_two_alike() -> None:
    assert set(SETS) == {*get_args(Mode), "all different"}
    assert len(set(limits_of(ALL_DIFFERENT).values())) == len(LIMITS)
    assert all(limits_of(ALL_DIFFERENT) != limits_of(thresholds_for(mode)) for mode in MODES)


@pytest.mark.rule("A18")
def test_a_new_mode_is_swept_without_being_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "MODES", (*MODES, "new"))
    monkeypatch.setitem(thresholds._PER_MODE, "new", {"max_attempts": 6})  # type: ignore[misc]
    swept = sets()["new"]
    assert swept.max_attempts == 6
    assert max(record["attempts"] for record in reachable(swept)) == 7


@pytest.mark.rule("A18")
def test_every_field_of_the_ladder_is_swept() -> None:
    assert (FLAGS, COUNTERS) == (
        ("blocked", "expired", "verified", "complete"),
        ("attempts", "unverified_streak", "unproductive_streak"),
    )
    assert {field for field, _ in spoilers()} == {*FLAGS, *COUNTERS, *LIMITS, "thresholds"}
    assert {c[1] for rung in LADDER for c in rung.when if isinstance(c, tuple)} == set(LIMITS)
    assert set(LIMITS.values()) <= set(Thresholds.model_fields)


@pytest.mark.rule("A18", "A2")
def test_the_graph_has_an_end_for_each_route_and_one_edge_from_the_rungs() -> None:
    drawn = ladder_graph().get_graph()
    assert {edge.source for edge in drawn.edges if edge.target == "__end__"} == NAMES
    assert {edge.target for edge in drawn.edges if edge.conditional} == {*NAMES, "unreadable"}
    assert {edge.source for edge in drawn.edges if edge.conditional} == {"__start__"}
    assert [edge.target for edge in drawn.edges if edge.source == "unreadable"] == ["blocked"]
    records = list(corners(ALL_DIFFERENT))
    for kept in range(len(LADDER)):  # the edge knows no rung that the data does not hold
        rungs = LADDER[:kept]
        assert disagreement(records, by_python(records, rungs), by_edge(records, rungs)) is None
        assert by_jq(records, policy_jq(rungs)) == list(by_python(records, rungs))


# Broken engines.


def swapped(one: int, other: int) -> tuple[Rung, ...]:
    rungs = list(LADDER)
    rungs[one], rungs[other] = rungs[other], rungs[one]
    return tuple(rungs)


@pytest.mark.rule("A18", "A10")
@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(range(len(LADDER)), 2)])
def test_two_rungs_swapped_show(one: int, other: int) -> None:
    records = list(reachable(ALL_DIFFERENT))
    broken = swapped(one, other)
    right = list(by_python(records))
    shows = [
        disagreement(records, right, by_python(records, broken)) is not None,
        disagreement(records, right, by_edge(records, broken)) is not None,
        disagreement(records, right, by_jq(records, policy_jq(broken))) is not None,
    ]
    if {LADDER[one].number, LADDER[other].number} <= {"4", "5", "6"}:  # all three diversify
        assert shows == [False, False, False]
        assert any(rung_for(record) != rung_for(record, broken) for record in records), "but another streak is reset"
    else:
        assert shows == [True, True, True]


@pytest.mark.rule("A18", "A13")
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_compared_with_greater_shows(name: str, limit: str) -> None:
    program = policy_jq().replace(f">= .thresholds.{limit}", f"> .thresholds.{limit}")
    assert program != policy_jq()
    records = list(reachable(SETS[name]))
    wrong = [
        (record, said)
        for record, right, said in zip(records, by_python(records), by_jq(records, program), strict=True)
        if right != said
    ]
    counter = next(c[0] for rung in LADDER for c in rung.when if isinstance(c, tuple) and c[1] == limit)
    assert wrong
    assert {record[counter] for record, _ in wrong} == {record["thresholds"][limit] for record, _ in wrong}


@pytest.mark.rule("A18")
@pytest.mark.parametrize("guard", ["all(flag)", "all(count)"])
def test_a_program_that_does_not_look_before_it_compares_shows(guard: str) -> None:
    lines = policy_jq().splitlines()
    program = "\n".join(line for line in lines if guard not in line)
    assert len(program.splitlines()) == len(lines) - 1
    assert jq.compile("0 >= null").input_value(None).first() is True
    records = [record for record in map(whole, unreadable(ALL_DIFFERENT)) if record]
    assert disagreement(records, by_python(records), by_jq(records, program)) is not None


def whole(record: Any) -> Any:
    """The record if it holds limits, else nothing: what is no object is the first guard's affair."""
    return record if isinstance(record, dict) and isinstance(record.get("thresholds"), dict) else None


@pytest.mark.rule("A18", "A3")
def test_a_rung_with_a_condition_dropped_shows() -> None:
    records = list(reachable(ALL_DIFFERENT))
    broken = tuple(Rung(r.number, r.route, r.when[1:]) if r.route == "Answered" else r for r in LADDER)
    for answers in (by_python(records, broken), by_graph(records, broken), by_jq(records, policy_jq(broken))):
        found = disagreement(records, by_python(records), answers)
        assert found is not None
        assert found[2] == "answered"


# Any value.


@pytest.mark.rule("A18")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        *(("5", True), ("5.0", True), ("5e0", True), ("0.5E+1", True), ("-0", True), ("-0.0", True)),
        *(("5.5", False), ("-1", False), ("1e400", False), ("-1e400", False), ('"5"', False), ("true", False)),
        *((str(EXACT), True), (str(EXACT + 1), False), (str(EXACT + 2), False), ("1" + "0" * 400, False)),
    ],
)
@pytest.mark.parametrize("field", [*COUNTERS, *LIMITS])
def test_a_number_counts_in_every_spelling_of_json(field: str, text: str, read: bool) -> None:
    record = json.dumps(spoilt(SAMPLE, field, "HERE")).replace('"HERE"', text)
    signals = json.loads(record)
    assert is_readable(signals) == read
    said = jq.compile(policy_jq()).input_text(record).all()
    assert said == [route(signals).lower()] == [route_by_graph(signals).lower()]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
COUNT = st.integers(0, 6) | st.floats(-1, 6) | st.sampled_from([0.0, 2.0, EXACT, EXACT + 1])
ANY_RECORD = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.booleans() | JSON for name in FLAGS},
        **dict.fromkeys(COUNTERS, COUNT | JSON),
        "thresholds": st.fixed_dictionaries({}, optional=dict.fromkeys(LIMITS, COUNT | JSON)) | JSON,
        "route": JSON,
    },
)
NEARLY = st.builds(
    lambda flags, counts, limits: {**flags, **counts, "thresholds": limits},
    st.fixed_dictionaries({name: st.booleans() for name in FLAGS}),
    st.fixed_dictionaries(dict.fromkeys(COUNTERS, COUNT)),
    st.fixed_dictionaries(dict.fromkeys(LIMITS, COUNT)),
)


@pytest.mark.rule("A18")
@given(NEARLY | ANY_RECORD | JSON)
@example(SAMPLE)
@example({**SAMPLE, "route": None, "more": [1]})
def test_any_value_of_json_has_one_route(signals: Any) -> None:
    (said,) = by_jq([signals])
    assert said in NAMES
    assert said == route(signals).lower() == route_by_graph(signals).lower()


# Texts.


@pytest.mark.rule("A8", "A18")
@given(st.text() | JSON)
@example("Answered?")
@example("")
@example(None)
def test_a_text_that_names_nothing_gives_the_conservative_value(text: Any) -> None:
    named = text.strip().casefold() if isinstance(text, str) else None
    verdict, route_ = parse_verdict(text), parse_route(text)
    assert verdict[0] in VERDICTS
    assert route_[0] in ROUTES
    assert verdict == ("Restart", True) or named == verdict[0].casefold()
    assert route_ == ("Blocked", True) or named == route_[0].casefold()


@pytest.mark.rule("A8", "A18")
@given(st.sampled_from([*VERDICTS, *ROUTES]), st.data())
def test_a_name_is_read_in_any_case_and_between_spaces(name: str, data: st.DataObject) -> None:
    cased = "".join(c.upper() if data.draw(st.booleans()) else c.lower() for c in name)
    padding = st.text(" \t\r\n", max_size=3)
    text = data.draw(padding) + cased + data.draw(padding)
    parse = parse_verdict if name in VERDICTS else parse_route
    assert parse(text) == (name, False)


@pytest.mark.rule("A8", "A18")
def test_what_an_engine_says_is_read_back_as_its_route() -> None:
    records = list(corners(ALL_DIFFERENT))
    assert [parse_route(said) for said in by_jq(records)] == [(route(record), False) for record in records]
