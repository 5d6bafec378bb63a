"""One registry of numbered references for one report (D44): ids go in, numbers in order of first citation come out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from zetetic.state.citations import CITATION, ids_in
from zetetic.state.research import Research
from zetetic.state.values import Claim, ClaimStatus, Source
from zetetic.state.wording import one_line

MARKS: dict[ClaimStatus, str] = {
    "VERIFIED": "",
    "UNVERIFIED": "unverified",
    "REFUTED": "refuted",
    "RETRACTED": "retracted",
}


def literal(text: str) -> str:
    """Foreign text on one line, with the characters escaped that Markdown or a citation would be made of."""
    shown = re.sub("[\u202a-\u202e\u2066-\u2069]", "", one_line(text))  # nothing turns the line round
    return re.sub(r"([\\`*\[\]<【】])", r"\\\1", shown)


class References:
    """Numbers of the sources cited so far. Only sources and claims of the research can be numbered (D44)."""

    def __init__(self, research: Research) -> None:
        self._research = research
        self._numbers: dict[str, int] = {}
        self._claims: dict[str, None] = {}

    def sources(self) -> tuple[Source, ...]:
        """The cited sources; the first is number 1."""
        return tuple(self._research.sources[name] for name in self._numbers)

    def claims(self) -> tuple[Claim, ...]:
        """The claims cited so far, in order of first citation."""
        return tuple(self._research.claims[name] for name in self._claims)

    def resolve(self, text: str) -> str:
        """The text with its citations by id turned into references."""
        return CITATION.sub(lambda found: self.cite(ids_in(found)), text)

    def cite(self, ids: Iterable[str]) -> str:
        """`[1][2]` for verified claims and for sources, `[3, unverified]` for others, `(q_003)` for questions."""
        numbers: dict[str, dict[int, None]] = {"": {}}
        others: list[str] = []
        for name in ids:
            claim = self._research.claims.get(name)
            if claim is not None:
                self._claims.setdefault(name)
                found = numbers.setdefault(MARKS[claim.status], {})
                for source_id in _supporting(claim):
                    self._number(source_id, found)
            elif name in self._research.questions or name in self._research.challenges:
                others.append(f"({name})")
            elif not self._number(name, numbers[""]):
                others.append("[no source]")
        plain = "".join(f"[{number}]" for number in numbers.pop(""))
        marked = "".join(f"[{', '.join([*map(str, found), mark])}]" for mark, found in numbers.items())
        return plain + marked + "".join(dict.fromkeys(others))

    def _number(self, source_id: str, found: dict[int, None]) -> bool:
        if source_id not in self._research.sources:
            return False
        found.setdefault(self._numbers.setdefault(source_id, len(self._numbers) + 1))
        return True


def _supporting(claim: Claim) -> tuple[str, ...]:
    return tuple(link.source_id for link in claim.links("supports"))
