"""The evidence of a run as one value, `evidence.json`: enough to decide anew, without the store, what the run decided
(L6, LEDGER.md).

It holds the records of the research as they are, so that the functions of the core that judged the run can judge the
file; and beside them what a reader wants told: the verdict on each criterion, the numbers of the report.
docs/evidence.md explains each field.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeVar

from zetetic.state.citations import cited_claims, factual_sentences
from zetetic.state.research import Research
from zetetic.state.thresholds import Mode, Thresholds
from zetetic.state.values import (
    Challenge,
    Claim,
    Conclusion,
    Contradiction,
    Evaluation,
    Extension,
    Frozen,
    Gap,
    Holdings,
    Loop,
    Phase,
    QueryRecord,
    Question,
    ReportState,
    RunStatus,
    Source,
    Usage,
)

from .contents import contents_of, has_report
from .gaps import Shortfall, shortfalls
from .references import References
from .report import rendered_report

SCHEMA_VERSION: Literal["1.0"] = "1.0"
LEFT_OUT: dict[str, Any] = {
    "sources": {"__all__": {"sketch"}},
    "queries": {"__all__": {"urls"}},
    "questions": {"__all__": {"worker", "steer", "unverified_streak", "unproductive_streak"}},
}
"""Fields of the records that the file does not hold: computed anew from the pages, or of use to running runs only."""

Record = TypeVar("Record", bound=Frozen)


class RunFacts(Frozen):
    """How the run went and ended, as far as its report and its gates depend on it."""

    run_id: str
    status: RunStatus
    stop_reason: str
    stop_detail: str
    phase: Phase
    exploration_stop: str
    exploration_detail: str
    exploration_missing: tuple[str, ...]
    gate_passed: bool
    mode: Mode
    loop: Loop
    model: str
    forked_from: str
    opened_at: datetime | None
    updated_at: datetime | None
    turns: int
    holdings: Holdings
    extensions: tuple[Extension, ...]
    stood_in: tuple[str, ...]
    parse_defaults: tuple[str, ...]


class Criterion(Frozen):
    """A criterion of the run; `met` is None where the evaluation of the report gave no verdict on it alone (R4, A6)."""

    text: str
    met: bool | None


class Reference(Frozen):
    """A number of the report, and the source it stands for."""

    number: int
    source_id: str
    url: str


class Sentence(Frozen):
    """A sentence of the report outside gaps: the claims it cites, and the numbers that the report gives for them."""

    text: str
    claim_ids: tuple[str, ...]
    numbers: tuple[int, ...]


class ReportFacts(Frozen):
    """The report: the draft with its citations by id, the text that went out, and what leads from one to the other."""

    draft: str
    accepted: bool
    rendered_by_code: bool
    text: str
    references: tuple[Reference, ...]
    sentences: tuple[Sentence, ...]


class Pack(Frozen):
    """`evidence.json`."""

    schema_version: Literal["1.0"]
    written_by: str
    objective: str
    scope: str
    exclusions: tuple[str, ...]
    run: RunFacts
    criteria: tuple[Criterion, ...]
    thresholds: Thresholds
    questions: tuple[Question, ...]
    dependencies: dict[str, tuple[str, ...]]
    claims: tuple[Claim, ...]
    contradictions: tuple[Contradiction, ...]
    challenges: tuple[Challenge, ...]
    queries: tuple[QueryRecord, ...]
    sources: tuple[Source, ...]
    conclusion: Conclusion
    noted_gaps: tuple[Gap, ...]
    gaps: tuple[Shortfall, ...]
    attempts: tuple[Evaluation, ...]
    report: ReportFacts


def program() -> str:
    """Name and version of this program, as a file says who wrote it."""
    try:
        return f"zetetic {version('zetetic')}"
    except PackageNotFoundError:  # a checkout that is not installed
        return "zetetic unknown"


def pack_of(research: Research) -> Pack:
    """The evidence of a research as it stands."""
    return Pack(
        schema_version=SCHEMA_VERSION,
        written_by=program(),
        objective=research.objective,
        scope=research.scope,
        exclusions=research.exclusions,
        run=RunFacts(
            **{name: getattr(research, name) for name in RunFacts.model_fields if name != "stood_in"},
            stood_in=research.usage.stood_in,
        ),
        criteria=_criteria(research),
        thresholds=research.thresholds,
        questions=_slim("questions", research.questions.values()),
        dependencies=research.dependencies,
        claims=tuple(research.claims.values()),
        contradictions=research.contradictions,
        challenges=tuple(research.challenges.values()),
        queries=_slim("queries", research.all_queries()),
        sources=_slim("sources", research.sources.values()),
        conclusion=research.conclusion,
        noted_gaps=research.gaps,
        gaps=shortfalls(research),
        attempts=research.evaluations,
        report=_report(research),
    )


def research_of(pack: Pack) -> Research:
    """The research that a pack tells of, as far as it does: what its report and its gates are made from."""
    facts = {name: getattr(pack.run, name) for name in RunFacts.model_fields if name != "stood_in"}
    queries: dict[str, list[QueryRecord]] = {}
    for record in pack.queries:
        queries.setdefault(record.question_id, []).append(record)
    held = pack.report
    return Research(
        **facts,
        usage=Usage(stood_in=pack.run.stood_in),
        objective=pack.objective,
        scope=pack.scope,
        exclusions=pack.exclusions,
        criteria=tuple(criterion.text for criterion in pack.criteria),
        thresholds=pack.thresholds,
        questions={question.id: question for question in pack.questions},
        dependencies=pack.dependencies,
        claims={claim.id: claim for claim in pack.claims},
        contradictions=pack.contradictions,
        challenges={challenge.id: challenge for challenge in pack.challenges},
        queries={question_id: tuple(log) for question_id, log in queries.items()},
        sources={source.id: source for source in pack.sources},
        conclusion=pack.conclusion,
        gaps=pack.noted_gaps,
        evaluations=pack.attempts,
        report=ReportState(
            draft=held.draft,
            accepted=held.accepted,
            rendered_by_code=held.rendered_by_code,
            final=held.text,
        ),
    )


def pack_text(pack: Pack) -> str:
    """The file's text; equal packs have equal texts."""
    return pack.model_dump_json(indent=2, exclude=LEFT_OUT) + "\n"


