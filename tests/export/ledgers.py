"""Run folders for the tests of the validation: as real runs wrote them, and ways to spoil one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zetetic.export.validating import validate_folder

Value = dict[str, Any]


def state(folder: Path) -> Value:
    return json.loads((folder / "loop_state.json").read_text())


def budget(folder: Path) -> Value:
    return json.loads((folder / "budget.json").read_text())


def records(folder: Path) -> list[Value]:
    return [json.loads(line) for line in (folder / "iterations.jsonl").read_text().splitlines()]


def write(folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(r) + "\n" for r in value) if name.endswith("l") else json.dumps(value, indent=2)
    path.write_text(text)


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Changes the value of a file in place; of `iterations.jsonl` it is the list of records."""
    path = folder / name
    value = records(folder) if name.endswith("l") else json.loads(path.read_text())
    change(value)
    write(folder, name, value)


def say(folder: Path, name: str, value: str) -> None:
    """Puts another value behind a bullet of `recovery.md`."""
    path = folder / "recovery.md"
    lines = path.read_text().split("\n")
    (at,) = [n for n, line in enumerate(lines) if line.startswith(f"- {name}: ")]
    path.write_text("\n".join([*lines[:at], f"- {name}: {value}", *lines[at + 1 :]]))


def faults(folder: Path) -> list[str]:
    return [str(fault) for fault in validate_folder(folder)]


def artifact(folder: Path, proof: str = "report.md", **fields: Any) -> Value:
    """A proof artifact over a file of the folder."""
    path = folder / proof
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "0" * 64
    return {
        "schema_version": "1.0",
        "id": "proof-1",
        "artifact_type": "lean",
        "machine_checkable": True,
        "target": "the objective",
        "proof_path": proof,
        "proof_sha256": digest,
        "checker": {"name": "lean", "version": "4", "status": "passed", "command": "lake build"},
        **fields,
    }
