"""A process that researches the example, to be killed: `python -m graph.victim start|resume RUN HOME`.

It writes a dot to stderr at each step of the run, so that the one who kills it knows how far it is.
"""

import asyncio
import sys
from pathlib import Path

from zetetic import Context, SetupError, aresearch, aresume

ROOT = Path(__file__).parent.parent.parent
TURNS = 24  # half of what the example takes, so that ten runs are over in time


def step(update: object, research: object) -> None:
    sys.stderr.write(".")
    sys.stderr.flush()


def context(home: str) -> Context:
    return Context(documents=str(ROOT / "examples" / "corpus"), home=home, max_turns=TURNS)


async def main(what: str, run: str, home: str) -> None:
    objective = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8")
    if what == "resume":
        try:
            result = await aresume(run, context=context(home), progress=step)
        except SetupError as error:
            if "There is no run" not in str(error):
                raise
            what = "start"  # killed before the run was opened
    if what == "start":
        result = await aresearch(objective, context=context(home), run_id=run, progress=step)
    sys.stdout.write(f"{result.status}\n{result.report}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
