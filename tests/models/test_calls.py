"""Calls over a real server on loopback: what arrives, and what trouble is called (CASES 5 to 9, 15)."""

import asyncio
import socket
import threading
from time import monotonic
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.graph import START, StateGraph
from pydantic import SecretStr
from typing_extensions import TypedDict

from zetetic.models import ProviderError, acceptable_history, call_model, make_model, repair, usage_of
from zetetic.models import calls as call_module
from zetetic.testing import (
    Answer,
    ChatCompletionsServer,
    ScriptedModel,
    WireCall,
    call,
    calls,
    garbles,
    hangs_up,
    refuses,
    says,
    stalls,
    turn,
    wire_call,
)

SEARCH: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "web_search",
        "description": "Search the web.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
}
PROMPT: list[BaseMessage] = [SystemMessage("You search."), HumanMessage("When is high water in Brest?")]
SECRET = "sk-live-9f8e7d6c5b4a39281706"


def client(server: ChatCompletionsServer, **settings: Any) -> BaseChatModel:
    settings = {"timeout": 5.0, "api_key": SECRET, **settings}
    return make_model("test-model", base_url=server.base_url, **settings)


async def ask(model: BaseChatModel, prompt: list[BaseMessage] = PROMPT, **settings: Any) -> AIMessage:
    return await call_model(model, prompt, tools=[SEARCH], **{"tool_choice": None, "timeout": 5.0, **settings})


