"""`validate`: whether a run folder is what it should be, from the folder alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .app import AsJson, Home, app
from .terminal import UserError, as_typed, give, give_json, say

FAULTY = 3


@app.command()
def validate(
    folder: Annotated[
        str,
        typer.Argument(metavar="DIR", help="The run folder; or a run by its id, its first characters, or latest."),
    ],
    repair: Annotated[
        bool, typer.Option("--repair", help="Cut off a torn last line of iterations.jsonl, after a copy was kept.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> int:
    """Check a run folder, without its database: say every fault at once, a line each. Exit code 3: there are some."""
    from .places import folder_named

    return check(folder_named(as_typed(folder), home), repair=repair, as_json=as_json)


def check(folder: Path, *, repair: bool, as_json: bool) -> int:
    """Validates a folder, mended before where that is asked for; gives the exit code. Raises UserError where it
    cannot be mended."""
    from zetetic.export import Finding, verify_folder
    from zetetic.export.pack import EVIDENCE
    from zetetic.export.validating import repair_torn_line, validate_folder
    from zetetic.nodes.identities import IDENTITIES
    from zetetic.state.wording import counted

    kept = None
    if repair:
        try:
            kept = repair_torn_line(folder)
        except OSError as error:
            raise UserError(f"{folder} cannot be mended: {error.strerror or error}.") from None
    if kept is not None:
        say(f"The torn end of iterations.jsonl was mended; the file as it was is kept in {kept.name}.")

    def verify(place: Path) -> list[Finding]:
        told = verify_folder(place, IDENTITIES)
        return [*told.findings, *(Finding(EVIDENCE, "", f"was not verified in full: {why}") for why in told.unchecked)]

    faults = validate_folder(folder, verify)
    if as_json:
        told = {"folder": str(folder), "valid": not faults, "faults": [asdict(fault) for fault in faults]}
        give_json({**told, "kept": kept.name if kept is not None else None})
    elif faults:
        give("\n".join(map(str, faults)))
    else:
        give(f"{folder}: no fault.")
    if faults:
        say(f"{counted(len(faults), 'fault')} in {folder}.")
    return FAULTY if faults else 0
