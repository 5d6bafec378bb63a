"""Anchoring a finding: its quote in the stored page, whole, and the words of the claim in its quote (D31)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .quotes import find_quote, fold_quote, numbers
from .research import Research
from .values import Evidence, Stance
from .wording import content_words, one_line

SHORTEST_QUOTE = 8
"""Characters of a quote below which it is no clause."""
LONGEST_QUOTE = 600
SAME_STEM = 5
"""First letters by which two forms of a word are taken for one."""
_ENDS = frozenset(".!?\u3002")
SHORT_LINE = 60
"""Characters of a line below which it is a heading or the end of a block rather than a wrapped line."""
_LOOKS_CITED = re.compile(r"[\[\u3010]\s*((?:c|d|q|s|ch)_\d+(?:\s*[,;]\s*(?:c|d|q|s|ch)_\d+)*)\s*[\]\u3011]")


def anchor(
    research: Research, pages: Mapping[str, str], source_id: str, quote: str, stance: Stance, independence: str = ""
) -> Evidence | str:
    """The evidence link for a quote, or the sentence that says why there is none (D31)."""
    source = research.sources.get(source_id)
    if source is None:
        known = ", ".join(list(research.sources)[-8:]) or "none yet"
        return f"There is no source {source_id!r}; the sources are {known}."
    if source_id not in pages:
        return f"{source_id} has no stored text to quote from."
    page = pages[source_id]
    span = find_quote(page, quote)
    if span is None:
        return (
            f"The quote {one_line(quote, 80)!r} does not stand in {source_id}: copy a passage from it word for word, "
            "without leaving anything out."
        )
    if len(fold_quote(quote)) < SHORTEST_QUOTE:
        return f"The quote {one_line(quote, 80)!r} is too short to show anything: copy the whole clause or sentence."
    # What stands around a quote may turn it round ("it is false that …"): the whole sentence is kept and judged.
    start, end = enclosing_sentence(page, span.start, span.end)
    return Evidence(
        source_id=source_id,
        stance=stance,
        quote=page[start:end],
        sha256=source.sha256,
        start=start,
        end=end,
        independence=one_line(independence),
    )


def enclosing_sentence(page: str, start: int, end: int) -> tuple[int, int]:
    """The span widened to the ends of its sentence, within its line block; as it was where that gets long."""
    left, right = start, end
    while left > 0 and not _starts_sentence(page, left):
        left -= 1
        if end - left > LONGEST_QUOTE:
            return start, end
    while right < len(page) and not _ends_sentence(page, right) and not _breaks(page, right):
        right += 1
        if right - left > LONGEST_QUOTE:
            return left, end
    while left < start and page[left].isspace():
        left += 1
    while right > end and page[right - 1].isspace():
        right -= 1
    return left, right


def _starts_sentence(page: str, place: int) -> bool:
    before = page[max(0, place - 4) : place].rstrip()[-1:]
    return (page[place - 1].isspace() and before in _ENDS) or _breaks(page, place)


def _ends_sentence(page: str, place: int) -> bool:
    """Whether a sentence ends before this place: the stop in 3.5 or example.org ends none."""
    last = page[place - 1]
    return last in _ENDS and (not last.isascii() or not page[place : place + 1].isalnum())


def _breaks(page: str, place: int) -> bool:
    """Whether a block ends here: an empty line, or the end of a short line that is no wrapped one."""
    if page[place - 2 : place] == "\n\n" or page.startswith("\n\n", place):
        return True
    at = place if page.startswith("\n", place) else place - 1 if page[place - 1] == "\n" else -1
    if at < 0:
        return False
    line = page[page.rfind("\n", 0, at) + 1 : at]
    return len(line) < SHORT_LINE and page[at + 1 : at + 2].isupper()


def unsaid(text: str, quote: str) -> str:
    """Why a quote cannot carry a statement, or '': its figures stand in it, and it speaks of the same thing (D31)."""
    held = set(numbers(quote))
    loose = [n for n in dict.fromkeys(numbers(text)) if n not in held]
    if loose:
        return f"The figure {', '.join(loose)} of {one_line(text, 80)!r} does not stand in its quote."
    said, shown = content_words(text), content_words(quote)
    stems = {w[:SAME_STEM] for w in shown}
    if said and not any(w[:SAME_STEM] in stems for w in said):
        return f"The quote {one_line(quote, 80)!r} says nothing of {one_line(text, 80)!r}."
    return ""


def said_share(text: str, quote: str) -> float:
    """The share of a statement's words that its quote has too, in one form or another (0 to 1)."""
    said, stems = content_words(text), {w[:SAME_STEM] for w in content_words(quote)}
    return sum(w[:SAME_STEM] in stems for w in said) / len(said) if said else 1.0


def without_citations(text: str) -> str:
    """Foreign text whose look-alikes of citations by id cite nothing: brackets around ids become round ones."""
    return _LOOKS_CITED.sub(lambda m: f"({m[1]})", text)
