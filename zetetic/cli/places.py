"""Where a run is found, and what to type so that it goes on."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zetetic.nodes.context import Context
from zetetic.state.breakers import budget_left
from zetetic.state.research import Research
from zetetic.state.wording import one_line
from zetetic.store import Store, StoreError, database_exists
from zetetic.store.address import has_secret, is_postgres

from .bounds import option_name
from .settings import FILE, context_of
from .terminal import UserError

DEFAULT_HOME = ".zetetic"
OBJECTIVE_SHOWN = 80
"""Characters of an objective in a list of runs."""


@asynccontextmanager
async def existing_store(context: Context, *, reading: bool = False) -> AsyncIterator[Store | None]:
    """The store of a context; None where there is no database yet. Raises UserError where it cannot be used.

    For `reading` alone one that cannot be written is copied first: opening it would migrate and lock it.
    """
    try:
        if not await database_exists(context.database_path):
            yield None
            return
        with _readable(context.database_path, reading=reading) as path:
            async with await Store.open(path) as store:
                yield store
    except StoreError as error:
        raise UserError(str(error)) from None


@contextmanager
def _readable(database: str, *, reading: bool) -> Iterator[str]:
    """The database itself, or a copy of one that may be read and not written."""
    path = Path(database)
    if not reading or is_postgres(database) or all(os.access(place, os.W_OK) for place in (path.parent, path)):
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="zetetic-") as place:
        copy = Path(place) / "zetetic.db"
        try:
            _copy(path, copy)
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{path} cannot be read: {error}.") from None
        yield str(copy)


def _copy(path: Path, copy: Path) -> None:
    """Copies a database as it stands. SQLite does it, with all that is written meanwhile; but of a database with a
    write-ahead log in a folder where it can make no file it reads nothing: then file and log are copied."""
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as held,
            closing(sqlite3.connect(copy)) as whole,
        ):
            held.backup(whole)
    except sqlite3.OperationalError:
        shutil.copyfile(path, copy)
        log = Path(f"{path}-wal")
        if log.exists():
            shutil.copyfile(log, f"{copy}-wal")


async def stored_research(context: Context, run_id: str) -> Research:
    """A run as it stands in the database of a context, which is not made. Raises UserError for an unknown run."""
    async with existing_store(context) as store:
        if store is None or not await store.exists(run_id):
            raise UserError(f"There is no run {run_id!r} in {context.database_shown}: `zetetic runs` lists them.")
        return await store.load(run_id)


SHORTEST_PREFIX = 4
"""Characters of a run's id that are enough to name it, where they name no other."""
LATEST = "latest"


async def full_id(text: str, given: dict[str, Any]) -> str:
    """The id that the first characters of one name, or `latest`; the text itself where it names no run.

    Raises UserError where several runs begin so.
    """
    context = context_of({name: given.get(name) for name in ("home", "database")})
    async with existing_store(context, reading=True) as store:
        asked = {row.run_id: row.objective for row in await store.runs()} if store is not None else {}
    if text in asked:
        return text
    if text == LATEST and asked:
        return next(iter(asked))
    asked = {**_with_folders(Path(context.home)), **asked}
    found = [run_id for run_id in asked if run_id.startswith(text)] if len(text) >= SHORTEST_PREFIX else []
    if len(found) > 1 and text not in asked:
        listed = "".join(
            f"\n  {run_id}  {one_line(asked[run_id], OBJECTIVE_SHOWN)}".rstrip() for run_id in sorted(found)
        )
        raise UserError(f"{len(found)} runs begin with {text}: give more of the id.{listed}")
    return found[0] if len(found) == 1 else text


def _with_folders(home: Path) -> dict[str, str]:
    """The runs that have a folder here; their database may be elsewhere."""
    try:
        return {path.parent.name: "" for path in sorted(home.glob(f"*/{FILE}"))}
    except OSError:
        return {}


def folder_named(named: str, home: str | None) -> Path:
    """A folder, or that of a run by its id, its first characters, or latest. Raises UserError where there is none."""
    path = Path(named)
    if named.strip() and path.is_dir():
        return path
    if path.is_file():
        raise UserError(f"{named} is a file: give the folder it stands in.")
    given = {"home": home}
    run = Path(context_of(given).home) / asyncio.run(full_id(named, given))
    if not named.strip() or not run.is_dir():
        raise UserError(f"There is no folder {named}, and no run {named!r} with a folder in {run.parent}.")
    return run


def home_fault(home: str) -> str:
    """Why nothing can be written under home, or ''; looks without making anything."""
    place = Path(home).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return f"--home {home}: {place} is a file; name a folder."
    if not os.access(place, os.W_OK | os.X_OK):
        return f"--home {home}: {place} cannot be written; name another folder."
    return ""


def how_to_go_on(research: Research, context: Context) -> str:
    """The line that says what to type; where a larger budget alone would not help, with what would (D54)."""
    command = resume_command(research, context)
    if research.status == "reported" and not research.stop_reason.startswith("breaker:"):
        return f"To go on, with other sources (--documents, --search) or after `zetetic steer`: {command}"
    return f"To go on: {command}"


def resume_command(research: Research, context: Context) -> str:
    """What to type so that the run goes on; with room where it needs some (D54)."""
    words = ["zetetic", "resume", research.run_id]
    if context.home != DEFAULT_HOME:
        words += ["--home", context.home]
    if context.database and (not context.write_files or _must_be_named(context.database)):
        words += ["--database", context.database_shown]
    if research.status in ("reported", "failed"):
        words += _room_needed(research)
    return shlex.join(words)


def _must_be_named(database: str) -> bool:
    """Whether a run does not find its database by itself: its password is not kept, nor in the environment."""
    return has_secret(database) and os.environ.get("ZETETIC_DATABASE") != database


SMALLEST_USEFUL_TOKENS = 50_000
"""A suggestion below this would not get a run to its report."""


def _room_needed(research: Research) -> list[str]:
    """An option for each bound that is used up, with half as much again; turns where none is."""
    at = research.updated_at
    assert at is not None
    t = research.thresholds
    left = budget_left(research.model_copy(update={"phase": "exploration"}), at)
    more: dict[str, float] = {}
    if left.records <= 0:
        more["max_iterations"] = t.max_iterations + max(10, t.max_iterations // 2)
    fired = research.stop_reason.removeprefix("breaker:")
    if left.tokens is not None and (fired == "tokens" or left.tokens < research.usage.largest):
        grown = max(t.max_total_tokens, research.usage.tokens) * 3 // 2
        more["max_total_tokens"] = max(grown, SMALLEST_USEFUL_TOKENS)
    if left.usd is not None and (fired == "cost" or left.usd < research.usage.dearest):
        more["max_cost_usd"] = round(max(t.max_cost_usd, research.usage.usd) * 1.5, 2)
    if left.seconds <= 0:
        more["max_wall_time_seconds"] = round(max(t.max_wall_time_seconds, research.elapsed(at)) * 1.5)
    if left.turns <= 0 or not more:
        more["max_turns"] = t.max_turns + max(10, t.max_turns // 2)
    return [word for name, total in more.items() for word in (option_name(name), f"{total:.15g}")]
