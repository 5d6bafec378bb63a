"""The investigative loop beside the plain tool-calling loop: same questions, documents, model and tools (D53).

    python benchmarks/against_simple.py --set all
    python benchmarks/against_simple.py --set ramdocs --first 10 --model openai:NAME --base-url URL

Every question is researched twice, once by each loop, each in a temporary home, and the reports are judged as they go
out (see answers.py). Prints the tables and writes docs/comparison.md. Exits with 1 when a run fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import judging
from answers import DATA, FIRST, SHARED, Question, load_corpus, questions
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from scripted_research import Cost, seen_prompts

import zetetic
from zetetic.graph.run import open_store
from zetetic.models import make_model, model_name
from zetetic.sources import DocumentFolder
from zetetic.state.citations import sections, split_sentences
from zetetic.state.wording import content_words

PAGE = Path(__file__).resolve().parents[1] / "docs" / "comparison.md"
LOOPS = ("investigative", "simple")
ROLES = ("worker", "extractor", "evaluator")
CODES_OWN = {"unverified", "no_claim", "holdings"}
"""Gaps that code lists of a loop or of its folder whatever was asked."""
_REFERENCE = re.compile(r"(?<!\\)\[(\d+(?:, \d+)*)(, (?:unverified|refuted|retracted))?\]")
_AFTER_STOP = re.compile(rf"([.!?])[ \t]*((?:{_REFERENCE.pattern}[ \t]*)*{_REFERENCE.pattern})")
"""References behind the stop of the sentence they belong to."""
_UNREAD = re.compile(r"\[unread (\d+)\]")


class Recorded(BaseChatModel):
    """A model that keeps every prompt and the tools offered with it."""

    inner: BaseChatModel
    model_name: str = ""
    prompts: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies it for each model
    offered: list[list[dict[str, Any]]] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], tool_choice=tool_choice, **kwargs)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("zetetic asks asynchronously")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools, choice = kwargs.get("tools") or [], kwargs.get("tool_choice")
        asked = self.inner.bind_tools(tools, tool_choice=choice) if tools else self.inner
        answer = await asked.ainvoke(messages)
        assert isinstance(answer, AIMessage)
        self.prompts.append(list(messages))
        self.offered.append(tools)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@dataclass(frozen=True)
class Task:
    """One question for one loop."""

    question: Question
    loop: str
    model: str
    base_url: str | None


@dataclass
class Score:
    """What one run cost and gave."""

    set: str
    index: int
    loop: str
    question: str
    gold: list[str]
    wrong: list[str]
    possible: list[str] = field(default_factory=list)
    status: str = ""
    stop_reason: str = ""
    seconds: float = 0.0
    calls: int = 0
    prompt_tokens: int = 0
    priced_tokens: int = 0
    output_tokens: int = 0
    sources: int = 0
    statements: int = 0
    gold_stated: list[str] = field(default_factory=list)
    wrong_stated: list[str] = field(default_factory=list)
    wrong_unmarked: list[str] = field(default_factory=list)
    gold_unmarked: list[str] = field(default_factory=list)
    wrong_verified: list[str] = field(default_factory=list)
    verified: int = 0
    citations: int = 0
    unread: int = 0
    unsupported: int = 0
    uncited: int = 0
    gaps: int = 0
    unproven: int = 0
    report: str = ""
    faults: list[str] = field(default_factory=list)


class Statement(NamedTuple):
    """One statement of a report: its text, whether each of its citations is marked unverified, and what it cites."""

    text: str
    marked: bool
    numbers: tuple[int, ...]
    unread: int


# One run.


def run(task: Task) -> Score:
    """Researches one question with one loop and judges the report."""
    q = task.question
    score = Score(q.set, q.index, task.loop, q.text, list(q.gold), list(q.wrong))
    try:
        with tempfile.TemporaryDirectory(prefix="zetetic-home-") as home:
            asyncio.run(_research(task, home, score))
    except Exception as error:  # whatever a run raises is what this measures
        last = traceback.extract_tb(error.__traceback__)[-1]
        score.faults.append(f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})")
    return score


async def _research(task: Task, home: str, score: Score) -> None:
    q = task.question
    inner = make_model(task.model, base_url=task.base_url)
    models = {role: Recorded(inner=inner, model_name=model_name(inner)) for role in ROLES}
    context = zetetic.Context(
        model=models["worker"],
        extractor=models["extractor"],
        evaluator=models["evaluator"],
        documents=q.documents,
        home=home,
        loop=task.loop,
    )
    began = time.perf_counter()
    result = await zetetic.aresearch(q.text, context=context)
    score.seconds = time.perf_counter() - began
    score.status, score.stop_reason, score.report = result.status, result.stop_reason, result.report
    if result.status not in ("complete", "reported"):
        score.faults.append(f"status {result.status} ({result.stop_reason})")
    score.calls = result.usage["calls"]
    score.output_tokens = result.usage["output_tokens"]
    costs = [Cost(seen_prompts(role, model)) for role, model in models.items()]
    score.prompt_tokens = sum(cost.raw for cost in costs)
    score.priced_tokens = sum(cost.priced for cost in costs)
    score.sources = len(result.sources)
    score.verified = sum(claim["status"] == "VERIFIED" for claim in result.claims)
    score.unproven = sum(gap["kind"] == "reason" for gap in result.gaps)
    score.gaps = sum(gap["kind"] not in CODES_OWN | {"reason"} for gap in result.gaps)
    _judge_answers(q, result, score)
    await _judge_citations(result, context, score)
    score.possible = await _possible(q)


async def _possible(q: Question) -> list[str]:
    """The gold answers that the question's own documents hold, by the same measure."""
    async with await DocumentFolder.open(q.documents) as folder:
        own = [page for page in folder.documents if q.set not in SHARED or page.url in q.wanted]
        said = [sentence for page in own for sentence in split_sentences(page.text)]
    return judging.stated(q.gold, said, q.text, q.wrong)


