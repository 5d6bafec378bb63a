"""The run's notes: a projection of the research, one grammar with one renderer and one parser (D26).

The grammar, one line a record:

    # Notes: <objective>
    ## Verified
    - [c_007] VERIFIED  <text>  src: s_3, s_5
    ## Unverified
    - [c_009] UNVERIFIED  <text>  src: s_4  | check: <what would verify it>
    ## Contradictions
    - c_007 vs c_011 -> q_044
    - [c_011] REFUTED  <text>  src: s_6
    ## Datapoints
    - [d_002] UNVERIFIED  <value> | <unit> | <context> | s_1
    ## Sources
    - [s_3] <url> "<title>" (<domain>) <note>
    ## Assumptions & gaps
    - q_031 unresolvable: <assumption>
    ## Scratch
    <free text>

Inside a text a backslash stands before `\\`, `|`, quotes, brackets and the colon of `src:`; line breaks and control
characters are written as `\\n`, `\\r`, `\\t` or `\\uXXXX`. An empty list of sources is `-`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import Field, ValidationError

from .memo import ByIdentity
from .research import Research
from .values import Claim, ClaimStatus, Frozen, Source

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class NotesError(ValueError):
    """A text that is not in the grammar; the message names the line."""


class ClaimLine(Frozen):
    """A claim with its supporting sources; `check` is what would verify it, or why it fell."""

    id: Id
    status: ClaimStatus
    text: str
    sources: tuple[Id, ...] = ()
    check: str = ""


class ContradictionLine(Frozen):
    """Two claims that cannot both hold, and the question about it (D34)."""

    claim_id: Id
    other_id: Id
    question_id: Id | None = None


class DatapointLine(Frozen):
    """A number with its unit and context; it stays in its section whatever its status."""

    id: Id
    status: ClaimStatus
    value: str
    unit: str = ""
    context: str = ""
    sources: tuple[Id, ...] = ()


class SourceLine(Frozen):
    """A page that was read; the note says its date, and whether anything in it mattered."""

    id: Id
    url: str
    title: str = ""
    domain: str = ""
    note: str = ""


class GapLine(Frozen):
    """Something not found out: `unresolvable` with its assumption, an open question, a free gap, a breaker."""

    question_id: Id | None = None
    kind: Annotated[str, Field(pattern=r"^[a-z_]+$")] = "gap"
    text: str


class Notes(Frozen):
    """The notes' sections, in their fixed order (D26)."""

    objective: str
    verified: tuple[ClaimLine, ...] = ()
    unverified: tuple[ClaimLine, ...] = ()
    contradictions: tuple[ContradictionLine | ClaimLine, ...] = ()
    datapoints: tuple[DatapointLine, ...] = ()
    sources: tuple[SourceLine, ...] = ()
    gaps: tuple[GapLine, ...] = ()
    scratch: str = ""


# The projection.


def notes_of(research: Research) -> Notes:
    """The notes of a research."""
    claims = [c for c in research.claims.values() if c.kind == "claim"]
    fallen = (claim_line(c) for c in claims if c.status in ("REFUTED", "RETRACTED"))
    return Notes(
        objective=research.objective,
        verified=tuple(claim_line(c) for c in claims if c.status == "VERIFIED"),
        unverified=tuple(claim_line(c) for c in claims if c.status == "UNVERIFIED"),
        contradictions=(*pair_lines(research), *fallen),
        datapoints=tuple(datapoint_line(c) for c in research.claims.values() if c.kind == "datapoint"),
        sources=tuple(_source_line(s) for s in research.sources.values()),
        gaps=tuple(gap_lines(research)),
        scratch=scratch_text(research),
    )


def cut_short(research: Research) -> str:
    """Why exploration ended before its gate, such as `breaker:cost` or `stalled`; '' when it did not (D46, D48)."""
    reason = research.stop_reason
    return "" if reason in ("", "finalized", "frontier_exhausted", "no_change") else reason


def _supporting(claim: Claim) -> tuple[str, ...]:
    return tuple(dict.fromkeys(link.source_id for link in claim.links("supports")))


def _claim_line(claim: Claim) -> ClaimLine:
    check = "" if claim.status == "VERIFIED" else claim.check
    return ClaimLine(id=claim.id, status=claim.status, text=claim.text, sources=_supporting(claim), check=check)


def _datapoint_line(claim: Claim) -> DatapointLine:
    return DatapointLine(
        id=claim.id,
        status=claim.status,
        value=claim.value,
        unit=claim.unit,
        context=claim.context or claim.text,
        sources=_supporting(claim),
    )


def _line_of_source(source: Source) -> SourceLine:
    published = f"published {source.published}" if source.published else ""
    note = "; ".join(part for part in (published, source.note) if part)
    return SourceLine(id=source.id, url=source.url, title=source.title, domain=source.domain, note=note)


