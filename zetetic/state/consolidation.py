"""When the notes have outgrown their size, and which records say nearly the same (D29)."""

from __future__ import annotations

from .claims import carries_answer, find_contradiction
from .prompt_notes import notes_tokens
from .research import Research
from .values import Claim
from .wording import alike, differ_in_kind


def consolidation_due(research: Research) -> int:
    """The size of the notes in tokens, where a consolidation turn is due; 0 where it is not.

    One turn a `notes_max_tokens` of growth: what could not be merged is not looked at again at once.
    """
    size, limit = notes_tokens(research), research.thresholds.notes_max_tokens
    return size if size > limit and size >= research.consolidated + limit else 0


def near_pairs(research: Research, most: int) -> tuple[tuple[Claim, Claim], ...]:
    """Living claims that nearly repeat one another, the one to keep first: it carries an answer, or is the older one.

    Claims that differ in a number or a negation, or contradict each other, are never a pair.
    """
    limit = research.thresholds.near_duplicate_question
    living = [c for c in research.claims.values() if c.status in ("VERIFIED", "UNVERIFIED") and c.kind == "claim"]
    answering = {c.id for c in living if carries_answer(research, c.id)}
    found: list[tuple[Claim, Claim]] = []
    merged: set[str] = set()
    for place, first in enumerate(living):
        for second in living[place + 1 :]:
            if len(found) >= most:
                return tuple(found)
            if first.id in merged:
                break
            if second.id in merged or alike(first.text, second.text) < limit:
                continue
            if differ_in_kind(first.text, second.text) or find_contradiction(research, first.id, second.id):
                continue
            keep, drop = (second, first) if second.id in answering and first.id not in answering else (first, second)
            if drop.id not in answering and drop.status == "UNVERIFIED":
                found.append((keep, drop))
                merged.add(drop.id)
    return tuple(found)
