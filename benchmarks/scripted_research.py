"""A research that scripted models carry out on the real graph, and what its prompts cost.

Every question: one search of ten hits with 300 characters each, three pages of 8,000 characters in one turn, their
extraction, one thought, and the answer. `challenged` adds a second source, a challenge of a claim and of the answer,
their searches and verdicts. Counted as in the anchors' script: characters of the whole prompt with the tools' schemas
over 4, and once more with what a prefix shared with one of the role's last three prompts at a tenth.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from zetetic import Context, ResearchResult, aresearch
from zetetic.sources import Fetcher, SearchResult, SearchStatus
from zetetic.sources.search import Hit
from zetetic.testing import FixtureWeb, ScriptedModel, call, turn

WORDS = re.findall(
    r"\w+",
    "survey record station measured value report page source figure method year region sample instrument estimate "
    "revised series archive official office table annex river harbour tower bridge valley mill",
)
HITS, SNIPPET, PAGES, PAGE = 10, 300, 3, 8000
CLAIMS_A_PAGE = 2
CHARS_PER_TOKEN = 4
CACHED = 0.1
"""The price of a cached character, as a share of a fresh one's."""
LOOKED_BACK = 3
"""Earlier prompts of a role whose start may be shared."""


def words(seed: str, characters: int) -> str:
    """The same words for the same seed, as many characters."""
    chosen = random.Random(seed)
    made: list[str] = []
    size = 0
    while size < characters:
        made.append(chosen.choice(WORDS))
        size += len(made[-1]) + 1
    return " ".join(made)[:characters]


class AnySearch:
    """Ten hits for any query, on sites that the query's number names."""

    name = "scripted"

    async def search(self, query: str, *, limit: int) -> SearchResult:
        number = re.findall(r"\d+", query)[0]
        mark = "" if query.startswith("question") else "x"
        hits = tuple(
            Hit(url=f"https://site{number}-{n}{mark}.example/p", snippet=words(f"{query} {n}", SNIPPET))
            for n in range(min(limit, HITS))
        )
        return SearchResult(provider=self.name, status=SearchStatus.OK, hits=hits)


def site(question: int, page: int) -> str:
    """The address of a question's page."""
    return f"https://site{question}-{page}.example/p"


