"""Proof artifacts: each is whole, says that its check passed, and its proof is a file of this folder, unchanged (L5).

No command that an artifact names is ever executed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from .fault import PROOFS, Fault
from .held import Record, shaped
from .reading import read_value, shown, through_link
from .shapes import ARTIFACT_SHAPE

_DRIVE = re.compile(r"[A-Za-z]:")
_CHUNK = 1 << 20


BUILT_IN = "zetetic verify"
"""The checker that can be run again here, since it is this program's own (L6)."""


def read_proofs(folder: Path) -> tuple[dict[str, str], list[Fault]]:
    """The proof artifacts that hold, as id → the checker's name, and what is wrong with the others, cited or not."""
    place = folder / PROOFS
    try:
        held = place.lstat()
    except OSError:
        return {}, []
    if stat.S_ISLNK(held.st_mode) or not stat.S_ISDIR(held.st_mode):
        what = "is a link" if stat.S_ISLNK(held.st_mode) else "is no folder"
        return {}, [Fault(PROOFS, "", f"{what}; a run folder holds its proofs itself")]
    try:
        names = sorted(entry.name for entry in place.iterdir() if entry.suffix == ".json")
    except OSError as error:
        return {}, [Fault(PROOFS, "", f"cannot be read: {error.strerror or error}; make it readable")]
    proven: dict[str, str] = {}
    faults: list[Fault] = []
    for name in names:
        artifact, wrong = _artifact(folder, f"{PROOFS}/{name}", name.removesuffix(".json"))
        faults += wrong
        if not wrong:
            proven[name.removesuffix(".json")] = artifact["checker"]["name"]
    return proven, faults


def cited_faults(records: Sequence[Record], folder: Path) -> Iterator[Fault]:
    """Records that cite an artifact which is not there."""
    for record in records:
        for cited in record.within("evidence_checked", "evidence_ids") or ():
            if not os.path.lexists(folder / PROOFS / f"{cited}.json"):
                what = f"names {cited}, but there is no {PROOFS}/{cited}.json"
                yield record.fault("evidence_checked.evidence_ids", what)


def _artifact(folder: Path, file: str, stem: str) -> tuple[Mapping[str, Any], list[Fault]]:
    value, faults = read_value(folder, file)
    if value is None and faults:
        return {}, faults
    artifact = shaped(value, ARTIFACT_SHAPE, file, faults)
    if "id" in artifact and artifact["id"] != stem:
        faults.append(Fault(file, "id", f"is {artifact['id']}, but the file is named for {stem}"))
    if "proof_path" in artifact:
        faults += _proof(folder, file, artifact)
    return artifact, faults


def _proof(folder: Path, file: str, artifact: Mapping[str, Any]) -> Iterator[Fault]:
    path = artifact["proof_path"]
    if wrong := _outside(path):
        yield Fault(file, "proof_path", f"is {shown(path)}, which {wrong}; give a path within the folder")
        return
    parts = PurePosixPath(path).parts
    try:
        if link := through_link(folder, parts):
            yield Fault(file, "proof_path", f"leads through the link {link}; put the file itself there")
            return
        if not stat.S_ISREG((folder / path).lstat().st_mode):
            yield Fault(file, "proof_path", f"is {shown(path)}, which is no file")
            return
        found = _sha256(folder / path)
    except (OSError, ValueError) as error:
        what = "does not exist" if isinstance(error, FileNotFoundError | NotADirectoryError) else "cannot be read"
        yield Fault(file, "proof_path", f"is {shown(path)}, which {what}")
        return
    if artifact.get("proof_sha256", found) != found:
        yield Fault(file, "proof_sha256", f"differs from that of {path}, which is {found}: the proof was changed")


def _outside(path: str) -> str:
    """Why a path may lead out of the folder, or ''."""
    if "\\" in path or "\0" in path:
        return "holds a character that no path here has"
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    if ".." in path.split("/"):
        return "leads out of a folder"
    return "" if PurePosixPath(path).parts else "names no file"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
