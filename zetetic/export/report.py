"""The report that goes out: the draft with numbered references, and what code adds to every report (D45)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from zetetic.state.citations import (
    CITATION,
    Section,
    cited_claims,
    cited_ids,
    factual_sentences,
    split_sentences,
    without_citations,
)
from zetetic.state.independence import common_origin, common_wording, names_as_source
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import Claim, Evidence, Source
from zetetic.state.wording import counted, folded, one_line

from .answer_table import answer_table
from .contents import VERIFICATION, contents_of
from .draft import FALLEN
from .gaps import Shortfall
from .plain_words import outcome_of
from .references import References, literal
from .summary import summary_lines

PagePath = Callable[[Source], str]
OFFLINE = (
    "This report is extractive: it was composed without a language model, from sentences picked out of the sources."
)
BY_CODE = "This report was written by code from the notes; no report written by the model was accepted."
TITLE_SHOWN = 80
"""Characters of a title in a list that is not the list of the sources cited."""


def render_report(research: Research, page_path: PagePath | None = None) -> str:
    """The Markdown of a run's report, from the accepted draft or else from the notes (D44 to D46).

    `page_path` gives the path of a source's stored text, where there is one to point to. A report that was rendered
    before and whose draft is not at hand is returned as it is.
    """
    return rendered_report(research, page_path)[0]


def rendered_report(research: Research, page_path: PagePath | None = None) -> tuple[str, References]:
    """The report, and what its numbers stand for; nothing where it is one that was rendered before."""
    held = research.report
    references = References(research)
    if held.final and not held.draft and not held.rendered_by_code and not cited_ids(held.final):
        return held.final, references
    contents = contents_of(research)
    table = answer_table(research, references)
    body = [references.resolve(part) for part in contents.told] or ["## Summary\n\nNothing could be established."]
    stated = "\n\n".join(map(references.resolve, contents.stated_gaps))
    found = "\n".join(gap_line(gap, references) for gap in contents.gaps)
    parts = [
        f"# {literal(research.objective)}",
        "\n".join(f"- {literal(line)}" for line in summary_lines(research)),
        table,
        *([f"> {OFFLINE}"] if research.model.startswith("offline") else []),
        *([f"> {BY_CODE}"] if contents.by_code else []),
        *body,
        f"## {VERIFICATION}",
        f"{meaning(research.thresholds)} {coverage(research, contents.own)}",
        *_verification(research, references, cited_ids("\n".join(contents.stated_gaps)), "\n".join(contents.told)),
        "## Gaps and assumptions",
        _one_list(stated, found) or "- None that code could find.",
        "## Sources",
        *_sources(research, references, page_path),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n", references


def _one_list(stated: str, found: str) -> str:
    """Two texts, as one list where both are."""
    ends_in_item = stated.rpartition("\n")[2].startswith("- ")
    return (f"{stated}\n{found}" if ends_in_item and found else f"{stated}\n\n{found}").strip("\n")


# Verification status.


def meaning(thresholds: Thresholds) -> str:
    """What the two words stand for (D32)."""
    sources = counted(thresholds.min_independent_sources, "independent source")
    searches = counted(thresholds.min_challenges, "search", "searches")
    return (
        f"VERIFIED: stated by at least {sources}, and unharmed by at least {searches} for the opposite. UNVERIFIED: "
        "that is not shown; it may be right all the same."
    )


def coverage(research: Research, own: tuple[Section, ...]) -> str:
    """How many of the factual sentences outside gaps rest on verified claims; no report goes without the figure."""
    fallen = {c.id for c in research.claims.values() if c.status in FALLEN}
    sentences = [s for section in own if not section.gaps for s in factual_sentences(section.body)]
    stated = [ids for s in sentences if not (ids := set(cited_claims(s))) & fallen]
    known = [{research.claims[i].status for i in ids if i in research.claims} for ids in stated]
    verified = sum(statuses == {"VERIFIED"} for statuses in known)
    without = sum(not statuses for statuses in known)
    total = len(stated)
    return (
        f"Coverage: of {counted(total, 'factual sentence')} {verified} cite verified claims only, "
        f"{total - verified - without} cite a claim that is not verified, {without} cite none."
    )


def _verification(research: Research, references: References, under_gaps: tuple[str, ...], told: str) -> Iterator[str]:
    """The cited claims that stand, and the contradictions between claims that stand."""
    cited = dict.fromkeys([claim.id for claim in references.claims()] + [i for i in under_gaps if i in research.claims])
    standing = [research.claims[i] for i in cited if research.claims[i].status not in FALLEN]
    if standing:
        yield "\n".join(line for claim in standing for line in _claim_lines(research, claim, references))
    pairs = [
        (research.claims[p.claim_id], research.claims[p.other_id], p.question_id)
        for p in research.contradictions
        if p.claim_id in research.claims and p.other_id in research.claims
    ]
    open_pairs = [pair for pair in pairs if not {pair[0].status, pair[1].status} & FALLEN]
    if open_pairs:
        yield "### Contradictions"
        yield "\n".join(_contradiction(research, *pair, references, told) for pair in open_pairs)


def _claim_lines(research: Research, claim: Claim, references: References) -> Iterator[str]:
    number = f" ({literal(' '.join(part for part in (claim.value, claim.unit) if part))})" if claim.value else ""
    yield f"- **{claim.status}**: {literal(claim.text)}{number} {references.cite((claim.id,))}"
    for link in claim.evidence:
        against = "against it: " if link.stance == "contradicts" else ""
        independence = _independence(research, claim, link)
        yield f'  - {against}"{literal(link.quote)}" {references.cite((link.source_id,))}{independence}'
    if claim.status == "UNVERIFIED" and claim.check:
        yield f"  - to verify it: {literal(claim.check)}"
    tried = [f'{outcome_of(c)} ("{literal(c.query)}")' for c in research.challenges_on("claim", claim.id)]
    yield f"  - {'; '.join(tried) if tried else 'no search for its opposite was made'}"


def _independence(research: Research, claim: Claim, link: Evidence) -> str:
    """Why a supporting source counts besides the first one, or why it does not (D33)."""
    support = claim.links("supports")
    if link.stance != "supports" or link is support[0] or link.source_id not in research.sources:
        return ""
    source = research.sources[link.source_id]
    for known in support[: support.index(link)]:
        if known.source_id in research.sources:
            other = research.sources[known.source_id]
            shared = common_origin(other, source, research.thresholds) or common_wording(known, link)
            if not shared and (names_as_source(link.quote, other) or names_as_source(known.quote, source)):
                shared = "one of it and an earlier source names the other as where it has this from"
            if shared:
                return f" (not counted: {literal(_by_reference(shared))})"
    return f" (independent: {literal(link.independence)})" if link.independence else " (not declared independent)"


def _by_reference(reason: str) -> str:
    """A reason without source ids, which the reader does not know."""
    return re.sub(r"\bs_\d+ and s_\d+\b", "it and an earlier source", reason)


_CAME_TO = {"resolved": "", "unresolvable": " and could not be settled", "pruned": " and dropped"}


def _contradiction(
    research: Research, one: Claim, other: Claim, question_id: str, references: References, told: str
) -> str:
    """Both sides, in words where the text above has not told them, and what asking which holds came to (D34)."""
    question = research.questions.get(question_id)
    stated = {one.id, other.id} <= set(cited_claims(told))
    sides = [
        references.cite((claim.id,)) if stated else f'"{literal(claim.text)}" {references.cite((claim.id,))}'
        for claim in (one, other)
    ]
    if question is None:
        return f"- {' against '.join(sides)} — which of the two holds was not asked"
    known = {folded(claim.text) for claim in (one, other)} if stated else set()
    found = [s for s in split_sentences(question.answer) if not _repeats(s, known)]
    fell = any(research.claims[i].status in FALLEN for i in cited_claims(question.answer) if i in research.claims)
    answer = f": {_resolved(' '.join(found), references)}" if found and not fell else ""
    came_to = _CAME_TO.get(question.status, " and is still open")
    return f"- {' against '.join(sides)} — which of the two holds was asked ({question_id}){came_to}{answer}"


def _repeats(sentence: str, known: set[str]) -> bool:
    """Whether a sentence says one of the sides over again, with at most a lead such as `Against it:`."""
    said = without_citations(sentence)
    return bool({folded(said), folded(said.partition(":")[2])} & known)


# Gaps.


def gap_line(gap: Shortfall, references: References) -> str:
    """One gap as a list item, with its references."""
    line = f"- {_resolved(gap.text, references)}"
    if gap.claim_ids:
        line += f" {references.cite(gap.claim_ids)}"
    if gap.by:
        line += f" — {_resolved(gap.by, references)}"
    return f"{line} {references.cite(gap.source_ids)}" if gap.source_ids else line


def _resolved(text: str, references: References) -> str:
    """Foreign text made literal, except for its citations, which become references."""
    parts: list[str] = []
    end = 0
    for found in CITATION.finditer(text):
        parts += [_literal_part(text[end : found.start()]), references.resolve(found[0])]
        end = found.end()
    return one_line("".join([*parts, _literal_part(text[end:])]))


def _literal_part(text: str) -> str:
    """`literal` that keeps the spaces at both ends, for text that is joined again."""
    return f"{' ' if text[:1].isspace() else ''}{literal(text)}{' ' if text[-1:].isspace() and text.strip() else ''}"


# Sources.


def _sources(research: Research, references: References, page_path: PagePath | None) -> Iterator[str]:
    cited = references.sources()
    yield (
        "\n".join(f"{n}. {source_line(s, research.sources, page_path)}" for n, s in enumerate(cited, 1))
        or "No source is cited."
    )
    yield from also_read(research, cited, page_path)


def also_read(research: Research, cited: tuple[Source, ...], page_path: PagePath | None = None) -> Iterator[str]:
    """The sources that were read and are not cited, with short titles."""
    also = [s for s in research.sources.values() if s.sha256 and s not in cited]
    if also:
        yield "### Also read"
        yield "\n".join(f"- {source_line(s, research.sources, page_path, title=TITLE_SHOWN)}" for s in also)


def source_line(
    source: Source, sources: Mapping[str, Source], page_path: PagePath | None = None, *, title: int = 0
) -> str:
    """One source as the list of sources has it: title (cut to so many characters, 0: whole), address, and what is known
    of it. `sources` names those that its note speaks of."""
    details = [source.domain, f"published {source.published}" if source.published else ""]
    details += [f"read {source.at.date().isoformat()}", f"file: {source.location}" if source.location else ""]
    details += [_with_titles(source.note, sources), f"text: {page_path(source)}" if page_path and source.sha256 else ""]
    url = f"<{source.url}>" if source.url and not set(" <>\n") & set(source.url) else literal(source.url)
    shown = literal(one_line(source.title, title)).rstrip(".") or "Untitled"
    return f"{shown}. {url} ({'; '.join(literal(part) for part in details if part)})"


def _with_titles(note: str, sources: Mapping[str, Source]) -> str:
    """A note with the titles of the sources it names by id."""

    def title(found: re.Match[str]) -> str:
        known = sources.get(found[0])
        return f"“{one_line(known.title or known.url, TITLE_SHOWN)}”" if known else found[0]

    return re.sub(r"\bs_\d+\b", title, note)
