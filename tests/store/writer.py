"""A process that writes to a run: `python -m store.writer DATABASE NAME COUNT`, one printed line a step."""

import asyncio
import random
import sys

from store.stories import RUN, giving, opened, question, scratch, used

from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision
from zetetic.state.research import Research, next_id
from zetetic.store import JournalEntry, Store


def add_question(research: Research) -> Decision:
    return Accepted(
        (ev.QuestionAdded(at=used().at, question=question(next_id("q", research.questions)), actor="agent"),)
    )


async def main(database: str, name: str, count: int) -> None:
    rng = random.Random(name)
    async with await Store.open(database) as store:
        await store.execute(RUN, lambda r: Accepted(() if r.version else (opened(),)))
        for n in range(count):
            match rng.randrange(3):
                case 0:
                    await store.execute(RUN, add_question, effect=(name, str(n)))
                case 1:
                    await store.execute(RUN, giving(scratch(f"{name}/{n}"), used(1)), effect=(name, str(n)))
                case _:
                    await store.put_effect(RUN, name, str(n), "outside")
            await store.record_call(
                JournalEntry(RUN, f"{name}/{n}", "worker", "offline", "f", used().at, input_tokens=1), worker=name
            )
            print(n, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
