"""A process with several brief runs at once: `python -m graph.side_by_side HOME NAME COUNT`, one status a line."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from graph.rig import OBJECTIVE, Rig, plan, report, worker

from zetetic import Context, aresearch

BRIEF = [plan(), report("## Summary\n\nNothing yet.\n\n## Gaps\n\n- [q_001] The height was not settled.\n")]
"""A research that runs into its bounds at once: two calls."""
BRIEF_BOUNDS: dict[str, Any] = {"max_turns": 2, "max_iterations": 2}


def brief(home: Path, **more: Any) -> Context:
    """The context of such a research."""
    return Rig(home, worker(BRIEF)).context(**BRIEF_BOUNDS, **more)


async def main(home: str, name: str, count: int) -> None:
    contexts = [brief(Path(home)) for _ in range(count)]
    runs = (aresearch(OBJECTIVE, context=context, run_id=f"{name}{n}") for n, context in enumerate(contexts))
    for result in await asyncio.gather(*runs):
        print(result.status)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
