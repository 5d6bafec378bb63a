"""How often a report states the known answers of real questions, what it calls verified, and what it costs.

    python benchmarks/answers.py --set ramdocs --first 40

Every question becomes a folder of documents, is researched with the offline model in a temporary home, and the report
is judged as it goes out. Beside it stands a baseline: the best sentences of the same search. Exits with 1 when a run
fails, a reference does not open a document that holds its quote, or something is called verified that is not.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import logging
import multiprocessing
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import judging

import zetetic
from zetetic.export.references import literal
from zetetic.graph.run import open_store
from zetetic.sources.documents import DocumentFolder
from zetetic.state.citations import split_sentences
from zetetic.state.claims import verification_missing
from zetetic.state.independence import independent_support
from zetetic.state.quotes import find_quote
from zetetic.state.values import Claim

FIRST = {"ramdocs": 40, "pubmedqa": 40, "hotpotqa": 20, "wikicontradict": 20}
SHARED = {"pubmedqa"}
"""Sets whose questions are asked of one folder with all documents."""
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
HITS = 10


@dataclass(frozen=True)
class Question:
    """A question of a set, its answers, and where its documents are or are to be written."""

    set: str
    index: int
    text: str
    gold: tuple[str, ...]
    wrong: tuple[str, ...]
    documents: str
    wanted: tuple[str, ...]
    """Addresses of the documents that hold the answer, where the set says so."""


@dataclass
class Score:
    """What one run gave, beside the baseline."""

    set: str
    index: int
    question: str
    gold: list[str]
    wrong: list[str]
    possible: list[str] = field(default_factory=list)
    """Gold answers that the documents hold by the same measure."""
    read: list[str] = field(default_factory=list)
    """Gold answers that the pages read hold."""
    claimed: list[str] = field(default_factory=list)
    """Gold answers that a claim states, in the report or not."""
    status: str = ""
    stop_reason: str = ""
    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0
    sources: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    report: str = ""
    gold_stated: list[str] = field(default_factory=list)
    wrong_stated: list[str] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    gold_verified: list[str] = field(default_factory=list)
    gold_unsupported: list[str] = field(default_factory=list)
    wrong_verified: list[str] = field(default_factory=list)
    wrong_unsupported: list[str] = field(default_factory=list)
    wanted: int = 0
    wanted_cited: int = 0
    baseline: list[str] = field(default_factory=list)
    baseline_gold: list[str] = field(default_factory=list)
    baseline_wrong: list[str] = field(default_factory=list)
    baseline_wanted: int = 0
    faults: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark. 0: no fault; 1: at least one; 2: wrong arguments or no data."""
    given = _parser().parse_args(arguments)
    data = Path(given.data).resolve()
    if not (data / "make_corpus.py").is_file():
        print(f"{data} holds no make_corpus.py: give the folder with the question sets by --data.", file=sys.stderr)
        return 2
    names = list(FIRST) if given.set == "all" else [given.set]
    with tempfile.TemporaryDirectory(prefix="zetetic-answers-") as place:
        corpus = load_corpus(data)
        asked = [q for name in names for q in questions(corpus, name, given.first or FIRST[name], Path(place))]
        scores: list[Score] = []
        with multiprocessing.get_context("spawn").Pool(max(1, given.jobs)) as pool:
            for score in pool.imap_unordered(run, [(question, data) for question in asked]):
                scores.append(score)
                _tell(score, len(scores), len(asked), given.verbose)
    scores.sort(key=lambda score: (list(FIRST).index(score.set), score.index))
    print(table([s for s in scores if s.set == name] for name in names))
    print(f"\n{judging.MEASURE}")
    for score in scores:
        for fault in score.faults:
            print(f"FAULT {score.set} {score.index}: {fault}")
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(s) for s in scores], ensure_ascii=False, indent=1) + "\n")
    return 1 if any(score.faults for score in scores) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", choices=[*FIRST, "all"], default="all")
    parser.add_argument("--first", type=int, metavar="N", help=f"questions of each set (default: {FIRST})")
    parser.add_argument("--data", default=str(DATA), help="folder with the question sets and make_corpus.py")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", metavar="FILE", help="write every score, with statements and report, to a file")
    parser.add_argument("--verbose", action="store_true", help="print each question with what was stated")
    return parser


# Questions.


