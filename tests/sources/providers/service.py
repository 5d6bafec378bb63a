"""A real HTTP server on loopback that answers as a search service was recorded to, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

RECORDINGS = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class Asked:
    """A request; `given` holds what it asks for, from address, form or JSON body."""

    method: str
    path: str
    headers: Mapping[str, str]
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer. One that `hangs` sends its head and then nothing more."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


def told(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; underscores in header names are dashes."""
    return Reply(json.dumps(value).encode(), status, {name.replace("_", "-"): text for name, text in headers.items()})


def recorded(name: str) -> Reply:
    """The recording of this file name."""
    return Reply((RECORDINGS / name).read_bytes())


Answering = Reply | list[Reply] | Callable[[Asked], Reply]


class Service:
    """A context manager. A list is taken in order and its last reply repeats; `asked` holds the requests, in order."""

    def __init__(self, answering: Answering) -> None:
        self.asked: list[Asked] = []
        self._answering = answering
        self._lock = threading.Lock()
        self.begun = threading.Event()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def reply(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            self.begun.set()
            at = len(self.asked) - 1
        if isinstance(self._answering, Reply):
            return self._answering
        if callable(self._answering):
            return self._answering(asked)
        return self._answering[min(at, len(self._answering) - 1)]

    def __enter__(self) -> Service:
        self._http = _Http(("127.0.0.1", 0), _Exchange)
        self._http.service = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    service: Service


class _Exchange(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        form = "urlencoded" in self.headers.get("content-type", "")
        self._answer(_single(body.decode()) if form else json.loads(body))

    def _answer(self, given: Mapping[str, Any]) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): text for name, text in self.headers.items()}
        reply = self.server.service.reply(Asked(self.command, parts.path, headers, {**_single(parts.query), **given}))
        self.send_response(reply.status)
        length = len(reply.body) + (1 if reply.hangs else 0)
        for name, text in {"content-length": str(length), **reply.headers}.items():
            self.send_header(name, text)
        self.end_headers()
        if reply.hangs:
            self.wfile.flush()
            self.server.service.over.wait(30)
            return
        try:
            self.wfile.write(reply.body)
        except OSError:  # the client had enough
            return


def _single(form: str) -> dict[str, str]:
    return {name: texts[-1] for name, texts in parse_qs(form, keep_blank_values=True).items()}
