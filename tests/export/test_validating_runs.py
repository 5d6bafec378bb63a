"""Every run folder that a run writes is valid, however the run went; and a torn one is mended."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import CORPUS, QUESTION, documents, started
from export.ledgers import budget, faults, records, state
from export.researches import at, ended, evaluated, extension, plant, synthesis
from fleet.crew import Crew
from fleet.crew import context as crew_context
from graph.rig import OBJECTIVE, Rig, arms, plan, report, search, whole, worker
from langgraph.runtime import RunControl

from zetetic import Context, aresearch, aresume
from zetetic.export import iteration_records, loop_state, recovery, write_run_folder
from zetetic.export.validating import repair_torn_line
from zetetic.state import events as ev
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import GateResult

pytestmark = pytest.mark.rule("L2", "L13")
ABSENT = "When was the Kestrow tidal barrage sold to the Duke of Elmsmoor? What did the Duke pay for it?"
SEVERAL = (
    "What is the installed capacity of the Kestrow tidal barrage? How much did the barrage cost to build? "
    "How many homes does the Kestrow tidal barrage supply with electricity?"
)
SHORT = "## Summary\n\nNothing yet.\n\n## Gaps\n\n- [q_001] The height was not settled.\n"


def offline(place: Path, **bounds: Any) -> Context:
    return Context(documents=str(CORPUS), home=str(place), model="offline", **bounds)


# Ends.


@pytest.mark.rule("L4", "L5", "D54")
@pytest.mark.parametrize(
    ("objective", "bounds", "status", "reason"),
    [
        (QUESTION, {}, "complete", "finalized"),
        (QUESTION, {"max_parallel": 3}, "complete", "finalized"),
        (QUESTION, {"max_turns": 6}, "reported", "breaker:iterations"),
        (QUESTION, {"max_iterations": 1}, "reported", "breaker:iterations"),
        (QUESTION, {"max_total_tokens": 30_000}, None, "breaker:tokens"),
        (QUESTION, {"max_wall_time_seconds": 0.5}, None, "breaker:wall_clock"),
        (QUESTION, {"mode": "panel-loop"}, None, None),
        (QUESTION, {"mode": "monitor"}, None, None),
        (QUESTION, {"min_challenges": 3, "max_attempts": 2}, None, None),
        (ABSENT, {}, None, None),
        (QUESTION, {"loop": "simple"}, "reported", "finalized"),
    ],
)
async def test_however_a_run_ends(
    tmp_path: Path, objective: str, bounds: dict[str, Any], status: str | None, reason: str | None
) -> None:
    result = await aresearch(objective, context=offline(tmp_path, **bounds), run_id="run")
    assert faults(tmp_path / "run") == []
    assert status in (None, result.status)
    assert reason in (None, result.stop_reason)


@pytest.mark.rule("L5", "L11", "R10")
async def test_a_stall_and_a_plateau_can_be_recomputed(tmp_path: Path) -> None:
    for run, bounds in {"stalled": {}, "plateau": {"barren_rounds_limit": 99}}.items():
        rig = Rig(tmp_path, worker([plan()], search("nothing")), pages={}, evaluator=arms())
        bounds = {"max_attempts": 9, "attempt_turns": 2, "max_turns": 40, **bounds}
        result = await aresearch(OBJECTIVE, context=rig.context(**bounds), run_id=run)
        assert result.stop_reason == run
        assert faults(tmp_path / run) == []
        assert records(tmp_path / run)[-1]["stop_reason"] == run


@pytest.mark.rule("D54")
async def test_a_run_that_is_stopped_goes_on_and_is_extended(tmp_path: Path) -> None:
    control = RunControl()

    def progress(update: dict[str, Any], research: Research) -> None:
        if len(research.evaluations) == 1:
            control.request_drain()

    context = offline(tmp_path, max_turns=20)
    stopped = await aresearch(SEVERAL, context=context, run_id="run", control=control, progress=progress)
    folder = tmp_path / "run"
    assert (stopped.status, faults(folder)) == ("stopped", [])
    assert records(folder)[-1]["stop_reason"] == "user_stop"
    reported = await aresume("run", context=context)
    assert (reported.status, faults(folder)) == ("reported", [])
    count = len(records(folder))
    extended = await aresume("run", context=context, iterations=5, turns=80)
    assert extended.status in ("complete", "reported")
    assert len(records(folder)) > count
    assert len(budget(folder)["extensions"]) == 1
    assert [r["decision"] for r in records(folder)].count("stop") >= 2
    assert faults(folder) == []


@pytest.mark.rule("D54")
async def test_a_run_that_was_given_one_record_more(tmp_path: Path) -> None:
    steps = [plan(), report(SHORT), *whole()[1:]]
    context = Rig(tmp_path, worker(steps)).context(max_turns=2, max_iterations=2)
    first = await aresearch(OBJECTIVE, context=context, run_id="run")
    assert (first.status, faults(tmp_path / "run")) == ("reported", [])
    second = await aresume("run", context=context, turns=30, iterations=20)
    assert (second.status, faults(tmp_path / "run")) == ("complete", [])


async def test_a_run_without_a_provider_is_blocked(tmp_path: Path) -> None:
    context = Rig(tmp_path, worker([plan(), RuntimeError("no"), RuntimeError("no"), RuntimeError("no")])).context()
    result = await aresearch(OBJECTIVE, context=context, run_id="run")
    assert (result.status, state(tmp_path / "run")["status"]) == ("blocked", "blocked")
    assert faults(tmp_path / "run") == []


@pytest.mark.rule("L4", "D51")
@pytest.mark.parametrize("bounds", [{}, {"max_turns": 16}, {"max_iterations": 5}, {"max_iterations": 3}])
async def test_a_fleet_keeps_the_same_ledger(tmp_path: Path, bounds: dict[str, Any]) -> None:
    result = await aresearch(
        "How deep are the basins?", context=crew_context(tmp_path, 6, Crew(6), **bounds), run_id="run"
    )
    assert result.status in ("complete", "reported", "failed")
    assert faults(tmp_path / "run") == []


# In between.


def watched(monkeypatch: pytest.MonkeyPatch, look: Callable[[Path], None]) -> None:
    """Has a look at the folder after each time that a run has written it."""
    from zetetic.nodes import folder as nodes_folder

    def write(r: Research, folder: Path, *args: Any) -> Any:
        done = written(r, folder, *args)
        look(folder)
        return done

    written = nodes_folder.write_pack
    monkeypatch.setattr(nodes_folder, "write_pack", write)


@pytest.mark.rule("L2", "L4")
@pytest.mark.parametrize("bounds", [{}, {"max_iterations": 2}, {"max_turns": 9}, {"max_total_tokens": 40_000}])
async def test_it_is_valid_after_every_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, Any]
) -> None:
    told: list[tuple[str, list[str]]] = []
    watched(monkeypatch, lambda folder: told.append((state(folder)["status"], faults(folder))))
    await aresearch(QUESTION, context=offline(tmp_path, min_challenges=3, **bounds), run_id="run")
    assert [wrong for _, wrong in told if wrong] == []
    assert (told[0][0], told[-1][0]) == ("initialized", "stopped")
    assert len(told) > 2


@pytest.mark.rule("L1")
@pytest.mark.parametrize("attempts", [0, 1, 2])
def test_a_run_that_is_killed_leaves_a_valid_folder(tmp_path: Path, attempts: int) -> None:
    docs = documents(tmp_path / "docs", [path.name for path in CORPUS.iterdir() if path.suffix == ".md"])
    process = started("research", SEVERAL, "--documents", str(docs), "--home", "home", cwd=tmp_path)
    written: list[Path] = []
    while process.poll() is None and not (written and state(written[0].parent)["last_iteration"] >= attempts):
        written = list((tmp_path / "home").glob("*/loop_state.json"))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert state(written[0].parent)["status"] == ("running" if attempts else "initialized")
    assert faults(written[0].parent) == []


# What a ledger says of a run whose budget is used up before its report is written.


@pytest.mark.rule("L4")
def test_a_run_with_nothing_left_is_told_as_stopped(tmp_path: Path) -> None:
    spent = ev.UsageRecorded(at=at(9), role="worker", input_tokens=900, output_tokens=100, usd=0.0)
    first = evaluated(1, "Retry", 10, steer="Look elsewhere.", **routed("Retry"))
    second = evaluated(2, "Retry", 12, "report", gates=(EXPLORED,), steer="Again.", **routed("Retry"))
    capped = plant(spent, first, synthesis(minute=11), second, thresholds=Thresholds(max_iterations=2))
    assert capped.status == "running"
    assert loop_state(capped)["status"] == "stopped"
    assert iteration_records(capped)[-1]["stop_reason"] == "breaker:iterations"
    assert "- Status: stopped (breaker:iterations)\n" in recovery(capped, at(13))
    used = plant(spent, first, thresholds=Thresholds(max_total_tokens=1000))
    (record,) = iteration_records(used)
    assert (record["decision"], record["stop_reason"], record["next_objective"]) == ("stop", "breaker:tokens", "")
    for name, run in {"records": capped, "tokens": used}.items():
        write_run_folder(run, tmp_path / name, at(13))
        assert faults(tmp_path / name) == []


EXPLORED = GateResult(gate="exploration", passed=True)


def routed(route: str, **fields: Any) -> dict[str, Any]:
    limits = {"attempt_cap": 4, "unverified_streak_limit": 2, "unproductive_streak_limit": 2}
    signals = {"blocked": False, "expired": False, "verified": False, "complete": False, "unproductive_streak": 0}
    return {
        "routing": {**signals, "attempts": 1, "unverified_streak": 1, "thresholds": limits, "route": route, **fields}
    }


@pytest.mark.rule("L4", "D54")
def test_a_stop_at_the_cap_and_what_follows_an_extension(tmp_path: Path) -> None:
    spent = ev.UsageRecorded(at=at(9), role="worker", input_tokens=900, output_tokens=100, usd=0.0)
    before = plant(
        spent,
        evaluated(1, "Retry", 10, **routed("Retry")),
        synthesis("breaker:iterations", 11),
        ended("reported", "breaker:iterations"),
        thresholds=Thresholds(max_iterations=1),
    )
    write_run_folder(before, tmp_path, at(31))
    assert faults(tmp_path) == []
    again = routed("Diversify", attempts=2, unverified_streak=2)
    after = fold(before, [extension(40, 5), evaluated(2, "Diversify", 44, steer="Elsewhere.", **again)])
    write_run_folder(after, tmp_path, at(45))
    assert [r["decision"] for r in records(tmp_path)] == ["stop", "revise"]
    assert faults(tmp_path) == []


# A torn line.


def torn(folder: Path, piece: bytes) -> bytes:
    with (folder / "iterations.jsonl").open("ab") as file:
        file.write(piece)
    return (folder / "iterations.jsonl").read_bytes()


@pytest.mark.parametrize("piece", [b'{"schema_version": "1.0", "itera', b"\0" * 512, b"\xff", b"{}", b" "])
def test_a_torn_line_is_cut_off_and_kept(complete: Path, piece: bytes) -> None:
    before = {path: path.read_bytes() for path in complete.rglob("*") if path.is_file()}
    held = torn(complete, piece)
    assert [line.split(";")[0] for line in faults(complete)] == [
        f"iterations.jsonl: line 3: is torn: {len(piece)} bytes without a line break at the end"
    ]
    kept = repair_torn_line(complete)
    assert kept == complete / "iterations.jsonl.torn-1"
    assert kept.read_bytes() == held
    kept.unlink()
    assert {path: path.read_bytes() for path in complete.rglob("*") if path.is_file()} == before
    assert faults(complete) == []
    assert repair_torn_line(complete) is None


def test_every_copy_is_kept(complete: Path) -> None:
    for number in (1, 2, 3):
        torn(complete, b'{"piece": %d' % number)
        assert repair_torn_line(complete) == complete / f"iterations.jsonl.torn-{number}"
    assert (complete / "iterations.jsonl.torn-1").read_bytes().endswith(b'{"piece": 1')


def test_a_record_that_lacks_its_line_break_only_is_not_lost(complete: Path) -> None:
    path = complete / "iterations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert repair_torn_line(complete) is not None
    assert path.read_bytes() == whole


def test_cut_at_any_byte_it_is_mended_to_whole_lines(complete: Path) -> None:
    path = complete / "iterations.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in [*range(1, len(whole), 97), first - 1, first, first + 1]:
        path.write_bytes(whole[:cut])
        assert faults(complete)
        repair_torn_line(complete)
        assert path.read_bytes() == (whole[:first] if cut >= first - 1 else b"")
        assert not any("is torn" in line for line in faults(complete))


def test_what_cannot_be_mended_is_not_touched(complete: Path, tmp_path: Path) -> None:
    path = complete / "iterations.jsonl"
    outside = Path(shutil.move(path, tmp_path / "outside"))
    outside.write_bytes(b"{torn")
    path.symlink_to(outside)
    assert repair_torn_line(complete) is None
    assert outside.read_bytes() == b"{torn"
    path.unlink()
    assert repair_torn_line(complete) is None


async def test_a_run_goes_on_from_a_folder_that_was_torn(tmp_path: Path) -> None:
    context = Rig(tmp_path, worker([plan(), report(SHORT), *whole()[1:]])).context(max_turns=2, max_iterations=2)
    await aresearch(OBJECTIVE, context=context, run_id="run")
    await asyncio.to_thread(torn, tmp_path / "run", b'{"torn')
    await asyncio.to_thread(repair_torn_line, tmp_path / "run")
    done = await aresume("run", context=context, turns=30, iterations=20)
    assert (done.status, faults(tmp_path / "run")) == ("complete", [])
