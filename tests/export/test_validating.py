"""The validation of a run folder: each kind of fault by itself, with what it says, and all of them at once."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from export.ledgers import artifact, budget, edit, faults, records, say, state, write

from zetetic.export.validating import Fault, validate_folder

pytestmark = pytest.mark.rule("L13")
LEDGER = ("loop_state.json", "budget.json", "iterations.jsonl", "recovery.md")
STATE, BUDGET, RECORDS, RECOVERY = LEDGER
Change = Callable[[Any], Any]


def put(*path: str | int, value: Any) -> Change:
    """Sets a field of a value, by its path."""

    def change(held: Any) -> None:
        for part in path[:-1]:
            held = held[part]
        held[path[-1]] = value

    return change


def out(*path: str | int) -> Change:
    """Takes a field away."""

    def change(held: Any) -> None:
        for part in path[:-1]:
            held = held[part]
        del held[path[-1]]

    return change


def test_a_folder_as_it_was_written_has_no_fault(complete: Path) -> None:
    assert faults(complete) == []


def test_it_may_stand_anywhere_and_nothing_in_it_is_changed(complete: Path, tmp_path: Path) -> None:
    moved = Path(shutil.move(complete, tmp_path / "else where"))
    before = {path: path.read_bytes() for path in moved.rglob("*") if path.is_file()}
    os.chmod(moved, 0o500)
    try:
        assert faults(moved) == []
    finally:
        os.chmod(moved, 0o700)
    assert {path: path.read_bytes() for path in moved.rglob("*") if path.is_file()} == before


def test_unknown_fields_are_let_be(complete: Path) -> None:
    edit(complete, STATE, put("note", value="mine"))
    edit(complete, RECORDS, put(0, "routing", "note", value=[1]))
    assert faults(complete) == []


# Files.


def test_an_empty_folder_lacks_all_four(tmp_path: Path) -> None:
    missing = "is missing; `zetetic resume` writes the folder anew from the database"
    assert validate_folder(tmp_path) == tuple(Fault(name, "", missing) for name in LEDGER)


@pytest.mark.parametrize("name", LEDGER)
def test_one_that_is_missing_is_named_and_the_others_are_still_read(complete: Path, name: str) -> None:
    (complete / name).unlink()
    other = STATE if name != STATE else BUDGET
    edit(complete, other, put("schema_version", value="2.0"))
    told = faults(complete)
    assert f"{name}: is missing; `zetetic resume` writes the folder anew from the database" in told
    assert f'{other}: schema_version: is "2.0"; give "1.0"' in told


@pytest.mark.parametrize("name", LEDGER)
def test_a_link_is_not_followed(complete: Path, tmp_path: Path, name: str) -> None:
    kept = Path(shutil.move(complete / name, tmp_path / name))
    (complete / name).symlink_to(kept)
    assert f"{name}: is a link; a run folder holds its files itself, so that it can be moved" in faults(complete)


@pytest.mark.parametrize("name", LEDGER)
def test_what_is_no_file_does_not_hang_or_raise(complete: Path, name: str) -> None:
    (complete / name).unlink()
    os.mkfifo(complete / name)
    assert f"{name}: is no file; remove it, and `zetetic resume` writes the file anew" in faults(complete)
    (complete / name).unlink()
    (complete / name).mkdir()
    assert f"{name}: is no file; remove it, and `zetetic resume` writes the file anew" in faults(complete)


def test_a_file_that_would_fill_the_memory_is_not_read(complete: Path) -> None:
    with (complete / RECORDS).open("r+b") as file:
        file.truncate(1 << 40)
    assert f"{RECORDS}: has 1,099,511,627,776 bytes; no run writes more than 268,435,456" in faults(complete)


# JSON.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7: is no JSON: expecting ':' delimiter"),
        ("", "is empty; it must hold a JSON object"),
        ("{} {}", "line 1, column 4: is no JSON: extra data"),
        ("{'a': 1}", "line 1, column 2: is no JSON: expecting property name enclosed in double quotes"),
        ("\ufeff{}", "line 1, column 1: is no JSON: a byte order mark stands at its start"),
        ("[" * 100_000, "is nested too deeply to be a ledger"),
        ("[1]", "is a list; give an object with schema_version, run_id, goal, "),
        ("null", "is null; give an object with schema_version, run_id, goal, "),
    ],
)
def test_what_is_no_json_object_is_told_with_its_line(complete: Path, text: str, says: str) -> None:
    (complete / STATE).write_text(text)
    (told,) = [line for line in faults(complete) if line.startswith(STATE)]
    assert told.startswith(f"{STATE}: {says}")


def test_bytes_that_are_no_text_are_told_with_their_line(complete: Path) -> None:
    for name in LEDGER:
        (complete / name).write_bytes(b"{}\n{\xff}\n")
    assert [line for line in faults(complete) if "UTF-8" in line] == [
        f"{STATE}: line 2: is no UTF-8: byte 5 is 0xff",
        f"{BUDGET}: line 2: is no UTF-8: byte 5 is 0xff",
        f"{RECORDS}: line 2: is no UTF-8: byte 2 is 0xff",
        f"{RECOVERY}: line 2: is no UTF-8: byte 5 is 0xff",
    ]


def test_a_line_that_is_no_json_costs_the_others_nothing(complete: Path) -> None:
    lines = (complete / RECORDS).read_text().splitlines()
    second = json.loads(lines[1])
    second["mode"] = "sprint"
    (complete / RECORDS).write_text("\n".join(["{oops}", json.dumps(second), ""]))
    assert faults(complete) == [
        f"{RECORDS}: line 1, column 2: is no JSON: expecting property name enclosed in double quotes",
        f'{RECORDS}: line 2, mode: is "sprint"; give one of monitor, bounded-research, implementation-support, '
        "panel-loop, recovery",
    ]


def test_an_empty_line_is_no_record(complete: Path) -> None:
    (complete / RECORDS).write_text((complete / RECORDS).read_text() + "\n")
    assert f"{RECORDS}: line 3: is empty; it must hold a JSON object" in faults(complete)


def test_a_key_that_stands_twice_is_told_wherever_it_stands(complete: Path) -> None:
    for name, at in ((STATE, '"stop_on_guard_fail"'), (BUDGET, '"max_usd"'), (RECORDS, '"attempts"')):
        text = (complete / name).read_text()
        (complete / name).write_text(text.replace(at, f"{at}: 1, {at}", 1))
    twice = "stands twice in one object; keep one of them"
    assert [line for line in faults(complete) if "twice" in line] == [
        f"{STATE}: stop_flags.stop_on_guard_fail: {twice}",
        f"{BUDGET}: max_usd: {twice}",
        f"{RECORDS}: line 1, routing.attempts: {twice}",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("true", "is true; give a whole number from 0 on"),
        ("1.0", "is 1.0; give a whole number from 0 on"),
        ("-0", "is -0.0; give a whole number from 0 on"),
        ("-1", "is -1; give a whole number from 0 on"),
        ('"7"', 'is "7"; give a whole number from 0 on'),
        ("null", "is null; give a whole number from 0 on"),
        ("1e3", "is 1000.0; give a whole number from 0 on"),
        ("NaN", "is nan, which is no number; give a finite one"),
        ("-Infinity", "is -inf, which is no number; give a finite one"),
        ("9" * 5000, "is inf, which is no number; give a finite one"),
        ("9007199254740992", "is 9007199254740992; give a whole number from 0 on"),
    ],
)
def test_what_is_no_whole_number(complete: Path, text: str, says: str) -> None:
    held = (complete / BUDGET).read_text()
    (complete / BUDGET).write_text(held.replace('"max_depth": 3', f'"max_depth": {text}'))
    assert faults(complete) == [f"{BUDGET}: max_depth: {says}"]


@pytest.mark.parametrize("text", ["true", "NaN", "Infinity", "1e999", '"0"', "null", "-0.5", "[]"])
def test_what_is_no_number(complete: Path, text: str) -> None:
    held = (complete / RECORDS).read_text()
    at = held.index('"usd": 0.0')
    (complete / RECORDS).write_text(held[:at] + f'"usd": {text}' + held[at + len('"usd": 0.0') :])
    (told,) = faults(complete)
    assert told.startswith(f"{RECORDS}: line 1, budget_delta.usd: is ")


def test_a_whole_number_is_a_number_too(complete: Path) -> None:
    edit(complete, BUDGET, put("spent_usd", value=0))
    assert faults(complete) == []


# Fields.


@pytest.mark.parametrize("name", [STATE, BUDGET, RECORDS])
def test_every_field_must_be_there(complete: Path, name: str) -> None:
    def names(value: Any, where: str) -> list[tuple[str, ...]]:
        if not isinstance(value, dict):
            return []
        inner = [(key, *rest) for key, below in value.items() for rest in names(below, key)]
        return [*[(key,) for key in value], *inner]

    whole = records(complete)[0] if name == RECORDS else state(complete) if name == STATE else budget(complete)
    optional = {("max_turns",), ("spent_turns",), ("synthesis_reserve",), ("new_evidence",)}
    found = [path for path in names(whole, "") if path not in optional]
    assert len(found) > 10
    before = (complete / name).read_bytes()
    for path in found:
        edit(complete, name, out(*([0] if name == RECORDS else []), *path))
        where = f"line 1, {'.'.join(path)}" if name == RECORDS else ".".join(path)
        assert any(line.startswith(f"{name}: {where}: is missing; give ") for line in faults(complete)), path
        (complete / name).write_bytes(before)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (STATE, put("status", value="paused"), 'status: is "paused"; give one of initialized, running, stopped, '),
        (STATE, put("success_criteria", value=[]), "success_criteria: is empty; give a list that is not empty, each "),
        (STATE, put("goal", value=" "), 'goal: is " "; give a text that is not empty'),
        (STATE, put("stop_flags", "stop_on_scope_change", value=False), "stop_flags.stop_on_scope_change: is false; "),
        (STATE, put("plateau_rule", value="when it is enough"), "plateau_rule: names no number; say how many records"),
        (STATE, put("created_at", value="2026-01-01"), 'created_at: is "2026-01-01"; give a time in UTC, such as '),
        (STATE, put("created_at", value="2026-02-30T00:00:00Z"), 'created_at: is "2026-02-30T00:00:00Z"; give a '),
        (BUDGET, put("max_iterations", value=0), "max_iterations: is 0; give a whole number from 1 on"),
        (BUDGET, put("max_wall_time_seconds", value=0), "max_wall_time_seconds: is 0; give a number above 0"),
        (BUDGET, put("budget_owner", value="agent"), 'budget_owner: is "agent"; give "user"'),
        (BUDGET, put("extensions", value={}), "extensions: is an object; give a list, each an object"),
        (RECORDS, put(0, "decision", value="retry"), 'line 1, decision: is "retry"; give one of continue, revise, '),
        (RECORDS, put(0, "routing", "route", value="Answered"), 'line 1, routing.route: is "Answered"; give one of '),
        (RECORDS, put(0, "gates", 0, "passed", value=1), "line 1, gates[0].passed: is 1; give true or false"),
        (RECORDS, put(0, "evidence_checked", "claim_ids", value=["../x"]), "line 1, evidence_checked.claim_ids[0]: is"),
        (RECORDS, put(0, "budget_delta", "iterations", value=2), "line 1, budget_delta.iterations: is 2; give the who"),
        (RECORDS, put(0, value=7), "line 1: is 7; give an object with schema_version, iteration, "),
    ],
)
def test_a_field_of_another_kind(complete: Path, name: str, change: Change, says: str) -> None:
    edit(complete, name, change)
    assert [line for line in faults(complete) if line.startswith(f"{name}: {says}")]


def test_a_fault_is_one_line_whatever_the_folder_holds(complete: Path) -> None:
    edit(complete, STATE, put("status", value="a\nb\u2028c" * 99))
    edit(complete, STATE, put("x\ny", value=float("nan")))
    told = faults(complete)
    assert len(told) >= 2
    assert all(len(line.splitlines()) == 1 and len(line) < 300 for line in told)


# Counts, order, times.


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (STATE, put("last_iteration", value=3), f"last_iteration: is 3, but {RECORDS} holds 2 records; give 2"),
        (BUDGET, put("spent_iterations", value=1), f"spent_iterations: is 1, but {RECORDS} holds 2 records; give 2"),
        (BUDGET, put("spent_tokens", value=1), "spent_tokens: is 1, but the records used "),
        (BUDGET, put("created_at", value="2020-01-01T00:00:00Z"), f"created_at: is another time than that of {STATE}"),
        (BUDGET, put("updated_at", value="2020-01-01T00:00:00Z"), "updated_at: is earlier than created_at"),
        (
            STATE,
            put("updated_at", value="2020-01-01T00:00:00Z"),
            f"updated_at: is earlier than the record of {RECORDS}",
        ),
        (STATE, put("created_at", value="2999-01-01T00:00:00Z"), "created_at: is later than the first record"),
        (RECORDS, lambda held: held.reverse(), "line 1, iteration: is 2; at the start comes 1"),
        (RECORDS, put(1, "iteration", value=3), "line 2, iteration: is 3; after 1 comes 2"),
        (
            RECORDS,
            put(1, "timestamp", value="2020-01-01T00:00:00Z"),
            "line 2, timestamp: is earlier than the record's ",
        ),
        (RECORDS, lambda held: held.append(held[-1]), "line 3, iteration: is 2; after 2 comes 3"),
        (BUDGET, put("max_iterations", value=1), "line 2: is one more than the 1 records allowed (max_iterations) "),
        (RECORDS, put(0, "routing", "attempts", value=2), "line 1, routing.attempts: is 2, but 0 were counted before"),
        (RECORDS, put(0, "routing", "unverified_streak", value=1), "line 1, routing.unverified_streak: is 1; after 0 "),
        (
            RECORDS,
            put(0, "routing", "unproductive_streak", value=2),
            "line 1, routing.unproductive_streak: is 2; after",
        ),
    ],
)
def test_what_does_not_add_up(complete: Path, name: str, change: Change, says: str) -> None:
    edit(complete, name, change)
    file = RECORDS if says.startswith("line") else name
    assert [line for line in faults(complete) if line.startswith(f"{file}: {says}")]


# Routes and decisions.


@pytest.mark.rule("A18", "L3")
def test_a_route_is_recomputed_by_the_ladder(complete: Path) -> None:
    edit(complete, RECORDS, put(0, "routing", "complete", value=False))
    assert faults(complete) == [
        f"{RECORDS}: line 1, routing.route: is answered, but the ladder gives diversify for these signals"
    ]


@pytest.mark.rule("L4")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put(0, "decision", value="revise"), "decision: is revise; the route answered of a question gives continue"),
        (put(0, "next_objective", value=""), "next_objective: is empty; continue needs the objective that comes next"),
        (put(0, "stop_reason", value="plateau"), "stop_reason: stands beside continue, which does not stop; leave it"),
        (put(0, "blocker", value="a key"), "blocker: is named, but neither the decision (continue) nor the route is"),
        (put(0, "decision", value="stop"), "stop_reason: is empty; a stop says why"),
        (put(0, "decision", value="blocked"), "blocker: is empty; what is blocked names its blocker"),
    ],
)
def test_a_decision_obliges(complete: Path, change: Change, says: str) -> None:
    edit(complete, RECORDS, change)
    assert [line for line in faults(complete) if line.startswith(f"{RECORDS}: line 1, {says}")]


@pytest.mark.rule("L4", "D54")
def test_nothing_follows_a_stop_but_after_an_extension(complete: Path) -> None:
    def stop(held: Any) -> None:
        held[0] |= {"decision": "stop", "stop_reason": "user_stop", "next_objective": ""}

    edit(complete, RECORDS, stop)
    without = f"{RECORDS}: line 2: stands after the stop of line 1 without an extension in between"
    assert [line for line in faults(complete) if line.startswith(without)]
    first, second = (record["timestamp"] for record in records(complete))
    room = {"by": "user", "iterations": 5, "tokens": 0, "usd": 0, "seconds": 0}
    edit(complete, BUDGET, put("extensions", value=[{"at": second, **room}]))
    assert faults(complete) == []
    edit(complete, BUDGET, put("extensions", value=[{"at": first.replace("2026", "2020"), **room}]))
    assert [line for line in faults(complete) if line.startswith(without)]


@pytest.mark.rule("L4")
def test_the_last_record_allowed_must_end_the_loop(complete: Path) -> None:
    edit(complete, BUDGET, put("max_iterations", value=2))
    say(complete, "Budget remaining", "0 iterations, 99 turns, unlimited tokens, unlimited US dollars, 9 seconds")
    edit(complete, BUDGET, out("max_turns"))
    assert faults(complete) == []
    go_on = {"decision": "revise", "stop_reason": "", "next_objective": "more"}
    edit(complete, RECORDS, lambda held: held[1].update(go_on))
    assert f"{RECORDS}: line 2, decision: is revise, but this is the last record allowed (max_iterations 2); it must " \
        "be stop or blocked" in faults(complete)  # fmt: skip


@pytest.mark.rule("L10")
def test_the_same_blocker_three_times_running_stops(complete: Path) -> None:
    def block(held: Any) -> None:
        first = held[0]
        blocked = {"decision": "revise", "blocker": "The key  of the archive."}
        routing = {**first["routing"], "blocked": True, "route": "blocked"}
        held[:] = [{**first, **blocked, "iteration": n, "routing": routing} for n in (1, 2, 3)]
        held[2]["blocker"] = "the key of the archive"

    edit(complete, RECORDS, block)
    told = [line for line in faults(complete) if ", decision: " in line]
    assert told == [f"{RECORDS}: line 3, decision: goes on although the same blocker stands 3 times running; stop"]


# The status.


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("initialized", f"is initialized, but {RECORDS} holds 2 records; give running or stopped"),
        ("running", "is running, but the last record is stop; give stopped"),
        ("blocked", "is blocked, but the last record says stop; give stopped"),
    ],
)
def test_the_status_is_that_of_the_last_record(complete: Path, status: str, says: str) -> None:
    edit(complete, STATE, put("status", value=status))
    assert f"{STATE}: status: {says}" in faults(complete)


@pytest.mark.rule("L4", "L10")
@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"max_iterations": 2}, "max_iterations is used up (2 of 2)"),
        ({"max_tokens": 100, "spent_tokens": 100_000}, "max_tokens is used up (100000 of 100)"),
        ({"max_usd": 0.5, "spent_usd": 0.5}, "max_usd is used up (0.5 of 0.5)"),
        ({"max_turns": 3, "spent_turns": 3}, "max_turns is used up (3 of 3)"),
        ({"max_wall_time_seconds": 1e-9}, "max_wall_time_seconds is used up by the records alone (1e-09)"),
    ],
)
def test_nothing_runs_with_a_budget_used_up(complete: Path, bounds: dict[str, float], says: str) -> None:
    edit(complete, STATE, put("status", value="running"))
    edit(complete, BUDGET, lambda held: held.update(bounds))
    assert f"{STATE}: status: is running, but {says}; give stopped, or extend the run" in faults(complete)


@pytest.mark.rule("L4")
def test_nothing_goes_on_with_the_tokens_used_up(complete: Path) -> None:
    edit(complete, BUDGET, put("max_tokens", value=10))
    told = (
        f"{RECORDS}: line 2: stands after a record at which max_tokens (10) was used up, without an extension in betw"
    )
    assert [line for line in faults(complete) if line.startswith(told)]


# Stops and their reasons.


@pytest.mark.rule("L5", "D48")
@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("tired", "that is no reason to stop early; give one of success_criteria_met, "),
        ("breaker:coffee", "there is no such budget; give one of success_criteria_met, "),
        ("breaker:iterations", "2 of 60 records stood, and "),
        ("breaker:tokens", "max_tokens is 0, which is unlimited"),
        ("breaker:cost", "max_usd is 0, which is unlimited"),
        ("breaker:wall_clock", " seconds passed of exploration's 6120"),
        ("breaker:attempts", "1 of 4 attempts were made"),
        ("plateau", "in the last 3 records of questions a gap was closed, or there are fewer"),
        ("stalled", "the last 2 records of questions are not without new evidence"),
        ("no_change", "only a run that monitors ends so, and the mode is bounded-research"),
        ("reported", "the last record of a run that ended says why it ended"),
        ("finalized", "the report was answered and its gates passed, which is success"),
        ("frontier_exhausted", "the report was answered and its gates passed, which is success"),
    ],
)
def test_a_reason_is_recomputed(complete: Path, reason: str, says: str) -> None:
    edit(complete, RECORDS, put(1, "stop_reason", value=reason))
    (told,) = [
        line for line in faults(complete) if line.startswith(f"{RECORDS}: line 2, stop_reason: is {reason}, but")
    ]
    assert says in told


@pytest.mark.rule("L5")
@pytest.mark.parametrize("reason", ["success", "Success-Criteria met", "proof", "PROOF_FOUND"])
def test_success_cites_a_proof_that_holds(complete: Path, reason: str) -> None:
    edit(complete, RECORDS, put(1, "stop_reason", value=reason))
    assert faults(complete) == []
    edit(complete, RECORDS, put(1, "evidence_checked", "evidence_ids", value=[]))
    where = f"{RECORDS}: line 2, evidence_checked.evidence_ids"
    assert faults(complete) == [f"{where}: is empty; a stop for success cites its proof (L5)"]
    edit(complete, RECORDS, put(1, "evidence_checked", "evidence_ids", value=["gone"]))
    assert faults(complete) == [
        f"{where}: names gone, but there is no proof_artifacts/gone.json",
        f"{where}: names no proof artifact that holds; a stop for success cites its proof (L5)",
    ]


@pytest.mark.rule("L5")
def test_success_is_the_answered_reports_whose_gates_passed(complete: Path) -> None:
    edit(complete, RECORDS, put(1, "gates", 1, "passed", value=False))
    edit(complete, RECORDS, lambda held: held[1]["routing"].update(complete=False, route="diversify"))
    told = faults(complete)
    start = f"{RECORDS}: line 2, stop_reason: is success_criteria_met, but"
    assert f"{start} the route is diversify, not answered" in told
    assert f"{start} the gate verified did not pass" in told


# Proofs.


@pytest.mark.rule("L5", "L6")
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"schema_version": 1.0}, 'schema_version: is 1.0; give "1.0"'),
        ({"id": "other"}, "id: is other, but the file is named for proof-1"),
        ({"id": ".hidden"}, 'id: is ".hidden"; give an id of letters, digits, _ . and -, a letter or digit first, '),
        ({"artifact_type": "oracle"}, 'artifact_type: is "oracle"; give one of python-verifier, lean, coq, isabelle, '),
        ({"machine_checkable": "true"}, 'machine_checkable: is "true"; give true'),
        ({"target": ""}, 'target: is ""; give a text that is not empty'),
        ({"proof_sha256": "A" * 64}, 'proof_sha256: is "AAAA'),
        ({"proof_sha256": "0" * 64}, "proof_sha256: differs from that of report.md, which is "),
        ({"checker": None}, "checker: is null; give an object with name, version, status, command"),
        (
            {"checker": {"name": "x", "version": "1", "status": "failed", "command": "x"}},
            'checker.status: is "failed"; give "passed"',
        ),
        ({"proof_path": "/etc/passwd"}, 'proof_path: is "/etc/passwd", which is absolute; give a path within'),
        ({"proof_path": "C:/x"}, 'proof_path: is "C:/x", which is absolute'),
        ({"proof_path": "../out.txt"}, 'proof_path: is "../out.txt", which leads out of a folder'),
        ({"proof_path": "pages/../report.md"}, 'proof_path: is "pages/../report.md", which leads out of a folder'),
        ({"proof_path": "..\\out.txt"}, "proof_path: is "),
        ({"proof_path": "a\0b"}, "proof_path: is "),
        ({"proof_path": "."}, 'proof_path: is ".", which names no file'),
        ({"proof_path": "nothing.txt"}, 'proof_path: is "nothing.txt", which does not exist'),
        ({"proof_path": "report.md/x"}, 'proof_path: is "report.md/x", which does not exist'),
        ({"proof_path": "proof_artifacts"}, 'proof_path: is "proof_artifacts", which is no file'),
        ({"proof_path": "x" * 5000}, "proof_path: is "),
    ],
)
def test_an_artifact_that_proves_nothing(complete: Path, fields: dict[str, Any], says: str) -> None:
    write(complete, "proof_artifacts/proof-1.json", artifact(complete))
    assert faults(complete) == []
    write(complete, "proof_artifacts/proof-1.json", artifact(complete, **fields))
    told = faults(complete)
    assert told
    assert all(line.startswith("proof_artifacts/proof-1.json: ") for line in told)
    assert any(line.startswith(f"proof_artifacts/proof-1.json: {says}") for line in told)


@pytest.mark.rule("L5")
@pytest.mark.parametrize("where", ["file", "folder", "up and back"])
def test_a_proof_is_not_reached_through_a_link(complete: Path, tmp_path: Path, where: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "proof.txt").write_text("proven")
    path = {"file": "proof.txt", "folder": "there/proof.txt", "up and back": "back/complete/report.md"}[where]
    link = {"file": ("proof.txt", outside / "proof.txt"), "folder": ("there", outside), "up and back": ("back", "..")}
    name, target = link[where]
    (complete / name).symlink_to(target)
    write(complete, "proof_artifacts/proof-1.json", artifact(complete, path))
    told = f"proof_artifacts/proof-1.json: proof_path: leads through the link {name}; put the file itself there"
    assert faults(complete) == [told]


@pytest.mark.rule("L5")
def test_neither_the_artifact_nor_its_folder_is_a_link(complete: Path, tmp_path: Path) -> None:
    kept = Path(shutil.move(complete / "proof_artifacts", tmp_path / "kept"))
    (complete / "proof_artifacts").symlink_to(kept)
    told = faults(complete)
    assert "proof_artifacts: is a link; a run folder holds its proofs itself" in told
    assert [line for line in told if "names no proof artifact that holds" in line]


@pytest.mark.rule("L5")
def test_a_proof_that_was_changed_no_longer_proves(complete: Path) -> None:
    write(complete, "proof_artifacts/proof-1.json", artifact(complete))
    edit(complete, RECORDS, put(1, "evidence_checked", "evidence_ids", value=["proof-1"]))
    assert faults(complete) == []
    with (complete / "report.md").open("a") as file:
        file.write(" ")
    told = faults(complete)
    assert [line.split(": ")[:2] for line in told] == [
        [RECORDS, "line 2, evidence_checked.evidence_ids"],
        ["proof_artifacts/proof-1.json", "proof_sha256"],
    ]


@pytest.mark.rule("L5", "L6")
def test_the_built_in_verifier_runs_again_and_no_other(complete: Path) -> None:
    asked: list[Path] = []

    def verify(folder: Path) -> list[tuple[str, str, str]]:
        asked.append(folder)
        return [("evidence.json", "c_001", "its quote is not in the page")]

    told = [str(fault) for fault in validate_folder(complete, verify)]
    assert asked == [complete]
    assert "evidence.json: c_001: its quote is not in the page" in told
    assert [line for line in told if "names no proof artifact that holds" in line]
    shutil.rmtree(complete / "proof_artifacts")
    write(complete, "proof_artifacts/proof-1.json", artifact(complete))  # whose command would write a file
    validate_folder(complete, verify)
    assert asked == [complete]


# Recovery.


@pytest.mark.rule("L9")
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("Goal", "Another one", "is not the goal of loop_state.json"),
        ("Status", "running", 'is "running"; give stopped, with its reason in parentheses'),
        ("Status", "stopped", "gives no reason; give stopped (<reason>)"),
        ("Status", "stopped (plateau)", "gives the reason plateau, but the last record stopped for success"),
        ("Last completed iteration", "1", 'is "1", but there are 2 records'),
        ("Next safe action", "resume", 'is "resume"; give none: the run is complete'),
        ("Active blockers", "", "is empty; say none where there is nothing"),
        ("Budget remaining", "enough", 'is "enough"; give N iterations, N turns, N tokens, N.NNNN US dollars, N '),
        (
            "Budget remaining",
            "58 iterations, 9999 turns, 5 tokens, 1.0000 US dollars, 99999 seconds",
            "has 9999 turns, but budget.json leaves ",
        ),
    ],
)
def test_a_bullet_that_contradicts(complete: Path, name: str, value: str, says: str) -> None:
    say(complete, name, value)
    assert [line for line in faults(complete) if line.startswith(f"{RECOVERY}: {name}: {says}")]


@pytest.mark.rule("L9")
def test_a_title_and_seven_bullets_in_their_order(complete: Path) -> None:
    path = complete / RECOVERY
    lines = path.read_text().splitlines()
    assert len(lines) == 9
    for number in range(2, 9):
        name = lines[number][2:].partition(":")[0]
        path.write_text("\n".join(lines[:number] + lines[number + 1 :]) + "\n")
        assert faults(complete) == [f"{RECOVERY}: {name}: is missing; give a line `- {name}: …`"]
    path.write_text("\n".join([*lines, lines[2]]) + "\n")
    assert faults(complete) == [f"{RECOVERY}: line 10: is a second bullet Goal; keep one"]
    path.write_text("\n".join([*lines[:2], *reversed(lines[2:])]) + "\n")
    assert [line for line in faults(complete) if line.startswith(f"{RECOVERY}: has its bullets in another order than")]
    path.write_text("\n".join(["# Notes", *lines[1:]]) + "\n")
    assert faults(complete) == [f'{RECOVERY}: line 1: is "# Notes"; give # Autonomous Research Loop Recovery']


@pytest.mark.rule("L9")
def test_a_blocked_run_names_its_blocker(complete: Path) -> None:
    edit(complete, STATE, put("status", value="blocked"))
    edit(complete, RECORDS, lambda held: held[1].update(decision="blocked", blocker="", stop_reason="blocked:model"))
    say(complete, "Status", "blocked (blocked:model)")
    say(complete, "Next safe action", "remove the blocker")
    assert faults(complete) == [
        f"{RECORDS}: line 2, blocker: is empty; what is blocked names its blocker",
        f"{RECOVERY}: Active blockers: is none, but the run is blocked; name the blocker",
    ]


# All at once.


def test_ten_faults_are_told_at_once(complete: Path) -> None:
    edit(complete, STATE, put("status", value="paused"))
    edit(complete, STATE, out("scope"))
    edit(complete, BUDGET, put("max_depth", value=True))
    edit(complete, BUDGET, put("spent_iterations", value=7))
    edit(complete, RECORDS, put(0, "iteration", value=9))
    edit(complete, RECORDS, put(0, "mode", value="sprint"))
    edit(complete, RECORDS, put(1, "routing", "complete", value=False))
    edit(complete, RECORDS, put(1, "evidence_checked", "evidence_ids", value=[]))
    write(complete, "proof_artifacts/proof-1.json", artifact(complete, "../out"))
    say(complete, "Goal", "Another")
    with (complete / RECORDS).open("a") as file:
        file.write('{"torn')
    wanted = [
        f"{STATE}: status:", f"{STATE}: scope:", f"{BUDGET}: max_depth:", f"{BUDGET}: spent_iterations:",
        f"{RECORDS}: line 1, iteration:", f"{RECORDS}: line 1, mode:", f"{RECORDS}: line 2, routing.route:",
        f"{RECORDS}: line 2, evidence_checked.evidence_ids:", f"{RECORDS}: line 3: is torn",
        f"{RECOVERY}: Goal:", "proof_artifacts/proof-1.json: proof_path:",
    ]  # fmt: skip
    told = faults(complete)
    assert [start for start in wanted if not any(line.startswith(start) for line in told)] == []
