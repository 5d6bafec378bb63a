"""A process with a model server and a page server that count what they are asked: `python -m kill.servers`.

It prints their addresses as a line of JSON and serves until it is ended. `GET /counts` on the page server tells how
often each page and each request to the model came, and starts counting anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fleet.crew import Crew
from langchain_core.messages import convert_to_messages

from zetetic.testing import ChatCompletionsServer, from_message

BASINS = 2
_asked: Counter[str] = Counter()
_lock = threading.Lock()


def _count(what: str) -> None:
    with _lock:
        _asked[what] += 1


class Pages(BaseHTTPRequestHandler):
    """One page a basin, no robots.txt, and the counts."""

    def do_GET(self) -> None:
        if self.path == "/counts":
            with _lock:
                body = json.dumps(_asked)
                _asked.clear()
            return self._say(200, "application/json", body)
        if self.path.startswith("/basin/"):
            _count(f"page {self.path}")
            number = int(self.path.rpartition("/")[2])
            text = f"Basin {number} is {number + 10} metres deep. It was dug by hand and is kept by two wardens."
            return self._say(200, "text/html", f"<html><title>Basin {number}</title><body><p>{text}</p></body></html>")
        return self._say(404, "text/plain", "nothing here")

    def _say(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def main() -> None:
    """Serves until standard input ends."""
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{pages.server_port}"
    crew = Crew(BASINS, address=address + "/basin/{}")

    def answer(body: dict[str, Any]) -> Any:
        asked = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
        _count(f"model {asked}")
        said = crew(convert_to_messages(body["messages"]), body["tools"])
        calls = [{**call, "id": f"call_{asked[:8]}_{n}"} for n, call in enumerate(said.tool_calls)]
        return from_message(said.model_copy(update={"tool_calls": calls}))  # the same request, the same ids

    with ChatCompletionsServer(answer) as server:
        print(json.dumps({"model": server.base_url, "pages": address}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