def _written_claim(claim: Claim) -> ClaimLine | DatapointLine:
    return _datapoint_line(claim) if claim.kind == "datapoint" else _claim_line(claim)


claim_line = ByIdentity(_claim_line)
datapoint_line = ByIdentity(_datapoint_line)
_source_line = ByIdentity(_line_of_source)


def record_line(record: Claim | Source) -> ClaimLine | DatapointLine | SourceLine:
    """A record's line; for whoever keeps what is made of it, and not the line."""
    return _line_of_source(record) if isinstance(record, Source) else _written_claim(record)


def pair_lines(research: Research) -> list[ContradictionLine]:
    """The contradictions."""
    return [
        ContradictionLine(claim_id=p.claim_id, other_id=p.other_id, question_id=p.question_id or None)
        for p in research.contradictions
    ]


def gap_lines(research: Research) -> list[GapLine]:
    """The gaps. Unresolvable questions and a breaker are some (D21, D46)."""
    found = [
        GapLine(question_id=q.id, kind="unresolvable", text=q.answer or q.partial)
        for q in research.questions.values()
        if q.status == "unresolvable"
    ]
    found += [GapLine(question_id=g.question_id or None, text=g.text) for g in research.gaps]
    reason = cut_short(research)
    if reason and research.phase == "synthesis":
        detail = f": {research.stop_detail}" if research.stop_detail else ""
        found.append(GapLine(kind="breaker", text=f"exploration was cut short by {reason}{detail}"))
        found += [GapLine(question_id=q.id, kind=q.status, text=q.question) for q in research.open_questions()]
    return found


def scratch_text(research: Research) -> str:
    """Scratch, ending with the conclusion, which has no section of its own."""
    stated = research.conclusion
    if not stated.text or stated.text in research.scratch:
        return research.scratch
    line = f"Conclusion (version {stated.version}): {stated.text}"
    return f"{research.scratch}\n{line}" if research.scratch else line


# The renderer.

_BREAKS = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_IN_LINE = re.compile(rf'[\\|"\[\]\n{_BREAKS}]|src:')
_IN_SCRATCH = re.compile(rf"[\\{_BREAKS}]|^(?=## )", re.MULTILINE)
_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(text: str, pattern: re.Pattern[str] = _IN_LINE) -> str:
    def written(match: re.Match[str]) -> str:
        found = match[0]
        if found == "src:":
            return r"src\:"
        if found in _LETTERS:
            return _LETTERS[found]
        return f"\\{found}" if found in '\\|"[]' else f"\\u{ord(found):04x}"

    return pattern.sub(written, text)


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(ids) or "-"


def _render_claim(line: ClaimLine) -> str:
    check = f"  | check: {_escape(line.check)}" if line.check else ""
    return f"- [{line.id}] {line.status}  {_escape(line.text)}  src: {_ids(line.sources)}{check}"


def render_contradiction(line: ContradictionLine | ClaimLine) -> str:
    if isinstance(line, ClaimLine):
        return _claim_text(line)
    return f"- {line.claim_id} vs {line.other_id}" + (f" -> {line.question_id}" if line.question_id else "")


def _render_datapoint(line: DatapointLine) -> str:
    cells = (_escape(line.value), _escape(line.unit), _escape(line.context), _ids(line.sources))
    return f"- [{line.id}] {line.status}  {' | '.join(cells)}"


def _render_source(line: SourceLine) -> str:
    domain = _escape(line.domain).replace(")", r"\)")
    note = f" {_escape(line.note)}" if line.note else ""
    return f'- [{line.id}] {_escape(line.url)} "{_escape(line.title)}" ({domain}){note}'


def _render_gap(line: GapLine) -> str:
    return f"- {line.question_id + ' ' if line.question_id else ''}{line.kind}: {_escape(line.text)}"


_claim_text = ByIdentity(_render_claim)
_datapoint_text = ByIdentity(_render_datapoint)
_source_text = ByIdentity(_render_source)


def render_notes(notes: Notes) -> str:
    """The whole file; `parse_notes` is its inverse for any text (D26)."""
    lines = [f"# Notes: {_escape(notes.objective)}"]
    lines += ["## Verified", *map(_claim_text, notes.verified)]
    lines += ["## Unverified", *map(_claim_text, notes.unverified)]
    lines += ["## Contradictions", *map(render_contradiction, notes.contradictions)]
    lines += ["## Datapoints", *map(_datapoint_text, notes.datapoints)]
    lines += ["## Sources", *map(_source_text, notes.sources)]
    lines += ["## Assumptions & gaps", *map(_render_gap, notes.gaps)]
    lines += ["## Scratch", *([_escape(notes.scratch, _IN_SCRATCH)] if notes.scratch else [])]
    return "\n".join(lines) + "\n"


