"""One fault of a run folder, as a value."""

from __future__ import annotations

from dataclasses import dataclass

STATE = "loop_state.json"
BUDGET = "budget.json"
RECORDS = "iterations.jsonl"
RECOVERY = "recovery.md"
LEDGER = (STATE, BUDGET, RECORDS, RECOVERY)
"""The four files that every run folder holds (L2)."""
PROOFS = "proof_artifacts"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in one place, and what would be right there (L13).

    `file` is relative to the folder; `where` is a line, a field, or both, and '' where the file as a whole is meant.
    """

    file: str
    where: str
    message: str

    def __str__(self) -> str:
        """One line, whatever the folder held."""
        return " ".join(": ".join(filter(None, (self.file, self.where, self.message))).split())
