"""A worker that gets lost is asked one thing a turn, whatever it babbles (D2, D3, D55, CASES 1)."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from graph.rig import ARM_TOOLS, OBJECTIVE, PAGES, Rig, anchored, arms, text_of, whole, worker
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage
from state.test_guiding import rivals

from zetetic import Context, ResearchResult, aresearch
from zetetic.nodes.guided import NAMES, meant
from zetetic.state.guiding import Step
from zetetic.testing import (
    ChatCompletionsServer,
    FixtureSearch,
    FixtureWeb,
    ScriptedModel,
    call,
    calls,
    says,
    turn,
    wire_call,
)
from zetetic.tools import TOOLS, read_args

ENDS = ("complete", "reported", "blocked", "failed")
HEIGHT = "The Ortel lighthouse is 42 metres tall."


def anything(schema: dict[str, Any], rng: random.Random) -> Any:
    """Any value that a schema allows, as a server gives it that constrains a model which understands nothing."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: anything(part, rng) for name, part in schema["properties"].items()}
        case "array":
            return [anything(schema["items"], rng) for _ in range(rng.randint(schema["minItems"], schema["maxItems"]))]
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return rng.randint(0, 9)
        case _:
            known = ["", HEIGHT, "42", "tower lamp", OBJECTIVE, "[c_001]", "It is not 42 metres.", "x" * 900]
            return rng.choice(known)[: schema.get("maxLength", 900)]


def forced_tool(body: dict[str, Any]) -> dict[str, Any] | None:
    """The one tool that has to be called, if there is one."""
    choice = body.get("tool_choice")
    name = choice["function"]["name"] if isinstance(choice, dict) else ""
    return next((tool["function"] for tool in body["tools"] if tool["function"]["name"] == name), None)


async def kept_to_its_rules(result: ResearchResult, context: Context) -> None:
    """It ended as a rule says, and every quote stands in its page."""
    assert result.status in ENDS
    assert result.report or result.status == "blocked"
    await anchored(result, context)


def context_of(home: Path, server: ChatCompletionsServer, **bounds: Any) -> Context:
    given = {"min_sources": 2, "min_domains": 2, "max_turns": 40, **bounds}
    return Context(
        model="babbling", base_url=server.base_url, evaluator=arms(), search=[FixtureSearch(PAGES)],
        fetcher=FixtureWeb(PAGES), home=str(home), **given,
    )  # fmt: skip


@pytest.mark.rule("D2", "D3", "D46")
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_a_constrained_model_babbles_the_run_ends_by_its_rules(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)

    def babble(body: dict[str, Any]) -> Any:
        tool = forced_tool(body)
        if tool is None:
            return says("Let me think about lighthouses.")
        if tool["name"] == "notes_append":
            quotes = [HEIGHT, "Levelling gave the Ortel lighthouse a height of 42 metres above its base."]
            ids = tool["parameters"]["properties"]["nothing_relevant"]["items"]["enum"]
            claims = [{"source_id": rng.choice(ids), "quote": quote, "text": HEIGHT} for quote in quotes]
            return calls(wire_call(tool["name"], claims=claims, nothing_relevant=[]))
        return calls(wire_call(tool["name"], **anything(tool["parameters"], rng)))

    with ChatCompletionsServer(babble) as server:
        context = context_of(tmp_path, server)
        result = await aresearch(OBJECTIVE, context=context)
    await kept_to_its_rules(result, context)
    r = result.research
    assert r.lost == 1 or r.guided, "two turns without a call, then one step at a time"
    assert any(q.tool == "web_search" for log in r.queries.values() for q in log)
    assert any(q.tool == "fetch_page" for log in r.queries.values() for q in log)
    assert r.claims, "what stands word for word in a page that was read is recorded"


def plain() -> ScriptedModel:
    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage | str:
        if len(tools) > 1:
            return "I would look for the height."
        name, fields = tools[0]["function"]["name"], tools[0]["function"]["parameters"]["properties"]
        match name:
            case "ask":
                return turn(call(name, questions=[OBJECTIVE]))
            case "search":
                return turn(call(name, queries=["Ortel lighthouse height"]))
            case "read":
                return turn(call(name, numbers=fields["numbers"]["items"]["enum"]))
            case "notes_append":
                ids = fields["nothing_relevant"]["items"]["enum"]
                page = text_of(messages)
                assert HEIGHT in page
                # the wrong page for every quote
                quotes = dict(zip(reversed(ids), ("Levelling gave the Ortel lighthouse a height", HEIGHT), strict=True))
                claims = [{"source_id": i, "quote": q, "text": HEIGHT} for i, q in quotes.items()]
                return turn(call(name, claims=claims, nothing_relevant=[]))
            case "answer" | "conclude":
                attack = {"if_wrong": "It has another height.", "query": "Ortel lighthouse disputed"}
                said = {"answer": HEIGHT, "answered": True} if name == "answer" else {"conclusion": HEIGHT}
                return turn(call(name, claim_ids=["c_001"], **said, **attack))
            case "judge":
                return turn(call(name, evidence="Both pages have 42 metres.", outcome="survived"))
            case "tell":
                return turn(call(name, sentences=[{"text": HEIGHT, "claim_ids": ["c_001"]}]))
        raise AssertionError(name)

    return ScriptedModel(script=script)


