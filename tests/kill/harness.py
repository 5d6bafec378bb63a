"""Kills a run at every boundary and compares what is left with a run that nobody disturbed.

    python -m kill.harness [--sample N] [--seed S] [--jobs N]

Run it in `tests/` with `PYTHONPATH=.:..`; without --sample every boundary is tried, at five to ten seconds each. It
prints how many kill points were tried, and exits with 1 where one of them left something else behind. A call that was
in flight when the process died may be made again: as a rule one, and where the arms or several readings run side by
side as many as those.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
TIMES = {"at", "created_at", "updated_at", "opened_at", "started_at", "seconds", "paused_seconds", "version",
         "base_version", "latency_seconds"}  # fmt: skip
"""Fields that differ from run to run, and the positions that a resumed run's own event shifts."""


@dataclass
class Left:
    """What a run left: research, log, notes, report, and what the servers were asked."""

    research: Any
    events: list[Any]
    notes: str
    report: str
    usage: dict[str, float]
    status: str
    folder: list[str]
    """What `zetetic validate` and `zetetic verify` say of the run folder, and what it counts."""
    asked: Counter[str] = field(default_factory=Counter)


@dataclass
class Outcome:
    """One kill point: where it was, and what was wrong afterwards."""

    number: int
    name: str
    faults: list[str]
    again: int = 0
    """Calls that were made twice, having been in flight."""


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """The counting servers, in a process of their own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    running = subprocess.Popen(
        [sys.executable, "-m", "kill.servers"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    try:
        yield json.loads(running.stdout.readline())
    finally:
        running.kill()
        running.communicate()


def counts(address: dict[str, str]) -> Counter[str]:
    """What the servers were asked since they were last looked at."""
    with urllib.request.urlopen(f"{address['pages']}/counts", timeout=10) as answer:
        return Counter(json.loads(answer.read()))


def bare(value: Any) -> Any:
    """A value without what may differ."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return [bare(v) for v in value]
    return value


def in_order(events: Iterable[dict[str, Any]]) -> list[Any]:
    """The events, with what arms that ran side by side used in an order of its own."""
    told: list[Any] = []
    beside: list[Any] = []
    for event in events:
        if event["event"] == "usage_recorded" and event["role"] == "evaluator":
            beside.append(event)
            continue
        told += sorted(beside, key=str)
        beside = []
        told.append(event)
    return told + sorted(beside, key=str)


def left_by(home: Path, told: Path) -> Left:
    """What stands in a home after its run is over."""
    import asyncio

    from kill.victim import RUN

    from zetetic import Context, open_store

    async def read() -> tuple[Any, list[Any]]:
        async with open_store(Context(home=str(home))) as store:
            research = await store.load(RUN)
            return research, await store.log(RUN)

    research, log = asyncio.run(read())
    said = json.loads(told.read_text(encoding="utf-8"))
    folder = home / RUN
    (notes,) = folder.glob("notes_*.md")
    return Left(
        research=bare(research.model_dump(mode="json", exclude={"notes_id"})),
        events=in_order(
            {k: v for k, v in bare(e.event.model_dump(mode="json")).items() if k != "notes_id"}
            for e in log
            if e.event.event != "run_resumed"
        ),
        notes=notes.read_text(encoding="utf-8"),
        report=(folder / "report.md").read_text(encoding="utf-8"),
        usage=said["usage"],
        status=said["status"],
        folder=judged(folder),
    )


def judged(folder: Path) -> list[str]:
    """The faults of a run folder, and what of its evidence was looked at."""
    from zetetic.export import verify_folder
    from zetetic.export.validating import validate_folder
    from zetetic.nodes.identities import IDENTITIES

    evidence = verify_folder(folder, IDENTITIES)
    faults = [*map(str, validate_folder(folder)), *(finding.line() for finding in evidence.findings)]
    return [*faults, f"checked: {evidence.checked}"]


def differences(whole: Left, left: Left, in_flight: int) -> list[str]:
    """What is not as in the undisturbed run. No more is asked again than was in flight when it died."""
    faults = [
        f"{name} differs"
        for name in ("research", "events", "notes", "report", "usage", "status", "folder")
        if getattr(whole, name) != getattr(left, name)
    ]
    missing = whole.asked - left.asked
    again = left.asked - whole.asked
    if missing:
        faults.append(f"never asked: {dict(missing)}")
    if again.total() > in_flight:
        faults.append(f"asked again, with {in_flight} in flight: {dict(again)}")
    return faults


