"""What a report says before it has numbers: the draft's own sections, and every gap it lists, each once (D44, D45)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from zetetic.state.citations import Section, cited_claims, sections, without_citations
from zetetic.state.research import Research
from zetetic.state.wording import one_line

from .draft import FALLEN, blocks, draft_of, without_fallen
from .gaps import Shortfall, refutation, shortfalls

VERIFICATION = "Verification status"
_NONE = re.compile(r"[\s>*+•-]*(?:none|nothing|no (?:known )?gaps?)\b[^.!;:,]{0,40}[.!]?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Contents:
    """A report's parts, with citations by id."""

    own: tuple[Section, ...]
    """The draft's own sections."""
    told: tuple[str, ...]
    """Their text outside gaps, without what rests on fallen claims."""
    stated_gaps: tuple[str, ...]
    """Their text under gaps."""
    gaps: tuple[Shortfall, ...]
    """What code adds to those."""
    by_code: bool
    """Whether code wrote the draft."""

    def every_gap(self) -> tuple[str, ...]:
        """The gaps that the report lists, one text each: the draft's own, then those that code adds."""
        own = [
            re.sub(r"^\s*(?:[-*+•>]|\d{1,3}[.)])\s+", "", item) for part in self.stated_gaps for item in _items(part)
        ]
        return (*(one_line(without_citations(item)) for item in own), *(gap.text for gap in self.gaps))


def contents_of(research: Research) -> Contents:
    """The parts of a run's report, from the accepted draft or else from the notes."""
    draft, by_code = draft_of(research)
    draft = tamed(draft)
    own = tuple(own_sections(draft))
    told: list[str] = []
    left_out: list[str] = []
    for section in own:
        if not section.gaps:
            text, removed = without_fallen(research, section)
            left_out += removed
            told.append(f"{heading_of(section)}\n\n{text}".strip("\n"))
    stated = [f"{heading_of(section)}\n\n{section.body}".strip("\n") for section in own if section.gaps]
    gaps = (
        *shortfalls(research, draft),
        *_retracted(research, "\n".join(section.body for section in own)),
        *_left_out(research, left_out),
    )
    return Contents(own, _filled(told), tuple(part for part in stated if _items(part)), gaps, by_code)


def has_report(research: Research) -> bool:
    """Whether there is a report to write, complete or not; a draft that is still evaluated is none."""
    report = research.report
    return bool(report.final or (report.draft and (report.accepted or research.status != "running")))


def _items(text: str) -> list[str]:
    """What a text under gaps names, an entry each; that there is nothing is no entry."""
    lines = (block for block in blocks(text) if re.search(r"[^\W_]", block) and not block.lstrip().startswith("#"))
    return [line for line in lines if not _NONE.fullmatch(line)]


def _filled(parts: list[str]) -> tuple[str, ...]:
    """The parts without headings that nothing stands under."""
    kept: list[str] = []
    for place, part in enumerate(parts):
        level = _level(part)
        below = parts[place + 1 :]
        has_parts = bool(level and below and _level(below[0]) > level)
        if "\n" in part or not level or has_parts:
            kept.append(part)
    return tuple(kept) if len(kept) == len(parts) else _filled(kept)


def _level(part: str) -> int:
    found = re.match(r"#+(?= )", part)
    return len(found[0]) if found else 0


def _retracted(research: Research, text: str) -> Iterator[Shortfall]:
    for name in cited_claims(text):
        claim = research.claims.get(name)
        if claim is not None and claim.status == "RETRACTED":
            yield Shortfall(kind="retracted", text=f'Retracted: "{claim.text}"', claim_ids=(name,), by=claim.check)


def _left_out(research: Research, sentences: list[str]) -> Iterator[Shortfall]:
    for sentence in sentences:
        names = tuple(i for i in cited_claims(sentence) if i in research.claims and research.claims[i].status in FALLEN)
        by, source_ids = refutation(research, research.claims[names[0]])
        text = f'Left out, since what it rests on fell: "{without_citations(sentence).strip()}"'
        yield Shortfall(kind="left_out", text=text, claim_ids=names, by=by, source_ids=source_ids)


# The draft's own text.


_LABEL = re.compile(
    r"\*\*(?:VERIFIED|UNVERIFIED|REFUTED|RETRACTED)\*\*:?\s*|\[(?:verified|unverified)\]\s*", re.IGNORECASE
)


def tamed(draft: str) -> str:
    """The draft without HTML of its own and without labels that only code may give."""
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", _LABEL.sub("", draft))


def own_sections(draft: str) -> Iterator[Section]:
    """The draft's sections without its title and without a verification status, which is the code's to write."""
    found = sections(draft)
    titles = [section.title for section in found if section.level == 1]
    has_title = len(titles) == 1 and "summary" not in titles[0].casefold() and found[0].level <= 1
    skipped = 0
    for number, section in enumerate(found):
        if skipped and section.level > skipped:
            continue
        skipped = 0
        if section.title.casefold().startswith(VERIFICATION.casefold()) and not section.gaps:
            skipped = section.level
        elif section.level == 1 and has_title and not section.gaps:
            if section.body.strip():
                yield section._replace(title=_untitled(found), level=2)
        elif section.level == 0 and number == 0:
            yield section._replace(title=_untitled(found), level=2)
        else:
            yield section


def _untitled(found: tuple[Section, ...]) -> str:
    """The heading of text that has none."""
    return "" if any("summary" in section.title.casefold() for section in found) else "Summary"


def heading_of(section: Section) -> str:
    """The heading in the report; the one of the gaps is the code's, what stands below it one level down."""
    if not section.title or (section.gaps and section.level <= 2):
        return ""
    title = one_line(section.title)
    return f"**{title}**" if section.level > 6 else f"{'#' * max(2, section.level)} {title}"
