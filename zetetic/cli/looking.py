"""`status`, `runs`, `show` and `steer`: what a run left behind, and a word to one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zetetic.export import final_summary, has_report, render_report, summary_lines
from zetetic.export.run_folder import write_receipts
from zetetic.nodes.context import Context
from zetetic.state.decision import Refusal
from zetetic.state.loop_view import loop_view
from zetetic.state.research import Research
from zetetic.state.runs import decide_direct
from zetetic.state.wording import one_line
from zetetic.store import Store

from .parts import PARTS
from .places import OBJECTIVE_SHOWN, existing_store, full_id, how_to_go_on
from .progress import frontier_counts, spent
from .settings import context_of, kept_settings
from .terminal import UserError, give, give_json, give_table, say


@asynccontextmanager
async def found_run(
    run_id: str | None, given: dict[str, Any], *, reading: bool = True
) -> AsyncIterator[tuple[Store, Research, Context]]:
    """A run, or the latest, with the store and the context it is found in. Raises UserError where there is none."""
    context = context_of(given)
    if run_id is not None:
        run_id = await full_id(run_id, given)
        context = context_of(given, _place(kept_settings(context.home, run_id)))
    async with existing_store(context, reading=reading) as store:
        if run_id is None and store is not None:
            run_id = next((row.run_id for row in await store.runs()), None)
        if run_id is None:
            raise UserError(f"There are no runs in {context.database_shown}.")
        if store is None or not await store.exists(run_id):
            raise UserError(f"There is no run {run_id!r} in {context.database_shown}: `zetetic runs` lists them.")
        yield store, await store.load(run_id), context


def _place(kept: dict[str, Any]) -> dict[str, Any]:
    return {name: kept[name] for name in ("database",) if name in kept}


async def show_status(run_id: str | None, given: dict[str, Any], *, as_json: bool) -> int:
    """The summary of a run (L12), or with `--json` the loop view too (R1)."""
    async with found_run(run_id, given) as (_, research, context):
        now = datetime.now(UTC)
        at = now if research.status == "running" else research.updated_at or now  # no time passes for one that stopped
        if as_json:
            give_json(
                {
                    "run_id": research.run_id,
                    "status": research.status,
                    "phase": research.phase,
                    "stop_reason": research.stop_reason,
                    "forked_from": research.forked_from,
                    "summary": final_summary(research),
                    "loop": loop_view(research, at),
                }
            )
            return 0
        lines = [
            f"Run {research.run_id}{_origin(research)}",
            *summary_lines(research),
            f"{_counted(research)}{frontier_counts(research)}",
        ]
        lines.append(f"Spent: turn {research.turns} of {research.thresholds.max_turns} | {spent(research, at)}")
        folder = Path(context.home) / research.run_id
        lines += [f"Run folder: {folder}"] if folder.is_dir() else []
        if research.status != "complete":
            lines.append(how_to_go_on(research, context))
        give("\n".join(lines))
    return 0


def _origin(research: Research) -> str:
    """Where a fork comes from, such as `, forked from 1f2e3d4c5b6a at event 41`; '' for a run of its own."""
    run, _, position = research.forked_from.partition("@")
    return f", forked from {run} at event {position}" if run else ""


def _counted(research: Research) -> str:
    return "Frontier: " if research.loop == "investigative" else f"Loop: {research.loop}, "


async def list_runs(given: dict[str, Any], *, as_json: bool) -> int:
    """All runs of a database, the newest first."""
    context = context_of(given)
    async with existing_store(context, reading=True) as store:
        rows = await store.runs() if store is not None else []
    if as_json:
        names = ("run_id", "status", "stop_reason", "phase", "turns", "usd", "created_at", "updated_at", "objective")
        give_json([{name: _plain(getattr(row, name)) for name in names} for row in rows])
    elif rows:
        give_table(
            ("RUN", "STATUS", "WHY", "TURNS", "USD", "STARTED", "OBJECTIVE"),
            (
                (
                    row.run_id,
                    row.status,
                    row.stop_reason or "-",
                    str(row.turns),
                    f"{row.usd:.2f}",
                    f"{row.created_at:%Y-%m-%d %H:%M}",
                    one_line(row.objective, OBJECTIVE_SHOWN),
                )
                for row in rows
            ),
        )
    else:
        say(f"There are no runs in {context.database_shown}.")
    return 0


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


async def show_part(run_id: str, what: str, given: dict[str, Any], *, as_json: bool) -> int:
    """One part of what a run found, as text or as JSON."""
    if what != "report" and what not in PARTS:
        raise UserError(f"There is nothing called {what!r} to show: report, {', '.join(PARTS)}.")
    async with found_run(run_id, given) as (store, research, _):
        run_id = research.run_id
        if what == "report":
            if not has_report(research):
                raise UserError(f"The run {run_id} is {research.status} and has no report yet.")
            text = render_report(research)
            if as_json:
                told = {"run_id": run_id, "status": research.status, "forked_from": research.forked_from}
                give_json({**told, "report": text})
                return 0
            give(text)
            if origin := _origin(research):
                say(f"Run {run_id}{origin}")
            return 0
        part = await PARTS[what](store, research)
    if as_json:
        give_json(part.value)
    elif part.text:
        give(part.text)
    else:
        say(f"The run {run_id} has no {what} yet.")
    return 0


async def direct(run_id: str, text: str, given: dict[str, Any], *, as_json: bool) -> int:
    """Records a directive for the next attempt (A24)."""
    async with found_run(run_id, given, reading=False) as (store, research, context):
        run_id = research.run_id
        who = context.user or "user"
        at = datetime.now(UTC)
        done = await store.execute(run_id, lambda r: decide_direct(r, text, who, at=at), reason="directive")
        if isinstance(done.decision, Refusal):
            raise UserError(" ".join(done.decision.missing))
        number = len(done.research.directives)
        folder = Path(context.home) / run_id
        if folder.is_dir():
            with suppress(OSError):  # the receipt is a copy; the directive stands in the log
                write_receipts(await store.load(run_id), folder)
        research = done.research
        waits = "" if research.status == "running" else f"; the run is {research.status}: zetetic resume {run_id}"
        if as_json:
            give_json({"run_id": run_id, "number": number, "who": who, "status": research.status})
        else:
            give(f"Directive {number} waits for the next attempt{waits}")
    return 0
