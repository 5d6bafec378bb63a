"""The report of a pack: it is the one that the records give, its numbers lead where they say, and the gates that let it
out let it out again (D42, D44)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zetetic.export.contents import VERIFICATION, contents_of
from zetetic.export.evidence import Pack, is_won, numbers_of, pack_of, program
from zetetic.export.references import References, literal
from zetetic.state.citations import gap_question_ids, sections
from zetetic.state.evaluation import CAN_COMPLETE
from zetetic.state.figures import known_text, loose_figures, stated
from zetetic.state.gates import cited_claims, exploration_gate, finalization_gate, must_stand_under_gaps
from zetetic.state.policy import route
from zetetic.state.research import Research
from zetetic.state.wording import one_line

from .findings import Verification
from .pages import FILE

REPORT = "report.md"
NOT_ITS_OWN = (
    "the report is of an earlier end of the run and its draft is not kept, so its text was not compared with the "
    "records; `zetetic resume {}` gives the run a report of its own"
)
_NUMBERED = re.compile(r"(\d+)\. ")
_CITED = re.compile(r"(?<!\\)\[(\d+(?:, \d+)*)(?:, (?:unverified|refuted|retracted))?\]")


def check_success(research: Research, told: Verification) -> None:
    """A run that is complete passed its gates, and its report was accepted (A3, D42, D54)."""
    if not is_won(research):
        return
    for missing in exploration_gate(research):
        told.fault(FILE, "", f"the run is complete, and its exploration gate does not pass: {missing}")
    if not research.gate_passed or research.exploration_missing or research.stop_reason not in CAN_COMPLETE:
        told.fault(FILE, "run", "is complete, and by its own account the exploration gate did not pass")
    last = research.evaluations[-1] if research.evaluations else None
    if last is None or last.kind != "report" or last.routing.route != "Answered":
        told.fault(FILE, "attempts", "the run is complete, and no accepted report is the last of them")
    if not research.report.accepted:
        told.fault(FILE, "report", "was not accepted, and the run is complete")
    cited = cited_claims(research, research.report.draft)
    known = known_text(research, cited, research.questions.values(), is_report=True)
    if loose := loose_figures(stated(research.report.draft, is_report=True), known):
        told.fault(FILE, "report", f"states figures that stand in none of its quotes: {', '.join(loose)}")
    if loose := loose_figures(stated(_told(research.report.final), is_report=True), known):
        told.fault(REPORT, "", f"states figures that stand in no quote of a claim it cites: {', '.join(loose)}")


def check_attempts(research: Research, told: Verification) -> None:
    """Each attempt took the route that the ladder gives (A10)."""
    for attempt in research.evaluations:
        told.counts("attempts", 1)
        ladder = route(attempt.routing.model_dump(exclude={"route"}))
        if (attempt.verified, attempt.satisfied) != (attempt.routing.verified, attempt.routing.complete):
            told.fault(FILE, f"attempt {attempt.number}", "was routed by other verdicts than its own")
        if attempt.routing.route != ladder:
            told.fault(FILE, f"attempt {attempt.number}", f"took {attempt.routing.route}; the ladder gives {ladder}")


def check_report(pack: Pack, research: Research, told: Verification) -> None:
    """The report follows from the records, and its gate lets it out (D44, D45)."""
    facts = pack.report
    if not facts.text:
        told.notes.append("The run has no report.")
        return
    if pack.run.loop == "simple":
        told.notes.append("The report is of the simple loop: nothing it states was ever put to a check.")
        return
    if not facts.draft and not facts.rendered_by_code:
        told.unchecked.append(NOT_ITS_OWN.format(one_line(pack.run.run_id, 80)))
        if pack.run.status not in ("stopped", "blocked"):
            told.fault(FILE, "report", f"has no draft, and the run is {pack.run.status}")
        return
    _check_gate(research, told)
    named = set(gap_question_ids(facts.text, {q.id: q.question for q in research.questions.values()}))
    for question_id in must_stand_under_gaps(research):
        if question_id not in named:
            told.fault(FILE, "report", f"does not name {question_id} under its gaps, which was not answered")
    _check_numbers(pack, research, told)


def check_again(pack: Pack, research: Research, told: Verification) -> None:
    """What the file tells beside its records is what they give: criteria, gaps, and the report to the letter."""
    again = pack_of(research)
    for name in ("criteria", "gaps"):
        if getattr(again, name) != getattr(pack, name):
            told.fault(
                FILE, name, f"are not what the records give{_differing(getattr(pack, name), getattr(again, name))}"
            )
    if is_won(research) and any(criterion.met is not True for criterion in pack.criteria):
        told.fault(FILE, "criteria", "are not all met, and the run is complete")
    if pack.written_by != program():
        wrote = one_line(pack.written_by, 80)
        told.unchecked.append(
            f"written by {wrote}, and this is {program()}, so the wording of the report and of the ledger was not "
            f"compared; install {wrote} and verify with it"
        )
        return
    if again.report.text != pack.report.text:
        lines = _differing(pack.report.text.split("\n"), again.report.text.split("\n"))
        told.fault(FILE, "report", f"is not the text that the records give{lines}")
    for name in ("references", "sentences"):
        if getattr(again.report, name) != getattr(pack.report, name):
            told.fault(FILE, f"report.{name}", "are not what the records give")


def _differing(given: Sequence[object], made: Sequence[object]) -> str:
    """The first place where two lists part, shown."""
    for number, (one, other) in enumerate(zip(given, made, strict=False), 1):
        if one != other:
            return f", from number {number} on: {_shown(one)} in place of {_shown(other)}"
    return f": there are {len(given)} in place of {len(made)}"


def _shown(value: object) -> str:
    return repr(one_line(str(value), 120))


# The gate of the report.


def _check_gate(research: Research, told: Verification) -> None:
    """The text with its citations by id, as it went out: without what rested on claims that fell, with every gap."""
    contents = contents_of(research)
    parts = list(contents.told)
    if contents.by_code:  # its headings are the questions, in whatever words they were put
        parts = [re.sub(r"^#{3,6} .*$", "### Question", part, flags=re.MULTILINE) for part in parts]
    listed = [
        f"- {gap.text} [{', '.join(gap.claim_ids)}]" if gap.claim_ids else f"- {gap.text}" for gap in contents.gaps
    ]
    whole = "\n\n".join([*parts, "## Gaps", *contents.stated_gaps, "\n".join(listed)])
    stated_elsewhere = set(must_stand_under_gaps(research)) - set(gap_question_ids(whole))
    whole += "".join(f"\n- [{question_id}]" for question_id in sorted(stated_elsewhere))  # see check_report
    for missing in finalization_gate(research, whole):
        told.fault(FILE, "report", f"would not pass its gate: {missing}")


def _told(report: str) -> str:
    """The report's own sections without their numbers: neither what code says of the run, nor gaps, nor sources."""
    kept: list[str] = []
    skipped = 0
    for section in sections(report):
        if skipped and section.level > skipped:
            continue
        skipped = section.level if section.title in (VERIFICATION, "Sources") and section.level == 2 else 0
        if not (skipped or section.gaps or section.level < 2):
            kept.append(section.body)
    return "\n\n".join(_CITED.sub("", body) for body in kept)


