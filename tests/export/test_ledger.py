"""The run folder's values and files."""

import json
from pathlib import Path

import pytest
from export.researches import GATE, at, challenge, drafted, ended, evaluated, extension, plant, question, synthesis

from zetetic.export import (
    budget,
    has_report,
    iteration_records,
    loop_state,
    loop_status,
    next_safe_action,
    recovery,
    render_report,
    write_run_folder,
)
from zetetic.state import events as ev
from zetetic.state.evolve import fold
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import PendingExtraction


@pytest.mark.rule("L1", "L2")
def test_the_loop_state() -> None:
    research = plant(evaluated(1, "Retry", 10), exclusions=("prices",), criteria=("a figure",))
    assert loop_state(research) == {
        "schema_version": "1.0",
        "run_id": "run-1",
        "goal": "How big is the plant?",
        "success_criteria": ["a figure"],
        "scope": "One plant.",
        "exclusions": ["prices"],
        "default_mode": "bounded-research",
        "status": "running",
        "stop_flags": {"stop_on_guard_fail": True, "stop_on_missing_evidence": True, "stop_on_scope_change": True},
        "plateau_rule": (
            "3 records in a row in which gaps do not shrink and no question or claim changes status, "
            "or 2 in a row without new evidence"
        ),
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:10:00Z",
        "last_iteration": 1,
    }


@pytest.mark.rule("L1")
def test_a_run_without_criteria_gets_one() -> None:
    assert len(loop_state(plant())["success_criteria"]) == 1


@pytest.mark.rule("L2")
@pytest.mark.parametrize(
    ("status", "expected"),
    [("complete", "stopped"), ("reported", "stopped"), ("stopped", "stopped"), ("failed", "stopped"), ("blocked",) * 2],
)
def test_the_ledgers_statuses(status: str, expected: str) -> None:
    assert loop_status(plant(ended(status, "x"))) == expected


@pytest.mark.rule("L2")
def test_a_run_without_a_turn_is_initialized() -> None:
    assert loop_status(plant()) == "initialized"


@pytest.mark.rule("L2", "L4", "D54")
def test_the_budget() -> None:
    research = plant(
        evaluated(1, "Retry", 10),
        ev.UsageRecorded(at=at(11), role="worker", input_tokens=70, output_tokens=30, usd=0.25),
        extension(12, 5),
        thresholds=Thresholds(max_iterations=1),
    )
    assert budget(research, at(15)) == {
        "schema_version": "1.0",
        "budget_owner": "user",
        "max_iterations": 6,
        "max_wall_time_seconds": 7200.0,
        "max_tokens": 0,
        "max_usd": 0.0,
        "max_depth": 3,
        "max_hops": 20,
        "max_child_workers": 1,
        "spent_iterations": 1,
        "spent_tokens": 100,
        "spent_usd": 0.25,
        "max_turns": 60,
        "spent_turns": 0,
        "synthesis_reserve": 0.15,
        "extensions": [
            {"at": "2026-01-01T00:12:00Z", "by": "user", "iterations": 5, "tokens": 0, "usd": 0.0, "seconds": 0.0}
        ],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:15:00Z",
    }


@pytest.mark.rule("L2", "L7")
def test_a_record() -> None:
    research = plant(
        challenge(9, "c_001", "survived"),
        evaluated(
            1,
            "Retry",
            10,
            steer="Look at the owner's page.",
            source_ids=("s_001",),
            claim_ids=("c_001",),
            actions=("web_search: plant power",),
            output="240 MW",
            remaining_gaps=("q_002: Who paid?",),
            gates=(GATE,),
            usd=0.5,
        ),
    )
    assert iteration_records(research) == [
        {
            "schema_version": "1.0",
            "iteration": 1,
            "timestamp": "2026-01-01T00:10:00Z",
            "mode": "bounded-research",
            "objective": "How big is the plant?",
            "input_refs": ["q_001"],
            "evidence_checked": {
                "source_ids": ["s_001"],
                "claim_ids": ["c_001"],
                "evidence_ids": [],
                "guard_refs": ["ch_009"],
            },
            "actions_taken": ["web_search: plant power"],
            "output": "240 MW",
            "remaining_gaps": ["q_002: Who paid?"],
            "new_evidence": 0,
            "budget_delta": {"iterations": 1, "tokens": 100, "usd": 0.5, "wall_time_seconds": 60.0},
            "decision": "revise",
            "next_objective": "How big is the plant? Look at the owner's page.",
            "blocker": "",
            "stop_reason": "",
            "gates": [{"gate": "verified", "passed": False, "why": "no quote"}],
            "routing": {
                "blocked": False,
                "expired": False,
                "verified": False,
                "complete": False,
                "attempts": 1,
                "unverified_streak": 0,
                "unproductive_streak": 0,
                "thresholds": {"attempt_cap": 4, "unverified_streak_limit": 2, "unproductive_streak_limit": 2},
                "route": "retry",
            },
        }
    ]


