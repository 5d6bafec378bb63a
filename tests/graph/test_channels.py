"""What the channels hold comes back from a checkpoint as it went in."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from graph.rig import OBJECTIVE, Rig, whole, worker
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from zetetic import build_graph, sqlite_saver, workbench
from zetetic.graph.checkpointers import ALLOWED, serializer
from zetetic.graph.run import checkpoints_path
from zetetic.nodes.channels import Channels, TurnKeys
from zetetic.state.evaluation import ARMS, ArmResult, conservative


def models_in(hint: Any) -> set[type[BaseModel]]:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return {hint}
    return {model for part in get_args(hint) for model in models_in(part)}


def test_every_type_of_ours_in_the_channels_is_on_the_list() -> None:
    hints = get_type_hints(Channels, include_extras=True)
    hints.pop("messages")  # LangChain's own, which the serializer knows
    ours = {model for hint in hints.values() for model in models_in(hint)}
    assert {(model.__module__, model.__name__) for model in ours} == set(ALLOWED)


@pytest.mark.parametrize(
    "value",
    [
        TurnKeys(answer="t|decide:1", act="t|act:2", observe="t|observe:3"),
        [TurnKeys(answer="a"), TurnKeys(answer="b", act="c")],
        *({arm: conservative(arm, 3, "wire cut")} for arm in ARMS),
        {"judge": ArmResult(arm="judge", attempt=1, verdict="Steer", guidance="Ask the survey – 日本語")},
        [HumanMessage("How tall?", id="1"), AIMessage("42", id="2", name="zetetic")],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back_as_it_went_in(value: Any) -> None:
    serde = serializer()
    assert serde.loads_typed(serde.dumps_typed(value)) == value


@pytest.mark.rule("R1")
async def test_the_channels_of_a_whole_run_come_back_and_stay_small(home: Path) -> None:
    context = Rig(home, worker(whole())).context()
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}
    serde = serializer()
    async with workbench(context), sqlite_saver(checkpoints_path(context)) as saver:
        graph = build_graph().compile(checkpointer=saver)
        final = await graph.ainvoke({"objective": OBJECTIVE}, config, context=context, durability="sync")
        states = [snapshot.values async for snapshot in graph.aget_state_history(config)]
    for values in states:
        for name, value in values.items():
            assert serde.loads_typed(serde.dumps_typed(value)) == value, name
            if name == "arms":
                assert all(isinstance(result, ArmResult) for result in value.values())
            if name == "window":
                assert all(isinstance(keys, TurnKeys) for keys in value)
    assert max(len(serde.dumps_typed(values)[1]) for values in states[1:]) < 6_000
    assert {k: states[0][k] for k in final} == final
    assert set(final) == {
        *("report", "status", "stop_reason", "run_id", "claims", "sources", "gaps", "usage", "loop", "messages"),
    }
    assert set(final["loop"]) >= {"round", "budget_remaining", "context", "progress", "decision"}
