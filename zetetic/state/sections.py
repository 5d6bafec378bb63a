"""Writing the report in sections, where its material is more than one prompt should hold (D45, CASES 14)."""

from __future__ import annotations

from collections.abc import Sequence

from . import citations
from .prompt_notes import CHARACTERS_PER_TOKEN, claim_record, notes_tokens
from .research import Research
from .values import ROOT, Claim

TURNS_BESIDE = 3
"""Turns of a report's attempt that no section takes: the summary, and two for what is refused."""


def plan_sections(research: Research, turns: int) -> tuple[tuple[str, ...], ...]:
    """The questions of each section in order; nothing where one prompt holds the whole material.

    A section's material takes at most half of `notes_max_tokens`, unless that made more sections than turns allow.
    """
    limit = research.thresholds.notes_max_tokens
    if notes_tokens(research) <= limit:
        return ()
    asked = [q for q in research.questions.values() if q.id != ROOT and q.status != "pruned"]
    sizes = {q.id: _size(research, q.id) for q in asked if q.status == "resolved" or told_of(research, q.id)}
    most = min(turns, research.thresholds.attempt_turns) - TURNS_BESIDE
    if most < 1 or len(sizes) <= 1:
        return ()
    room = max(limit // 2, -(-sum(sizes.values()) // most))
    groups: list[list[str]] = []
    left = 0
    for question_id, size in sizes.items():
        if not groups or (size > left and len(groups) < most):
            groups.append([])
            left = room
        groups[-1].append(question_id)
        left -= size
    return tuple(map(tuple, groups)) if len(groups) > 1 else ()


def told_of(research: Research, question_id: str) -> tuple[Claim, ...]:
    """The claims that may stand in a section on a question, the verified ones first."""
    standing = [c for c in research.claims_of(question_id) if c.status in ("VERIFIED", "UNVERIFIED")]
    return tuple(sorted(standing, key=lambda claim: claim.status != "VERIFIED"))


def _size(research: Research, question_id: str) -> int:
    lines = [research.questions[question_id].answer, *map(claim_record, told_of(research, question_id))]
    return -(-sum(map(len, lines)) // CHARACTERS_PER_TOKEN)


def next_section(research: Research) -> tuple[str, ...]:
    """The questions of the section that is due; empty where none is, and the rest of the report comes next."""
    report = research.report
    return report.plan[len(report.parts)] if len(report.parts) < len(report.plan) else ()


def composed(report: str, parts: Sequence[str]) -> str:
    """The report with its sections as details before its gaps; as it is where there are none."""
    if not parts:
        return report
    details = "\n\n".join(["## Details", *(_lowered(part) for part in parts)])
    told = citations.sections(report)
    before = "\n\n".join(map(_written, (s for s in told if not s.gaps)))
    gaps = "\n\n".join(map(_written, (s for s in told if s.gaps)))
    return "\n\n".join(text for text in (before.strip(), details, gaps.strip()) if text) + "\n"


def _written(section: citations.Section) -> str:
    head = f"{'#' * min(section.level, 6)} {section.title}" if section.level else ""
    return "\n\n".join(text for text in (head, section.body.strip()) if text)


def _lowered(part: str) -> str:
    """A section with its headings at the third level, so that it stands within the details."""
    lines = []
    for section in citations.sections(part.strip()):
        if section.level and section.title.strip().casefold() not in ("details", "section"):
            lines.append(f"### {section.title}")
        lines.append(section.body.strip())
    return "\n\n".join(line for line in lines if line)