# Its numbers.


def _check_numbers(pack: Pack, research: Research, told: Verification) -> None:
    """Each number stands for the source it says, in the map as in the report's list, and each sentence has those of
    its claims."""
    numbers: dict[str, int] = {}
    listed = _listed(pack.report.text)
    for place, reference in enumerate(pack.report.references, 1):
        name = f"reference {reference.number}"
        source = research.sources.get(reference.source_id)
        if reference.number != place or reference.source_id in numbers:
            told.fault(FILE, name, f"is in place {place} of the references")
        numbers[reference.source_id] = reference.number
        if source is None or source.url != reference.url:
            told.fault(FILE, name, f"leads to {reference.url[:200]}, which is not the address of {reference.source_id}")
        elif literal(source.url) not in (line := listed.get(reference.number, "")) and source.url not in line:
            told.fault(
                REPORT, f"number {reference.number}", f"does not lead to {source.url[:200]} in the list of sources"
            )
    for extra in sorted(set(listed) - set(numbers.values())):
        told.fault(REPORT, f"number {extra}", "stands in the list of sources, and for no source of the evidence")
    cited = {int(n) for found in _CITED.finditer(_body(pack.report.text)) for n in found[1].split(", ")}
    for number in sorted(cited - set(numbers.values())):
        told.fault(REPORT, f"number {number}", "is cited, and stands for no source of the evidence")
    _check_sentences(pack, research, numbers, told)


def _check_sentences(pack: Pack, research: Research, numbers: dict[str, int], told: Verification) -> None:
    references = References(research)
    for name in sorted(numbers, key=lambda source_id: numbers[source_id]):
        references.cite([name])  # so that it gives the same numbers
    text = " ".join(pack.report.text.split())
    for sentence in pack.report.sentences:
        told.counts("cited sentences", 1)
        shown = one_line(sentence.text, 80)
        if numbers_of(research, sentence.claim_ids, numbers) != sentence.numbers:
            told.fault(FILE, "report.sentences", f"{shown!r} does not have the numbers of its claims")
        if " ".join(references.resolve(sentence.text).split()) not in text:
            told.fault(REPORT, "", f"does not hold, with these citations: {shown!r}")


def _listed(report: str) -> dict[int, str]:
    """The lines of the report's list of sources, by number."""
    found: dict[int, str] = {}
    for section in sections(report):
        if section.title == "Sources" and section.level == 2:
            for line in section.body.split("\n"):
                if mark := _NUMBERED.match(line):
                    found[int(mark[1])] = line
    return found


def _body(report: str) -> str:
    """The report without its list of sources."""
    return report.rpartition("\n## Sources\n")[0] or report
