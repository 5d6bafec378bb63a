"""A run that kills its own process at one boundary, and the run that goes on from there; each in a forked child.

Boundaries are the moments before and after each store transaction, model answer, tool result and checkpoint. The child
counts them and, at the one it is told, ends itself with SIGKILL: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from zetetic import Context, aresearch, aresume
from zetetic.nodes import act, asking
from zetetic.sources import Hit, SearchResult, SearchStatus
from zetetic.store import Store
from zetetic.store.database import Database

RUN = "victim"
OBJECTIVE = "How deep are the basins?"


class Boundaries:
    """Counts boundaries, and dies at one, after it wrote down how many calls were in flight: asked, not yet stored."""

    def __init__(self, die_at: int, told: Path) -> None:
        self.die_at = die_at
        self.told = told
        self.names: list[str] = []
        self.in_flight = 0

    def passed(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self.die_at:
            self.told.write_text(str(self.in_flight), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

    def counting(self, function: Callable[..., Any], *, begins: bool, ends: bool) -> Callable[..., Any]:
        """The function, whose beginning is that of a call to the outside, or whose end that of its storing."""

        @wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            self.in_flight += begins
            done = await function(*args, **kwargs)
            self.in_flight -= ends
            return done

        return run

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a boundary on either side."""

        @wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            self.passed(f"before {name}")
            done = await function(*args, **kwargs)
            self.passed(f"after {name}")
            return done

        return run

    def install(self) -> None:
        """Puts the boundaries in. A forked child keeps them to itself."""
        patch: list[tuple[Any, str, str]] = [
            (Database, "write", "a store transaction"),
            (AsyncSqliteSaver, "aput", "a checkpoint"),
            (AsyncSqliteSaver, "aput_writes", "a checkpoint's writes"),
            (asking, "call_model", "a model answer"),
            (act, "fetch", "a page"),
            (act, "search", "a search"),
        ]
        for owner, attribute, name in patch:
            setattr(owner, attribute, self.around(name, getattr(owner, attribute)))
        # A model's answer is stored by record_call; a page or a search where the reading is done.
        calls: list[tuple[Any, str, bool, bool]] = [
            (asking, "call_model", True, False),
            (Store, "record_call", False, True),
            (act, "_read", True, True),
        ]
        for owner, attribute, begins, ends in calls:
            setattr(owner, attribute, self.counting(getattr(owner, attribute), begins=begins, ends=ends))


class Basins:
    """A search that knows the page server's pages."""

    name = "basins"

    def __init__(self, address: str) -> None:
        self.address = address

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """Both basins, whatever is asked."""
        hits = tuple(Hit(url=f"{self.address}/basin/{n}", title=f"Basin {n}", snippet=f"Basin {n}") for n in (1, 2))
        return SearchResult(provider="basins", status=SearchStatus.OK, hits=hits)


def context(home: Path, servers: dict[str, str]) -> Context:
    """The run's configuration: a served model, pages over HTTP on loopback, which the guard is told to allow."""
    return Context(
        model="served", base_url=servers["model"], search=[Basins(servers["pages"])], fetch=True, home=str(home),
        fetch_allow=[servers["pages"].removeprefix("http://")], min_sources=1, min_domains=1, max_turns=60,
    )  # fmt: skip


async def _go_on(home: Path, servers: dict[str, str]) -> Any:
    given = context(home, servers)
    try:
        return await aresume(RUN, context=given)
    except ValueError as error:
        if "There is no run" not in str(error):
            raise
        return await aresearch(OBJECTIVE, context=given, run_id=RUN)


def child(home: Path, servers: dict[str, str], die_at: int, resume: bool, told: Path) -> None:
    """What a forked child does: run or go on, and write down what came of it. Never returns."""
    code = 1
    try:
        boundaries = Boundaries(die_at, told)
        boundaries.install()
        work = _go_on(home, servers) if resume else aresearch(OBJECTIVE, context=context(home, servers), run_id=RUN)
        result = asyncio.run(work)
        told.write_text(
            json.dumps({"boundaries": boundaries.names, "status": result.status, "usage": result.usage}),
            encoding="utf-8",
        )
        code = 0
    finally:
        os._exit(code)


def in_child(home: Path, servers: dict[str, str], told: Path, *, die_at: int = 0, resume: bool = False) -> int:
    """Runs `child` in a fork of this process and gives its exit status as `waitpid` tells it."""
    pid = os.fork()
    if pid == 0:
        child(home, servers, die_at, resume, told)
    return os.waitpid(pid, 0)[1]
