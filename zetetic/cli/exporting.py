"""`export`: what a run found, as a file or as a folder to hand on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import Database, Home, Run, app
from .terminal import UserError, as_typed, give, say

if TYPE_CHECKING:
    from zetetic.state.research import Research
    from zetetic.store import Store

FORMATS = ("md", "json", "pack")


@app.command()
def export(
    run: Run,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="md: the report; json: the evidence as one value; pack: a folder that `zetetic verify` checks.",
        ),
    ] = "md",
    to: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="File, or folder of a pack; without one stdout, or the run's own folder for a pack."
        ),
    ] = None,
    home: Home = None,
    database: Database = None,
) -> int:
    """Write a run's report, its evidence, or its evidence pack anew from the database."""
    if form not in FORMATS:
        raise UserError(f"--format {form}: there are {', '.join(FORMATS[:-1])} and {FORMATS[-1]}.")
    where = Path(as_typed(to)) if to is not None else None
    return asyncio.run(_export(run, form, where, {"home": home, "database": database}))


async def _export(run: str, form: str, to: Path | None, given: dict[str, Any]) -> int:
    from .looking import found_run

    async with found_run(run, given) as (store, research, context):
        if form == "pack":
            return await _pack(store, research, to or Path(context.home) / research.run_id)
        text = _text(research, form)
        if to is None:
            give(text)
            return 0
        await asyncio.to_thread(_write, to, text)
        return 0


def _write(to: Path, text: str) -> None:
    from zetetic.export import write_atomically

    if to.is_dir():
        raise UserError(f"{to} is a folder: name a file.")
    try:
        write_atomically(to, text)
    except OSError as error:
        raise UserError(f"{to} cannot be written: {error.strerror or error}.") from None
    say(f"Written: {to}")


def _text(research: Research, form: str) -> str:
    from zetetic.export import has_pack, has_report, pack_of, pack_text, render_report

    if form == "md":
        if not has_report(research):
            raise UserError(f"The run {research.run_id} is {research.status} and has no report yet.")
        return render_report(research)
    if not has_pack(research):
        raise UserError(_GOES_ON.format(research.run_id))
    return pack_text(pack_of(research))


_GOES_ON = "The run {} goes on: it has its evidence when it has ended."


async def _pack(store: Store, research: Research, folder: Path) -> int:
    from zetetic.export import has_pack, quoted_pages, write_pack
    from zetetic.nodes.identities import IDENTITIES

    if not has_pack(research):
        raise UserError(_GOES_ON.format(research.run_id))
    if in_the_way := _in_the_way(folder, research.run_id):
        raise UserError(in_the_way)
    pages = await quoted_pages(store, research)
    at = research.updated_at
    assert at is not None
    try:
        faults = await asyncio.to_thread(write_pack, research, folder, at, pages, IDENTITIES)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}.") from None
    for fault in faults:
        say(fault.line())
    give(str(folder))
    say(f"Check it: zetetic verify {folder}")
    return 0


def _in_the_way(folder: Path, run_id: str) -> str:
    """Why a pack cannot be written there, or ''. What is not a folder of this run is not written over."""
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return f"{folder} is a file: name a folder."
    import json

    try:
        held = json.loads((folder / "loop_state.json").read_bytes())
    except (OSError, ValueError):
        held = None
    if isinstance(held, dict) and held.get("run_id") == run_id:
        return ""
    return f"{folder} is not empty and no folder of this run: name an empty one." if any(folder.iterdir()) else ""
