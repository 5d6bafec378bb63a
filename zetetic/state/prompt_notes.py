"""The notes as the prompt shows them: one line a record in order of creation, shortened where they are too long (D29,
D55)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from .memo import ByIdentity
from .notes import (
    ClaimLine,
    ContradictionLine,
    DatapointLine,
    Notes,
    SourceLine,
    gap_lines,
    pair_lines,
    record_line,
    render_contradiction,
    scratch_text,
)
from .research import Research
from .values import Claim, Source

CHARACTERS_PER_TOKEN = 4
"""How many characters count as one token where no tokenizer is at hand."""


class _Entry(NamedTuple):
    """One line of the prompt: what stays, what may be shortened, and the sources behind it."""

    kind: Literal["source", "claim", "pair", "gap"]
    id: str
    head: str
    text: str = ""
    sources: tuple[str, ...] = ()


_CUTS = ((400, 12), (200, 8), (100, 5), (60, 3), (30, 2))
"""Steps of shortening: characters of a text, sources of a claim."""


def prompt_notes(notes: Notes | Research, max_tokens: int) -> str:
    """The notes in the prompt: one line a record in order of creation, so that a new record is a new last line (D55).

    Over `max_tokens` the oldest Scratch goes first, then texts are shortened, then the oldest records become ranges of
    ids; what was left out is counted as `(+N more)`, and no record goes unnamed (D29).
    """
    entries = _ordered(notes) if isinstance(notes, Research) else _entries(notes)
    scratch = (scratch_text(notes) if isinstance(notes, Research) else notes.scratch).strip()
    limit = max_tokens * CHARACTERS_PER_TOKEN
    bare = f"Scratch (+{len(scratch.split(chr(10)))} more lines)" if scratch else ""
    room = limit - len(bare) - 1  # and the line break before it
    records, fits = "", False
    if sum(len(entry.head) + 1 for entry in entries) - 1 <= room:  # else no shortening of texts would do
        for cut, sources in ((None, None), *_CUTS):
            records = "\n".join(_line(entry, cut, sources) for entry in entries)
            if fits := len(records) <= room:
                break
    if not fits:
        records = _newest(entries, room)
    return "\n".join(part for part in (records, _newest_scratch(scratch, limit - len(records) - 1) or bare) if part)


def record_lines(research: Research, ids: Collection[str]) -> list[str]:
    """Lines of the prompt's notes in their order and unshortened: of these claims and sources, of all contradictions
    and gaps, and of Scratch."""
    kept = {
        "claims": {name: claim for name, claim in research.claims.items() if name in ids},
        "sources": {name: source for name, source in research.sources.items() if name in ids},
    }
    lines = map(_line, _ordered(research.model_copy(update=kept)))
    return [*lines, *filter(None, scratch_text(research).strip().split("\n"))]


def changed_records(base: Research, now: Research) -> set[str]:
    """Claims and sources that are not as they were."""
    claims = {name for name, claim in now.claims.items() if base.claims.get(name) != claim}
    return claims | {name for name, source in now.sources.items() if base.sources.get(name) != source}


def claim_record(claim: Claim) -> str:
    """A claim's line among them."""
    return _line(_entry_of_record(claim))


