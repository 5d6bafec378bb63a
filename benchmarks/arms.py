"""Are the four arms side by side? The time of one evaluation against its slowest arm (A2).

Runs a research on two pages in memory with models behind a real HTTP server on loopback. The arms' answers take 1.0,
0.8, 0.6 and 0.4 seconds; an evaluation is timed from the end of the attempt's last step until the last arm's value is
there, its calls stored and the checkpoint written. Exits with 1 where it takes more than 1.15 times the slowest arm.

    python benchmarks/arms.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from time import perf_counter
from typing import Any, NamedTuple

from langchain_core.messages import convert_to_messages

from zetetic import Context, build_graph
from zetetic.graph.checkpointers import sqlite_saver
from zetetic.graph.run import checkpoints_path
from zetetic.graph.wiring import ARM_NODES
from zetetic.nodes.workbench import workbench
from zetetic.testing import (
    Answer,
    ChatCompletionsServer,
    FixturePage,
    FixtureSearch,
    FixtureWeb,
    ScriptedModel,
    call,
    from_message,
    turn,
)

LIMIT = 1.15
SECONDS = {"judge_attempt": 1.0, "verify_answer": 0.8, "list_objections": 0.6, "judge_completeness": 0.4}
SAID: dict[str, dict[str, Any]] = {
    "judge_attempt": {"verdict": "Proceed"},
    "verify_answer": {"passed": True},
    "list_objections": {"objections": []},
    "judge_completeness": {"criteria": [{"number": 1, "met": True}]},
}
PAGES = {
    "https://harbour-office.org/tower": FixturePage("The Ortel lighthouse is 42 metres tall.", title="The tower"),
    "https://land-survey.net/heights": FixturePage("The height of the Ortel lighthouse is 42 metres.", title="Heights"),
}
ANSWER = "The Ortel lighthouse is 42 metres tall [c_001]."
CLAIM = {
    "text": "The Ortel lighthouse is 42 metres tall.",
    "quote": "The Ortel lighthouse is 42 metres tall.",
    "source_id": "s_001",
}
REASONS = {"why_unverified": "one page is enough here", "why_unchallenged": "a benchmark"}
CUT_SHORT = f"## Summary\n\n{ANSWER}\n\n## Gaps\n\nNothing asked for is missing.\n"
WORKER = [
    turn(
        call("set_criteria", criteria=["States the height in metres.", "Names who measured it.", "Cites two sources."]),
        call("frontier_next", atomic_reason="it asks for one figure"),
    ),
    turn(call("web_search", query="Ortel lighthouse height")),
    turn(*(call("fetch_page", url=url) for url in PAGES)),
    turn(
        call("notes_append", claims=[CLAIM]),
        call("resolve_question", id="q_001", answer=ANSWER, claim_ids=["c_001"], **REASONS),
    ),
    turn(call("finish_exploration")),
]


class Timed(NamedTuple):
    """Seconds of one evaluation: until its last arm has answered, and until ROUTE has merged and written."""

    arms: float
    routed: float


def _answers() -> Any:
    script = ScriptedModel(script=[*WORKER, *[turn(call("finalize_report", report=CUT_SHORT))] * 20])

    def answer(body: dict[str, Any]) -> Answer:
        name = body["tools"][0]["function"]["name"]
        if name in SECONDS:
            return from_message(turn(call(name, **SAID[name]))).after(SECONDS[name])
        return from_message(script.bind_tools(body["tools"]).invoke(convert_to_messages(body["messages"])))

    return answer


async def measured() -> list[Timed]:
    """The evaluations of one run: of the answer, and of the report."""
    found: list[Timed] = []
    with tempfile.TemporaryDirectory() as home, ChatCompletionsServer(_answers()) as server:
        context = Context(
            model="test-model",
            base_url=server.base_url,
            search=[FixtureSearch(PAGES)],
            fetcher=FixtureWeb(PAGES),
            home=home,
            max_turns=8,
            min_sources=2,
            min_domains=2,
        )
        given: Any = {"objective": "How tall is the Ortel lighthouse?"}
        config: Any = {"configurable": {"thread_id": "arms"}, "recursion_limit": 200}
        began = last = 0.0
        async with workbench(context), sqlite_saver(checkpoints_path(context)) as saver:
            graph = build_graph().compile(checkpointer=saver)
            async for chunk in graph.astream(given, config, context=context, stream_mode="updates", durability="sync"):
                now = perf_counter()
                for node, update in chunk.items():
                    if node in ARM_NODES:
                        last = now
                    elif update.get("next") == "arms":
                        began = now
                    elif update.get("route"):
                        found.append(Timed(last - began, now - began))
    return found


def main() -> int:
    """Prints the ratio of each evaluation, and judges the worst."""
    slowest = max(SECONDS.values())
    timed = asyncio.run(measured())
    for number, took in enumerate(timed, 1):
        ratio = f"ratio {took.arms / slowest:.3f}, with ROUTE {took.routed / slowest:.3f}"
        print(f"evaluation {number}: {took.arms:.3f} s, slowest arm {slowest:.1f} s, {ratio}")
    print(f"in sequence the ratio would be {sum(SECONDS.values()) / slowest:.1f}; at most {LIMIT} is asked")
    return 0 if timed and max(took.arms for took in timed) / slowest <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
