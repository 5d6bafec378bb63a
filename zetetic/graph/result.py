"""What a research gives back to Python, and how it shows itself in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from zetetic.state.research import Research
from zetetic.state.values import RunStatus


@dataclass(frozen=True)
class ResearchResult:
    """The outcome of a run. `status` is complete, reported, blocked, stopped or failed (D54)."""

    run_id: str
    status: RunStatus
    stop_reason: str
    report: str
    claims: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    loop: dict[str, Any] = field(default_factory=dict)
    research: Research = field(default_factory=Research, repr=False)

    def frontier(self) -> str:
        """The questions as an indented tree with their statuses."""
        return "\n".join(f"{'  ' * q.depth}[{q.id}] {q.status}: {q.question}" for q in _tree(self.research))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON: everything but the research itself."""
        names = ("run_id", "status", "stop_reason", "report", "claims", "sources", "gaps", "usage", "loop")
        return {name: getattr(self, name) for name in names}

    def _repr_markdown_(self) -> str:
        return self.report

    def _repr_html_(self) -> str:
        """Status, report, frontier tree and claim table. Everything in it is escaped."""
        e = html.escape
        claims = "".join(
            f"<tr><td>{e(c.id)}</td><td>{e(c.status)}</td><td>{e(c.text)}</td>"
            f"<td>{e(', '.join(link.source_id for link in c.evidence))}</td></tr>"
            for c in self.research.claims.values()
        )
        frontier = "".join(
            f'<div style="margin-left:{q.depth * 1.5}em"><b>{e(q.id)}</b> <i>{e(q.status)}</i> {e(q.question)}'
            + (f"<br><small>{e(q.answer)}</small>" if q.answer else "")
            + "</div>"
            for q in _tree(self.research)
        )
        return (
            f"<div><p><b>{e(self.status)}</b> ({e(self.stop_reason)}), run {e(self.run_id)}</p>"
            f"<details open><summary>Report</summary><pre style='white-space:pre-wrap'>{e(self.report)}</pre></details>"
            f"<details><summary>Frontier</summary>{frontier}</details>"
            f"<details><summary>Claims</summary><table><tr><th>id</th><th>status</th><th>claim</th><th>sources</th></tr>"
            f"{claims}</table></details></div>"
        )


def _tree(research: Research, parent: str | None = None) -> list[Any]:
    found = []
    for question in research.questions.values():
        if question.parent_id == parent:
            found.append(question)
            found += _tree(research, question.id)
    return found
