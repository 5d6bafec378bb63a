"""Talking to the engine's process: started for one query, bounded in time, killed when nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

ENGINE = Path(__file__).with_name("engine.py")
KEPT_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""All that the engine gets to see of the environment: no key of the user's is among it."""
MISSING = (
    "Tables cannot be read here, since DuckDB is not installed: pip install duckdb, or install zetetic with its extra "
    "sql."
)


class EngineTimeoutError(Exception):
    """The engine did not answer in its time and was killed."""


class EngineEndedError(Exception):
    """The engine ended without an answer: it was killed for what it took, or broke."""


def is_installed() -> bool:
    """Whether DuckDB can be imported; it is not imported in this process."""
    return importlib.util.find_spec("duckdb") is not None


class Engine:
    """One process of `engine`, in use by one thread at a time."""

    def __init__(self, *, memory: int, seconds: float) -> None:
        kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        whole = max(1, round(seconds))
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(ENGINE), str(memory), str(whole)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**kept, "PYTHONUTF8": "1"},
            text=True,
            encoding="utf-8",
        )
        self.given = {"memory": memory, "seconds": whole}
        self._late = False
        self._timer = threading.Timer(seconds, self._too_late)
        self._timer.daemon = True
        self._timer.start()

    def _too_late(self) -> None:
        self._late = True
        self._process.kill()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One answer. Raises EngineTimeoutError, EngineEndedError."""
        return next(self.answers(request))

    def answers(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Answers, as many as are taken. Raises EngineTimeoutError, EngineEndedError when there are no more."""
        told, heard = self._process.stdin, self._process.stdout
        assert told is not None
        assert heard is not None
        try:
            told.write(json.dumps({**self.given, **request}) + "\n")
            told.flush()
            while line := heard.readline():
                yield json.loads(line)
        except (OSError, ValueError):  # killed between two lines, or within one
            pass
        raise EngineTimeoutError if self._late else EngineEndedError

    def kill(self) -> None:
        """Ends the process at once; from any thread, twice is harmless."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and gives back its pipes."""
        self._timer.cancel()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not sent is not missed
                    pipe.close()
        self._process.wait()


async def in_engine(work: Callable[[Engine], T], *, memory: int, seconds: float) -> T:
    """What `work` brings of an engine of its own, done in a thread. Whoever stops waiting ends the engine at once."""
    started: list[Engine] = []
    given_up = threading.Event()

    def done() -> T:
        engine = Engine(memory=memory, seconds=seconds)
        started.append(engine)
        try:
            if given_up.is_set():
                raise EngineEndedError
            return work(engine)
        finally:
            engine.close()

    task = asyncio.ensure_future(asyncio.to_thread(done))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        given_up.set()
        for engine in started:
            engine.kill()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        raise