@dataclass
class Script:
    """What the models answer. A run asks `questions` questions, at most `open_at_once` of which are known at a time."""

    questions: int = 12
    challenged: bool = False
    open_at_once: int = 12

    def add(self, number: int) -> Any:
        return call(
            "add_question",
            parent_id="q_001",
            question=f"Question {number}: {words(f'q{number}', 80)}?",
            rationale=words(f"r{number}", 60),
            priority=0.8,
            validation_criteria=words(f"v{number}", 60),
        )

    def plan(self) -> AIMessage:
        first = min(self.questions, self.open_at_once)
        return turn(
            call("set_criteria", criteria=["It answers every question.", "It cites sources.", "It names gaps."]),
            *map(self.add, range(first)),
        )

    def answer(self, number: int) -> str:
        return f"{words(f'a{number}', 200)} [{self.claim(number)}]."

    @staticmethod
    def claim(number: int, nth: int = 0) -> str:
        return f"c_{number * PAGES * CLAIMS_A_PAGE + nth + 1:03d}"

    def resolving(self, number: int, **reasons: str) -> list[Any]:
        more = number + self.open_at_once
        return [
            call("notes_scratch", text=f"question {number}: {words(f't{number}', 400)}"),
            *([self.add(more)] if more < self.questions else []),
            call(
                "resolve_question",
                id=f"q_{number + 2:03d}",
                answer=self.answer(number),
                claim_ids=[self.claim(number)],
                **reasons,
            ),
        ]

    def attacks(self, number: int) -> AIMessage:
        second = f"s_{number * PAGES + 2:03d}"
        common = {"negation": words(f"n{number}", 60), "expected_if_false": words(f"e{number}", 60)}
        return turn(
            call(
                "notes_update",
                id=self.claim(number),
                add_source={
                    "source_id": second,
                    "quote": words(f"{site(number, 1)}", 120).rsplit(" ", 1)[0],
                    "independence": "another site that measured it itself",
                },
            ),
            call(
                "challenge",
                target_type="claim",
                target_id=self.claim(number),
                strategy="discrepancy",
                query=f"discrepancy {number} disputed",
                **common,
            ),
            call(
                "challenge",
                target_type="question_answer",
                target_text=self.answer(number),
                strategy="criticism",
                query=f"criticism {number} mistaken",
                **common,
            ),
        )

    def worker(self) -> Iterator[AIMessage]:
        yield self.plan()
        for n in range(self.questions):
            yield turn(call("web_search", query=f"question {n} {words(f'w{n}', 40)}"))
            yield turn(*(call("fetch_page", url=site(n, p)) for p in range(PAGES)))
            if not self.challenged:
                yield turn(*self.resolving(n, why_unverified="one source", why_unchallenged="the script's short way"))
                continue
            yield self.attacks(n)
            ids = [f"ch_{2 * n + 1:03d}", f"ch_{2 * n + 2:03d}"]
            yield turn(
                call("web_search", query=f"discrepancy {n} disputed", challenge_id=ids[0]),
                call("web_search", query=f"criticism {n} mistaken", challenge_id=ids[1]),
            )
            verdicts = [
                call("record_challenge_result", challenge_id=i, outcome="survived", evidence=words(i, 80)) for i in ids
            ]
            yield turn(*verdicts, call("notes_update", id=self.claim(n), status="VERIFIED"), *self.resolving(n))
        yield turn(call("abort", reason="the script's questions are answered"))
        while True:
            cited = self.claim(0)
            report = f"## Summary\n\n{words('s', 300)} [{cited}].\n\n## Details\n\nSee above [{cited}].\n\n## Gaps\n\n"
            yield turn(call("finalize_report", report=f"{report}q_001 was left open.\n"))

    @staticmethod
    def extract(messages: list[BaseMessage]) -> AIMessage:
        claims = []
        for source_id, page in re.findall(
            r'<page source_id="(s_\d+)"[^>]*>\n(.*?)\n</page>', messages[-1].text, re.DOTALL
        ):
            for nth in range(CLAIMS_A_PAGE):
                quote = page[nth * 1000 : nth * 1000 + 120].split(" ", 1)[1].rsplit(" ", 1)[0]
                claims.append({"text": f"{words(source_id + str(nth), 100)}.", "quote": quote, "source_id": source_id})
        return turn(call("notes_append", claims=claims))

    @staticmethod
    def evaluate(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        name = tools[0]["function"]["name"]
        content: dict[str, dict[str, Any]] = {
            "judge_attempt": {"verdict": "Proceed", "guidance": ""},
            "verify_answer": {"passed": True, "failures": []},
            "list_objections": {"objections": []},
            "judge_completeness": {"criteria": [{"number": n, "met": True} for n in range(1, 21)]},
        }
        return turn(call(name, **content[name]))


@dataclass(frozen=True)
class Prompt:
    """A prompt as it was sent: its role, its stage, and its text by part, in order."""

    role: str
    stage: str
    parts: tuple[tuple[str, str], ...]
    shared: int = 0
    """Characters from the start that an earlier prompt of the role had."""

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.parts)

    @property
    def tokens(self) -> int:
        return sum(len(text) for _, text in self.parts) // CHARS_PER_TOKEN

    def by_part(self) -> dict[str, tuple[int, float]]:
        """Characters of each part, raw and priced."""
        found: dict[str, tuple[int, float]] = {}
        at = 0
        for part, text in self.parts:
            hit = min(max(self.shared - at, 0), len(text))
            raw, priced = found.get(part, (0, 0.0))
            found[part] = (raw + len(text), priced + len(text) - hit + hit * CACHED)
            at += len(text)
        return found


@dataclass
class Cost:
    """What a list of prompts costs, in tokens."""

    prompts: list[Prompt]

    @property
    def raw(self) -> int:
        return sum(p.tokens for p in self.prompts)

    @property
    def priced(self) -> int:
        return int(sum(x for p in self.prompts for _, x in p.by_part().values()) / CHARS_PER_TOKEN)

    def parts(self) -> dict[str, tuple[int, int]]:
        """Raw and priced tokens by role and part."""
        found: dict[str, tuple[float, float]] = {}
        for p in self.prompts:
            for part, (raw, priced) in p.by_part().items():
                name = f"{p.role}: {part}"
                before = found.get(name, (0.0, 0.0))
                found[name] = (before[0] + raw / CHARS_PER_TOKEN, before[1] + priced / CHARS_PER_TOKEN)
        return {name: (int(raw), int(priced)) for name, (raw, priced) in found.items()}