def statements(report: str) -> list[Statement]:
    """What a report states before its verification status, outside gaps, sentence by sentence."""
    found: list[Statement] = []
    for section in sections(report):
        if section.title.startswith("Verification status"):
            break
        if section.level == 1 or section.gaps:
            continue
        for line in section.body.splitlines():
            line = _AFTER_STOP.sub(lambda found: f" {found[2]}{found[1]}", line)
            for sentence in split_sentences(line.lstrip("-*+•> ")):
                parts = re.split(r"(?<=\][.!?])\s+", sentence)  # where the next sentence begins in lower case
                found += [made for part in parts if (made := _statement(part))]
    return found


def _statement(sentence: str) -> Statement | None:
    cited = list(_REFERENCE.finditer(sentence))
    text = " ".join(_UNREAD.sub("", _REFERENCE.sub("", sentence)).split())
    if not re.search(r"[^\W_]", text):
        return None
    numbers = tuple(dict.fromkeys(int(n) for match in cited for n in match[1].split(", ")))
    return Statement(text, bool(cited) and all(match[2] for match in cited), numbers, len(_UNREAD.findall(sentence)))


def _judge_answers(q: Question, result: zetetic.ResearchResult, score: Score) -> None:
    told = statements(result.report)
    score.statements = len({s.text for s in told})
    score.gold_stated = judging.stated(q.gold, [s.text for s in told], q.text, q.wrong)
    score.wrong_stated = judging.stated(q.wrong, [s.text for s in told], q.text, q.gold)
    unmarked = [s.text for s in told if not s.marked]
    score.gold_unmarked = judging.stated(q.gold, unmarked, q.text, q.wrong)
    score.wrong_unmarked = judging.stated(q.wrong, unmarked, q.text, q.gold)
    verified = [line for status, line in judging.marked_claims(result.report) if status == "VERIFIED"]
    score.wrong_verified = judging.stated(q.wrong, verified, q.text, q.gold)


