"""Where a run is found, and what to type so that it goes on."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from zetetic.nodes.context import Context
from zetetic.state.breakers import budget_left
from zetetic.state.research import Research
from zetetic.store import Store, StoreError, database_exists
from zetetic.store.address import has_secret

from .bounds import option_name
from .terminal import UserError

DEFAULT_HOME = ".zetetic"


@asynccontextmanager
async def existing_store(context: Context) -> AsyncIterator[Store | None]:
    """The store of a context; None where there is no database yet. Raises UserError where it cannot be used."""
    try:
        if not await database_exists(context.database_path):
            yield None
            return
        async with await Store.open(context.database_path) as store:
            yield store
    except StoreError as error:
        raise UserError(str(error)) from None


async def stored_research(context: Context, run_id: str) -> Research:
    """A run as it stands in the database of a context, which is not made. Raises UserError for an unknown run."""
    async with existing_store(context) as store:
        if store is None or not await store.exists(run_id):
            raise UserError(f"There is no run {run_id!r} in {context.database_shown}: `zetetic runs` lists them.")
        return await store.load(run_id)


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