# The parser.

_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_RECORD = re.compile(rf"- \[({_ID})\] (UNVERIFIED|VERIFIED|REFUTED|RETRACTED)  (.*)\Z")
_PAIR = re.compile(rf"- ({_ID}) vs ({_ID})(?: -> ({_ID}))?\Z")
_GAP = re.compile(rf"- (?:({_ID}) )?([a-z_]+): (.*)\Z")
_QUOTED = r'((?:[^"\\]|\\.)*)'
_SOURCE = re.compile(rf'- \[({_ID})\] {_QUOTED} "{_QUOTED}" \(((?:[^)\\]|\\.)*)\)(?: (.*))?\Z')
_WRITTEN = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_READ = {"n": "\n", "r": "\r", "t": "\t"}


def _unescape(text: str) -> str:
    return _WRITTEN.sub(lambda m: chr(int(m[1], 16)) if m[1] else _READ.get(m[2], m[2]), text)


def _parse_ids(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(", "))


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    match = pattern.match(line)
    if match is None:
        raise NotesError(f"not a record of this section: {line!r}")
    return match


def _parse_claim(line: str) -> ClaimLine:
    head = _matched(_RECORD, line)
    text, found, tail = head[3].partition("  src: ")
    if not found:
        raise NotesError(f"a claim without '  src: ': {line!r}")
    sources, _, check = tail.partition("  | check: ")
    fields = {"text": _unescape(text), "sources": _parse_ids(sources), "check": _unescape(check)}
    return ClaimLine.model_validate({"id": head[1], "status": head[2], **fields})


def _parse_contradiction(line: str) -> ContradictionLine | ClaimLine:
    if line.startswith("- ["):
        return _parse_claim(line)
    pair = _matched(_PAIR, line)
    return ContradictionLine(claim_id=pair[1], other_id=pair[2], question_id=pair[3])


def _parse_datapoint(line: str) -> DatapointLine:
    head = _matched(_RECORD, line)
    cells = head[3].split(" | ")
    if len(cells) != 4:
        raise NotesError(f"a datapoint without its four cells: {line!r}")
    value, unit, context = map(_unescape, cells[:3])
    fields = {"value": value, "unit": unit, "context": context, "sources": _parse_ids(cells[3])}
    return DatapointLine.model_validate({"id": head[1], "status": head[2], **fields})


def _parse_source(line: str) -> SourceLine:
    found = _matched(_SOURCE, line)
    url, title, domain, note = (_unescape(text or "") for text in found.groups()[1:])
    return SourceLine(id=found[1], url=url, title=title, domain=domain, note=note)


def _parse_gap(line: str) -> GapLine:
    found = _matched(_GAP, line)
    return GapLine(question_id=found[1], kind=found[2], text=_unescape(found[3]))


_SECTIONS: dict[str, tuple[str, Callable[[str], Frozen]]] = {
    "Verified": ("verified", _parse_claim),
    "Unverified": ("unverified", _parse_claim),
    "Contradictions": ("contradictions", _parse_contradiction),
    "Datapoints": ("datapoints", _parse_datapoint),
    "Sources": ("sources", _parse_source),
    "Assumptions & gaps": ("gaps", _parse_gap),
}


def parse_notes(text: str) -> Notes:
    """The notes in a file. Raises NotesError for a text that is not in the grammar, or lacks a section (D26)."""
    head, found, scratch = text.partition("\n## Scratch\n")
    title, *lines = head.split("\n")
    if not found or not title.startswith("# Notes: "):
        raise NotesError("the notes begin with '# Notes: ' and end with the section Scratch")
    sections: dict[str, list[Frozen]] = {}
    names = iter(_SECTIONS)
    parse: Callable[[str], Frozen] = _parse_claim
    for line in lines:
        if line.startswith("## "):
            if line[3:] != (expected := next(names, "Scratch")):
                raise NotesError(f"section {line[3:]!r} stands where {expected!r} belongs")
            field, parse = _SECTIONS[expected]
            sections[field] = []
        elif line.strip():
            if not sections:
                raise NotesError(f"a line before the first section: {line!r}")
            try:
                sections[field].append(parse(line))
            except ValidationError as wrong:
                raise NotesError(f"not a record of this section: {line!r}") from wrong
    if (missing := next(names, None)) is not None:
        raise NotesError(f"section {missing!r} is missing")
    objective = _unescape(title.removeprefix("# Notes: "))
    return Notes.model_validate({**sections, "objective": objective, "scratch": _unescape(scratch.removesuffix("\n"))})
