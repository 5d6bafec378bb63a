"""What a verification found: the faults, and what was looked at, so that no success is empty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Finding(NamedTuple):
    """One fault: the file, the record in it ('' for the file as a whole), and what does not hold."""

    file: str
    id: str
    says: str

    def line(self) -> str:
        """The fault on one line."""
        return ": ".join(part for part in (self.file, self.id, " ".join(self.says.split())) if part)


class Identities(NamedTuple):
    """How a page's identities are computed from its address and text (D33); the sources' own functions."""

    sketch: Callable[[str], tuple[int, ...]]
    """Of a text, for near-duplicates."""
    site: Callable[[str], str]
    """The site that an address belongs to, '' where the address does not say."""
    work: Callable[[str, str, str | None], str]
    """The work behind an address, a text and a declared link."""


@dataclass(slots=True)
class Verification:
    """A folder as it was verified."""

    run_id: str = ""
    status: str = ""
    checked: dict[str, int] = field(default_factory=dict)
    """How many of what were looked at, by their plural."""
    notes: list[str] = field(default_factory=list)
    """What a reader is to know of what was checked."""
    unchecked: list[str] = field(default_factory=list)
    """What was to be checked and could not be, with what to do."""
    findings: list[Finding] = field(default_factory=list)
    empty: bool = False
    """Whether there is no claim to verify."""

    @property
    def passed(self) -> bool:
        """Whether everything was checked and holds."""
        return not (self.findings or self.unchecked)

    def fault(self, file: str, name: str, says: str) -> None:
        """Adds a fault."""
        self.findings.append(Finding(file, name, says))

    def counts(self, what: str, number: int) -> None:
        """Adds to what was looked at."""
        self.checked[what] = self.checked.get(what, 0) + number
