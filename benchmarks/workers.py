"""How much faster several workers are: a model server that takes a second an answer, twelve independent questions.

    python benchmarks/workers.py [--workers 4] [--questions 12] [--seconds 1.0] [--json FILE]

The model stands behind a real HTTP server on loopback. Exits with 1 where the workers are less than three times as fast
as one, or where a question, claim or source was doubled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fleet.crew import Crew, context
from langchain_core.messages import convert_to_messages

from zetetic import Context, ResearchResult, aresearch
from zetetic.testing import ChatCompletionsServer, from_message

AT_LEAST = 3.0
"""Times as fast as one worker that four have to be."""


async def timed(workers: int, questions: int, seconds: float) -> tuple[float, ResearchResult, int]:
    """Seconds that so many workers take, the result, and how many requests the server saw."""
    crew = Crew(questions)

    def answer(body: dict[str, Any]) -> Any:
        time.sleep(seconds)  # each request has a thread of its own
        return from_message(crew(convert_to_messages(body["messages"]), body["tools"]))

    with tempfile.TemporaryDirectory() as home, ChatCompletionsServer(answer) as server:
        given = context(Path(home), questions, crew, max_parallel=workers)
        served: Context = given.model_copy(update={"model": "served", "base_url": server.base_url})
        began = time.perf_counter()
        result = await aresearch("How deep are the basins?", context=served)
        return time.perf_counter() - began, result, len(server.requests)


def doubled(result: ResearchResult, questions: int) -> list[str]:
    """What stands twice in the research, or not at all."""
    r = result.research
    faults = []
    if len({q.question for q in r.questions.values()}) != len(r.questions) or len(r.questions) != questions + 1:
        faults.append(f"{len(r.questions)} questions")
    if len({c.text for c in r.claims.values()}) != len(r.claims) or len(r.claims) != questions:
        faults.append(f"{len(r.claims)} claims")
    if len({s.canonical for s in r.sources.values()}) != len(r.sources) or len(r.sources) != questions:
        faults.append(f"{len(r.sources)} sources")
    if result.status != "complete":
        faults.append(f"{result.status}: {result.stop_reason}")
    return faults


def main() -> int:
    """0 if the fleet is fast enough and doubles nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.0, help="time of one model answer (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    asked = parser.parse_args()
    found: dict[int, float] = {}
    faults: list[str] = []
    for workers in (1, asked.workers):
        seconds, result, requests = asyncio.run(timed(workers, asked.questions, asked.seconds))
        found[workers] = seconds
        faults += doubled(result, asked.questions)
        print(f"{workers} worker(s): {seconds:6.1f} s, {requests} requests, {result.research.turns} turns")
    ratio = found[1] / found[asked.workers]
    print(f"{asked.workers} workers are {ratio:.2f} times as fast as one (at least {AT_LEAST:g} is asked)")
    if faults:
        print("doubled or missing:", "; ".join(faults))
    if asked.json:
        asked.json.write_text(json.dumps({"seconds": found, "ratio": ratio, "faults": faults}, indent=1))
    return 0 if ratio >= AT_LEAST and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