@pytest.fixture(params=["whole", "streamed"])
def streaming(request: pytest.FixtureRequest) -> bool:
    """Both ways over the wire: LangGraph streams as soon as anyone looks on."""
    return request.param == "streamed"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two tries where no wait is told."""
    monkeypatch.setattr(call_module, "_FIRST_PAUSE", 0.001)


def streamed(model: BaseChatModel, on: bool) -> BaseChatModel:
    return model.model_copy(update={"streaming": on})


async def trouble(answer: Answer, streaming: bool = False, **settings: Any) -> ProviderError:
    with ChatCompletionsServer([answer], repeat_last=True) as server, pytest.raises(ProviderError) as caught:
        await ask(streamed(client(server), streaming), **settings)
    assert SECRET not in str(caught.value)
    return caught.value


# what arrives


async def test_a_tool_call_arrives(streaming: bool) -> None:
    with ChatCompletionsServer([calls(wire_call("web_search", query="tides Brest"), text="Searching.")]) as server:
        answer = await ask(streamed(client(server), streaming), tool_choice="web_search")
    repaired = repair(answer, allowed=["web_search"], known=["web_search"], key="k")
    assert [(one.name, one.args) for one in repaired.calls] == [("web_search", {"query": "tides Brest"})]
    assert (repaired.text, repaired.repairs) == ("Searching.", ())
    [body] = server.requests
    assert body["tools"] == [SEARCH]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "web_search"}}
    assert body.get("stream", False) is streaming


@pytest.mark.rule("D47")
async def test_usage_is_the_servers_also_when_streamed(streaming: bool) -> None:
    with ChatCompletionsServer([says("Noon.").costing(1200, 40, cached=1000)]) as server:
        answer = await ask(streamed(client(server), streaming))
    usage = usage_of(PROMPT, answer, "test-model")
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1200, 40, 1000)
    assert (usage.usd, usage.estimated) == (None, False)


@pytest.mark.rule("D47")
async def test_usage_that_the_server_does_not_report_is_estimated(streaming: bool) -> None:
    with ChatCompletionsServer([Answer(text="Noon.", usage={})]) as server:
        answer = await ask(streamed(client(server), streaming))
    usage = usage_of(PROMPT, answer, "test-model")
    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
    assert usage_of(PROMPT, answer, "test-model", tools=[SEARCH]).input_tokens > usage.input_tokens + 30


ODD_CALLS = [
    (WireCall("web_search", {"query": "tides"}, "c1"), {"query": "tides"}),
    (WireCall("web_search", [{"query": "tides"}], "c1"), {"query": "tides"}),
    (WireCall("web_search", '[{"query": "tides"}]', "c1"), {"query": "tides"}),
    (WireCall("web_search", '"{\\"query\\": \\"tides\\"}"', "c1"), {"query": "tides"}),
    (WireCall("web_search", '{"query": "\\d tides"}', "c1"), {"query": "\\d tides"}),
    (WireCall("web_search", '{"query": "tides"} done', None), {"query": "tides"}),
    (WireCall("web_searchweb_search", '{"query": "tides"}', ""), {"query": "tides"}),
    (WireCall("web_search", '{"query": "tid', "c1"), None),
    (WireCall("web_search", "null", "c1"), None),
    (WireCall("", '{"query": "tides"}', "c1"), None),
    (WireCall(None, '{"query": "tides"}', None), None),
    (WireCall("nowhere", "{}", "c1"), None),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the client's, for arguments sent unencoded
@pytest.mark.parametrize(("sent", "args"), ODD_CALLS)
async def test_odd_calls_survive_the_wire_and_the_next_request_is_accepted(
    sent: WireCall, args: dict[str, Any] | None, streaming: bool
) -> None:
    with ChatCompletionsServer([calls(sent), says("Noon.")]) as server:
        model = streamed(client(server), streaming)
        answer = await ask(model)
        repaired = repair(answer, allowed=["web_search"], known=["web_search"], key="k")
        assert [one.args for one in repaired.calls] == ([] if args is None else [args])
        assert len(repaired.errors) == (1 if args is None else 0)
        kept = acceptable_history(answer, repaired)
        results = [ToolMessage(content="-", tool_call_id=str(one["id"])) for one in kept.tool_calls]
        await ask(model, [*PROMPT, kept, *results])
    [asked] = server.requests[1]["messages"][2]["tool_calls"]
    assert asked["id"] == server.requests[1]["messages"][3]["tool_call_id"] != ""
    assert asked["function"]["name"] != ""


async def test_parallel_calls_keep_their_own_arguments(streaming: bool) -> None:
    sent = [wire_call("web_search", query=f"query number {number} of many words") for number in range(4)]
    with ChatCompletionsServer([calls(*sent)]) as server:
        answer = await ask(streamed(client(server), streaming))
    repaired = repair(answer, allowed=["web_search"], known=["web_search"], key="k")
    assert [one.args["query"][13:14] for one in repaired.calls] == ["0", "1", "2", "3"]


async def test_how_the_answer_ended_arrives(streaming: bool) -> None:
    cut = calls(WireCall("web_search", '{"query": "tides in', "c1"))
    with ChatCompletionsServer([cut.ending("length"), says("").ending("content_filter")]) as server:
        model = streamed(client(server), streaming)
        first = repair(await ask(model), allowed=["web_search"], known=["web_search"], key="k")
        second = repair(await ask(model), allowed=["web_search"], known=["web_search"], key="k")
    assert (first.truncated, first.calls, len(first.errors)) == (True, (), 1)
    assert second.filtered


@pytest.mark.rule("D47")
async def test_whoever_looks_on_at_a_graph_changes_neither_usage_nor_what_is_cut_off() -> None:
    answers: list[AIMessage] = []

    class State(TypedDict):
        asked: int

    async def decide(state: State) -> State:
        answers.append(await ask(model))
        return {"asked": state["asked"] + 1}

    graph = StateGraph(State).add_node("decide", decide).add_edge(START, "decide").compile()
    cut = calls(wire_call("web_search", query="tides"), WireCall("web_search", '{"query": "tides in', "c2"))
    with ChatCompletionsServer([cut.costing(1200, 40, cached=1000)], repeat_last=True) as server:
        model = client(server)
        async for _ in graph.astream({"asked": 0}, stream_mode="messages"):
            pass
        await graph.ainvoke({"asked": 0})
    assert [body.get("stream", False) for body in server.requests] == [True, False]
    for answer in answers:
        usage = usage_of(PROMPT, answer, "test-model")
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1200, 40, 1000)
        repaired = repair(answer, allowed=["web_search"], known=["web_search"], key="k")
        assert [one.args for one in repaired.calls] == [{"query": "tides"}]
        assert [(one.id, one.name) for one in repaired.errors] == [("c2", "web_search")]


async def test_reasoning_in_a_field_of_its_own_is_no_text(streaming: bool) -> None:
    with ChatCompletionsServer([says("Noon.", reasoning="Let me think.")]) as server:
        answer = await ask(streamed(client(server), streaming))
    assert repair(answer, allowed=[], known=[], key="k").text == "Noon."


# a LangChain model behind HTTP


async def test_a_chat_model_is_served_as_it_is(streaming: bool) -> None:
    inner = ScriptedModel(script=[turn(call("web_search", query="tides")), turn(text="Noon.")])
    with ChatCompletionsServer(inner) as server:
        model = streamed(client(server), streaming)
        answer = await ask(model, tool_choice="any")
        kept = acceptable_history(answer, repair(answer, allowed=["web_search"], known=["web_search"], key="k"))
        result = ToolMessage(content="12:04", tool_call_id=str(kept.tool_calls[0]["id"]))
        assert (await ask(model, [*PROMPT, kept, result])).text == "Noon."
    assert inner.choices == ["any", None]
    assert inner.offered[0] == [SEARCH]
    assert [message.type for message in inner.prompts[1]] == ["system", "human", "ai", "tool"]
    assert inner.prompts[1][3].content == "12:04"


# trouble


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (refuses(401, f"Incorrect API key provided: {SECRET}"), "auth", "refused access (401), check its key"),
        (refuses(403, "no access to this model"), "auth", "refused access (403)"),
        (refuses(402, "payment required"), "auth", "out of credit or quota"),
        (refuses(429, "You exceeded your current quota", code="insufficient_quota"), "auth", "out of credit or quota"),
        (refuses(429, "slow down"), "rate_limit", "limits the rate (429): slow down"),
        (refuses(400, "This model's maximum context length is 4096 tokens"), "context", "does not fit"),
        (refuses(400, "too long", code="context_length_exceeded"), "context", "does not fit"),
        (refuses(413, "payload too large"), "context", "does not fit"),
        (refuses(400, "tool_choice is not supported"), "bad_request", "does not accept `tool_choice`"),
        (refuses(400, "test-model does not support tools"), "bad_request", "does not accept tools"),
        (refuses(404, "model 'test-model' not found"), "bad_request", "refused the request (404)"),
        (refuses(422, "unknown field"), "bad_request", "refused the request (422)"),
        (refuses(500, "boom"), "server", "failed (500): boom"),
        (refuses(503, "overloaded"), "server", "failed (503): overloaded"),
        (refuses(500, "error parsing tool call: raw='{'"), "bad_answer", "could not be read"),
        (hangs_up(), "connection", "could not be reached, or broke off"),
        (hangs_up(midway=True), "connection", "could not be reached, or broke off"),
    ],
)
async def test_trouble_has_a_kind(answer: Answer, kind: str, words: str, streaming: bool) -> None:
    error = await trouble(answer, streaming, tool_choice="web_search")
    assert error.kind == kind
    assert words in error.message


@pytest.mark.parametrize(
    "answer",
    [
        garbles(),
        garbles(b"\xff\xfe\x00garbage"),
        Answer(body=b'{"choices": null}', headers={"content-type": "application/json"}),
        Answer(body=b'{"choices": []}', headers={"content-type": "application/json"}),
        Answer(body=b'{"choices": [{"mess', headers={"content-type": "application/json"}),
        Answer(body=b"[]", headers={"content-type": "application/json"}),
    ],
)
async def test_an_answer_that_is_none_is_a_bad_answer(answer: Answer, streaming: bool) -> None:
    assert (await trouble(answer, streaming)).kind == "bad_answer"


async def test_an_error_inside_a_stream_is_trouble() -> None:
    assert (await trouble(Answer(text="so far", error_event="error parsing tool call"), True)).kind == "bad_answer"
    assert (await trouble(Answer(text="so far", error_event="the runner died"), True)).kind == "server"
    assert (await trouble(Answer(error_event="Rate limit reached. Try again in 2s"), True)).retry_after == 2.0


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (refuses(429, "slow down", retry_after="7"), 7.0),
        (refuses(429, "slow down", retry_after_ms="424"), 0.424),
        (refuses(429, "slow down", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), 0.0),
        (refuses(429, "Rate limit reached. Please try again in 424ms."), 0.424),
        (refuses(429, "Please try again in 1m30.5s. Visit the limits page."), 90.5),
        (refuses(429, '{"retryDelay": "34s"}'), 34.0),
        (refuses(503, "overloaded", retry_after="3"), 3.0),
        (refuses(429, "slow down"), None),
    ],
)
async def test_when_to_try_again_is_told(answer: Answer, seconds: float | None) -> None:
    assert (await trouble(answer)).retry_after == seconds


async def test_a_request_larger_than_the_rate_says_so() -> None:
    assert (await trouble(refuses(429, "Request too large for test-model"))).too_large
    assert not (await trouble(refuses(429, "slow down"))).too_large


async def test_silence_is_a_timeout(streaming: bool) -> None:
    error = await trouble(stalls(), streaming, timeout=0.2)
    assert (error.kind, error.message) == ("timeout", "The model did not answer within 0.2 seconds.")


async def test_the_clients_own_timeout_is_one_too() -> None:
    with ChatCompletionsServer([stalls()]) as server, pytest.raises(ProviderError) as caught:
        await ask(client(server, timeout=0.2))
    assert caught.value.kind == "timeout"


async def test_nobody_listening_is_no_connection() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await ask(make_model("test-model", base_url=address))
    assert caught.value.kind == "connection"


PASSING = [
    refuses(500, "boom"),
    refuses(500, "error parsing tool call: raw='{'"),
    refuses(429, "slow down"),
    hangs_up(),
    hangs_up(midway=True),
    garbles(),
]


@pytest.mark.parametrize("answer", PASSING, ids=lambda one: one.message or one.hang_up or "garbled")
async def test_what_may_pass_is_tried_again_in_bounds(answer: Answer, streaming: bool, quick: None) -> None:
    with ChatCompletionsServer([answer, answer, says("Noon.")]) as server:
        model = streamed(client(server), streaming)
        assert (await ask(model, retries=2)).text == "Noon."
    with ChatCompletionsServer([answer], repeat_last=True) as server, pytest.raises(ProviderError):
        await ask(streamed(client(server), streaming), retries=2)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [
        refuses(401, "no such key"),
        refuses(400, "This model's maximum context length is 4096 tokens"),
        refuses(404, "no such model"),
        refuses(429, "Request too large for test-model", retry_after="0"),
    ],
    ids=lambda one: one.status,
)
async def test_what_will_not_pass_is_not_tried_again(answer: Answer) -> None:
    with ChatCompletionsServer([answer], repeat_last=True) as server, pytest.raises(ProviderError):
        await ask(client(server), retries=5)
    assert len(server.requests) == 1


async def test_a_wait_in_words_is_waited_for() -> None:
    limit = refuses(429, "Rate limit reached. Please try again in 424ms.")
    with ChatCompletionsServer([limit, says("Noon.")]) as server:
        began = monotonic()
        assert (await ask(client(server), retries=1)).text == "Noon."
    assert monotonic() - began >= 0.424


async def test_a_wait_is_waited_for_also_where_the_client_is_the_hosts_own() -> None:
    limit = refuses(429, "Please try again in 50ms.")
    with ChatCompletionsServer([limit, says("Noon.")]) as server:
        model = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr("none"), max_retries=0)
        assert (await ask(model, retries=1)).text == "Noon."


@pytest.mark.parametrize("bound", [{"timeout": 2.0}, {"until": 2.0}], ids=["the call's time", "the caller's time"])
async def test_no_wait_is_longer_than_what_is_left(bound: dict[str, float]) -> None:
    if "until" in bound:
        bound = {"until": asyncio.get_running_loop().time() + bound["until"]}
    with ChatCompletionsServer([refuses(503, "overloaded", retry_after="3")]) as server:
        began = monotonic()
        with pytest.raises(ProviderError) as caught:
            await ask(client(server), retries=5, **bound)
    assert (caught.value.kind, caught.value.retry_after, len(server.requests)) == ("server", 3.0, 1)
    assert monotonic() - began < 2.0


@pytest.mark.parametrize("how", ["cancelled", "given up"])
async def test_a_wait_ends_at_once_when_nobody_wants_the_answer(how: str) -> None:
    refused, given_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def limited(body: dict[str, Any]) -> Answer:
        loop.call_soon_threadsafe(refused.set)
        return refuses(429, "try again in 60 s")

    with ChatCompletionsServer(limited) as server:
        task = asyncio.create_task(ask(client(server), retries=5, timeout=300.0, given_up=given_up))
        await refused.wait()
        await asyncio.sleep(0.2)
        began = monotonic()
        if how == "cancelled":
            task.cancel()
        else:
            given_up.set()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError if how == "cancelled" else ProviderError)
    assert monotonic() - began < 1.0
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("said", "sizes"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001.", (8192, 9001)),
        ("maximum context length is 4096 tokens. However, you requested 5000 tokens (904 in the messages, 4096 in the"
         " completion)", (4096, 904)),
        ("'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 27"
         " input tokens", (4096, 27)),
        ("request (5120 tokens) exceeds the available context size (4096 tokens), try increasing it", (4096, 5120)),
        ("Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context"
         " length of only 4096 tokens, which is not enough.", (4096, 5000)),
        ("prompt is too long: 208310 tokens > 200000 maximum", (200000, 208310)),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", (1048576, 1200000)),
        ("The prompt exceeds the context window.", (None, None)),
    ],
    ids=["openai", "vllm", "vllm output", "llama.cpp", "lm studio", "anthropic", "gemini", "no number"],
)  # fmt: skip
async def test_a_window_that_is_told_is_read(said: str, sizes: tuple[int | None, int | None]) -> None:
    error = await trouble(refuses(400, said))
    assert (error.kind, error.has_to_shrink, (error.window, error.asked)) == ("context", True, sizes)


async def test_what_a_rate_allows_a_request_is_read() -> None:
    error = await trouble(refuses(429, "Request too large for m on tokens per min (TPM): Limit 6000, Requested 10250."))
    assert (error.kind, error.has_to_shrink, error.window, error.asked) == ("rate_limit", True, 6000, 10250)


async def test_a_window_that_cut_the_request_is_noticed() -> None:
    long = [HumanMessage("word " * 16_000)]
    with ChatCompletionsServer([says("Noon.").costing(4090, 5), says("Noon.").costing(16_010, 5)]) as server:
        with pytest.raises(ProviderError, match="Start it with a window of at least 25600 tokens") as caught:
            await ask(client(server), long)
        assert (await ask(client(server), long)).text == "Noon."
    assert caught.value.kind == "context"


@pytest.mark.parametrize("secret", [SECRET, "plainpassword123", "AIzaSyA-1234567890abcdefghijk"])
async def test_no_key_is_ever_in_a_message(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "env-secret-value")
    said = f"Authorization: Bearer {secret} at https://user:{secret}@host/?key={secret} (env-secret-value)"
    with ChatCompletionsServer([refuses(400, said)]) as server, pytest.raises(ProviderError) as caught:
        await ask(client(server, api_key=secret))
    assert secret not in repr(caught.value)
    assert "env-secret-value" not in caught.value.message
    assert caught.value.__cause__ is None


async def test_a_wrong_key_is_told_without_it() -> None:
    with ChatCompletionsServer([], require_key="another-key-1234") as server, pytest.raises(ProviderError) as caught:
        await ask(client(server))
    assert caught.value.kind == "auth"
    assert SECRET not in caught.value.message


async def test_a_model_without_tools_says_so() -> None:
    class Plain(ScriptedModel):
        def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(ProviderError, match="choose a model and server that can call tools"):
        await ask(Plain(script=["Noon."]))


@pytest.mark.parametrize("signal", [GraphInterrupt(), GraphBubbleUp()])
async def test_the_graphs_signals_pass_through(signal: Exception) -> None:
    with pytest.raises(type(signal)):
        await ask(ScriptedModel(script=[signal]))


async def test_cancellation_passes_through() -> None:
    arrived = threading.Event()

    def silent(body: dict[str, Any]) -> Answer:
        arrived.set()
        return stalls()

    with ChatCompletionsServer(silent) as server:
        task = asyncio.create_task(ask(client(server)))
        assert await asyncio.to_thread(arrived.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_a_model_works_in_one_event_loop_after_another() -> None:
    with ChatCompletionsServer([says("Noon.")], repeat_last=True, keep_alive=True) as server:
        model = client(server)
        assert [asyncio.run(ask(model)).text for _ in range(3)] == ["Noon.", "Noon.", "Noon."]
