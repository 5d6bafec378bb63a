"""The graph as it is drawn, and the arms as they run."""

from pathlib import Path

import pytest
from graph.rig import Meeting, Rig, arms, content_answer, whole, worker

from zetetic import build_graph, sqlite_saver, workbench
from zetetic.graph.run import checkpoints_path, new_id
from zetetic.graph.studio import graph as studio_graph

ARMS = {"judge", "verify", "critique", "completeness"}
STEPS = {"state", "decide", "act", "observe", "update"}


@pytest.mark.rule("A1", "A2", "R9", "D3")
def test_the_drawing_is_the_design() -> None:
    drawn = build_graph().compile().get_graph()
    assert set(drawn.nodes) == {"__start__", "__end__", "route", *STEPS, *ARMS}
    assert {(edge.source, edge.target) for edge in drawn.edges} == {
        ("__start__", "state"),
        ("state", "decide"),
        ("decide", "act"),
        ("act", "observe"),
        ("observe", "update"),
        ("update", "state"),
        ("update", "route"),
        ("state", "route"),
        ("state", "state"),  # where workers of other processes have to go first
        *(("update", arm) for arm in ARMS),
        *(("state", arm) for arm in ARMS),
        *((arm, "route") for arm in ARMS),
        ("route", "state"),
        ("route", "__end__"),
    }


def test_a_compiled_graph_brings_no_checkpointer_and_the_exported_one_is_bounded() -> None:
    assert build_graph().compile().checkpointer is None
    assert studio_graph.checkpointer is None
    assert studio_graph.config is not None
    assert studio_graph.config["recursion_limit"] < 10_007


@pytest.mark.rule("A2")
async def test_the_four_arms_run_in_one_superstep_side_by_side(home: Path) -> None:
    meeting = Meeting(script=lambda messages, tools: content_answer(tools))
    context = Rig(home, worker(whole()), meeting).context(arm_seconds=20.0)
    config = {"configurable": {"thread_id": new_id()}, "recursion_limit": 500}
    async with workbench(context), sqlite_saver(checkpoints_path(context)) as saver:
        graph = build_graph().compile(checkpointer=saver)
        final = await graph.ainvoke({"objective": "How tall is it?"}, config, context=context, durability="sync")
        nexts = [set(snapshot.next) async for snapshot in graph.aget_state_history(config)]
    assert final["status"] == "complete"
    assert nexts.count(ARMS) == 2  # the answer, and the report
    assert [n for n in nexts if n & ARMS and n != ARMS] == []


@pytest.mark.rule("A2", "A4", "A6")
async def test_each_arm_reads_the_attempt_and_nothing_another_arm_said(home: Path) -> None:
    evaluator = arms()
    await Rig(home, worker(whole()), evaluator).research()
    said = {
        tools[0]["function"]["name"]: "\n".join(str(m.text) for m in prompt)
        for prompt, tools in zip(evaluator.prompts[:4], evaluator.offered[:4], strict=True)
    }
    assert set(said) == {"judge_attempt", "verify_answer", "list_objections", "judge_completeness"}
    assert all("The Ortel lighthouse is 42 metres tall" in text for text in said.values())
    assert "Briefing:" in said["judge_attempt"]
    assert "Levelling gave" in said["verify_answer"]
    assert "Levelling gave" not in said["judge_completeness"]
    assert "Scratch" not in said["judge_attempt"]
