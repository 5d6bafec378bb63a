"""The report of the simple loop: the model's text, its addresses turned into numbered references, and what code can
check afterwards, which is whether an address that is cited was read (D53, CASES 18 to 20)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from zetetic.state.citations import (
    cited_ids,
    factual_sentences,
    is_bibliography,
    sections,
    strip_bibliography,
    without_citations,
)
from zetetic.state.research import Research
from zetetic.state.wording import counted, one_line

from .contents import VERIFICATION, heading_of, own_sections, tamed
from .gaps import shortfalls
from .references import References, literal
from .report import OFFLINE, also_read, gap_line, source_line
from .summary import summary_lines

Identity = Callable[[str], str]
"""The identity under which an address counts as visited (R6)."""

PLAIN = (
    "This report was written by the simple loop: searches, pages, and one answer. Its statements stand as the model "
    "wrote them; code only looked up whether the addresses it cites were read."
)
NOT_WRITTEN = "No report was written: the model gave none before the run ended."
ADDRESS = r"https?://(?:[^\s<>\"'()\[\]{}|`]|\([^\s()]*\))+(?<![.,;:!?*_])"
_NUMBER = re.compile(r"\[\s*\^?(\d{1,3}(?:\s*[,;]\s*\^?\d{1,3})*)\s*\]")
_ENTRY = re.compile(r"\s*(?:[-*+•]\s+)?(?:\[\^?(\d{1,3})\]:?|\(?(\d{1,3})[.)])\s+(.*)")
_LINK = re.compile(rf"\[([^\[\]]*)\]\(\s*<?({ADDRESS})>?(?:\s+\"[^\"]*\")?\s*\)", re.IGNORECASE)
_AROUND = re.compile(r"[(<]\s*((?:\[(?:s_\d+|unread \d+)\][\s,;]*(?:and\s+)?)+)[)>]")
_AFTER_STOP = re.compile(r"([.!?])[ \t]*((?:\[(?:s_\d+|unread \d+)\][ \t]*)*\[(?:s_\d+|unread \d+)\])(?!\w)")
"""References behind the stop of the sentence they belong to."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A text whose addresses are citations by source id, or marked as unread."""

    text: str
    read: tuple[str, ...] = ()
    """Ids of the sources cited, each once."""
    unread: tuple[str, ...] = ()
    """Addresses cited that the run has not read, each once."""


@dataclass(slots=True)
class _Addresses:
    """Tells addresses apart: those the run has read, and those it has not."""

    research: Research
    identity: Identity
    read: dict[str, None] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.research.sources.values():
            if source.sha256:
                for address in (source.url, source.final_url, source.canonical):
                    self.known.setdefault(address, source.id)

    def mark(self, address: str) -> str:
        """The citation that stands for an address."""
        found = self.known.get(address) or self.known.get(self.identity(address))
        if found is not None:
            self.read.setdefault(found)
            return f"[{found}]"
        number = self.unread.setdefault(address, len(self.unread) + 1)
        return f"[unread {number}]"

    def pattern(self) -> re.Pattern[str]:
        """Any web address, and the names of the local documents that were read."""
        local = sorted((a for a in self.known if a and not re.match(ADDRESS, a, re.IGNORECASE)), key=len, reverse=True)
        named = [rf"(?<![\w/.-]){re.escape(name)}(?![\w/-])" for name in local]
        return re.compile("|".join([ADDRESS, *named]), re.IGNORECASE)


