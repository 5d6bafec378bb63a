"""Proof artifacts: what is written when a pack verified, and whether one still says the truth (L5, L6, LEDGER.md)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from zetetic.export.evidence import Pack, is_won, program, research_of
from zetetic.export.ledger import UNPROVEN, iteration_records, loop_state
from zetetic.export.validating.fault import PROOFS, RECORDS, STATE
from zetetic.export.validating.held import is_success
from zetetic.export.validating.proofs import BUILT_IN, read_proofs
from zetetic.state.research import Research
from zetetic.state.wording import one_line

from .findings import Verification
from .pages import FILE
from .reading import MOST_LEDGER, MOST_STATE, Unreadable, read_file

COMMAND = "zetetic verify ."


def proof_id(run_id: str) -> str:
    """The id of a run's own proof."""
    return f"evidence-{run_id}"


def proof_of(run_id: str, objective: str, evidence: bytes) -> dict[str, Any]:
    """The artifact that says that this evidence was verified."""
    return {
        "schema_version": "1.0",
        "id": proof_id(run_id),
        "artifact_type": "python-verifier",
        "machine_checkable": True,
        "target": objective,
        "proof_path": FILE,
        "proof_sha256": hashlib.sha256(evidence).hexdigest(),
        "checker": {"name": BUILT_IN, "version": program().rpartition(" ")[2], "status": "passed", "command": COMMAND},
    }


def check_proofs(pack: Pack, research: Research | None, folder: Path, told: Verification) -> None:
    """The artifacts in the folder pass, the ledger tells what the evidence gives, and its last record cites the run's
    proof exactly where the run succeeded. Without a `research` only what needs none is checked."""
    proven, faults = read_proofs(folder)
    told.counts("proofs", len(proven))
    for fault in faults:
        told.fault(fault.file, fault.where, fault.message)
    own = proof_id(pack.run.run_id)
    if own in proven:
        _check_version(pack, f"{PROOFS}/{own}.json", folder, told)
    records = _records(folder, told)
    last = records[-1] if records and isinstance(records[-1], dict) else {}
    evidence = last.get("evidence_checked")
    cited = evidence.get("evidence_ids") if isinstance(evidence, dict) else []
    if not isinstance(cited, list) or not all(isinstance(name, str) for name in cited):
        told.fault(RECORDS, "", "its last record cites proofs by something else than their ids")
        cited = []
    for name in cited:
        if name not in proven:
            told.fault(RECORDS, "", f"its last record cites {name[:128]}, which is no proof that passes")
    won, claimed = is_won(research_of(pack)), is_success(str(last.get("stop_reason")))
    if claimed and not won:
        told.fault(RECORDS, "", f"its last record claims a success, and the run is {pack.run.status}")
    if claimed and own not in cited:
        told.fault(RECORDS, "", f"its last record claims a success without citing {own}")
    if won and last and not claimed:
        told.fault(
            RECORDS, "", f"the run is complete, and the reason of its last record is {last.get('stop_reason')!r}"
        )
    if research is not None and pack.written_by == program():
        _compare(research, cited, records, folder, told)


def _check_version(pack: Pack, name: str, folder: Path, told: Verification) -> None:
    """The run's own proof is of the version that wrote the evidence: another one has not checked its wording."""
    try:
        proof = _json(read_file(folder, name, MOST_STATE))
    except Unreadable as why:
        told.fault(name, "", str(why))
        return
    checker = proof.get("checker") if isinstance(proof, dict) else None
    version = checker.get("version") if isinstance(checker, dict) else None
    wrote = pack.written_by.rpartition(" ")[2]
    if version != wrote:
        says = f"is {one_line(repr(version), 80)}, and {FILE} was written by version {one_line(repr(wrote), 80)}"
        told.fault(name, "checker.version", says)


def _records(folder: Path, told: Verification) -> list[Any]:
    """The records of the ledger, None for a line that is no JSON."""
    try:
        lines = read_file(folder, RECORDS, MOST_LEDGER).splitlines()
    except Unreadable as why:
        told.fault(RECORDS, "", str(why))
        return []
    found = []
    for number, line in enumerate(lines, 1):
        value = _json(line)
        found.append(value)
        if not isinstance(value, dict):
            told.fault(RECORDS, f"line {number}", "is no JSON object")
    return found


def _compare(research: Research, cited: list[str], records: list[Any], folder: Path, told: Verification) -> None:
    """What the ledger says of the run, against what it would say for this evidence."""
    made = iteration_records(research, cited)
    if len(records) != len(made):
        told.fault(RECORDS, "", f"has {len(records)} records of the {len(made)} attempts in {FILE}")
    for number, (given, own) in enumerate(zip(records, made, strict=False), 1):
        other = [name for name in own if isinstance(given, dict) and given.get(name) != own[name]]
        if other and given.get("stop_reason") != UNPROVEN:
            told.fault(RECORDS, f"line {number}", f"does not say what {FILE} gives: {', '.join(other)}")
    try:
        state = _json(read_file(folder, STATE, MOST_STATE))
    except Unreadable as why:
        told.fault(STATE, "", str(why))
        return
    own = loop_state(research)
    other = [name for name in own if not isinstance(state, dict) or state.get(name) != own[name]]
    if other and other != ["status"]:  # which is the ledger's to judge
        told.fault(STATE, "", f"does not say what {FILE} gives: {', '.join(other)}")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
