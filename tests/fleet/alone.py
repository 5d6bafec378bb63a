"""A process that invokes the graph by itself, as a server does: `python -m fleet.alone THREAD FOLDER DATABASE URL`.

More words set bounds of its context (`max_parallel=4`). It goes on with the thread where there is one, writes what came
out as JSON, and ends with 2 where it was refused, saying why.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from zetetic import Context, SetupError, build_fleet, build_graph
from zetetic.graph.checkpointers import saver_of
from zetetic.nodes.workbench import recursion_limit, workbench

OBJECTIVE = "How deep are the basins?"


def context(folder: Path, database: str, url: str, **bounds: Any) -> Context:
    """What every process on the run works with."""
    return Context(
        model="some-model",
        base_url=url,
        api_key="none",
        documents=str(folder / "docs"),
        home=str(folder / "home"),
        database=database,
        **{"max_turns": 200, "min_sources": 1, "min_domains": 1, **bounds},
    )


async def main(thread: str, given: Context) -> None:
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": recursion_limit(given.thresholds())}
    async with workbench(given) as bench, saver_of(given) as saver:
        built = build_fleet() if bench.thresholds.max_parallel > 1 else build_graph()
        graph: Any = built.compile(checkpointer=saver)
        start = None if (await graph.aget_state(config)).values else {"objective": OBJECTIVE}
        done = await graph.ainvoke(start, config, context=given, durability="sync")
    sys.stdout.write(json.dumps({name: done[name] for name in ("run_id", "status")}))


if __name__ == "__main__":
    name, where, at, address, *more = sys.argv[1:]
    set_so = {key: float(value) for key, value in (word.split("=") for word in more)}
    try:
        asyncio.run(main(name, context(Path(where), at, address, **set_so)))
    except SetupError as refused:
        sys.stderr.write(str(refused))
        sys.exit(2)