async def _judge_citations(result: zetetic.ResearchResult, context: zetetic.Context, score: Score) -> None:
    """Whether the pages that are cited were read, and hold the statement they are cited for."""
    listed = judging.listed_sources(result.report)
    by_url = {source["url"]: source["sha256"] for source in result.sources}
    texts: dict[int, str] = {}
    async with open_store(context) as store:
        for number, entry in listed.items():
            address = re.search(r"<([^<>\s]+)>", entry)
            page = await store.page(by_url.get(address[1], "")) if address else None
            if page is not None:
                texts[number] = page.text
    for told in dict.fromkeys(statements(result.report)):
        score.citations += len(told.numbers) + told.unread
        score.unread += told.unread + sum(n not in texts for n in told.numbers)
        score.unsupported += sum(n in texts and not holds(texts[n], told.text) for n in told.numbers)
        score.uncited += not told.numbers and not told.unread


def holds(page: str, statement: str) -> bool:
    """Whether a page says what a statement says: it as it stands, or most of its words and all figures in a sentence
    of the page and its neighbours."""
    if judging.normalised(statement) in judging.normalised(page):
        return True
    wanted = _words(statement)
    figures = {word for word in wanted if any(c.isdigit() for c in word)}
    said = [_words(sentence) for sentence in split_sentences(page)]
    for n in range(len(said)):
        near = set().union(*said[max(0, n - 1) : n + 2])
        if figures <= near and len(wanted & near) >= judging.SHARE * len(wanted):
            return True
    return not wanted


def _words(text: str) -> set[str]:
    return {w if w[0].isdigit() else w[: judging.PREFIX] for w in content_words(judging.normalised(text))}


# The tables.


class Measure(NamedTuple):
    """A row: what is measured, how it is written, its value, and whether less is better, or neither (None)."""

    name: str
    value: Callable[[Sequence[Score]], float]
    less_is_better: bool | None = None
    form: str = "{:,.0f}"


def _sum(of: Callable[[Score], float]) -> Callable[[Sequence[Score]], float]:
    return lambda scores: sum(of(s) for s in scores)


def _mean(of: Callable[[Score], float]) -> Callable[[Sequence[Score]], float]:
    return lambda scores: statistics.fmean(of(s) for s in scores)


MEASURES = (
    Measure("questions", len),
    Measure("runs that are complete", _sum(lambda s: s.status == "complete")),
    Measure("model calls a question", _mean(lambda s: s.calls), True, "{:,.1f}"),
    Measure("prompt tokens a question, raw", _mean(lambda s: s.prompt_tokens), True),
    Measure("prompt tokens a question, cache-priced", _mean(lambda s: s.priced_tokens), True),
    Measure("output tokens a question", _mean(lambda s: s.output_tokens), True),
    Measure("seconds a question", _mean(lambda s: s.seconds), True, "{:,.2f}"),
    Measure("pages read a question", _mean(lambda s: s.sources), None, "{:,.1f}"),
    Measure("different statements a report", _mean(lambda s: s.statements), None, "{:,.1f}"),
    Measure("gold answers asked", _sum(lambda s: len(s.gold))),
    Measure("gold answers that the documents hold", _sum(lambda s: len(s.possible))),
    Measure("gold answers stated", _sum(lambda s: len(s.gold_stated)), False),
    Measure("gold answers stated without the mark unverified", _sum(lambda s: len(s.gold_unmarked)), False),
    Measure("questions with a gold answer stated", _sum(lambda s: bool(s.gold_stated)), False),
    Measure("wrong answers asked for", _sum(lambda s: len(s.wrong))),
    Measure("wrong answers stated", _sum(lambda s: len(s.wrong_stated)), True),
    Measure("wrong answers stated without the mark unverified", _sum(lambda s: len(s.wrong_unmarked)), True),
    Measure("wrong answers stated by a verified claim", _sum(lambda s: len(s.wrong_verified)), True),
    Measure("verified claims", _sum(lambda s: s.verified), False),
    Measure("citations", _sum(lambda s: s.citations)),
    Measure("citations of an address that was not read", _sum(lambda s: s.unread), True),
    Measure("citations of a page that does not say it", _sum(lambda s: s.unsupported), True),
    Measure("statements without a citation", _sum(lambda s: s.uncited), True),
    Measure("gaps reported: an answer without its proof", _sum(lambda s: s.unproven), None),
    Measure("gaps reported: others", _sum(lambda s: s.gaps), None),
    Measure(
        "runs that miss every gold answer of their documents and report no gap",
        _sum(lambda s: bool(s.possible) and not s.gold_stated and not s.gaps and not s.unproven),
        True,
    ),
    Measure(
        "the same, an answer without its proof not counted as a gap",
        _sum(lambda s: bool(s.possible) and not s.gold_stated and not s.gaps),
        True,
    ),
)


