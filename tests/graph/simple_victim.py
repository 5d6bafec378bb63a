"""A process that researches with the simple loop, to be killed: `python -m graph.simple_victim start|resume HOME URL`.

It writes a dot to stderr at each step of the run, so that the one who kills it knows how far it is.
"""

import asyncio
import sys
from pathlib import Path

from zetetic import Context, SetupError, aresearch, aresume

ROOT = Path(__file__).parent.parent.parent
RUN = "victim"


def step(update: object, research: object) -> None:
    sys.stderr.write(".")
    sys.stderr.flush()


async def main(what: str, home: str, base_url: str) -> None:
    documents = str(ROOT / "examples" / "corpus")
    context = Context(model="test-model", base_url=base_url, documents=documents, home=home, loop="simple")
    objective = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8")
    if what == "resume":
        try:
            result = await aresume(RUN, context=context, progress=step)
        except SetupError as error:
            if "There is no run" not in str(error):
                raise
            what = "start"  # killed before the run was opened
    if what == "start":
        result = await aresearch(objective, context=context, run_id=RUN, progress=step)
    sys.stdout.write(f"{result.status}\n{result.usage['calls']}\n{result.report}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
