"""The report that goes out: the draft with numbered references, and what code adds to every report (D45)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from zetetic.state.citations import (
    CITATION,
    Section,
    cited_claims,
    cited_ids,
    factual_sentences,
    sections,
    without_citations,
)
from zetetic.state.independence import common_origin
from zetetic.state.research import Research
from zetetic.state.values import Challenge, Claim, Evidence, Source
from zetetic.state.wording import one_line

from .draft import FALLEN, draft_of, without_fallen
from .gaps import Shortfall, refutation, shortfalls
from .references import References, literal
from .summary import summary_lines

PagePath = Callable[[Source], str]
OFFLINE = (
    "This report is extractive: it was composed without a language model, from sentences picked out of the sources."
)
BY_CODE = "This report was written by code from the notes; no report written by the model was accepted."
VERIFICATION = "Verification status"


def render_report(research: Research, page_path: PagePath | None = None) -> str:
    """The Markdown of a run's report, from the accepted draft or else from the notes (D44 to D46).

    `page_path` gives the path of a source's stored text, where there is one to point to. A report that was rendered
    before and whose draft is not at hand is returned as it is.
    """
    held = research.report
    if held.final and not held.draft and not held.rendered_by_code and not cited_ids(held.final):
        return held.final
    draft, by_code = draft_of(research)
    draft = tamed(draft)
    references = References(research)
    body: list[str] = []
    left_out: list[str] = []
    own = tuple(own_sections(draft))
    gap_texts = [f"{heading_of(section)}\n\n{section.body}".strip("\n") for section in own if section.gaps]
    for section in own:
        if not section.gaps:
            text, removed = without_fallen(research, section)
            left_out += removed
            body.append(references.resolve(f"{heading_of(section)}\n\n{text}".strip("\n")))
    if not body:
        body.append("## Summary\n\nNothing could be established.")
    parts = [
        f"# {literal(research.objective)}",
        "\n".join(f"- {literal(line)}" for line in summary_lines(research)),
        *([f"> {OFFLINE}"] if research.model.startswith("offline") else []),
        *([f"> {BY_CODE}"] if by_code else []),
        *body,
        f"## {VERIFICATION}",
        coverage(research, own),
        *_verification(research, references, cited_ids("\n".join(gap_texts))),
        "## Gaps and assumptions",
        *map(references.resolve, gap_texts),
        _gap_list(research, draft, left_out, references),
        "## Sources",
        *_sources(research, references, page_path),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


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


# Verification status.


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
        f"Coverage: of {total} factual sentences {verified} cite verified claims only, "
        f"{total - verified - without} cite a claim that is not verified, {without} cite none."
    )


def _verification(research: Research, references: References, under_gaps: tuple[str, ...]) -> Iterator[str]:
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
        yield "\n".join(_contradiction(research, *pair, references) for pair in open_pairs)


def _claim_lines(research: Research, claim: Claim, references: References) -> Iterator[str]:
    number = f" ({literal(' '.join(part for part in (claim.value, claim.unit) if part))})" if claim.value else ""
    yield f"- **{claim.status}**: {literal(claim.text)}{number} {references.cite((claim.id,))}"
    for link in claim.evidence:
        against = "against it: " if link.stance == "contradicts" else ""
        independence = _independence(research, claim, link)
        yield f'  - {against}"{literal(link.quote)}" {references.cite((link.source_id,))}{independence}'
    if claim.status == "UNVERIFIED" and claim.check:
        yield f"  - to verify it: {literal(claim.check)}"
    yield f"  - Challenges: {'; '.join(map(_challenge, research.challenges_on('claim', claim.id))) or 'none'}"


def _independence(research: Research, claim: Claim, link: Evidence) -> str:
    """Why a supporting source counts besides the first one, or why it does not (D33)."""
    support = claim.links("supports")
    if link.stance != "supports" or link is support[0] or link.source_id not in research.sources:
        return ""
    source = research.sources[link.source_id]
    for known in support:
        if known is link:
            break
        if known.source_id in research.sources:
            shared = common_origin(research.sources[known.source_id], source, research.thresholds)
            if shared:
                return f" (not counted: {literal(_by_reference(shared))})"
    return f" (independent: {literal(link.independence)})" if link.independence else " (not declared independent)"


def _by_reference(reason: str) -> str:
    """A reason without source ids, which the reader does not know."""
    return re.sub(r"\bs_\d+ and s_\d+\b", "it and an earlier source", reason)


def _challenge(challenge: Challenge) -> str:
    return f"{challenge.strategy.replace('_', ' ')} {challenge.outcome or 'open'} ({literal(challenge.query)})"


def _contradiction(research: Research, one: Claim, other: Claim, question_id: str, references: References) -> str:
    question = research.questions.get(question_id)
    state = f" {question.status.replace('_', ' ')}" if question else " not asked"
    told = question.answer if question else ""
    fell = any(research.claims[i].status in FALLEN for i in cited_claims(told) if i in research.claims)
    answer = f": {_resolved(told, references)}" if told and not fell else ""
    sides = (f'"{literal(claim.text)}" {references.cite((claim.id,))}' for claim in (one, other))
    return f"- {' against '.join(sides)} — the question about it ({question_id or 'none'}) is{state}{answer}"


# Gaps.


def _gap_list(research: Research, draft: str, left_out: list[str], references: References) -> str:
    found = list(shortfalls(research, draft))
    for claim in references.claims():
        if claim.status == "RETRACTED":
            text = f'Retracted: "{claim.text}"'
            found.append(Shortfall(kind="retracted", text=text, claim_ids=(claim.id,), by=claim.check))
    for sentence in left_out:
        names = tuple(i for i in cited_claims(sentence) if i in research.claims and research.claims[i].status in FALLEN)
        by, source_ids = refutation(research, research.claims[names[0]])
        text = f'Left out, since what it rests on fell: "{without_citations(sentence).strip()}"'
        found.append(Shortfall(kind="left_out", text=text, claim_ids=names, by=by, source_ids=source_ids))
    return "\n".join(gap_line(gap, references) for gap in found) or "- None that code could find."


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
    yield "\n".join(f"{n}. {source_line(s, page_path)}" for n, s in enumerate(cited, 1)) or "No source is cited."
    also = [s for s in research.sources.values() if s.sha256 and s not in cited]
    if also:
        yield "### Also read"
        yield "\n".join(f"- {source_line(s, page_path)}" for s in also)


def source_line(source: Source, page_path: PagePath | None = None) -> str:
    """One source as the list of sources has it: title, address, and what is known of it."""
    details = [source.domain, f"published {source.published}" if source.published else ""]
    details += [f"read {source.at.date().isoformat()}", f"file: {source.location}" if source.location else ""]
    details += [source.note, f"text: {page_path(source)}" if page_path and source.sha256 else ""]
    url = f"<{source.url}>" if source.url and not set(" <>\n") & set(source.url) else literal(source.url)
    title = literal(source.title).rstrip(".") or "Untitled"
    return f"{title}. {url} ({'; '.join(literal(part) for part in details if part)})"
