"""A small research that scripted models carry out: two pages, one question, seven turns, a report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from zetetic import Context, ResearchResult, aresearch, open_store
from zetetic.testing import FixturePage, FixtureSearch, FixtureWeb, ScriptedModel, call, turn

OBJECTIVE = "How tall is the Ortel lighthouse?"
OFFICE = "https://harbour-office.org/tower"
SURVEY = "https://land-survey.net/heights"
PAGES = {
    OFFICE: FixturePage("The Ortel lighthouse is 42 metres tall. It was lit in 1911.", title="The tower"),
    SURVEY: FixturePage("Levelling gave the Ortel lighthouse a height of 42 metres above its base.", title="Heights"),
}
ANSWER = "The Ortel lighthouse is 42 metres tall [c_001]."
CONCLUSION = "The Ortel lighthouse is 42 metres tall."
REPORT = f"## Summary\n\n{ANSWER}\n\n## Details\n\n{ANSWER}\n\n## Gaps\n\nNothing asked for is missing.\n"

Reply = AIMessage | str | Exception
Step = Reply | Callable[[list[BaseMessage]], Reply]


def plan() -> AIMessage:
    return turn(
        call("set_criteria", criteria=["States the height in metres.", "Names who measured it.", "Cites two sources."]),
        call("frontier_next", atomic_reason="it asks for one figure"),
    )


def search(query: str = "Ortel lighthouse height", **more: str) -> AIMessage:
    return turn(call("web_search", query=query, **more))


def fetch(*urls: str) -> AIMessage:
    return turn(*(call("fetch_page", url=url) for url in urls or (OFFICE, SURVEY)))


def record() -> AIMessage:
    return turn(
        call(
            "notes_append",
            claims=[
                {
                    "text": "The Ortel lighthouse is 42 metres tall.",
                    "quote": "The Ortel lighthouse is 42 metres tall.",
                    "source_id": "s_001",
                }
            ],
        ),
        call(
            "notes_update",
            id="c_001",
            add_source={
                "source_id": "s_002",
                "quote": "Levelling gave the Ortel lighthouse a height of 42 metres above its base.",
                "independence": "the survey levelled it itself",
            },
        ),
        attack("claim", target_id="c_001", strategy="discrepancy", query="Ortel lighthouse other height discrepancy"),
        attack("question_answer", target_text=ANSWER, strategy="criticism", query="Ortel lighthouse height disputed"),
    )


def attack(target_type: str, *, strategy: str, query: str, **target: str) -> Any:
    return call(
        "challenge",
        target_type=target_type,
        negation="It has another height.",
        strategy=strategy,
        expected_if_false="a page with another figure",
        query=query,
        **target,
    )


def run_attacks() -> AIMessage:
    return turn(
        call("web_search", query="Ortel lighthouse other height discrepancy", challenge_id="ch_001"),
        call("web_search", query="Ortel lighthouse height disputed", challenge_id="ch_002"),
    )


def survived(challenge_id: str) -> Any:
    return call(
        "record_challenge_result", challenge_id=challenge_id, outcome="survived", evidence="No page has another figure."
    )


def resolve() -> AIMessage:
    return turn(
        survived("ch_001"),
        survived("ch_002"),
        call("notes_update", id="c_001", status="VERIFIED"),
        call("resolve_question", id="q_001", answer=ANSWER, claim_ids=["c_001"]),
    )


def conclude() -> AIMessage:
    return turn(
        call("notes_scratch", conclusion=CONCLUSION),
        attack("conclusion", strategy="staleness", query="Ortel lighthouse raised rebuilt"),
    )


def run_last_attack() -> AIMessage:
    return turn(call("web_search", query="Ortel lighthouse raised rebuilt", challenge_id="ch_003"))


def finish() -> AIMessage:
    return turn(survived("ch_003"), call("finish_exploration"))


def report(text: str = REPORT) -> AIMessage:
    return turn(call("finalize_report", report=text))


def whole() -> list[Step]:
    """A research from its plan to its report: ten turns."""
    return [
        plan(),
        search(),
        fetch(),
        record(),
        run_attacks(),
        resolve(),
        conclude(),
        run_last_attack(),
        finish(),
        report(),
    ]


def text_of(messages: Iterable[BaseMessage]) -> str:
    return "\n".join(str(message.text) for message in messages)


def stage_of(messages: list[BaseMessage]) -> str:
    """The stage that a worker's prompt names."""
    return text_of(messages[1:]).rsplit("\nStage: ", 1)[1].split("\n", 1)[0]