def notes_tokens(notes: Notes | Research) -> int:
    """The size of the unshortened view, in tokens; over `notes_max_tokens` a consolidation turn is due (D29)."""
    scratch = scratch_text(notes) if isinstance(notes, Research) else notes.scratch
    return -(-(sum(len(_line(entry)) + 1 for entry in _entries(notes)) + len(scratch)) // CHARACTERS_PER_TOKEN)


def _line(entry: _Entry, cut: int | None = None, most: int | None = None) -> str:
    known = _lines_of(entry)
    line = known.get(cut)
    if line is None:
        line = known[cut] = _written(entry, cut, most)
    return line


def _no_lines(_: _Entry) -> dict[int | None, str]:
    return {}


_lines_of = ByIdentity(_no_lines)
"""Lines of an entry by the characters that its text was cut to."""


def _written(entry: _Entry, cut: int | None, most: int | None) -> str:
    text = " ".join(entry.text.split())
    if cut is not None and len(text) > cut:
        text = text[:cut].rstrip() + "…"
    shown = entry.sources[:most]
    more = f" (+{len(entry.sources) - len(shown)} more)" if len(shown) < len(entry.sources) else ""
    sources = f"  src: {', '.join(shown)}{more}" if entry.sources else ""
    return f"{entry.head} {text}".rstrip() + sources


def _entries(notes: Notes | Research) -> list[_Entry]:
    """Lines by kind; a source stands before the claims that cite it."""
    if isinstance(notes, Research):
        claims = sorted(notes.claims.values(), key=lambda claim: claim.kind == "datapoint")
        lines = [*map(_entry_of_record, notes.sources.values()), *map(_entry_of_record, claims)]
        pairs, gaps = pair_lines(notes), gap_lines(notes)
    else:
        told = (*notes.sources, *notes.verified, *notes.unverified, *notes.contradictions, *notes.datapoints)
        lines = [_entry_of(line) for line in told if not isinstance(line, ContradictionLine)]
        pairs = [line for line in notes.contradictions if isinstance(line, ContradictionLine)]
        gaps = [*notes.gaps]
    for pair in pairs:
        lines.append(_Entry("pair", pair.question_id or pair.other_id, render_contradiction(pair)[2:]))
    for gap in gaps:
        head = f"{gap.question_id or ''} {gap.kind}:".lstrip()
        lines.append(_Entry("gap", gap.question_id or "", head, gap.text))
    return lines


def _made_of(record: Claim | Source) -> _Entry:
    return _entry_of(record_line(record))


_entry_of_record = ByIdentity(_made_of)


def _entry_of(line: SourceLine | ClaimLine | DatapointLine) -> _Entry:
    if isinstance(line, SourceLine):
        title = line.title.replace('"', "'")
        return _Entry("source", line.id, f"[{line.id}] {line.url}", f'"{title}" ({line.domain}) {line.note}')
    if isinstance(line, DatapointLine):
        text = f"{line.value} | {line.unit} | {line.context}"
    else:
        text = line.text + (f" (check: {line.check})" if line.check else "")
        if line.status == "RETRACTED" and line.check:  # what was withdrawn is named, and no longer told
            text = line.check
    return _Entry("claim", line.id, f"[{line.id}] {line.status}", text, line.sources)


def _ordered(research: Research) -> list[_Entry]:
    """Lines in order of creation; gaps that carry no time of their own come last."""
    made = {record.id: record.at for log in (research.sources, research.claims) for record in log.values()}
    made |= {q.id: q.created_at for q in research.questions.values()}
    closed = {q.id: q.updated_at for q in research.questions.values() if q.status == "unresolvable"}
    order = {"source": 0, "claim": 1, "pair": 2, "gap": 3}

    def key(entry: _Entry) -> tuple[bool, float, int, int]:
        timed = entry.kind != "gap" or entry.head.endswith(" unresolvable:")
        times = closed if entry.kind == "gap" else made
        at = times.get(entry.id) if timed else None
        number = _number(entry.id) if entry.kind in ("source", "claim") else 0
        return at is None, at.timestamp() if at else 0.0, order[entry.kind], number

    return sorted(_entries(research), key=key)


def _number(record_id: str) -> int:
    digits = record_id.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else 0


def _newest(entries: list[_Entry], limit: int) -> str:
    """As many of the newest records as fit; the ids of the older ones as ranges."""
    droppable = [n for n, entry in enumerate(entries) if entry.kind in ("source", "claim")]
    size = sum(len(_line(entry, *_CUTS[-1])) + 1 for entry in entries if entry.kind not in ("source", "claim"))
    kept = 0
    for n in reversed(droppable):  # what is left out is not even written
        size += len(_line(entries[n], *_CUTS[-1])) + 1
        if size > limit:
            break
        kept += 1
    text = ""
    for count in range(max(1, len(droppable) - kept), len(droppable) + 1):
        left_out = set(droppable[:count])
        named = _ranges(entries[n].id for n in droppable[:count])
        lines = (_line(entry, *_CUTS[-1]) for n, entry in enumerate(entries) if n not in left_out)
        text = "\n".join([f"{named} (+{count} more)", *lines])
        if len(text) <= limit:
            break
    return text


def _ranges(ids: Iterable[str]) -> str:
    """`c_001..c_004, c_007` for ids of one kind that follow each other."""
    spans: list[list[str]] = []
    for name in sorted(ids, key=lambda i: (i.rpartition("_")[0], _number(i), i)):
        last = spans[-1][-1] if spans else ""
        if last.rpartition("_")[0] == name.rpartition("_")[0] and _number(name) == _number(last) + 1:
            spans[-1].append(name)
        else:
            spans.append([name])
    return ", ".join(span[0] if len(span) == 1 else f"{span[0]}..{span[-1]}" for span in spans)


def _newest_scratch(scratch: str, limit: int) -> str:
    """The end of Scratch that fits, with the number of lines left out."""
    lines = scratch.split("\n") if scratch else []
    for dropped in range(len(lines)):
        more = f" (+{dropped} more lines)" if dropped else ""
        text = "\n".join([f"Scratch{more}:", *lines[dropped:]])
        if len(text) <= limit:
            return text
    return ""
