"""Whatever one thing is changed in a valid folder, either a fault is told or it is one of a few harmless changes."""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from export.ledgers import faults, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zetetic.export.validating import validate_folder

pytestmark = pytest.mark.rule("L13")
STATE, BUDGET, RECORDS, RECOVERY = "loop_state.json", "budget.json", "iterations.jsonl", "recovery.md"
Path_ = tuple[str | int, ...]

PROSE = {
    *("run_id", "success_criteria", "scope", "exclusions", "objective", "input_refs", "actions_taken", "output"),
    *("next_objective", "why", "by", "remaining_gaps", "source_ids", "claim_ids", "guard_refs", "gate"),
}
"""What the run was asked and said; nothing else in the ledger repeats it."""
BOUNDS = {
    *("max_iterations", "max_wall_time_seconds", "max_depth", "max_hops", "max_child_workers", "synthesis_reserve"),
    *("plateau_rule", "attempt_cap", "unverified_streak_limit", "unproductive_streak_limit"),
}
"""Bounds that ended nothing here: another number is another run's, and as valid."""
MEASURED = {
    *("tokens", "usd", "wall_time_seconds", "spent_tokens", "spent_usd", "new_evidence", "created_at", "updated_at"),
    *("timestamp", "unproductive_streak"),
}
"""What was measured, within what sums and order leave open."""
OPTIONAL = frozenset(["max_turns", "spent_turns", "synthesis_reserve", "new_evidence"])
"""Fields beyond those of the format, without which less can be recomputed."""


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all fields and list items of a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def name_of(path: Path_) -> str:
    """The name of the field that a path leads into."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def at(value: Any, path: Path_) -> Any:
    for part in path:
        value = value[part]
    return value


def of_another_type(value: Any) -> list[Any]:
    """Values of every other type; whole numbers are numbers too, so a fraction is other than them."""
    others: list[Any] = [None, True, 1.5, "x", [], {}, float("nan")]
    kind = type(value)
    return [other for other in others if type(other) is not kind or other != other]


@pytest.fixture(scope="module")
def place(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid folder that is written anew for each example: of each record and file, one."""
    return Path(shutil.copytree(written, tmp_path_factory.mktemp("mutations") / "run"))


@pytest.fixture(scope="module")
def values(written: Path) -> dict[str, Any]:
    lines = (written / RECORDS).read_text().splitlines()
    held = {name: json.loads((written / name).read_text()) for name in (STATE, BUDGET)}
    return {**held, RECORDS: [json.loads(line) for line in lines]}


def changed(place: Path, written: Path, name: str, value: Any) -> list[str]:
    """The faults of the folder with another value in one file; the folder is then as it was."""
    write(place, name, value)
    told = faults(place)
    shutil.copy(written / name, place / name)
    return told


def in_file(name: str, path: Path_) -> bool:
    return name != RECORDS or len(path) > 1


def test_every_field_that_is_taken_away_is_missed(place: Path, written: Path, values: dict[str, Any]) -> None:
    unnoticed = []
    for name, whole in values.items():
        for path in filter(lambda path: in_file(name, path) and isinstance(path[-1], str), leaves(whole)):
            value = copy.deepcopy(whole)
            del at(value, path[:-1])[path[-1]]
            if not changed(place, written, name, value) and path[-1] not in OPTIONAL:
                unnoticed.append((name, path))
    assert unnoticed == []
    assert faults(place) == []


def test_every_other_type_is_refused(place: Path, written: Path, values: dict[str, Any]) -> None:
    unnoticed = []
    tried = 0
    for name, whole in values.items():
        for path in leaves(whole):
            held = at(whole, path)
            for other in of_another_type(held):
                if isinstance(held, float) and not isinstance(other, bool | float) and other != other:
                    continue
                value = copy.deepcopy(whole)
                at(value, path[:-1])[path[-1]] = other
                tried += 1
                if not changed(place, written, name, value):
                    unnoticed.append((name, path, other))
    # 1.5 of a number that is whole by chance is a change of number, not of type
    assert [u for u in unnoticed if not (isinstance(u[2], float) and name_of(u[1]) in MEASURED | BOUNDS)] == []
    assert tried > 500