@pytest.mark.rule("L3", "L4")
@pytest.mark.parametrize(
    ("route", "kind", "workers", "decision"),
    [
        ("Retry", "question", 1, "revise"),
        ("Diversify", "question", 1, "revise"),
        ("Diversify", "question", 4, "delegate"),
        ("Answered", "question", 1, "continue"),
        ("Reported", "question", 1, "continue"),
        ("Blocked", "question", 1, "revise"),
        ("Retry", "report", 1, "revise"),
        ("Answered", "report", 1, "stop"),
        ("Reported", "report", 1, "stop"),
        ("Blocked", "report", 1, "blocked"),
    ],
)
def test_a_route_gives_a_decision(route: str, kind: str, workers: int, decision: str) -> None:
    bounds = Thresholds(max_parallel=workers)
    record = iteration_records(plant(evaluated(1, route, 10, kind, missing="the key"), thresholds=bounds))[0]
    assert record["decision"] == decision
    assert bool(record["next_objective"]) == (decision in ("continue", "revise", "delegate"))
    assert record["blocker"] == ("the key" if route == "Blocked" else "")
    assert bool(record["stop_reason"]) == (decision == "stop")


@pytest.mark.rule("L4")
def test_the_last_allowed_record_stops() -> None:
    research = plant(evaluated(1, "Retry", 10), evaluated(2, "Retry", 12), thresholds=Thresholds(max_iterations=2))
    assert [(r["decision"], r["stop_reason"]) for r in iteration_records(research)] == [
        ("revise", ""),
        ("stop", "breaker:iterations"),
    ]


@pytest.mark.rule("L4", "D54")
def test_an_extension_leaves_the_earlier_stop_as_it_was() -> None:
    before = plant(evaluated(1, "Retry", 10), thresholds=Thresholds(max_iterations=1))
    after = fold(before, [extension(12, 5), evaluated(2, "Retry", 14)])
    assert iteration_records(after)[:1] == iteration_records(before)
    assert [r["decision"] for r in iteration_records(after)] == ["stop", "revise"]


@pytest.mark.rule("L4", "L5")
@pytest.mark.parametrize(
    ("status", "reason", "decision", "stop_reason", "proof"),
    [
        ("complete", "finalized", "stop", "success_criteria_met", ["proof-1"]),
        ("complete", "no_change", "stop", "no_change", []),
        ("reported", "breaker:cost", "stop", "breaker:cost", []),
        ("stopped", "user_stop", "stop", "user_stop", []),
        ("blocked", "blocked:provider", "blocked", "blocked:provider", []),
    ],
)
def test_the_last_record_of_an_ended_run(
    status: str, reason: str, decision: str, stop_reason: str, proof: list
) -> None:
    research = plant(evaluated(1, "Answered", 10), evaluated(2, "Retry", 12), ended(status, reason))
    last = iteration_records(research, ["proof-1"])[-1]
    assert (last["decision"], last["stop_reason"], last["next_objective"]) == (decision, stop_reason, "")
    assert last["evidence_checked"]["evidence_ids"] == proof
    assert last["blocker"] == ("provider" if status == "blocked" else "")


@pytest.mark.rule("L9")
def test_the_recovery_notes() -> None:
    research = plant(question(2, "Who\npaid?"), evaluated(1, "Answered", 10))
    assert (
        recovery(research, at(20))
        == """# Autonomous Research Loop Recovery

- Goal: How big is the plant?
- Status: running
- Last completed iteration: 1
- Next safe action: resume: work on q_002: Who paid?
- Remaining evidence gaps: Not answered: Who paid? (q_002) It was not looked into.
- Active blockers: none
- Budget remaining: 59 iterations, 60 turns, unlimited tokens, unlimited US dollars, 6000 seconds
"""
    )


@pytest.mark.rule("L9")
def test_the_next_safe_action() -> None:
    text = PendingExtraction(key="k", sha256="a" * 64)
    blocked = plant(question(3, "Which key?", status="blocked"), ended("blocked", "blocked:provider", detail="429"))
    assert next_safe_action(blocked) == (
        "remove the blocker (provider (429); q_003 is blocked: Which key?), then resume the run"
    )
    assert next_safe_action(plant(ended())) == "none: the run is complete"
    for reason in ("breaker:iterations", "breaker:tokens"):
        assert next_safe_action(plant(ended("reported", reason))).startswith("resume the run with a larger budget")
    for reason in ("stalled", "plateau", "frontier_exhausted", "finalized", "aborted"):  # no lack of budget
        advice = next_safe_action(plant(ended("reported", reason)))
        assert "larger budget" not in advice
        assert "other sources" in advice
        assert advice.endswith("a few more turns; or accept the report with its gaps")
    assert next_safe_action(plant(synthesis())) == "resume: write the report from the notes"
    assert next_safe_action(plant(ev.ExtractionDue(at=at(9), items=(text,)))).startswith("resume: extract the 1 texts")
    assert next_safe_action(plant()) == "resume: check the exploration gate"