def worker(steps: Iterable[Step], then: Step | None = None) -> ScriptedModel:
    """A worker that takes the steps in order, and `then` whenever they are used up."""
    left = list(steps)

    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> Reply:
        if left:
            step = left.pop(0)
        elif then is not None:
            step = then
        else:
            raise AssertionError(f"No step is left for:\n{text_of(messages[-1:])}")
        return step(messages) if callable(step) else step

    return ScriptedModel(script=script)


ARM_TOOLS = {
    "judge_attempt": "judge",
    "verify_answer": "verify",
    "list_objections": "critique",
    "judge_completeness": "completeness",
}
CONTENT = {
    "judge": {"verdict": "Proceed", "guidance": ""},
    "verify": {"passed": True, "failures": []},
    "critique": {"objections": []},
    "completeness": {"criteria": [{"number": n, "met": True} for n in range(1, 21)]},
}


def arm_of(tools: list[dict[str, Any]]) -> str:
    return ARM_TOOLS[tools[0]["function"]["name"]]


def content_answer(tools: list[dict[str, Any]]) -> AIMessage:
    return turn(call(tools[0]["function"]["name"], **CONTENT[arm_of(tools)]))


def arms(**replies: Reply | Callable[[], Reply]) -> ScriptedModel:
    """An evaluator whose arms are content, but for those that are given."""

    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> Reply:
        reply = replies.get(arm_of(tools))
        if reply is None:
            return content_answer(tools)
        return reply() if callable(reply) else reply

    return ScriptedModel(script=script)


class Meeting(ScriptedModel):
    """An evaluator that answers an arm only when all four have asked: arms in sequence would wait for ever."""

    parties: int = 4
    waits: list[asyncio.Event] = Field(default_factory=list)

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        answer = await super()._agenerate(*args, **kwargs)
        if len(self.prompts) % self.parties == 0:
            for event in self.waits:
                event.set()
            self.waits.clear()
        else:
            event = asyncio.Event()
            self.waits.append(event)
            await event.wait()
        return answer


class Mute(ScriptedModel):
    """A model that never answers one tool, by name."""

    silent: str = ""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        answer = await super()._agenerate(messages, *args, **kwargs)
        if kwargs["tools"][0]["function"]["name"] == self.silent:
            await asyncio.Event().wait()
        return answer


@dataclass
class Rig:
    """The parts of a scripted research; `context` puts them together."""

    home: Path
    worker: ScriptedModel
    evaluator: ScriptedModel = field(default_factory=arms)
    extractor: ScriptedModel | None = None
    pages: dict[str, FixturePage | str] = field(default_factory=lambda: dict(PAGES))
    search: FixtureSearch | None = None
    web: FixtureWeb | None = None

    def __post_init__(self) -> None:
        self.search = self.search or FixtureSearch(self.pages)
        self.web = self.web or FixtureWeb(self.pages)

    def context(self, **bounds: Any) -> Context:
        given = {"min_sources": 2, "min_domains": 2, "cancel_grace_seconds": 0.05, **bounds}
        return Context(
            model=self.worker,
            evaluator=self.evaluator,
            extractor=self.extractor,
            search=[self.search],
            fetcher=self.web,
            home=str(self.home),
            **given,
        )

    async def research(self, objective: str = OBJECTIVE, **bounds: Any) -> ResearchResult:
        return await aresearch(objective, context=self.context(**bounds))


async def anchored(result: ResearchResult, context: Context) -> None:
    """Every quote of the run stands in the page that it names."""
    async with open_store(context) as store:
        for claim in result.research.claims.values():
            for link in claim.evidence:
                page = await store.page(link.sha256)
                assert page is not None
                assert page.text[link.start : link.end].strip()


async def buried() -> None:
    """Ends what a raised death left running in this process; a killed process leaves nothing behind."""
    orphans = asyncio.all_tasks() - {asyncio.current_task()}
    for task in orphans:
        task.cancel()
    await asyncio.gather(*orphans, return_exceptions=True)
