"""The test kit itself: the scripted model, the fixture web and search, the server's other paths."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from zetetic.models import make_model, repair
from zetetic.testing import (
    ChatCompletionsServer,
    FixturePage,
    FixtureSearch,
    FixtureWeb,
    ScriptedModel,
    ScriptExhausted,
    call,
    calls,
    from_message,
    says,
    turn,
    wire_call,
)

TOOL = {"type": "function", "function": {"name": "ls", "description": "List.", "parameters": {"type": "object"}}}


async def test_a_script_is_answered_in_order_and_recorded() -> None:
    model = ScriptedModel(script=[turn(call("ls", path="."), text="Looking."), "Done.", ValueError("no")])
    bound = model.bind_tools([TOOL], tool_choice="ls")
    first = await bound.ainvoke("one")
    assert [(one["name"], one["args"]) for one in first.tool_calls] == [("ls", {"path": "."})]
    assert first.usage_metadata is not None
    assert model.invoke("two").text == "Done."
    with pytest.raises(ValueError, match="no"):
        model.invoke("three")
    with pytest.raises(ScriptExhausted, match="The script has 3 answers; this is call 4"):
        model.invoke("four")
    assert [prompt[0].content for prompt in model.prompts] == ["one", "two", "three", "four"]
    assert (model.offered[0], model.offered[1], model.choices[0]) == ([TOOL], [], "ls")


async def test_a_streamed_answer_is_the_same_answer() -> None:
    model = ScriptedModel(script=lambda messages, tools: turn(call("ls", path="."), text="Looking."))
    whole = None
    async for chunk in model.astream("one"):
        whole = chunk if whole is None else whole + chunk
    assert isinstance(whole, AIMessage)
    assert whole.text == "Looking."
    assert [(one.name, one.args) for one in repair(whole, allowed=["ls"], known=["ls"], key="k").calls] == [
        ("ls", {"path": "."})
    ]
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["input_tokens"] > 0


async def test_tasks_and_threads_share_a_script() -> None:
    model = ScriptedModel(script=[str(number) for number in range(40)])
    answers = {answer.text for answer in await asyncio.gather(*(model.ainvoke("x") for _ in range(20)))}
    with ThreadPoolExecutor(8) as pool:
        answers |= {answer.text for answer in pool.map(model.invoke, ["x"] * 20)}
    assert answers == {str(number) for number in range(40)}


@pytest.mark.rule("R8")
async def test_the_fixture_search_ranks_by_shared_words_and_has_every_status() -> None:
    pages = {
        "https://a.example/tides": FixturePage("High water in Brest is at noon.", title="Tides", date="2026-01-02"),
        "https://b.example/brest": "Brest has a harbour.",
        "https://c.example/other": "Nothing of the kind.",
    }
    search = FixtureSearch(pages, statuses={"too often": "rate_limited"})
    found = await search.search("high water Brest", limit=5)
    assert [hit.url for hit in found.hits] == ["https://a.example/tides", "https://b.example/brest"]
    assert (found.status, found.hits[0].title, found.hits[0].date) == ("ok", "Tides", "2026-01-02")
    assert len((await search.search("high water Brest", limit=1)).hits) == 1
    assert (await search.search("zebra", limit=5)).status == "no_results"
    assert (await search.search("too often", limit=5)).status == "rate_limited"
    assert search.queries == ["high water Brest", "high water Brest", "zebra", "too often"]


async def test_the_fixture_web_gives_pages_and_failures() -> None:
    from zetetic.sources.pages import FetchFailure, Page

    web = FixtureWeb(
        {"https://a.example/x": FixturePage("High water.", title="T", redirects_to="https://www.a.example/y")},
        failures={"https://b.example/": "blocked"},
    )
    page = await web.fetch("https://a.example/x")
    assert isinstance(page, Page)
    assert (page.text, page.title, page.final_url, page.domain) == (
        "High water.",
        "T",
        "https://www.a.example/y",
        "a.example",
    )
    failed = [await web.fetch("https://b.example/"), await web.fetch("https://c.example/")]
    assert [one.kind for one in failed if isinstance(one, FetchFailure)] == ["blocked", "not_found"]
    assert len(web.fetched) == 3


async def test_the_server_lists_its_model_and_knows_its_paths() -> None:
    with ChatCompletionsServer([]) as server:
        async with httpx.AsyncClient(base_url=server.base_url) as client:
            assert (await client.get("/models")).json()["data"][0]["id"] == "test-model"
            assert (await client.get("/nothing")).status_code == 404
            assert (await client.post("/nothing", json={})).status_code == 404
            assert (await client.post("/chat/completions", content=b"{")).status_code == 400
            assert (await client.post("/chat/completions", json={"messages": []})).status_code == 500


async def test_a_script_of_the_server_may_repeat_its_last_answer() -> None:
    with ChatCompletionsServer([says("one"), says("two")], repeat_last=True) as server:
        model = make_model("m", base_url=server.base_url)
        assert [(await model.ainvoke("x")).text for _ in range(3)] == ["one", "two", "two"]


def test_a_server_that_does_not_run_says_so() -> None:
    with pytest.raises(RuntimeError, match="use it in a with statement"):
        _ = ChatCompletionsServer([]).base_url


def test_a_message_goes_over_the_wire_and_back() -> None:
    message = ScriptedModel(script=[turn(call("ls"), text="Looking.")]).invoke([HumanMessage("x")])
    answer = from_message(message)
    assert (answer.text, answer.calls[0].name, answer.calls[0].arguments) == ("Looking.", "ls", "{}")
    assert calls(wire_call("ls")).calls[0].arguments == "{}"
