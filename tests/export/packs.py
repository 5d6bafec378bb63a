"""Packs of real researches, and how a forger would change one."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph.rig import Rig, whole, worker

from zetetic import Context, ResearchResult, research
from zetetic.export import Verification, verify_folder
from zetetic.graph.run import in_new_loop
from zetetic.nodes.identities import IDENTITIES

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = EXAMPLES / "corpus"
Change = Callable[[Any], None]


def tower(home: Path) -> Path:
    """The folder of a small complete run: one verified claim of two sources, three challenges."""
    rig = Rig(home, worker(whole()))
    result = in_new_loop(rig.research, "")
    assert result.status == "complete"
    return home / result.run_id


def played(home: Path, objective: str = "", **bounds: Any) -> ResearchResult:
    """A run of the offline model over the example's documents; the example's question without another."""
    asked = objective or (EXAMPLES / "question.txt").read_text(encoding="utf-8")
    given = {"documents": str(CORPUS), "home": str(home), **bounds}
    return research(asked, context=Context(**given))


def verified(folder: Path) -> Verification:
    """What the verification of a folder says."""
    return verify_folder(folder, IDENTITIES)


def lines(folder: Path) -> list[str]:
    """The faults of a folder."""
    return [finding.line() for finding in verified(folder).findings]


def evidence(folder: Path) -> Any:
    return json.loads((folder / "evidence.json").read_text(encoding="utf-8"))


def copied(folder: Path, place: Path) -> Path:
    return Path(shutil.copytree(folder, place / "copy", symlinks=True))


def written(folder: Path, value: Any) -> None:
    """Puts other evidence in place, with its hash in the proof: by a forger who knows the format."""
    data = json.dumps(value, ensure_ascii=False, indent=2).encode()
    (folder / "evidence.json").write_bytes(data)
    for proof in folder.glob("proof_artifacts/*.json"):
        told = json.loads(proof.read_text()) | {"proof_sha256": hashlib.sha256(data).hexdigest()}
        proof.write_text(json.dumps(told))


def forged(folder: Path, place: Path, change: Change) -> Path:
    """A copy of a folder whose evidence was changed, and signed anew; `report.md` follows it."""
    copy = copied(folder, place)
    value = evidence(copy)
    change(value)
    written(copy, value)
    (copy / "report.md").write_text(value["report"]["text"], encoding="utf-8")
    return copy


def by_id(records: list[Any], name: str) -> Any:
    """The record with an id."""
    (found,) = [record for record in records if record["id"] == name]
    return found


def page_of(folder: Path, sha256: str) -> Path:
    return folder / "pages" / f"{sha256}.txt"
