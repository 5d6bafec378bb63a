"""`verify`: an evidence pack checked anew from its folder alone (L6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import AsJson, Home, app
from .terminal import as_typed, give, give_json

if TYPE_CHECKING:
    from zetetic.export import Verification

FAULTS = 3


@app.command()
def verify(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="Folder with an evidence pack; or a run by its id, its first characters, or latest."
        ),
    ],
    home: Home = None,
    as_json: AsJson = False,
) -> int:
    """Check from a folder alone, offline, that its quotes, claims, gates and citations hold. Exit code 3: not all do,
    or not all could be checked.

    It proves that the folder agrees with itself and with the pages in it, not that the pages stand on the web today.
    """
    from .places import folder_named

    return check(folder_named(as_typed(folder), home), as_json=as_json)


def check(folder: Path, *, as_json: bool) -> int:
    """Verifies a folder and says what was looked at, then every fault, a line each."""
    from zetetic.export import verify_folder
    from zetetic.nodes.identities import IDENTITIES

    told = verify_folder(folder, IDENTITIES)
    if as_json:
        give_json(
            {
                "folder": str(folder),
                "run_id": told.run_id,
                "status": told.status,
                "verified": told.passed and not told.empty,
                "checked": told.checked,
                "notes": told.notes,
                "unchecked": told.unchecked,
                "findings": [finding._asdict() for finding in told.findings],
            }
        )
    else:
        give("\n".join(_lines(folder, told)))
    return 0 if told.passed else FAULTS


def _lines(folder: Path, told: Verification) -> list[str]:
    from zetetic.state.wording import counted

    run = f" (run {told.run_id}, {told.status})" if told.run_id else ""
    numbers = ", ".join(counted(number, what.removesuffix("s")) for what, number in told.checked.items() if number)
    lines = [f"Folder: {folder}{run}", f"Checked: {numbers or 'nothing'}", *(f"Note: {note}" for note in told.notes)]
    if told.findings:
        lines += [f"Not checked: {what}." for what in told.unchecked]
        return [*lines, f"{counted(len(told.findings), 'fault')}:", *(finding.line() for finding in told.findings)]
    if told.unchecked:
        return [*lines, f"Not verified in full: {'; '.join(told.unchecked)}."]
    if told.empty:
        return [*lines, "Nothing to verify: the run recorded no claim, and does not say that it did."]
    return [*lines, "Verified: all of it holds."]
