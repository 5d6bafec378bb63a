"""What the scenes of this folder share: a run with a question under the root, and the prompts of its attempts."""

from typing import Any

from graph.rig import text_of
from langchain_core.messages import AIMessage, BaseMessage

from zetetic.testing import ScriptedModel, call, turn

ASKED = "Which height did the last survey of the Ortel lighthouse give?"


def plan_with_question(question: str = ASKED, **more: Any) -> AIMessage:
    """Criteria, and q_002 under the root."""
    given = {
        "parent_id": "q_001",
        "question": question,
        "rationale": "the survey is the source of the figure",
        "priority": 0.9,
        "validation_criteria": "Gives the height and the year of the survey.",
        **more,
    }
    return turn(
        call("set_criteria", criteria=["States the height in metres.", "Names who measured it.", "Cites two sources."]),
        call("add_question", **given),
    )


def retry(new_query: str, question_id: str = "q_002") -> AIMessage:
    return turn(call("retry_question", id=question_id, new_query=new_query, why="the pages do not say"))


def answer(text: str, question_id: str = "q_002", **more: Any) -> AIMessage:
    reasons = {"why_unverified": "one page only", "why_unchallenged": "a plain figure"}
    return turn(call("resolve_question", id=question_id, answer=text, **{**reasons, **more}))


def attempts_at(model: ScriptedModel, question_id: str = "q_002") -> list[list[BaseMessage]]:
    """The first prompt of each attempt at a question."""
    firsts: dict[str, list[BaseMessage]] = {}
    for prompt in model.prompts:
        now = text_of(prompt[-1:])
        number = next((line for line in now.split("\n") if line.startswith("Attempt: ")), "")
        if number and f"Question: [{question_id}]" in now:
            firsts.setdefault(number, prompt)
    return list(firsts.values())


def steer_in(prompt: list[BaseMessage]) -> str:
    """The line of a prompt that carries the last evaluation's steer; '' where there is none."""
    lines = text_of(prompt[-1:]).split("\n")
    starts = ("From the last attempt: ", "From the last evaluation: ")
    return next((line.split(": ", 1)[1] for line in lines if line.startswith(starts)), "")
