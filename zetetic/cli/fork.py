"""`fork`: going on from an earlier turn of a run, as a new one."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from zetetic.graph.forking import afork, branch_of
from zetetic.graph.result import ResearchResult
from zetetic.graph.run import new_id
from zetetic.nodes.workbench import SetupError

from .places import existing_store, full_id, stored_research
from .progress import Progress
from .running import Stop, run_to_end
from .settings import check_bounds, context_of, kept_settings
from .terminal import UserError


async def branch_off(
    run_id: str,
    at: int,
    changed: Sequence[str],
    directives: Sequence[str],
    given: dict[str, Any],
    *,
    verbose: bool,
    as_json: bool,
) -> int:
    """Goes on from the end of a turn as a new run, to its exit code. Raises UserError before anything is spent."""
    home = context_of({"home": given.get("home")}).home
    run_id = await full_id(run_id, given)
    stored = kept_settings(home, run_id)
    found = context_of(given, stored)
    research = await stored_research(found, run_id)
    if "model" not in found.model_fields_set and not research.model.startswith("offline"):
        raise UserError(f"The run was started with the model {research.model}, and how is not kept: give --model.")
    bounds = dict(map(_named, changed))
    check_bounds(research, bounds)
    async with existing_store(found) as store:
        assert store is not None
        try:
            branch = await branch_of(store, run_id, at=at, bounds=bounds, directives=directives)
        except SetupError as error:
            raise UserError(str(error)) from None
    own = {**branch.bounds.model_dump(), "mode": research.mode, "user": given.get("user") or research.user}
    context = context_of({**given, **own}, stored)
    chosen = new_id()

    def begin(stop: Stop, progress: Progress) -> Awaitable[ResearchResult]:
        return afork(
            run_id,
            at=at,
            context=context,
            bounds=bounds,
            directives=directives,
            new_run_id=chosen,
            control=stop.control,
            progress=progress,
        )

    notice = f"Forked from {run_id} after turn {at}, which stays as it is."
    return await run_to_end(chosen, context, begin, notice=notice, verbose=verbose, as_json=as_json)


def _named(text: str) -> tuple[str, str]:
    """`max-turns=90` → max_turns, 90."""
    name, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise UserError(f"--set {text}: write NAME=VALUE, such as max_turns=90; `zetetic policy` lists the bounds.")
    return name.strip().removeprefix("--").replace("-", "_"), value.strip()
