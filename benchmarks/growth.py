"""Whether a long run's turns stay as they are: the prompt's size over 200 turns, the time of a turn, the selection.

    python benchmarks/growth.py [--events 10000] [--json FILE]

Scripted models on the real graph (see scripted_research.py). The notes are bounded early, so that everything in the
prompt is; times are the process's own, from one turn's model call to the next within an attempt. Exits with 1 when the
prompt grows with the turn number, or a turn late in the log takes too long against an early one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from scripted_research import Cost, Prompt, Script, play
from simple_growth import TURNS_A_QUESTION as SIMPLE_TURNS
from simple_growth import play_simple

from zetetic.state import events as ev
from zetetic.state.frontier import select_next
from zetetic.state.research import Research
from zetetic.state.values import ROOT, Question
from zetetic.store import Store

TURNS = 200
TURNS_A_QUESTION = 5
"""Search, fetch, two extractions, the answer."""
NOTES = 1500
"""Tokens of the notes: reached after some 25 turns, and full from there on."""
FULL_FROM = 40
EVENTS_A_QUESTION = 40
"""At least so many; a few questions more are asked, so that the log reaches the count."""
DRIFT = 0.05
"""Growth of the prompt over the turns that counts as noise, as a share of its size."""
SLOWEST = 1.5
"""Time of a turn at the last count of events over that at the first."""
AROUND = 40
"""Turns whose median is the time at a count of events."""


def slope(values: Sequence[float]) -> tuple[float, float]:
    """The least-squares slope of values over their position, and its standard error."""
    at = range(len(values))
    rise, start = statistics.linear_regression(at, values)
    rest = sum((y - start - rise * x) ** 2 for x, y in zip(at, values, strict=True))
    spread = sum((x - statistics.fmean(at)) ** 2 for x in at)
    return rise, (rest / (len(values) - 2) / spread) ** 0.5


def around(prompts: Sequence[Prompt], turn: int) -> dict[str, float]:
    """Tokens by part of the question's turns up to this one, a turn."""
    chosen = list(prompts[turn - TURNS_A_QUESTION : turn])
    found = {name.split(": ", 1)[1]: 0.0 for name in Cost(chosen).parts()}
    for name, (raw, _) in Cost(chosen).parts().items():
        found[name.split(": ", 1)[1]] += raw / len(chosen)
    return found