@pytest.mark.rule("D17", "D24", "D41", "D55")
async def test_a_small_model_gets_through_one_step_at_a_time(tmp_path: Path) -> None:
    model = plain()
    context = Context(
        model=model, evaluator=arms(), search=[FixtureSearch(PAGES)], fetcher=FixtureWeb(PAGES), home=str(tmp_path),
        min_sources=2, min_domains=2,
    )  # fmt: skip
    result = await aresearch(OBJECTIVE, context=context)
    assert (result.status, result.stop_reason) == ("complete", "finalized"), result.report
    assert "The Ortel lighthouse is 42 metres tall. [1" in result.report
    r = result.research
    assert r.root.why_unchallenged == ""
    assert [c.outcome for c in r.challenges.values()] == ["survived", "survived"], "the answer, then the conclusion"
    free = [n for n, offered in enumerate(model.offered) if len(offered) > 1]
    assert free == [0, 1, 3, 4], "lost in planning and once more in the attempt; then guided to the end"
    sizes = [len(text_of(prompt)) for n, prompt in enumerate(model.prompts) if n not in free]
    assert max(sizes) < len(text_of(model.prompts[0])) / 2


@pytest.mark.rule("D30", "D31")
async def test_a_page_read_for_one_question_is_read_once_more_for_another_and_fetched_once(tmp_path: Path) -> None:
    lit = "When was the Ortel lighthouse lit?"
    found = {OBJECTIVE: HEIGHT, lit: "It was lit in 1911."}

    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        name, fields = tools[0]["function"]["name"], tools[0]["function"]["parameters"]["properties"]
        prompt = text_of(messages[1:])
        line = re.search(r"^Question: (?:\[q_\d+\] )?(.*)$", prompt, re.MULTILINE)
        asked = line[1] if line and line[1] in found else OBJECTIVE
        known = {"claim_ids": fields.get("claim_ids", {}).get("items", {}).get("enum", [])[:1]}
        attack = {"if_wrong": "It is otherwise.", "query": "Ortel lighthouse disputed"}
        said = {
            "ask": {"questions": [OBJECTIVE, lit]},
            "search": {"queries": ["Ortel lighthouse"]},
            "read": {"numbers": fields.get("numbers", {}).get("items", {}).get("enum", [])},
            "answer": {**known, "answer": found[asked], "answered": True, **attack},
            "judge": {"evidence": "Nothing else was found.", "outcome": "survived"},
            "conclude": {**known, "conclusion": HEIGHT, **attack},
            "tell": {"sentences": [{"text": HEIGHT, **known}]},
        }
        if name == "notes_append":
            claims = [{"source_id": "s_002", "quote": found[asked], "text": found[asked]}]
            return turn(call(name, claims=claims, nothing_relevant=["s_001"]))
        return turn(call(name, **said[name]))

    web = FixtureWeb(PAGES)
    context = Context(
        model=ScriptedModel(script=script), evaluator=arms(), search=[FixtureSearch(PAGES)], fetcher=web,
        home=str(tmp_path), min_sources=2, min_domains=2, guide_after=0,
    )  # fmt: skip
    result = await aresearch(f"{OBJECTIVE} {lit}", context=context)
    r = result.research
    assert result.status == "complete", result.report
    answers = {q.question: q.answer for q in r.questions.values()}
    assert answers[OBJECTIVE].startswith(HEIGHT)
    assert answers[lit].startswith("It was lit in 1911.")
    assert len(web.fetched) == len(PAGES)
    again = [record for log in r.queries.values() for record in log if "read once more" in record.outcome]
    assert {record.question_id for record in again} == {"q_003"}
    notes = {s.id: s.note for s in r.sources.values()}
    assert notes == {"s_001": "", "s_002": "read, nothing relevant"}


@pytest.mark.rule("D4", "D55")
async def test_guided_from_the_start_and_never(tmp_path: Path) -> None:
    for after, expected in ((0, 0), (50, 6)):
        model = plain()
        context = Context(
            model=model, evaluator=arms(), search=[FixtureSearch(PAGES)], fetcher=FixtureWeb(PAGES),
            home=str(tmp_path / str(after)), guide_after=after, max_turns=8,
        )  # fmt: skip
        result = await aresearch(OBJECTIVE, context=context)
        free = sum(len(offered) > 1 for offered in model.offered)
        assert (free >= expected) if expected else free == 0
        assert result.status in ENDS


@pytest.mark.rule("D17")
async def test_one_refused_turn_does_not_make_a_worker_lost(tmp_path: Path) -> None:
    refused = turn(call("resolve_question", id="q_001", answer="It is tall."))
    steps = whole()
    rig = Rig(tmp_path, worker([*steps[:2], refused, *steps[2:4], refused, *steps[4:]]))
    result = await rig.research()
    assert (result.status, result.research.lost) == ("complete", 0)


def test_the_steps_tools_are_told_apart_from_the_common_ones() -> None:
    assert not set(NAMES.values()) & (set(TOOLS) | set(ARM_TOOLS))


TEXTS = ["", "1", "c_001", HEIGHT, "true", "x" * 5000, "[c_001]"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["text", "claim_ids"]), inner),
    max_leaves=8,
)
FIELDS = (
    "questions",
    "queries",
    "numbers",
    "claim_ids",
    "answer",
    "answered",
    "if_wrong",
    "query",
    "evidence",
    "against",
)
ASKED = ("questions", "search", "pages", "answer", "verdict", "conclusion", "report")


@given(
    kind=st.sampled_from(ASKED),
    args=st.dictionaries(st.sampled_from([*FIELDS, "against", "outcome", "conclusion", "sentences"]), JSON),
)
@pytest.mark.rule("D36", "D44")
def test_whatever_a_server_lets_through_becomes_well_formed_calls_or_none(kind: Any, args: dict[str, Any]) -> None:
    run = rivals()
    step = Step(kind=kind, urls=("https://a.org", "https://b.org"), claim_ids=("c_001", "c_002"), challenge_id="ch_001")
    for name, given_args in meant(run.research, step, args, run.now):
        assert not isinstance(read_args(name, given_args), str), (name, given_args)
