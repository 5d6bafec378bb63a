"""What the simple loop sends over the research of scripted_research.py: its list of messages only grows (D53).

A question takes it two turns, the search and its three pages; the thought goes with the next search.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PrivateAttr
from scripted_research import (
    CACHED,
    CHARS_PER_TOKEN,
    LOOKED_BACK,
    PAGE,
    PAGES,
    AnySearch,
    common_start,
    parts_of,
    site,
    words,
)

from zetetic import Context, aresearch
from zetetic.testing import FixtureWeb, ScriptedModel, call, turn

TURNS_A_QUESTION = 2


@dataclass
class Sizes:
    """Tokens of each prompt in order, raw and priced with a prefix cache."""

    raw: list[int] = field(default_factory=list)
    priced: list[float] = field(default_factory=list)


class Weighed(ScriptedModel):
    """A scripted model that weighs its prompts and lets them go: together they would fill the memory."""

    _sizes: Sizes = PrivateAttr(default_factory=Sizes)
    _before: list[str] = PrivateAttr(default_factory=list)

    @property
    def sizes(self) -> Sizes:
        return self._sizes

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        text = "".join(part for _, part in parts_of("worker", messages, bound.get("tools") or []))
        shared = max((common_start(text, earlier) for earlier in self._before), default=0)
        self._before = [*self._before, text][-LOOKED_BACK:]
        self._sizes.raw.append(len(text) // CHARS_PER_TOKEN)
        self._sizes.priced.append((len(text) - shared + shared * CACHED) / CHARS_PER_TOKEN)
        answer = super()._answer(messages, bound)
        self.prompts.clear()
        self.offered.clear()
        return answer


def steps(questions: int) -> Iterator[AIMessage]:
    """The same searches and pages as the investigative loop's script has, and a report."""
    for n in range(questions):
        thought = f"question {n - 1}: {words(f't{n - 1}', 400)}" if n else ""
        yield turn(call("web_search", query=f"question {n} {words(f'w{n}', 40)}"), text=thought)
        yield turn(*(call("fetch_page", url=site(n, p)) for p in range(PAGES)))
    yield turn(call("finalize_report", report=f"## Summary\n\n{words('s', 300)} ({site(0, 0)}).\n"))


async def play_simple(questions: int) -> Sizes:
    """Runs the script with the simple loop, in a temporary folder."""
    left = steps(questions)
    model = Weighed(script=lambda messages, tools: next(left), model_name="scripted-worker")
    pages = {site(n, p): words(site(n, p), PAGE) for n in range(questions) for p in range(PAGES)}
    with tempfile.TemporaryDirectory() as home:
        context = Context(
            model=model,
            search=[AnySearch()],
            fetcher=FixtureWeb(pages),
            home=home,
            loop="simple",
            max_turns=4 * questions + 40,
            call_seconds=600,
        )
        result = await aresearch("Answer the script's questions.", context=context)
    assert (result.status, result.stop_reason) == ("reported", "finalized"), (result.status, result.stop_reason)
    return model.sizes
