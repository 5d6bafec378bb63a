"""The crew behind HTTP, over documents on disk: what processes of their own can be started with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleet.crew import Crew
from langchain_core.messages import convert_to_messages

from zetetic.testing import Answer, ChatCompletionsServer
from zetetic.testing.answers import from_message


class CrewServer(ChatCompletionsServer):
    """A model server that works as the crew does; `before` sees each prompt, in the request's own thread."""

    def __init__(self, count: int, before: Callable[[str], None] = lambda prompt: None) -> None:
        super().__init__(self._answered)
        self._crew = Crew(count)
        self._before_answer = before

    def _answered(self, body: dict[str, Any]) -> Answer:
        messages = convert_to_messages(body["messages"])
        self._before_answer(messages[-1].text)
        return from_message(self._crew(messages, body["tools"]))


def basins(folder: Path, count: int) -> Path:
    """For each basin a document that declares an address of its own."""
    folder.mkdir(parents=True)
    for n in range(1, count + 1):
        said = f"Basin {n} is {n + 10} metres deep. It was dug by hand."
        (folder / f"basin{n}.md").write_text(f"---\nurl: https://basin{n}.org/depth\ntitle: Basin {n}\n---\n\n{said}\n")
    return folder