@given(data=st.data())
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_another_value_of_the_same_type(
    data: st.DataObject, place: Path, written: Path, values: dict[str, Any]
) -> None:
    name = data.draw(st.sampled_from(sorted(values)), "file")
    whole = values[name]
    scalars = [path for path in leaves(whole) if not isinstance(at(whole, path), dict | list)]
    path = data.draw(st.sampled_from(scalars), "path")
    held = at(whole, path)
    if isinstance(held, bool):
        other: Any = not held
    elif isinstance(held, int):
        other = data.draw(st.integers(-2, 2**54).filter(lambda n: n != held), "number")
    elif isinstance(held, float):
        other = data.draw(st.floats(allow_nan=True).filter(lambda n: n != held), "number")
    else:
        other = data.draw(st.text(max_size=9).filter(lambda text: text != held), "text")
    value = copy.deepcopy(whole)
    at(value, path[:-1])[path[-1]] = other
    told = changed(place, written, name, value)
    harmless = name_of(path) in PROSE | BOUNDS | MEASURED or path == (0, "gates", 0, "passed")
    assert told or harmless, (name, path, held, other)


ENUMS = {
    "status": ["initialized", "running", "stopped", "blocked"],
    "decision": ["continue", "revise", "delegate", "stop", "blocked"],
    "route": ["answered", "reported", "retry", "diversify", "blocked"],
    "stop_reason": ["", "user_stop", "plateau", "stalled", "breaker:iterations", "breaker:tokens", "no_change"],
}


def test_another_word_of_the_same_list(place: Path, written: Path, values: dict[str, Any]) -> None:
    unnoticed = []
    for name, whole in values.items():
        for path in leaves(whole):
            for other in ENUMS.get(name_of(path), []):
                if isinstance(path[-1], str) and at(whole, path) != other and isinstance(at(whole, path), str):
                    value = copy.deepcopy(whole)
                    at(value, path[:-1])[path[-1]] = other
                    if not changed(place, written, name, value):
                        unnoticed.append((name, path, other))
    assert unnoticed == []


def test_a_line_that_is_dropped_doubled_or_moved(place: Path, written: Path, values: dict[str, Any]) -> None:
    held = values[RECORDS]
    for number in range(len(held)):
        assert changed(place, written, RECORDS, held[:number] + held[number + 1 :])
        assert changed(place, written, RECORDS, held[: number + 1] + held[number:])
    assert changed(place, written, RECORDS, held[::-1])
    for name in (RECOVERY,):
        lines = (written / name).read_text().splitlines()
        for number, line in enumerate(lines):
            for other in (lines[:number] + lines[number + 1 :], lines[: number + 1] + lines[number:]):
                (place / name).write_text("\n".join([*other, ""]))
                assert faults(place) or not line, (number, line)
    shutil.copy(written / RECOVERY, place / RECOVERY)


@given(data=st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_cut_off_anywhere(data: st.DataObject, place: Path, written: Path) -> None:
    name = data.draw(st.sampled_from([STATE, BUDGET, RECORDS, RECOVERY]), "file")
    whole = (written / name).read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1), "at")
    (place / name).write_bytes(whole[:cut])
    told = faults(place)
    shutil.copy(written / name, place / name)
    # without its last line break, or with a shorter last number, gap or unit, a text is as good
    assert told or (name != RECORDS and whole[cut:].strip() == b""), cut


@given(data=st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_makes_it_raise(data: st.DataObject, place: Path, written: Path) -> None:
    name = data.draw(st.sampled_from([STATE, BUDGET, RECORDS, RECOVERY, "proof_artifacts/x.json"]), "file")
    whole = (written / name).read_bytes() if (written / name).exists() else b""
    chance = random.Random(data.draw(st.integers(0, 2**32), "seed"))
    spoilt = bytearray(whole)
    for _ in range(chance.randint(1, 5)):
        spoilt[chance.randint(0, len(spoilt)) :][: chance.randint(0, 9)] = b""
        where = chance.randint(0, len(spoilt))
        spoilt[where : where + chance.randint(0, 9)] = chance.choice(
            [b"\n", b"\0", b"\xff", b'"', b"{", b"}", b"1e999", b"NaN", b"[[", b"null", b"\\ud800", b"-0"]
        )
    (place / name).write_bytes(bytes(spoilt))
    assert all(len(str(fault).splitlines()) == 1 for fault in validate_folder(place))
    if whole:
        shutil.copy(written / name, place / name)
    else:
        (place / name).unlink()


def test_the_folder_is_left_as_it_was(place: Path, written: Path) -> None:
    for path in written.rglob("*"):
        assert not path.is_file() or path.read_bytes() == (place / path.relative_to(written)).read_bytes()