def table(scores: Sequence[Score]) -> list[str]:
    """The measures of one set, a column a loop, as Markdown."""
    columns = {loop: [s for s in scores if s.loop == loop] for loop in LOOPS}
    lines = ["| | investigative | simple |", "|---|---:|---:|"]
    for m in MEASURES:
        lines.append(f"| {m.name} | {' | '.join(m.form.format(m.value(columns[loop])) for loop in LOOPS)} |")
    return lines


def better(groups: dict[str, list[Score]], loop: str) -> list[str]:
    """The measures in which a loop is better than the other, with the sets and the figures."""
    other = next(x for x in LOOPS if x != loop)
    lines = []
    for m in MEASURES:
        if m.less_is_better is None:
            continue
        found = []
        for name, scores in groups.items():
            mine, its = (m.value([s for s in scores if s.loop == x]) for x in (loop, other))
            if mine != its and (mine < its) == m.less_is_better:
                found.append(f"{name} {m.form.format(mine)} to {m.form.format(its)}")
        if found:
            lines.append(f"- {m.name}: {'; '.join(found)}")
    return lines or ["- nothing"]


def verdict(scores: Sequence[Score]) -> str:
    """What the extra cost bought over all sets, in one paragraph."""
    mine, plain = ([s for s in scores if s.loop == loop] for loop in LOOPS)
    cost = [sum(s.priced_tokens for s in found) for found in (mine, plain)]

    def both(of: Callable[[Score], int]) -> str:
        return f"{sum(map(of, mine))} to {sum(map(of, plain))}"

    verified = sum(s.verified for s in mine)
    return (
        f"Over all {len(mine)} questions the investigative loop's prompts cost {cost[0] / max(1, cost[1]):.1f} times "
        f"the simple loop's, cache-priced. Gold answers stated: {both(lambda s: len(s.gold_stated))}; without a mark: "
        f"{both(lambda s: len(s.gold_unmarked))}. Wrong answers stated: {both(lambda s: len(s.wrong_stated))}; without "
        f"a mark: {both(lambda s: len(s.wrong_unmarked))}. It called {verified} claims verified; the simple loop can "
        "verify none. Where nothing is verified, everything is marked, right or wrong: then the marks warn of all and "
        "tell nothing apart."
    )


METHOD = (
    "How it was measured. Both loops had the same folder of documents as their only search and fetcher, the same model "
    "in every role, and the default bounds. Prompt tokens are characters of the whole prompt, tools included, over "
    "four; cache-priced counts a tenth for what a prompt shares with the start of one of the role's last three. Gold "
    "and wrong answers are looked for as `benchmarks/judging.py` says. A statement is one sentence of a report before "
    "its verification status, outside its gaps. It counts as marked when every reference in it says `unverified`; the "
    "simple loop marks nothing, since it has nothing to tell by. A citation is one reference of one statement; the "
    f"page says it when it holds the sentence as it stands, or {judging.SHARE:.0%} of its words and all its figures "
    "in three sentences in a row (a verdict on two pages, such as that neither is better supported, is said by none). "
    "Gaps leave out what code lists of every run of a loop or of a small folder. Seconds "
    "are those of the run, several of which share the machine, and hold the model's own."
)
OFFLINE_NOTE = (
    "The offline model works by fixed rules in both loops: it picks sentences, so it invents neither addresses nor "
    "figures, and its simple loop never cites a page that it has not read; it reports the best five sentences of the "
    "pages for each question. What a language model would do is not measured by these figures; the same command with "
    "`--model` and `--base-url` measures it."
)