def is_won(research: Research) -> bool:
    """Whether the run ended as a success, which has to be proven (L5)."""
    return research.status == "complete" and research.stop_reason != "no_change"


def quoted(research: Research) -> tuple[str, ...]:
    """The hashes of the pages that claims quote, in order of their first quote."""
    return tuple(dict.fromkeys(link.sha256 for claim in research.claims.values() for link in claim.evidence))


def _slim(name: str, records: Iterable[Record]) -> tuple[Record, ...]:
    """The records without the fields that the file does not hold."""
    found = tuple(records)
    fields = type(found[0]).model_fields if found else {}
    left_out = {field: fields[field].default for field in LEFT_OUT[name]["__all__"]} if found else {}
    return tuple(record.model_copy(update=left_out) for record in found)


def _criteria(research: Research) -> tuple[Criterion, ...]:
    """Each criterion with the last verdict on the report; one that is named as missing was not met."""
    last = next((e for e in reversed(research.evaluations) if e.kind == "report"), None)

    def met(text: str) -> bool | None:
        if last is None:
            return None
        if last.satisfied:
            return True
        return False if f"not met: {text}"[:400] in last.missing else None

    return tuple(Criterion(text=text, met=met(text)) for text in research.criteria)


def _report(research: Research) -> ReportFacts:
    held = research.report
    text, references = rendered_report(research) if has_report(research) else ("", References(research))
    numbers = {source.id: number for number, source in enumerate(references.sources(), 1)}
    return ReportFacts(
        draft=held.draft,
        accepted=held.accepted,
        rendered_by_code=held.rendered_by_code,
        text=text,
        references=tuple(
            Reference(number=numbers[source.id], source_id=source.id, url=source.url) for source in references.sources()
        ),
        sentences=_sentences(research, numbers) if numbers else (),
    )


def _sentences(research: Research, numbers: dict[str, int]) -> tuple[Sentence, ...]:
    """The sentences that state something, as the draft has them."""
    stated = factual_sentences("\n\n".join(contents_of(research).told))
    return tuple(
        Sentence(text=text, claim_ids=cited_claims(text), numbers=numbers_of(research, cited_claims(text), numbers))
        for text in stated
    )


def numbers_of(research: Research, claim_ids: Iterable[str], numbers: dict[str, int]) -> tuple[int, ...]:
    """The numbers of the sources that support these claims, in the order in which the report gives them."""
    claims = [research.claims[i] for i in claim_ids if i in research.claims]
    links = [link for claim in claims for link in claim.links("supports")]
    return tuple(dict.fromkeys(numbers[link.source_id] for link in links if link.source_id in numbers))
