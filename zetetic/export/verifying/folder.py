"""`verify_folder`: all checks of one folder, in order."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from zetetic.export.evidence import Pack, research_of
from zetetic.export.validating.fault import STATE
from zetetic.export.validating.reading import parse

from .findings import Identities, Verification
from .pages import FILE, check_datapoints, check_pages
from .proofs import check_proofs
from .reading import MOST_EVIDENCE, MOST_STATE, Unreadable, read_file
from .records import check_answers, check_challenges, check_claims, check_sources, check_structure, recomputed
from .reports import REPORT, check_again, check_attempts, check_report, check_success

FAULTS_SHOWN = 20
"""Faults in the form of `evidence.json` that are listed; more of them say no more."""
ABSENT = "is missing: a run folder gets it when its run ends"


def verify_folder(folder: Path, identities: Identities, *, proofs: bool = True) -> Verification:
    """Everything that does not hold in a folder with an evidence pack, and what was looked at (L6).

    Without `proofs` the artifacts and the ledger are left aside: they follow from what this finds. Never raises for
    what stands in the folder.
    """
    told = Verification()
    pack = _evidence(folder, told)
    if pack is None:
        return told
    told.run_id, told.status = pack.run.run_id, pack.run.status
    check_structure(pack, told)
    sound = not told.findings
    sketches = check_pages(pack, folder, identities, told)
    check_datapoints(pack, told)
    check_sources(pack, identities, told)
    _check_text(pack, folder, told)
    research = recomputed(research_of(pack), sketches, identities)
    if sound:
        check_claims(research, told)
        check_challenges(research, told)
        check_answers(research, told)
        check_attempts(research, told)
        check_success(research, told)
        check_report(pack, research, told)
        check_again(pack, research, told)
    else:
        told.notes.append("The records do not fit together, so the gates were not recomputed.")
    if proofs:
        check_proofs(pack, research if sound else None, folder, told)
    _note_emptiness(pack, told)
    return told


def _evidence(folder: Path, told: Verification) -> Pack | None:
    try:
        data = read_file(folder, FILE, MOST_EVIDENCE)
        pack = Pack.model_validate_json(data, strict=True)
        for wrong in parse(data, FILE)[1]:  # a key that stands twice shows a reader another value than it gives
            told.fault(wrong.file, wrong.where, wrong.message)
        return pack
    except Unreadable as why:
        told.fault(FILE, "", _absent(folder) if str(why) == "is missing" else str(why))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        for fault in faults[:FAULTS_SHOWN]:
            told.fault(FILE, ".".join(str(part) for part in fault["loc"])[:200], fault["msg"][:300])
        if len(faults) > FAULTS_SHOWN:
            told.fault(FILE, "", f"has {len(faults) - FAULTS_SHOWN} more faults in its form")
    return None


def _absent(folder: Path) -> str:
    """That there is no evidence, and what makes some: a run that goes on or was killed has yet to end."""
    try:
        state = json.loads(read_file(folder, STATE, MOST_STATE))
    except (Unreadable, ValueError, RecursionError):
        state = None
    status = state.get("status") if isinstance(state, dict) else None
    if status in (None, "initialized", "running"):
        return f"{ABSENT}; where it goes on no more, `zetetic resume RUN` takes it there"
    return f"{ABSENT}, and `zetetic export RUN --format pack` writes it anew"


def _check_text(pack: Pack, folder: Path, told: Verification) -> None:
    """`report.md` is the report of the evidence."""
    try:
        data = read_file(folder, REPORT, MOST_EVIDENCE)
    except Unreadable as why:
        if pack.report.text or str(why) != "is missing":
            told.fault(REPORT, "", str(why))
        return
    if data != pack.report.text.encode("utf-8", "backslashreplace"):
        told.fault(REPORT, "", f"is not the report that stands in {FILE}")


def _note_emptiness(pack: Pack, told: Verification) -> None:
    """A pack without a claim proves nothing; it is no fault only where the run itself says so (CASES 18)."""
    if pack.claims:
        return
    told.empty = True
    answered = [question for question in pack.questions if question.status == "resolved"]
    if pack.run.status == "complete" and not all(question.why_unverified for question in answered):
        told.fault(FILE, "claims", "there is none, and the run is complete without saying why it has none")
