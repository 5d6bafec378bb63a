"""A whole small research through a server that misbehaves, in each way, streamed and not (CASES 1 to 8, 11, 15)."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from graph.rig import ARM_TOOLS, OBJECTIVE, PAGES, content_answer, whole, worker
from langchain_core.messages import convert_to_messages

from zetetic import Context, aresearch, open_store
from zetetic.models import calls as call_module
from zetetic.models import make_model
from zetetic.models.compatible import CompatibleChat
from zetetic.testing import (
    BEHAVIOURS,
    Answer,
    Behaviour,
    ChatCompletionsServer,
    FixtureSearch,
    FixtureWeb,
    from_message,
)

QUERIES = [
    "Ortel lighthouse height",
    "Ortel lighthouse other height discrepancy",
    "Ortel lighthouse height disputed",
    "Ortel lighthouse raised rebuilt",
]


class Misbehaving:
    """The script's answers, each given again until it got through; the arms' as they are."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.script = worker(whole())
        self.due: Answer | None = None
        self.asked = Counter(ARM_TOOLS.keys())  # so that each arm is behind by one, and its second answer is changed
        self.lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self.lock:
            tool = body["tools"][0]["function"]["name"]
            who = tool if tool in ARM_TOOLS else "worker"
            self.asked[who] += 1
            number = self.asked[who]
            if who != "worker":
                return self.behaviour.answer(from_message(content_answer(body["tools"])), body, number)
            if self.due is None:
                messages = convert_to_messages(body["messages"])
                self.due = from_message(self.script.bind_tools(body["tools"]).invoke(messages))
            answer = self.due
            if not self.behaviour.loses_answer(number):
                self.due = None
            return self.behaviour.answer(answer, body, number)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two tries where no wait is told."""
    monkeypatch.setattr(call_module, "_FIRST_PAUSE", 0.001)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the client's, for arguments sent unencoded
@pytest.mark.rule("A12", "D47")
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
async def test_a_research_ends_as_with_a_server_that_behaves(home: Path, behaviour: Behaviour, streaming: bool) -> None:
    source = Misbehaving(behaviour)
    found = FixtureSearch(PAGES)
    with ChatCompletionsServer(source) as server:
        model = make_model("test-model", base_url=server.base_url)
        assert isinstance(model, CompatibleChat)
        context = Context(
            model=model.model_copy(update={"streaming": streaming}),
            search=[found],
            fetcher=FixtureWeb(PAGES),
            home=str(home),
            min_sources=2,
            min_domains=2,
        )
        result = await aresearch(OBJECTIVE, context=context)
        bodies = list(server.requests)
    assert {body.get("stream", False) for body in bodies} == {streaming}
    assert (result.status, result.stop_reason) == ("complete", "finalized")
    assert [claim["status"] for claim in result.claims] == ["VERIFIED"]
    assert found.queries == QUERIES, "no query twice, and none taken from thoughts"
    for body in bodies:
        _acceptable(body)
    async with open_store(context) as store:
        entries = await store.calls(result.run_id)
    assert len(entries) == result.usage["calls"]
    assert all(entry.input_tokens > 0 and entry.output_tokens > 0 for entry in entries)
    assert result.usage["repairs"] == sum(entry.repairs.count('"') // 2 for entry in entries)


def _acceptable(body: dict[str, Any]) -> None:
    """What a strict server takes: every call named, with an id of its own, JSON arguments, and one result."""
    asked: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert asked.pop(0) == message["tool_call_id"]
            continue
        assert asked == [], "calls without a result"
        for call in message.get("tool_calls") or ():
            assert call["id"]
            assert call["function"]["name"]
            assert call["function"]["arguments"].startswith("{")
            asked.append(call["id"])
        assert len(set(asked)) == len(asked)
    assert asked == []


async def test_two_runs_whose_calls_share_an_id_do_not_cross(tmp_path: Path) -> None:
    async def one(name: str) -> Any:
        with ChatCompletionsServer(Misbehaving(BEHAVIOURS["id_repeated"])) as server:
            context = Context(
                model="test-model",
                base_url=server.base_url,
                search=[FixtureSearch(PAGES)],
                fetcher=FixtureWeb(PAGES),
                home=str(tmp_path / "home"),
                min_sources=2,
                min_domains=2,
            )
            return await aresearch(OBJECTIVE, context=context, run_id=name)

    first, second = await asyncio.gather(one("first"), one("second"))
    for result in (first, second):
        assert result.status == "complete"
        assert [claim["id"] for claim in result.claims] == ["c_001"]
        searched = [q.query for q in result.research.queries["q_001"] if q.tool == "web_search"]
        assert searched == QUERIES
