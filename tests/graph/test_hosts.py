"""The graph inside other graphs, several runs at once, and new input on an old thread."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from graph.rig import OBJECTIVE, PAGES, Rig, arms, whole, worker
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from zetetic import Context, aresearch, build_graph, open_store, sqlite_saver, workbench
from zetetic.graph.checkpointers import serializer
from zetetic.graph.run import checkpoints_path
from zetetic.testing import FixturePage, FixtureSearch, FixtureWeb

LIMIT = {"recursion_limit": 500}


class Host(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    visits: int
    topic: str
    finding: str


async def greet(state: Host) -> dict[str, Any]:
    return {"visits": state.get("visits", 0) + 1}


@pytest.mark.rule("A2")
async def test_as_a_node_it_takes_the_last_human_message_and_answers_with_one(home: Path) -> None:
    context = Rig(home, worker(whole())).context()
    host = StateGraph(Host, context_schema=Context)
    host.add_node("greet", greet)
    host.add_node("research", build_graph().compile())
    host.add_edge(START, "greet")
    host.add_edge("greet", "research")
    host.add_edge("research", END)
    graph = host.compile(checkpointer=InMemorySaver(serde=serializer()))
    asked = [HumanMessage("Hello."), AIMessage("Good day."), HumanMessage(OBJECTIVE)]
    config = {"configurable": {"thread_id": "host-1"}, **LIMIT}
    async with workbench(context):
        final = await graph.ainvoke({"messages": asked, "visits": 4}, config, context=context)
    assert final["visits"] == 5
    *before, answer = final["messages"]
    assert [m.text for m in before] == [m.text for m in asked]
    assert isinstance(answer, AIMessage)
    assert "The Ortel lighthouse is 42 metres tall [1][2]." in answer.text
    assert set(final) == {"messages", "visits"}


class HostContext(TypedDict):
    tenant: str


async def test_from_a_wrapper_in_a_host_with_a_state_a_context_and_interrupts_of_its_own(home: Path) -> None:
    context = Rig(home, worker(whole())).context()
    child = build_graph().compile()

    async def look_up(state: Host, runtime: Runtime[HostContext]) -> dict[str, Any]:
        found = await child.ainvoke({"objective": state["topic"]}, LIMIT, context=context)
        return {"finding": f"{runtime.context['tenant']}: {found['status']}: {found['report']}"}

    async def approve(state: Host) -> dict[str, Any]:
        return {"visits": interrupt("May this go out?")}

    host = StateGraph(Host, context_schema=HostContext)
    host.add_node("look_up", look_up)
    host.add_node("approve", approve)
    host.add_edge(START, "look_up")
    host.add_edge("look_up", "approve")
    graph = host.compile(checkpointer=InMemorySaver(serde=serializer()))
    config = {"configurable": {"thread_id": "host-2"}, "recursion_limit": 25}
    tenant: HostContext = {"tenant": "harbour"}
    async with workbench(context):
        paused = await graph.ainvoke({"topic": OBJECTIVE}, config, context=tenant)
        final = await graph.ainvoke(Command(resume=7), config, context=tenant)
    assert paused["__interrupt__"][0].value == "May this go out?"
    assert final["finding"].startswith("harbour: complete: # How tall is the Ortel lighthouse?")
    assert final["visits"] == 7


async def test_a_host_s_second_question_is_a_second_run(home: Path) -> None:
    rig = Rig(home, worker([*whole(), *whole()]))
    context = rig.context()
    host = StateGraph(Host, context_schema=Context)
    host.add_node("research", build_graph().compile())
    host.add_edge(START, "research")
    graph = host.compile(checkpointer=InMemorySaver(serde=serializer()))
    config = {"configurable": {"thread_id": "host-3"}, **LIMIT}
    async with workbench(context):
        await graph.ainvoke({"messages": [HumanMessage(OBJECTIVE)]}, config, context=context)
        final = await graph.ainvoke({"messages": [HumanMessage("How high is it?")]}, config, context=context)
    assert [m.type for m in final["messages"]] == ["human", "ai", "human", "ai"]
    async with open_store(context) as store:
        assert {run.objective for run in await store.runs()} == {OBJECTIVE, "How high is it?"}


async def test_new_input_on_an_old_thread_is_a_new_run(home: Path) -> None:
    context = Rig(home, worker([*whole(), *whole()])).context()
    config = {"configurable": {"thread_id": "old"}, **LIMIT}
    async with workbench(context) as bench, sqlite_saver(checkpoints_path(context)) as saver:
        graph = build_graph().compile(checkpointer=saver)
        first = await graph.ainvoke(
            {"objective": OBJECTIVE, "directives": ["Look at the survey."]}, config, context=context, durability="sync"
        )
        second = await graph.ainvoke({"objective": "How high is it?"}, config, context=context, durability="sync")
        old, new = await bench.store.load(first["run_id"]), await bench.store.load(second["run_id"])
    assert (first["status"], second["status"]) == ("complete", "complete")
    assert first["run_id"] != second["run_id"]
    assert (old.objective, new.objective) == (OBJECTIVE, "How high is it?")
    assert new.directives == ()
    assert second["report"].startswith("# How high is it?")
    assert len(old.evaluations) == len(new.evaluations) == 2


async def test_a_new_run_does_not_take_over_criteria_and_scope_of_the_thread_s_last_one(home: Path) -> None:
    context = Rig(home, worker([*whole(), *whole()])).context()
    config = {"configurable": {"thread_id": "old"}, **LIMIT}
    given = {"objective": OBJECTIVE, "criteria": ["Names the builder."], "scope": "towers", "exclusions": ["blogs"]}
    async with workbench(context) as bench, sqlite_saver(checkpoints_path(context)) as saver:
        graph = build_graph().compile(checkpointer=saver)
        await graph.ainvoke(given, config, context=context, durability="sync")
        second = await graph.ainvoke({"objective": "How high is it?"}, config, context=context, durability="sync")
        new = await bench.store.load(second["run_id"])
    assert "Names the builder." not in new.criteria
    assert new.scope != "towers"
    assert new.exclusions == ()


async def test_a_thread_that_is_over_is_not_run_again_without_new_input(home: Path) -> None:
    model = worker(whole())
    context = Rig(home, model).context()
    config = {"configurable": {"thread_id": "old"}, **LIMIT}
    async with workbench(context), sqlite_saver(checkpoints_path(context)) as saver:
        graph = build_graph().compile(checkpointer=saver)
        first = await graph.ainvoke({"objective": OBJECTIVE}, config, context=context, durability="sync")
        again = await graph.ainvoke(None, config, context=context, durability="sync")
    assert len(model.prompts) == 10
    assert again["run_id"] == first["run_id"]


async def test_two_runs_side_by_side_with_the_same_call_ids_do_not_cross(home: Path) -> None:
    def same_ids() -> list[Any]:
        steps = whole()
        for step in steps:
            for number, one in enumerate(step.tool_calls):  # type: ignore[union-attr]
                one["id"] = f"call_{number}"
        return steps

    height = "a height of 42 metres above its base."
    mill = {
        "https://mill-office.org/tower": FixturePage("The Ortel lighthouse is 42 metres tall. The mill stands by."),
        "https://mill-survey.net/a": FixturePage(f"Levelling gave the Ortel lighthouse {height}"),
    }
    steps = same_ids()
    for number, url in enumerate(mill):
        steps[2].tool_calls[number]["args"]["url"] = url
    one, other = Rig(home, worker(same_ids())), Rig(home, worker(steps), pages=mill)  # type: ignore[arg-type]
    first, second = await asyncio.gather(one.research(), other.research("How tall is the lighthouse by the mill?"))
    assert (first.status, second.status) == ("complete", "complete")
    assert [s["url"] for s in first.sources] == list(PAGES)
    assert [s["url"] for s in second.sources] == list(mill)
    assert "mill" not in first.report
    assert first.usage["calls"] == second.usage["calls"] == 18


async def test_runs_that_share_one_context_do_not_cross(home: Path) -> None:
    context = Context(search=[FixtureSearch(PAGES)], fetcher=FixtureWeb(PAGES), home=str(home), max_turns=8)
    objectives = ["How tall is the Ortel lighthouse?", "When was the Ortel lighthouse lit?", "Who levelled the tower?"]
    results = await asyncio.gather(*(aresearch(objective, context=context) for objective in objectives))
    assert len({r.run_id for r in results}) == 3
    assert [r.report.splitlines()[0] for r in results] == [f"# {objective}" for objective in objectives]
    assert {r.status for r in results} <= {"complete", "reported"}


async def test_a_graph_without_thread_and_saver_runs_too(home: Path) -> None:
    context = Rig(home, worker(whole()), arms()).context()
    async with workbench(context):
        final = await build_graph().compile().ainvoke({"objective": OBJECTIVE}, LIMIT, context=context)
    assert final["status"] == "complete"
    assert final["loop"]["decision"]["next_action"] == "finalize"