def page(groups: dict[str, list[Score]], model: str, command: str) -> str:
    """The comparison as a page."""
    parts = [
        "# The investigative loop against the simple loop",
        f"Written by `{command}`; do not edit. Model: {model}. The simple loop (`--loop simple`) is the plain "
        "tool-calling loop: one growing list of messages, search, fetch, and a report at the end; no frontier, claims, "
        "challenges or evaluation. It is here so that the cost of these can be seen beside what they give.",
        METHOD,
        *([OFFLINE_NOTE] if model == "offline" else []),
        verdict([s for scores in groups.values() for s in scores]),
        "## Where the simple loop is better",
        "\n".join(better(groups, "simple")),
        "## Where the investigative loop is better",
        "\n".join(better(groups, "investigative")),
    ]
    for name, scores in groups.items():
        parts += [f"## {name}", "\n".join(table(scores))]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison. 0: no fault; 1: at least one; 2: wrong arguments or no data."""
    given = _parser().parse_args(arguments)
    data = Path(given.data).resolve()
    if not (data / "make_corpus.py").is_file():
        print(f"{data} holds no make_corpus.py: give the folder with the question sets by --data.", file=sys.stderr)
        return 2
    names = list(FIRST) if given.set == "all" else [given.set]
    with tempfile.TemporaryDirectory(prefix="zetetic-against-") as place:
        corpus = load_corpus(data)
        asked = [q for name in names for q in questions(corpus, name, given.first or FIRST[name], Path(place))]
        tasks = [Task(q, loop, given.model, given.base_url) for q in asked for loop in LOOPS]
        with multiprocessing.get_context("spawn").Pool(max(1, given.jobs)) as pool:
            scores = list(_told(pool.imap_unordered(run, tasks), len(tasks)))
    scores.sort(key=lambda s: (list(FIRST).index(s.set), s.index, s.loop))
    groups = {name: [s for s in scores if s.set == name] for name in names}
    command = f"python benchmarks/against_simple.py --set {given.set}"
    command += f" --first {given.first}" if given.first else ""
    command += f" --model {given.model}" if given.model != "offline" else ""
    text = page(groups, given.model, command)
    print(text)
    for s in scores:
        for fault in s.faults:
            print(f"FAULT {s.set} {s.index} {s.loop}: {fault}")
    if given.page:
        Path(given.page).write_text(text, encoding="utf-8")
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(s) for s in scores], ensure_ascii=False, indent=1) + "\n")
    return 1 if any(s.faults for s in scores) else 0


def _told(scores: Iterable[Score], total: int) -> Iterable[Score]:
    for done, score in enumerate(scores, 1):
        if sys.stderr.isatty():
            print(f"\r{done}/{total}", end="" if done < total else "\n", file=sys.stderr, flush=True)
        yield score


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", choices=[*FIRST, "all"], default="all")
    parser.add_argument("--first", type=int, metavar="N", help=f"questions of each set (default: {FIRST})")
    parser.add_argument("--data", default=str(DATA), help="folder with the question sets and make_corpus.py")
    parser.add_argument("--model", default="offline", help="chat model of every role (default: %(default)s)")
    parser.add_argument("--base-url", metavar="URL", help="address of an OpenAI-compatible server")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--page", metavar="FILE", default=str(PAGE), help="the page to write; '' writes none")
    parser.add_argument("--json", metavar="FILE", help="write every score, with its report, to a file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