# Files.


@pytest.mark.rule("L2")
def test_the_folder_holds_the_ledger(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "run-1"
    research = plant(evaluated(1, "Retry", 10))
    write_run_folder(research, folder, at(11))
    assert sorted(p.name for p in folder.iterdir()) == [
        "budget.json",
        "iterations.jsonl",
        "loop_state.json",
        "recovery.md",
    ]
    assert json.loads((folder / "loop_state.json").read_text()) == loop_state(research)
    assert json.loads((folder / "budget.json").read_text()) == budget(research, at(11))
    assert (folder / "recovery.md").read_text() == recovery(research, at(11))


@pytest.mark.rule("L2")
def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    research = plant(evaluated(1, "Retry", 10), drafted("A [c_001]."), ended())
    write_run_folder(research, tmp_path, at(11))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    write_run_folder(research, tmp_path, at(11))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.rule("L2")
def test_a_new_record_is_appended(tmp_path: Path) -> None:
    first = plant(evaluated(1, "Retry", 10, output="one\u2028two"))
    write_run_folder(first, tmp_path, at(11))
    file = tmp_path / "iterations.jsonl"
    inode = file.stat().st_ino
    second = fold(first, [evaluated(2, "Answered", 12)])
    write_run_folder(second, tmp_path, at(13))
    assert file.stat().st_ino == inode
    assert [json.loads(line) for line in file.read_text().splitlines()] == iteration_records(second)


@pytest.mark.rule("L2")
@pytest.mark.parametrize("held", ["", "{}\n", '{"schema_version": "1.0", "itera', "\udcff\n"])
def test_what_differs_or_is_torn_is_replaced(tmp_path: Path, held: str) -> None:
    research = plant(evaluated(1, "Retry", 10), evaluated(2, "Retry", 12))
    (tmp_path / "iterations.jsonl").write_bytes(held.encode("utf-8", "surrogateescape"))
    write_run_folder(research, tmp_path, at(13))
    lines = (tmp_path / "iterations.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == iteration_records(research)


@pytest.mark.rule("L2")
def test_a_torn_last_line_costs_nothing_else(tmp_path: Path) -> None:
    research = plant(evaluated(1, "Retry", 10), evaluated(2, "Retry", 12))
    write_run_folder(research, tmp_path, at(13))
    file = tmp_path / "iterations.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    write_run_folder(research, tmp_path, at(13))
    assert file.read_bytes() == whole


@pytest.mark.rule("L2")
def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("iterations.jsonl", "budget.json"):
        (folder / name).symlink_to(outside)
    write_run_folder(plant(evaluated(1, "Retry", 10)), folder, at(11))
    assert outside.read_text() == "mine"


@pytest.mark.rule("L12", "D46")
def test_the_report_is_written_when_there_is_one(tmp_path: Path) -> None:
    draft = [synthesis(), drafted("A [c_001].")]
    assert not has_report(plant())
    assert not has_report(plant(*draft))
    assert not has_report(plant(ended("blocked", "blocked:provider")))
    research = plant(*draft, ended("reported", "stalled"))
    assert has_report(research)
    write_run_folder(research, tmp_path, at(31))
    assert (tmp_path / "report.md").read_text() == render_report(research)


@pytest.mark.rule("A24")
def test_directives_have_receipts(tmp_path: Path) -> None:
    research = plant(
        ev.DirectiveGiven(at=at(9), number=1, text="Look at  the\nowner.", who="ana"),
        ev.DirectiveGiven(at=at(10), number=2, text="mark it answered"),
        ev.DirectiveDelivered(at=at(11), number=1, attempt=3),
    )
    write_run_folder(research, tmp_path, at(12))
    assert (
        (tmp_path / "DIRECTIVES.md").read_text()
        == """# Directives

## 1: from ana

Look at  the
owner.

Given 2026-01-01T00:09:00Z. Delivered in attempt 3.

## 2: from user

mark it answered

Given 2026-01-01T00:10:00Z. Not yet delivered.
"""
    )


def test_a_lone_surrogate_does_not_stop_the_files(tmp_path: Path) -> None:
    research = plant(evaluated(1, "Retry", 10, output="\ud800"), objective="How \ud800 big?")
    write_run_folder(research, tmp_path, at(12))
    assert json.loads((tmp_path / "loop_state.json").read_text())["goal"] == "How \ud800 big?"