def common_start(a: str, b: str) -> int:
    """How many characters two texts share from their start."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_MARKS = (
    ("\n\n# Notes\n", "notes"),
    ("\n\n# Frontier\n", "frontier"),
    ("# Since then\n", "since"),
    ("# Now\n", "now"),
    ("<page ", "pages"),
    ("\nRecord with notes_append", "question"),
)


def parts_of(role: str, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The prompt as the anchors' script writes it, by part."""
    yield "tools", "".join(json.dumps(tool) for tool in tools)
    for n, message in enumerate(messages):
        text = f"<{message.type}>{message.text}{json.dumps(getattr(message, 'tool_calls', []) or [], default=str)}"
        if message.type == "system":
            yield "system", text
        elif message.type in ("ai", "tool"):
            yield "window", text
        else:
            yield from _human(text, "question" if role != "worker" else "task" if n == 1 else "now")


def _human(text: str, part: str) -> Iterator[tuple[str, str]]:
    cuts = sorted((text.find(mark), name) for mark, name in _MARKS if mark in text)
    at = 0
    for place, name in [*cuts, (len(text), "")]:
        if place > at:
            yield part, text[at:place]
        at, part = place, name


def seen_prompts(role: str, model: ScriptedModel) -> list[Prompt]:
    """A model's prompts in order, each with what it shares with those just before it; each arm has its own start."""
    found: list[Prompt] = []
    before: dict[str, list[str]] = {}
    for messages, tools in zip(model.prompts, model.offered, strict=True):
        parts = tuple(parts_of(role, messages, tools))
        text = "".join(t for _, t in parts)
        like = before.setdefault(tools[0]["function"]["name"], [])
        shared = max((common_start(text, earlier) for earlier in like[-LOOKED_BACK:]), default=0)
        like.append(text)
        told = re.findall(r"^Stage: (\w+)", "\n".join(m.text for m in messages), re.MULTILINE)
        found.append(Prompt(role, told[-1] if told else role, parts, shared))
    return found


@dataclass
class Done:
    """A finished scripted run: its result, its prompts, and every call's role and the process's seconds at it."""

    result: ResearchResult
    exploration: list[Prompt]
    evaluation: list[Prompt]
    synthesis: list[Prompt]
    order: list[tuple[str, float]] = field(default_factory=list)


class Noted(ScriptedModel):
    """A scripted model that notes its role and the time when it is asked, so that the roles' calls can be ordered."""

    role: str = ""
    order: list[tuple[str, float]] = []  # noqa: RUF012 - given, so that the roles share it

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        self.order.append((self.role, time.process_time()))
        return super()._answer(messages, bound)


async def play(script: Script, *, home: str | None = None, **bounds: Any) -> Done:
    """Runs the script on the real graph, in a temporary folder unless `home` is given."""
    order: list[tuple[str, float]] = []
    steps = script.worker()

    def work(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        if messages[-1].text.startswith("Stage: consolidating"):  # a turn of the loop's own, outside the script
            return turn(call("notes_scratch", text="nothing to merge"))
        return next(steps)

    worker = _model("worker", order, work)
    extractor = _model("extractor", order, lambda messages, tools: script.extract(messages))
    evaluator = _model("evaluator", order, script.evaluate)
    pages = {site(n, p): words(site(n, p), PAGE) for n in range(script.questions) for p in range(PAGES)}
    web: Fetcher = FixtureWeb(pages)
    given = {
        "max_questions": script.questions + 1,
        "max_turns": 12 * script.questions + 40,
        "max_iterations": script.questions + 60,
        **bounds,
    }
    with tempfile.TemporaryDirectory() as scratch:
        context = Context(
            model=worker,
            extractor=extractor,
            evaluator=evaluator,
            search=[AnySearch()],
            fetcher=web,
            home=home or scratch,
            **given,
        )
        result = await aresearch("Answer the script's questions.", context=context)
    ways = {"worker": iter(seen_prompts("worker", worker)), "extractor": iter(seen_prompts("extractor", extractor))}
    working = [next(ways[role]) for role, _ in order if role in ways]
    return Done(
        result=result,
        exploration=[p for p in working if p.stage != "synthesizing"],
        evaluation=seen_prompts("evaluator", evaluator),
        synthesis=[p for p in working if p.stage == "synthesizing"],
        order=order,
    )


def _model(role: str, order: list[tuple[str, float]], script: Any) -> Noted:
    model = Noted(script=script, role=role, model_name=f"scripted-{role}")
    model.order = order
    return model