def prompt_growth() -> tuple[dict[str, Any], bool]:
    """Tokens a turn early and late, and whether they grow."""
    done = asyncio.run(play(Script(questions=TURNS // TURNS_A_QUESTION + 1), notes_max_tokens=NOTES))
    prompts = done.exploration[1 : TURNS + 1]
    for turn in (20, 60, TURNS):
        by_part = around(prompts, turn)
        told = ", ".join(f"{part} {size:,.0f}" for part, size in sorted(by_part.items(), key=lambda x: -x[1]))
        print(f"turn {turn:3d}: {sum(by_part.values()):,.0f} tokens a turn ({told})")
    spent, arms = Cost(prompts), Cost(done.evaluation)
    print(
        f"{TURNS // TURNS_A_QUESTION} questions: {spent.raw:,} tokens, {spent.priced:,} cache-priced; every evaluation "
        f"{arms.raw:,}, {arms.priced:,} cache-priced"
    )
    # A question's turns differ from one another, so the questions' means are what is compared.
    means = [
        statistics.fmean(p.tokens for p in prompts[n : n + TURNS_A_QUESTION])
        for n in range(FULL_FROM, TURNS, TURNS_A_QUESTION)
    ]
    rise, error = slope(means)
    drift = rise * (len(means) - 1) / statistics.fmean(means)
    kept = abs(rise) <= 2 * error or drift <= DRIFT
    print(
        f"turns {FULL_FROM} to {TURNS}: {rise / TURNS_A_QUESTION:+.2f} (± {error / TURNS_A_QUESTION:.2f}) tokens a "
        f"turn with each turn, {drift:+.1%} over all: {'no growth' if kept else 'it GROWS'}"
    )
    return {"means": means, "slope": rise / TURNS_A_QUESTION, "drift": drift}, kept


def simple_growth() -> dict[str, Any]:
    """The same of the simple loop on the same research: at its own turns, and over the questions that the
    investigative loop's turns are for."""
    sizes = asyncio.run(play_simple(TURNS // SIMPLE_TURNS))
    for turn in (20, 60, TURNS):
        chosen = sizes.raw[turn - SIMPLE_TURNS : turn]
        print(f"simple loop, turn {turn:3d}: {statistics.fmean(chosen):,.0f} tokens a turn")
    same = TURNS // TURNS_A_QUESTION
    spent = {name: sum(given[: same * SIMPLE_TURNS]) for name, given in (("raw", sizes.raw), ("priced", sizes.priced))}
    print(f"simple loop, {same} questions: {spent['raw']:,.0f} tokens, {spent['priced']:,.0f} cache-priced")
    return {"tokens": sizes.raw, "spent": spent}


async def _turn_times(events: int) -> list[tuple[int, float]]:
    """A run of so many events: for each turn that another of its attempt followed, its place in the log and seconds."""
    with tempfile.TemporaryDirectory() as home:
        done = await play(Script(questions=events // EVENTS_A_QUESTION + 5), home=home, notes_max_tokens=NOTES)
        store = await Store.open(str(Path(home) / "zetetic.db"))
        try:
            log = await store.events(done.result.run_id)
        finally:
            await store.close()
    places = iter([seq for seq, event in log if isinstance(event, ev.StateRecorded) and event.is_turn])
    times: list[tuple[int, float]] = []
    for (role, began), (then, ended) in pairwise(done.order):
        if role != "evaluator":
            place = next(places)
            if then != "evaluator":
                times.append((place, ended - began))
    return times


def turn_times(events: int) -> tuple[dict[str, Any], bool]:
    """The median time of a turn after 100, 1,000 and so many events."""
    times = asyncio.run(_turn_times(events))
    counts = [n for n in (100, 1000, 10_000) if n <= max(place for place, _ in times)]
    found: dict[int, float] = {}
    for count in counts:
        nearest = sorted((abs(place - count), seconds) for place, seconds in times)[:AROUND]
        found[count] = statistics.median(seconds for _, seconds in nearest)
    first = found[counts[0]]
    for count, seconds in found.items():
        print(f"a turn after {count:6,d} events: {seconds * 1000:6.1f} ms, {seconds / first:.2f} times the first")
    return {"seconds": found}, found[counts[-1]] <= SLOWEST * first


def selection(questions: int = 10_000) -> dict[str, Any]:
    """The time to select among so many open questions, a tenth of which wait on another."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [ROOT, *(f"q_{n:03d}" for n in range(2, questions + 1))]
    made = {
        name: Question(
            id=name,
            parent_id=None if name == ROOT else ROOT,
            question=f"Question {n}?",
            depth=0 if name == ROOT else 1,
            priority=1.0 if name == ROOT else (n % 97) / 97,
            created_at=at,
            updated_at=at,
        )
        for n, name in enumerate(ids)
    }
    waits: dict[str, tuple[str, ...]] = {name: (ids[n - 1],) for n, name in enumerate(ids) if n and n % 10 == 0}
    research = Research(questions=made, dependencies=waits)
    taken = []
    for _ in range(7):
        began = time.perf_counter()
        select_next(research)
        taken.append(time.perf_counter() - began)
    print(f"select_next over {questions:,} questions: {statistics.median(taken) * 1000:.1f} ms")
    return {"questions": questions, "seconds": statistics.median(taken)}


def main() -> int:
    """Runs all three; 0 if nothing grows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000, help="events of the longest run (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    asked = parser.parse_args()
    sizes, flat = prompt_growth()
    simple = simple_growth()
    chosen = selection()
    times, quick = turn_times(asked.events)
    if asked.json:
        asked.json.write_text(
            json.dumps({"prompt": sizes, "simple": simple, "turn": times, "select_next": chosen}, indent=1)
        )
    return 0 if flat and quick else 1


if __name__ == "__main__":
    sys.exit(main())
