"""A run of a thousand turns: whether its memory grows, and how long it takes to go on after it was killed.

    python benchmarks/long_run.py [--turns 1000] [--json FILE]

Scripted models on the real graph (see scripted_research.py), in a process of its own that is killed at its last turn.
Its memory is read every 50 turns. Its folder is copied after 10, 100 and 1,000 turns, as a kill would have left it;
each copy is resumed in fresh processes, and the time from `aresume` to the first model call is told, without imports.
Exits with 1 where the longest log takes more than SLOWEST times the shortest's time, or memory grows by more than
GROWTH a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from scripted_research import PAGE, PAGES, AnySearch, Script, site, words

from zetetic import Context, aresearch, aresume
from zetetic.state.research import Research
from zetetic.testing import FixtureWeb, ScriptedModel, call, turn

MARKS = (10, 100, 1000)
"""Turns after which the folder is copied."""
EVERY = 50
SETTLED = 100
"""Turns after which memory is compared: imports, caches and the first snapshots are there."""
TIMES = 5
SLOWEST = 3.0
"""Times the shortest log's time; seen are 1.8 to 2.3. A fresh process reads the research, one snapshot and the events
after it, and counts its notes once, which comes to some 0.1 ms a turn that was done; the log is not read."""
GROWTH = 100.0
"""Kilobytes a turn that the process may grow by: the records of a turn, the lines made of them, and what the allocator
and SQLite's caches add; seen are 70."""
NOTES = 1500
RUN = "long"
TURNS_A_QUESTION = 5


class Light(ScriptedModel):
    """A scripted model that lets its prompts go."""

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        answer = super()._answer(messages, bound)
        for kept in (self.prompts, self.offered, self.choices):
            kept.clear()
        return answer


class Alarm(ScriptedModel):
    """Tells when it is asked, and ends the process."""

    began: float = 0.0

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        sys.stdout.write(json.dumps(time.perf_counter() - self.began))
        sys.stdout.flush()
        os._exit(0)


def context(home: str, turns: int, worker: Any, extractor: Any, evaluator: Any) -> Context:
    """The same for the run and for whoever resumes it."""
    questions = turns // TURNS_A_QUESTION + 20
    pages = {site(n, p): words(site(n, p), PAGE) for n in range(questions) for p in range(PAGES)}
    return Context(
        model=worker,
        extractor=extractor,
        evaluator=evaluator,
        search=[AnySearch()],
        fetcher=FixtureWeb(pages),
        home=home,
        notes_max_tokens=NOTES,
        max_questions=questions + 1,
        max_turns=12 * questions + 40,
        max_iterations=questions + 60,
    )


# in processes of their own


def memory() -> int:
    """What this process holds (bytes)."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def copied(home: Path, to: Path) -> None:
    """The folder as a kill would leave it now."""
    to.mkdir(parents=True)
    for name in ("zetetic.db", "checkpoints.db"):
        with closing(sqlite3.connect(home / name)) as source, closing(sqlite3.connect(to / name)) as copy:
            source.backup(copy)
    shutil.copytree(home / RUN, to / RUN)


async def play(home: Path, turns: int) -> None:
    """Plays the run, tells its memory, copies its folder at the marks, and dies at its last turn."""
    script = Script(questions=turns // TURNS_A_QUESTION + 20)
    steps = script.worker()

    def work(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        if messages[-1].text.startswith("Stage: consolidating"):
            return turn(call("notes_scratch", text="nothing to merge"))
        return next(steps)

    given = context(
        str(home),
        turns,
        Light(script=work),
        Light(script=lambda messages, tools: script.extract(messages)),
        Light(script=script.evaluate),
    )
    told: set[int] = set()

    def progress(update: dict[str, Any], research: Research) -> None:
        at = research.turns
        if at in told or "stage" in update:  # the turn has only begun
            return
        told.add(at)
        if at in MARKS:
            copied(home, home.with_name(f"at-{at}"))
        if at in MARKS or at % EVERY == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            figures = {"turn": at, "bytes": memory(), "peak": peak, "events": research.version,
                       "research": len(research.model_dump_json())}  # fmt: skip
            sys.stdout.write(json.dumps(figures) + "\n")
            sys.stdout.flush()
        if at >= turns:
            os.kill(os.getpid(), signal.SIGKILL)

    await aresearch("Answer the script's questions.", context=given, run_id=RUN, progress=progress)


async def resume(home: Path, turns: int) -> None:
    """Resumes a copy, and tells the seconds up to the first model call."""
    model = Alarm(script=[])
    given = context(str(home), turns, model, model, model)
    model.began = time.perf_counter()
    await aresume(RUN, context=given)


# what is told


def child(*args: str) -> list[str]:
    """What a process of this script says."""
    command = [sys.executable, __file__, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if len(said) % 5 == 0:
                print(f"… {line.strip()}", file=sys.stderr)
    return said


def resumed(folder: Path, turns: int) -> dict[int, float]:
    """Seconds to the first model call, by turns done."""
    found: dict[int, list[float]] = {mark: [] for mark in MARKS if mark <= turns}
    for number in range(TIMES):
        for mark, seconds in found.items():  # in turns, so that a busy moment meets all
            home = folder / f"try-{mark}-{number}"
            shutil.copytree(folder / f"at-{mark}", home)
            (said,) = child("--resume", str(home), "--turns", str(turns))
            seconds.append(float(said))
            shutil.rmtree(home)
    return {mark: statistics.median(seconds) for mark, seconds in found.items()}


def measured(turns: int) -> tuple[dict[str, Any], bool]:
    """The figures, and whether they keep within the limits."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        held = [json.loads(line) for line in child("--play", str(folder / "home"), "--turns", str(turns))]
        times = resumed(folder, turns)
    settled = [figures for figures in held if figures["turn"] >= SETTLED]
    first, last = settled[0], settled[-1]
    growth = statistics.linear_regression([f["turn"] for f in settled], [f["bytes"] / 1024 for f in settled]).slope
    own = (last["research"] - first["research"]) / 1024 / max(1, last["turn"] - first["turn"])
    for at in (first, last):
        print(f"turn {at['turn']:5,d}: {at['bytes'] / 2**20:.1f} MB, peak {at['peak'] / 2**20:.1f} MB, "
              f"{at['events']:,d} events, the research {at['research'] / 2**20:.2f} MB as JSON")  # fmt: skip
    print(f"memory grows by {growth:.1f} kB a turn (at most {GROWTH:g} is asked), the research by {own:.1f} kB of JSON")
    for mark, seconds in times.items():
        print(f"resumed after {mark:5,d} turns: {seconds * 1000:6.0f} ms to the first model call")
    ratio = times[max(times)] / times[min(times)]
    print(f"the longest takes {ratio:.2f} times the shortest (at most {SLOWEST:g} is asked)")
    figures = {"memory": held, "growth": growth, "research_growth": own, "resume": times, "ratio": ratio}
    return figures, growth <= GROWTH and ratio <= SLOWEST


def main() -> int:
    """Runs it; 0 within the limits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=MARKS[-1], help="of the run (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--resume", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.play or asked.resume:
        asyncio.run(play(asked.play, asked.turns) if asked.play else resume(asked.resume, asked.turns))
        return 0
    figures, kept = measured(asked.turns)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
