"""`export`: what a run found, as a file or as a folder to hand on."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import Database, Home, Run, app
from .terminal import UserError, as_typed, give, say
from .verifying import FAULTS

if TYPE_CHECKING:
    from zetetic.export import Finding
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
    where = _place(as_typed(to)) if to is not None else None
    return asyncio.run(_export(run, form, where, {"home": home, "database": database}))


def _place(text: str) -> Path:
    """A path as a shell reads it, also where `=` kept the shell from reading its `~`."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UserError(f"--to {text}: there is no such user here; give the folder's whole path.") from None


async def _export(run: str, form: str, to: Path | None, given: dict[str, Any]) -> int:
    from .looking import found_run

    async with found_run(run, given) as (store, research, context):
        if form == "pack":
            return await _pack(store, research, to, Path(context.home) / research.run_id)
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


_GOES_ON = (
    "The run {0} goes on or was cut off: it has its evidence when it has ended; `zetetic resume {0}` takes it there."
)


async def _pack(store: Store, research: Research, to: Path | None, own: Path) -> int:
    """Writes the pack to a folder, or to the run's own; exit code 3 and the faults where it does not verify."""
    from zetetic.export import has_pack, quoted_pages

    if not has_pack(research):
        raise UserError(_GOES_ON.format(research.run_id))
    folder = to or own
    is_own = _same(folder, own)
    if in_the_way := _in_the_way(folder, research.run_id, is_own=is_own):
        raise UserError(in_the_way)
    pages = await quoted_pages(store, research)
    try:
        write = _in_place if is_own or _is_used(folder) else _as_a_whole
        faults = await asyncio.to_thread(write, research, folder, pages)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}.") from None
    for fault in faults:
        say(fault.line())
    give(str(folder))
    if faults:
        say(f"The evidence does not verify, so the run is no proven success: zetetic verify {folder}")
        return FAULTS
    say(f"Check it: zetetic verify {folder}")
    return 0


def _same(folder: Path, other: Path) -> bool:
    return folder.resolve() == other.resolve()


def _in_place(research: Research, folder: Path, pages: Mapping[str, str]) -> tuple[Finding, ...]:
    from zetetic.export import write_pack
    from zetetic.nodes.identities import IDENTITIES

    at = research.updated_at
    assert at is not None
    return write_pack(research, folder, at, pages, IDENTITIES)


def _as_a_whole(research: Research, folder: Path, pages: Mapping[str, str]) -> tuple[Finding, ...]:
    """Writes beside a folder that is empty or not there, and renames: whoever kills this can ask for it again."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    try:
        faults = _in_place(research, temporary, pages)
        if folder.is_dir():
            folder.rmdir()  # where a rename replaces no folder, not even an empty one
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return faults


def _is_used(folder: Path) -> bool:
    """Whether a folder holds something, or is one that cannot be replaced: where a shell stands, a mounted disk."""
    if not folder.is_dir():
        return False
    return any(folder.iterdir()) or folder.samefile(".") or folder.is_mount()


def _in_the_way(folder: Path, run_id: str, *, is_own: bool) -> str:
    """Why a pack cannot be written there, or ''. What is not a folder of this run is not written over."""
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return f"{folder} is a file: name a folder."
    if is_own or run_id in _told_runs(folder):
        return ""
    return f"{folder} is not empty and no folder of this run: name an empty one." if any(folder.iterdir()) else ""


def _told_runs(folder: Path) -> Iterator[object]:
    """The runs that a folder's files say it is of."""
    places: dict[str, tuple[str, ...]] = {"loop_state.json": ("run_id",), "evidence.json": ("run", "run_id")}
    for name, keys in places.items():
        try:
            held = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        for key in keys:
            held = held.get(key) if isinstance(held, dict) else None
        yield held
