"""`work`: joining a run that another process leads, with more workers."""

from __future__ import annotations

import asyncio
from typing import Any

from zetetic.graph.working import WorkDone, awork, cannot_join

from .places import full_id, stored_research
from .progress import Progress
from .running import SETUP_ERRORS, STOPPED, Stop, signals_to
from .settings import context_of, kept_settings
from .terminal import UserError, give, give_json


async def join(run_id: str, workers: int, given: dict[str, Any], *, verbose: bool, as_json: bool) -> int:
    """Works on a run until its exploration is over, or Ctrl-C; gives the exit code. Raises UserError before that."""
    home = context_of({"home": given.get("home")}).home
    run_id = await full_id(run_id, given)
    stored = kept_settings(home, run_id)
    found = context_of(given, stored)
    research = await stored_research(found, run_id)
    if refused := cannot_join(research):
        raise UserError(refused)
    if "model" not in found.model_fields_set and not research.model.startswith("offline"):
        raise UserError(f"The run was started with the model {research.model}, and how is not kept: give --model.")
    own = {**research.thresholds.model_dump(), "mode": research.mode, "user": given.get("user") or research.user}
    context = context_of({**given, **own}, stored)
    done: WorkDone | None = None
    with Progress(verbose=verbose) as progress:
        stop = Stop(asyncio.current_task(), progress.say)
        with signals_to(stop):
            progress.say(f"Joining run {run_id} with {workers} worker{'s' if workers > 1 else ''}")
            try:
                done = await awork(run_id, context=context, workers=workers, control=stop.control, progress=progress)
            except asyncio.CancelledError:
                if not stop.caught():
                    raise
            except SETUP_ERRORS as error:
                raise UserError(str(error)) from None
    if done is None:
        return STOPPED
    if as_json:
        give_json(done.as_dict())
    else:
        tries = f"{done.attempts} attempt{'s' if done.attempts != 1 else ''}"
        give(f"{tries} on run {run_id} by {', '.join(done.workers)}; {done.left_because}")
    return STOPPED if stop.control.drain_requested else 0
