"""Writing the evidence pack: the run folder with the pages its claims quote, its evidence, and the proof of a success
(L5, L6, LEDGER.md).

What blocks is to be called in a thread. The pages are read from the store before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zetetic.state.research import Research

from .evidence import is_won, pack_of, pack_text, quoted
from .run_folder import write_atomically, write_run_folder
from .verifying import PAGES, Finding, Identities, page_name, proof_id, proof_of, verify_folder

if TYPE_CHECKING:
    from zetetic.store import Store

EVIDENCE = "evidence.json"


def has_pack(research: Research) -> bool:
    """Whether a run has its evidence pack: once it has ended, in whatever way; while it goes on it has none."""
    return research.status != "running"


async def quoted_pages(store: Store, research: Research) -> dict[str, str]:
    """The texts of the pages that a run's claims quote, by their hashes; none for a run that has no pack."""
    wanted = quoted(research) if has_pack(research) else ()
    stored = [await store.page(sha256) for sha256 in wanted]
    return {page.sha256: page.text for page in stored if page is not None}


def write_pack(
    research: Research, folder: Path, at: datetime, pages: Mapping[str, str], identities: Identities
) -> tuple[Finding, ...]:
    """Writes the run folder, with the pack of a run that has ended. Raises OSError where it cannot be written.

    A success is proven only by what verifies: the pack is verified as it was written, and the faults found are given.
    Where there are some, no proof is written, and the ledger says that the run is blocked by its evidence (L5).
    """
    proof = folder / "proof_artifacts" / f"{proof_id(research.run_id)}.json"
    if not has_pack(research):
        for stale in (proof, folder / EVIDENCE):  # of an end that the run has left behind
            with suppress(FileNotFoundError, NotADirectoryError):
                stale.unlink()
        write_run_folder(research, folder, at)
        return ()
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder / PAGES, {f"{sha256}.txt" for sha256 in quoted(research)})
    if pages:
        _make_own(folder / PAGES)
    for sha256, text in pages.items():
        _write_page(folder / page_name(sha256), text)
    pack = pack_of(research)
    evidence = pack_text(pack)
    write_atomically(folder / EVIDENCE, evidence)
    if not is_won(research):
        write_run_folder(research, folder, at)
        return ()
    write_atomically(folder / "report.md", pack.report.text)  # what is verified now
    faults = tuple(verify_folder(folder, identities, proofs=False).findings)
    if faults:
        proof.unlink(missing_ok=True)
        write_run_folder(research, folder, at, unproven=faults[0].line())
        return faults
    _make_own(proof.parent)
    told = proof_of(research.run_id, research.objective, evidence.encode())
    write_atomically(proof, json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    write_run_folder(research, folder, at, proof_ids=[proof_id(research.run_id)])
    return ()


def _make_own(folder: Path) -> None:
    """Makes a folder; a link in its place is replaced, so that nothing is written elsewhere."""
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(exist_ok=True)


def _clear(folder: Path, kept: set[str]) -> None:
    """Removes what a process that was killed, or an earlier end of the run, left beside the pages that are quoted."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.name not in kept and (path.is_symlink() or path.is_file()):
            path.unlink(missing_ok=True)


def _write_page(path: Path, text: str) -> None:
    """A page is named by its text: one that stands there as it should is left alone."""
    data = text.encode("utf-8", "backslashreplace")
    if path.is_symlink() or not path.is_file() or path.stat().st_size != len(data) or path.read_bytes() != data:
        write_atomically(path, text)