def load_corpus(data: Path) -> ModuleType:
    """The module that turns a question into a folder of documents."""
    spec = importlib.util.spec_from_file_location("make_corpus", data / "make_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def questions(corpus: ModuleType, name: str, first: int, place: Path) -> Iterator[Question]:
    """The first questions of a set, with their documents written below `place`."""
    rows = corpus.rows(name)
    make = getattr(corpus, name)
    if name in SHARED:
        for row in rows:
            make(row, place / name)
    for index, row in enumerate(rows[:first]):
        folder = place / name if name in SHARED else place / name / f"{index:03d}"
        text, gold, wrong = make(row, folder)
        wanted = tuple(dict.fromkeys(_wanted(corpus, name, row)))
        yield Question(name, index, text, judging.measurable(gold), judging.measurable(wrong), str(folder), wanted)


def _wanted(corpus: ModuleType, name: str, row: dict[str, Any]) -> list[str]:
    """The addresses of the documents that an answer rests on."""
    if name == "pubmedqa":
        return [f"https://pubmed.ncbi.nlm.nih.gov/{row['pmid']}/"]
    if name == "hotpotqa":
        return [corpus.wiki(title) for title in row["supporting_facts"]["title"]]
    if name == "wikicontradict":
        found = row["annotationResult"]
        return [corpus.wiki(found.get(f"paragraph{x}_article") or row["title"]) + f"#{x}" for x in "AB"]
    return []


# One question.


class _Records(logging.Handler):
    """Keeps the errors that were logged during a run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or record.exc_info:
            self.kept.append(f"logged by {record.name}: {record.getMessage()}")


def run(task: tuple[Question, Path]) -> Score:
    """Researches one question and judges report and baseline."""
    question, _ = task
    score = Score(question.set, question.index, question.text, list(question.gold), list(question.wrong))
    records = _Records()
    logging.getLogger().addHandler(records)
    try:
        with tempfile.TemporaryDirectory(prefix="zetetic-home-") as home:
            _research(question, home, score)
        asyncio.run(_baseline(question, score))
    except Exception as error:  # whatever a run raises is what this measures
        last = traceback.extract_tb(error.__traceback__)[-1]
        score.faults.append(f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})")
    finally:
        logging.getLogger().removeHandler(records)
    score.faults += records.kept
    return score


def _research(question: Question, home: str, score: Score) -> None:
    context = zetetic.Context(model="offline", documents=question.documents, home=home)
    began = time.perf_counter()
    result = zetetic.research(question.text, context=context)
    score.seconds = time.perf_counter() - began
    score.status, score.stop_reason, score.report = result.status, result.stop_reason, result.report
    score.calls = result.usage["calls"]
    score.tokens = result.usage["input_tokens"] + result.usage["output_tokens"]
    score.statements = judging.statements_of(result.report)
    score.gold_stated = _stated_gold(question, score.statements)
    score.wrong_stated = judging.stated(question.wrong, score.statements, question.text, question.gold)
    if result.status not in ("complete", "reported"):
        score.faults.append(f"status {result.status} ({result.stop_reason})")
    if not result.report.strip():
        score.faults.append("the report is empty")
    if "Traceback (most recent call last)" in result.report:
        score.faults.append("the report holds a traceback")
    score.claimed = _stated_gold(question, [c.text for c in result.research.claims.values()])
    score.sources = [source.location for source in result.research.sources.values()]
    claims = reported_claims(result)
    _judge_verified(question, result, claims, score)
    score.faults += asyncio.run(_reference_faults(result, claims, context))
    listed = judging.listed_sources(result.report)
    cited = [listed[n] for n in judging.cited_numbers(_body(result.report)) if n in listed]
    score.wanted = len(question.wanted)
    score.wanted_cited = sum(any(f"<{url}>" in entry for entry in cited) for url in question.wanted)


def _stated_gold(question: Question, statements: Sequence[str]) -> list[str]:
    return judging.stated(question.gold, statements, question.text, question.wrong)


def _body(report: str) -> str:
    return report.partition("\n## Verification status\n")[0]


def reported_claims(result: zetetic.ResearchResult) -> list[tuple[str, Claim]]:
    """The claims that a report lists, each with the status it gives them."""
    marked = judging.marked_claims(result.report)
    by_line = sorted(result.research.claims.values(), key=lambda claim: -len(claim.text))
    found: list[tuple[str, Claim]] = []
    for status, line in marked:
        claim = next((claim for claim in by_line if line.startswith(literal(claim.text))), None)
        if claim is not None:
            found.append((status, claim))
    return found


def _judge_verified(
    question: Question, result: zetetic.ResearchResult, claims: Sequence[tuple[str, Claim]], score: Score
) -> None:
    """What the report calls verified, and whether it is (D32, D33)."""
    research = result.research
    for status, claim in claims:
        if status != claim.status:
            score.faults.append(f"the report calls {claim.id} {status}, the research {claim.status}")
        if status != "VERIFIED":
            continue
        score.verified.append(claim.text)
        missing = verification_missing(research, claim)
        if missing:
            score.faults.append(f"verified without proof: {claim.text!r}: {' '.join(missing)}")
        for answer, kept in [
            *((a, (score.gold_verified, score.gold_unsupported)) for a in question.gold),
            *((a, (score.wrong_verified, score.wrong_unsupported)) for a in question.wrong),
        ]:
            others = [other for other in (*question.gold, *question.wrong) if other != answer]
            in_claim = judging.is_stated(answer, [claim.text], question.text, others)
            saying = [k for k in claim.links("supports") if judging.is_stated(answer, [k.quote], question.text, others)]
            if not in_claim and not saying:
                continue
            backed = independent_support(research, claim.model_copy(update={"evidence": tuple(saying)}))
            lacks = bool(missing) or backed < research.thresholds.min_independent_sources
            if answer not in kept[lacks]:
                kept[lacks].append(answer)
            otherwise = [
                k.quote
                for k in claim.links("supports")
                if k not in saying and judging.stated(others, [k.quote], question.text, [answer])
            ]
            if in_claim and (otherwise or (lacks and answer in question.wrong)):
                score.faults.append(
                    f"{claim.id} is called verified and states {answer!r}, which {backed} independent sources state in "
                    f"their quotes; claim {claim.text!r}; its support that says otherwise: {otherwise}"
                )


async def _reference_faults(
    result: zetetic.ResearchResult, claims: Sequence[tuple[str, Claim]], context: zetetic.Context
) -> list[str]:
    """Every reference must open a document that holds the quote."""
    faults: list[str] = []
    listed = judging.listed_sources(result.report)
    told = result.report.rpartition("\n## Sources\n")[0]
    faults += [f"reference [{n}] is not listed" for n in sorted(judging.cited_numbers(told) - listed.keys())]
    texts: dict[str, str] = {}
    async with open_store(context) as store:
        for _, claim in claims:
            for link in claim.evidence:
                source = result.research.sources[link.source_id]
                page = await store.page(link.sha256)
                if page is None or page.text[link.start : link.end] != link.quote:
                    faults.append(f"{claim.id}: the quote is not in the stored page of {source.url}: {link.quote!r}")
                if not any(f"file: {literal(source.location)}" in entry for entry in listed.values()):
                    faults.append(f"{claim.id}: {source.url} is not listed under Sources with its file")
                try:
                    if source.location not in texts:
                        texts[source.location] = await asyncio.to_thread(_read, source.location)
                except OSError as error:
                    faults.append(f"{claim.id}: {source.location!r} does not open: {error.strerror}")
                    continue
                if find_quote(texts[source.location], link.quote) is None:
                    faults.append(f"{claim.id}: {source.location} does not hold {link.quote!r}")
    return faults


def _read(location: str) -> str:
    return Path(location).read_text(encoding="utf-8")


async def _baseline(question: Question, score: Score) -> None:
    """The best sentences of the documents that one search for the question finds."""
    async with await DocumentFolder.open(question.documents) as folder:
        hits = (await folder.search(question.text, limit=HITS)).hits
        pages = [page for hit in hits if (page := folder.find(hit.url)) is not None]
        origin = {sentence: page.url for page in reversed(pages) for sentence in split_sentences(page.text)}
        sentences = [sentence for page in pages for sentence in split_sentences(page.text)]
        score.baseline = judging.best_sentences(question.text, sentences, [page.text for page in folder.documents])
        by_file = {page.location: split_sentences(page.text) for page in folder.documents}
        score.read = _stated_gold(question, [s for file in score.sources for s in by_file.get(file, ())])
        own = [p.location for p in folder.documents if question.set not in SHARED or p.url in question.wanted]
        score.possible = _stated_gold(question, [s for file in own for s in by_file[file]])
        score.baseline_gold = _stated_gold(question, score.baseline)
        score.baseline_wrong = judging.stated(question.wrong, score.baseline, question.text, question.gold)
        score.baseline_wanted = sum(url in {origin[s] for s in score.baseline} for url in question.wanted)


# The table.


def table(groups: Iterable[Sequence[Score]]) -> str:
    """One column a set, one row a measure."""
    columns = [_column(group) for group in groups if group]
    names = list(columns[0])
    width = max(map(len, names))
    widths = [max(len(column[name]) for name in names) for column in columns]
    return "\n".join(
        "  ".join([name.ljust(width), *(column[name].rjust(w) for column, w in zip(columns, widths, strict=True))])
        for name in names
    )


def _column(scores: Sequence[Score]) -> dict[str, str]:
    asked = [s for s in scores if s.gold]
    pairs = [s for s in scores if s.set == "wikicontradict" and len(s.gold) == 2]
    wanted = [s for s in scores if s.wanted]
    return {
        "set": scores[0].set,
        "questions": str(len(scores)),
        "faults": str(sum(len(s.faults) for s in scores)),
        "complete / reported": f"{_count(scores, 'complete')} / {_count(scores, 'reported')}",
        "reports with a statement": str(sum(bool(s.statements) for s in scores)),
        "questions with a gold answer stated / in the documents / asked": (
            f"{sum(bool(s.gold_stated) for s in asked)} / {sum(bool(s.possible) for s in asked)} / {len(asked)}"
        ),
        "the same of the baseline: stated": str(sum(bool(s.baseline_gold) for s in asked)),
        "gold answers: stated / claimed / read / in the documents / asked": " / ".join(
            str(_sum(scores, name)) for name in ("gold_stated", "claimed", "read", "possible", "gold")
        ),
        "the same of the baseline: stated ": str(_sum(scores, "baseline_gold")),
        "wrong answers: stated / asked": f"{_sum(scores, 'wrong_stated')} / {_sum(scores, 'wrong')}",
        "the same of the baseline: stated  ": str(_sum(scores, "baseline_wrong")),
        "claims called verified": str(_sum(scores, "verified")),
        "gold answers verified: with / without support": (
            f"{_sum(scores, 'gold_verified')} / {_sum(scores, 'gold_unsupported')}"
        ),
        "wrong answers verified: with / without support": (
            f"{_sum(scores, 'wrong_verified')} / {_sum(scores, 'wrong_unsupported')}"
        ),
        "both sides named / pairs asked (baseline)": (
            f"{sum(len(s.gold_stated) == 2 for s in pairs)} / {len(pairs)} "
            f"({sum(len(s.baseline_gold) == 2 for s in pairs)})"
            if pairs
            else "-"
        ),
        "all wanted documents cited / questions (baseline)": (
            f"{sum(s.wanted_cited == s.wanted for s in wanted)} / {len(wanted)} "
            f"({sum(s.baseline_wanted == s.wanted for s in wanted)})"
            if wanted
            else "-"
        ),
        "different statements a report, median (baseline 5)": (
            f"{statistics.median(len(set(s.statements)) for s in scores):.0f}"
        ),
        "seconds a run, median": f"{statistics.median(s.seconds for s in scores):.1f}",
        "model calls a run, median": f"{statistics.median(s.calls for s in scores):.0f}",
        "tokens a run, median": f"{statistics.median(s.tokens for s in scores):,.0f}",
    }


def _count(scores: Sequence[Score], status: str) -> int:
    return sum(score.status == status for score in scores)


def _sum(scores: Sequence[Score], name: str) -> int:
    return sum(len(getattr(score, name)) for score in scores)


def _tell(score: Score, done: int, total: int, verbose: bool) -> None:
    if not verbose:
        if sys.stderr.isatty():
            print(f"\r{done}/{total}", end="" if done < total else "\n", file=sys.stderr, flush=True)
        return
    print(f"{score.set} {score.index} {score.question}")
    print(f"  {score.status} {score.stop_reason}, {score.seconds:.1f} s; verified {len(score.verified)} claims")
    print(f"  gold {score.gold}: stated {score.gold_stated}, baseline {score.baseline_gold}")
    if score.wrong:
        print(f"  wrong {score.wrong}: stated {score.wrong_stated}, baseline {score.baseline_wrong}")
    for fault in score.faults:
        print(f"  FAULT {fault}")


if __name__ == "__main__":
    sys.exit(main())