def undisturbed(place: Path, address: dict[str, str]) -> tuple[Left, list[str]]:
    """A run that nobody kills, and its boundaries."""
    from kill.victim import in_child

    home, told = place / "whole", place / "whole.json"
    counts(address)
    status = in_child(home, address, told)
    assert status == 0, status
    left = left_by(home, told)
    left.asked = counts(address)
    return left, json.loads(told.read_text(encoding="utf-8"))["boundaries"]


def killed_at(number: int, name: str, whole: Left, place: Path, address: dict[str, str]) -> Outcome:
    """A run killed at one boundary and resumed."""
    from kill.victim import in_child

    home, told = place / f"at-{number}", place / f"at-{number}.json"
    status = in_child(home, address, told, die_at=number)
    if status == 0 or os.WTERMSIG(status) != signal.SIGKILL:
        return Outcome(number, name, [f"was not killed: {status}"])
    in_flight = int(told.read_text(encoding="utf-8"))
    if (status := in_child(home, address, told, resume=True)) != 0:
        return Outcome(number, name, [f"could not be resumed: {status}"])
    left = left_by(home, told)
    left.asked = counts(address)
    return Outcome(number, name, differences(whole, left, in_flight), left.asked.total() - whole.asked.total())


def tried(sample: int = 0, seed: int = 1911, part: int = 0, of: int = 1) -> Iterator[Outcome | int]:
    """How many boundaries there are, then the outcome at each of a sample of them, or of all; of those this `part`."""
    import kill.victim  # noqa: F401  # imported once, so that each child has it at once

    with servers() as address, tempfile.TemporaryDirectory() as place:
        whole, names = undisturbed(Path(place), address)
        yield len(names)
        numbers = list(range(1, len(names) + 1))
        if sample:
            *before, last = numbers  # at the last, nothing is left to do
            numbers = sorted([*random.Random(seed).sample(before, min(sample, len(numbers)) - 1), last])
        for number in numbers[part::of]:
            yield killed_at(number, names[number - 1], whole, Path(place), address)
            shutil.rmtree(Path(place) / f"at-{number}", ignore_errors=True)


def _part(sample: int, seed: int, part: int, of: int, told: Any) -> None:
    """One process's part of the work, told as it is done."""
    for outcome in tried(sample, seed, part, of):
        told.put(outcome)
    told.put(None)


def in_parts(sample: int, seed: int, jobs: int) -> Iterator[Outcome | int]:
    """What `tried` tells, by so many processes side by side."""
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    working = [spawn.Process(target=_part, args=(sample, seed, n, jobs, told)) for n in range(jobs)]
    for process in working:
        process.start()
    left = jobs
    while left:
        try:
            outcome = told.get(timeout=60)
        except queue.Empty:
            if any(process.exitcode not in (None, 0) for process in working):
                raise RuntimeError("A part of the work ended before its time.") from None
            continue
        if outcome is None:
            left -= 1
        else:
            yield outcome


def main() -> int:
    """0 if every kill point left what an undisturbed run leaves."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="kill points to try; 0 tries all")
    parser.add_argument("--seed", type=int, default=1911)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work")
    asked = parser.parse_args()
    boundaries, outcomes = 0, list[Outcome]()
    for told in in_parts(asked.sample, asked.seed, asked.jobs):
        if isinstance(told, int):
            boundaries = told
            continue
        outcomes.append(told)
        if told.faults:
            print(f"{told.number} ({told.name}): {'; '.join(told.faults)}", flush=True)
        if len(outcomes) % 50 == 0:
            print(f"… {len(outcomes)} tried", flush=True)
    wrong = [o for o in outcomes if o.faults]
    by_name = Counter(o.name for o in outcomes)
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(by_name.items()))
    again = Counter(o.again for o in outcomes)
    calls = ", ".join(f"{times} at {count}" for times, count in sorted(again.items()))
    print(f"{len(outcomes)} kill points of {boundaries} boundaries tried ({kinds}); {len(wrong)} left something else")
    print(f"calls in flight that were made again (number at how many points): {calls}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
