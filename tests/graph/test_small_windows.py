"""Models with small context windows: noticed, refused with the number needed, or prompts made smaller (CASES 9, 15)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph.rig import ARM_TOOLS, OBJECTIVE, OFFICE, PAGES, Rig, Step, content_answer, fetch, plan, search, whole, worker
from langchain_core.messages import AIMessage, convert_to_messages

from zetetic import Context, aresearch
from zetetic.models import ProviderError
from zetetic.nodes.windows import Room, learned, least_window, room_in
from zetetic.nodes.workbench import SetupError, workbench
from zetetic.testing import (
    Answer,
    Behaviour,
    ChatCompletionsServer,
    FixturePage,
    FixtureSearch,
    FixtureWeb,
    call,
    from_message,
    small_rate,
    small_window,
    turn,
)

PARAGRAPH = (
    "The keepers of the Ortel lighthouse painted the lamp room in the spring of the year {n}, as they always had."
)


def big_page(paragraphs: int) -> FixturePage:
    """A page of so many paragraphs of about 110 characters, no two alike."""
    return FixturePage("\n\n".join(PARAGRAPH.format(n=1900 + n) for n in range(paragraphs)), title="Chronicle")


class Served:
    """A script behind a server that keeps to a window; a refused request takes no step of the script."""

    def __init__(self, steps: list[Step], window: Behaviour | None, extract: Callable[[str], AIMessage] | None = None):
        self.script = worker(steps)
        self.window = window
        self.extract = extract
        self.refused = 0
        self.served: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        if self.window is not None and self.window.change(probe := Answer(text="fits"), body) != probe:
            self.refused += 1
            return self.window.change(probe, body)
        self.served.append(body)
        if body["tools"][0]["function"]["name"] in ARM_TOOLS:
            return from_message(content_answer(body["tools"]))
        messages = convert_to_messages(body["messages"])
        if self.extract is not None and "Stage: extracting" in str(messages[-1].text):
            return from_message(self.extract(str(messages[-1].text)))
        return from_message(self.script.bind_tools(body["tools"]).invoke(messages))


def context(home: Path, server: ChatCompletionsServer, pages: dict[str, Any] = PAGES, **more: Any) -> Context:
    given = {"min_sources": 2, "min_domains": 2, "call_retries": 0, "arm_retries": 0, **more}
    return Context(
        model="test-model",
        base_url=server.base_url,
        search=[FixtureSearch(pages)],
        fetcher=FixtureWeb(pages),
        home=str(home),
        **given,
    )


WINDOWS = {
    "window, told": small_window(7400),
    "window, not told": small_window(7400, told=False),
    "rate": small_rate(5000),
}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
async def test_a_worker_with_little_room_gets_smaller_prompts_and_the_room_is_remembered(
    home: Path, window: Behaviour
) -> None:
    thoughts = [turn(call("notes_scratch", text=f"Thought {n}. " * 200)) for n in range(6)]
    served = Served([*whole()[:2], *thoughts, *whole()[2:]], window)
    with ChatCompletionsServer(served) as server:
        result = await aresearch(OBJECTIVE, context=context(home, server, call_retries=3))
    assert (result.status, result.research.turns) == ("complete", 16)
    assert 1 <= served.refused <= 4, "found at the first turns, and not at every turn"
    asked = [(body["messages"], body["max_tokens"]) for body in server.requests]
    assert all(one != other for one, other in itertools.pairwise(asked)), "nothing was repeated as it was"
    last = [str(body["messages"]) for body in served.served if len(body["tools"]) > 1][-1]
    assert OBJECTIVE in last
    assert "Thought 0. Thought 0." not in last, "the notes' Scratch was shortened by its own rule"


@pytest.mark.parametrize("window", [small_window(4000), small_window(2048, cuts=True)], ids=["refused", "cut"])
async def test_a_page_that_the_extractors_window_does_not_hold_is_read_in_parts(home: Path, window: Behaviour) -> None:
    pages = {**PAGES, OFFICE: FixturePage(f"{PAGES[OFFICE].text}\n\n{big_page(140).text}", title="The tower")}
    parts: list[str] = []

    def extract(prompt: str) -> AIMessage:
        parts.append(prompt)
        return turn(call("notes_append", nothing_relevant=["s_001"]))

    steps: list[Step] = [plan(), search(), fetch(OFFICE), turn(call("abort", reason="enough"))]
    rig = Rig(home, worker(steps, "…"), pages=pages)
    served = Served([], window, extract)
    with ChatCompletionsServer(served) as server:
        more = {"extractor": "test-model", "base_url": server.base_url}
        result = await aresearch(OBJECTIVE, context=rig.context().model_copy(update=more))
    assert 1 <= served.refused <= 3
    assert len(parts) >= 2
    for prompt in parts:
        shown = prompt.split("<page", 1)[1].split(">", 1)[1].split("</page>", 1)[0].strip()
        assert shown in pages[OFFICE].text, "whole, as it stands in the page"
        assert shown.endswith("."), "cut at the end of a line or sentence"
    assert len(result.sources) == 1


async def test_a_window_in_which_nothing_fits_is_refused_with_the_number_needed(home: Path) -> None:
    served = Served(whole(), small_window(2048))
    with ChatCompletionsServer(served) as server:
        result = await aresearch(OBJECTIVE, context=context(home, server))
    assert (result.status, result.stop_reason) == ("blocked", "blocked:model:context")
    assert result.usage["calls"] == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 4096}}),
        ("/v1/models", {"data": [{"id": "test-model", "max_model_len": 4096}]}),
        (
            "/api/v0/models",
            {"data": [{"id": "test-model", "loaded_context_length": 4096, "max_context_length": 32768}]},
        ),
        ("/api/ps", {"models": [{"model": "test-model", "context_length": 4096}]}),
    ],
    ids=["llama.cpp", "vllm", "lm studio", "ollama"],
)
async def test_a_window_that_the_server_tells_is_refused_before_anything_is_asked(
    home: Path, path: str, body: dict[str, Any]
) -> None:
    with ChatCompletionsServer([], told={path: body}) as server:
        with pytest.raises(SetupError) as caught:
            await aresearch(OBJECTIVE, context=context(home, server))
        assert server.requests == []
    assert "'test-model' has a context window of 4096 tokens; as worker it needs at least 6144" in str(caught.value)


async def test_a_window_that_is_told_and_large_enough_is_planned_with(home: Path) -> None:
    told = {"/props": {"default_generation_settings": {"n_ctx": 8192}}}
    served = Served(whole(), small_window(8192))
    with ChatCompletionsServer(served, told=told) as server:
        chosen = context(home, server)
        async with workbench(chosen) as bench:
            assert bench.rooms["worker"] == Room(prompt=5529, answer=2048)
            result = await aresearch(OBJECTIVE, context=chosen)
    assert result.status == "complete"
    assert served.refused == 0, "no request was wasted on finding out"
    assert {body["max_tokens"] for body in served.served} == {2048, 1024}


async def test_a_profile_of_the_model_tells_its_window_too(home: Path) -> None:
    rig = Rig(home, worker(whole()))
    small = rig.worker.model_copy(update={"profile": {"max_input_tokens": 4096}})
    with pytest.raises(SetupError, match="as worker it needs at least 6144"):
        await aresearch(OBJECTIVE, context=rig.context().model_copy(update={"model": small}))


def test_each_role_has_its_least_window() -> None:
    assert {role: least_window(role) for role in ("worker", "extractor", "evaluator")} == {
        "worker": 6144,
        "extractor": 3072,
        "evaluator": 3072,
    }


@pytest.mark.parametrize(
    ("told", "size", "before", "room"),
    [
        ({}, 5000, None, Room(3000, 2048)),
        ({}, 3000, Room(3000, 2048), Room(1800, 1024)),
        ({"window": 8192, "asked": 10_000}, 9000, None, Room(4976, 2048)),
        ({"window": 4096, "asked": 904}, 900, None, Room(2752, 1024)),
        ({"window": 4096}, 9000, None, Room(2764, 1024)),
        ({"window": 8192, "asked": 5000}, 5000, Room(5529, 2048), Room(3000, 2048)),
    ],
    ids=["nothing told", "again", "both told", "room for the answer was too much", "window alone", "no way ahead"],
)
def test_what_a_refusal_teaches(told: dict[str, int], size: int, before: Room | None, room: Room) -> None:
    assert learned(ProviderError("context", "too long", **told), size, before, 4096) == room  # type: ignore[arg-type]


def test_a_window_is_shared_between_prompt_and_answer() -> None:
    assert room_in(8192, 4096) == Room(5529, 2048)
    assert room_in(128_000, 4096) == Room(111_513, 4096)