def cited_addresses(research: Research, text: str, identity: Identity) -> Cited:
    """Turns the addresses of a model's text into citations. Numbers that lead to the model's own list of sources
    become the addresses they stand for; the list itself is removed, as all that only code may write (D44)."""
    text = without_citations(text)  # ids of the investigative loop mean nothing here
    addresses = _Addresses(research, identity)
    pattern = addresses.pattern()
    listed = _listed(text, pattern)

    def numbered(found: re.Match[str]) -> str:
        numbers = re.findall(r"\d+", found[1])
        return "".join(f"({listed[n]})" for n in numbers) if all(n in listed for n in numbers) else found[0]

    body = _NUMBER.sub(numbered, text) if listed else text
    body = _LINK.sub(lambda link: f"({link[2]})" if link[1].strip("[^] ").isdigit() else f"{link[1]} ({link[2]})", body)
    body = pattern.sub(lambda found: addresses.mark(found[0]), body)
    body = _AROUND.sub(lambda found: re.sub(r"[,;\s](?!\d)|\band\b", "", found[1]), body)
    body = _AFTER_STOP.sub(r" \2\1", body)
    return Cited(strip_bibliography(body), tuple(addresses.read), tuple(addresses.unread))


def _listed(text: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """The addresses of the model's own list of sources, by the numbers it gives them."""
    found: dict[str, str] = {}
    for section in sections(text):
        for line in section.body.splitlines() if is_bibliography(section.title) else ():
            entry = _ENTRY.match(line)
            address = pattern.search(entry[3]) if entry else None
            if entry and address:
                found.setdefault(entry[1] or entry[2], address[0])
    return found


def stated_gaps(text: str) -> tuple[str, ...]:
    """What a model's text names under its gaps, a line each."""
    found: list[str] = []
    for section in sections(strip_bibliography(text)):
        if section.gaps:
            lines = (re.sub(r"^\s*(?:[-*+•>]|\d{1,3}[.)])\s+", "", line) for line in section.body.splitlines())
            found += [one_line(without_citations(line)) for line in lines if re.search(r"[^\W_]", line)]
    return tuple(dict.fromkeys(found))


def simple_report(research: Research, text: str, identity: Identity) -> str:
    """The Markdown of a run of the simple loop, from what the model wrote; '' where it wrote nothing."""
    cited = cited_addresses(research, tamed(text), identity)
    references = References(research)
    own = tuple(own_sections(cited.text))
    told = [f"{heading_of(section)}\n\n{section.body}".strip("\n") for section in own if not section.gaps]
    gap_texts = [f"{heading_of(section)}\n\n{section.body}".strip("\n") for section in own if section.gaps]
    body = [references.resolve(part) for part in told]
    if not body:
        body.append(f"## Summary\n\n{NOT_WRITTEN}")
    gaps = [references.resolve(part) for part in gap_texts]
    parts = [
        f"# {literal(research.objective)}",
        "\n".join(f"- {literal(line)}" for line in summary_lines(research)),
        *([f"> {OFFLINE}"] if research.model.startswith("offline") else []),
        f"> {PLAIN}",
        *body,
        f"## {VERIFICATION}",
        coverage(cited),
        "## Gaps and assumptions",
        *gaps,
        "\n".join(gap_line(gap, references) for gap in shortfalls(research, cited.text)),
        "## Sources",
        *_sources(research, references, cited),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def coverage(cited: Cited) -> str:
    """How much of the text rests on pages that were read, and how many of the addresses it cites were (CASES 24)."""
    sentences = factual_sentences(cited.text)
    read = sum(any(name.startswith("s_") for name in cited_ids(s)) for s in sentences)
    unread = sum("[unread " in s and not cited_ids(s) for s in sentences)
    total = len(cited.read) + len(cited.unread)
    stated, addresses = counted(len(sentences), "factual sentence"), counted(total, "address", "addresses")
    return (
        f"Coverage: of {stated} {read} cite a page that was read, {unread} only an address "
        f"that was not, {len(sentences) - read - unread} cite none; none was verified. Of {addresses} cited "
        f"{len(cited.read)} were read by this run and {len(cited.unread)} were not."
    )


def _sources(research: Research, references: References, cited: Cited) -> list[str]:
    numbered = references.sources()
    found = [
        "\n".join(f"{n}. {source_line(s, research.sources)}" for n, s in enumerate(numbered, 1))
        or "No source is cited."
    ]
    if cited.unread:
        found.append("### Cited, but not read by this run")
        found.append("\n".join(f"- unread {n}: {literal(address)}" for n, address in enumerate(cited.unread, 1)))
    return [*found, *also_read(research, numbered)]
