"""Validating a run folder from the folder alone: no database, no network, no page, nothing executed (L13).

What is wrong is said all at once, a fault a line: the file, the line or field, what is wrong and what would be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from .counts import count_faults
from .fault import BUDGET, LEDGER, RECOVERY, STATE, Fault
from .held import Held, records_of, shaped
from .order import order_faults
from .proofs import BUILT_IN, cited_faults, read_proofs
from .reading import read_file, read_lines, read_value
from .recovery import read_recovery, recovery_faults
from .repairing import repair_torn_line
from .shapes import BUDGET_SHAPE, STATE_SHAPE
from .stopping import stop_faults

__all__ = ["Fault", "repair_torn_line", "validate_folder"]


Verify = Callable[[Path], Iterable[tuple[str, str, str]]]
"""The built-in verifier: for a folder, the file, the place and the words of each fault of its evidence."""


def validate_folder(folder: Path, verify: Verify | None = None) -> tuple[Fault, ...]:
    """Every fault of a run folder, by file and in the order of their lines; empty for one that is valid.

    With `verify`, a proof that the built-in verifier checked is checked by it again (L5). Blocks; call it in a thread.
    Nothing that the folder holds makes it raise.
    """
    faults: list[Fault] = []
    values = {}
    for file, shape in ((STATE, STATE_SHAPE), (BUDGET, BUDGET_SHAPE)):
        value, wrong = read_value(folder, file)
        faults += wrong
        values[file] = None if value is None and wrong else shaped(value, shape, file, faults)
    lines, wrong = read_lines(folder)
    faults += wrong
    records = None if lines is None else records_of(lines, faults)
    held = Held(values[STATE], values[BUDGET], records)
    if held.told("plateau_rule") is not None and held.plateau() is None:
        what = "names no number; say how many records in a row without a change end the run"
        faults.append(Fault(STATE, "plateau_rule", what))
    proven, wrong = read_proofs(folder)
    faults += wrong
    faults += [*cited_faults(records or (), folder), *order_faults(held), *count_faults(held)]
    again = [Fault(*found) for found in verify(folder)] if verify is not None and BUILT_IN in proven.values() else []
    if any(fault.file not in LEDGER for fault in again):
        proven = {name: checker for name, checker in proven.items() if checker != BUILT_IN}
    faults += stop_faults(held, frozenset(proven))
    data = read_file(folder, RECOVERY)
    if isinstance(data, Fault):
        faults.append(data)
    else:
        bullets, wrong = read_recovery(data)
        faults += [*wrong, *recovery_faults(held, bullets)]
    told = {fault.file for fault in faults} & {*LEDGER}  # of these the verifier would say again what is said
    faults += [fault for fault in again if fault.file not in told]
    return tuple(dict.fromkeys(sorted(faults, key=_place)))


def _place(fault: Fault) -> tuple[int, str, int]:
    """Where a fault is listed: the ledger's files first, and lines by their number."""
    order = LEDGER.index(fault.file) if fault.file in LEDGER else len(LEDGER)
    number = fault.where.removeprefix("line ").split(",", 1)[0]
    return order, fault.file, int(number) if fault.where.startswith("line ") and number.isdigit() else 0
