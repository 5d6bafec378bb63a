"""A process with several runs at once: `python -m graph.side_by_side HOME NAME COUNT`, one status a line."""

import asyncio
import sys
from pathlib import Path

from graph.rig import OBJECTIVE, Rig, whole, worker

from zetetic import aresearch


async def main(home: str, name: str, count: int) -> None:
    contexts = [Rig(Path(home), worker(whole())).context() for _ in range(count)]
    runs = (aresearch(OBJECTIVE, context=context, run_id=f"{name}{n}") for n, context in enumerate(contexts))
    for result in await asyncio.gather(*runs):
        print(result.status)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
