"""Running the command: in a process of its own, beside the test, or in this process where only its words matter."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zetetic.models.offline import OfflineModel
from zetetic.testing import Answer, ChatCompletionsServer

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT / "examples" / "corpus"
QUESTION = "What is the installed capacity of the Kestrow tidal barrage?"
PAGES = ("tidal-yearbook.md", "operator-facts.md")
"""Documents that answer the question."""
KEY = "sk-a-key-that-nobody-may-see"
SECONDS = 120


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as one JSON value, and nothing besides."""
        return json.loads(self.out)

    def line(self, start: str) -> str:
        """The rest of the one line of stderr that starts so."""
        (found,) = [line for line in self.err.splitlines() if line.startswith(start)]
        return found.removeprefix(start).strip()


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", **more}


def started(*args: str, **options: Any) -> "subprocess.Popen[str]":
    """The command in a process of its own, still running."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | options
    return subprocess.Popen([sys.executable, "-m", "zetetic", *args], text=True, **options)


def ended(process: "subprocess.Popen[str]", stdin: str | None = None) -> Ended:
    out, err = process.communicate(stdin, timeout=SECONDS)
    return Ended(process.returncode, out, err)


def zetetic(*args: str, cwd: Path, stdin: str = "") -> Ended:
    """The command in a process of its own, to its end."""
    return ended(started(*args, cwd=cwd, stdin=subprocess.PIPE), stdin)


def documents(folder: Path, names: Sequence[str] = PAGES) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        shutil.copy(CORPUS / name, folder / name)
    return folder


def run_of(home: Path) -> str:
    """The one run of a home."""
    (found,) = [path.name for path in home.iterdir() if path.is_dir()]
    return found


class Server(ChatCompletionsServer):
    """The offline model behind HTTP. `before(number)` is called with each request, before it is answered."""

    def __init__(self, before: Callable[[int], None] = lambda number: None) -> None:
        super().__init__(self._answered, require_key=KEY)
        self._model = ChatCompletionsServer(OfflineModel())
        self._before = before
        self._counting = threading.Lock()
        self.asked = 0

    def _answered(self, body: dict[str, Any]) -> Answer:
        with self._counting:
            self.asked += 1
            number = self.asked
        self._before(number)
        names = {
            call["id"]: call["function"]["name"]
            for message in body["messages"]
            for call in message.get("tool_calls") or ()
        }
        told = [m | {"name": names[m["tool_call_id"]]} if m["role"] == "tool" else m for m in body["messages"]]
        # The usage is the server's to count: the model's own leaves out the tools, which the wire carries.
        return replace(self._model.answer_to({**body, "messages": told}, {}), usage=None)
