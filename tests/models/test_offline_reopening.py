"""The offline model reopens what the gate says has lost its proof, and answers it anew."""

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from state.build import Run

from zetetic.models.offline import answer_to
from zetetic.nodes.prompts import SYSTEM, base_text, now_text, task_text
from zetetic.state import claims


@pytest.mark.rule("D22", "D42")
def test_an_answer_whose_claim_is_verified_no_more_is_reopened() -> None:
    run = Run(min_sources=1, min_domains=1)
    run.add("What does it give?", 0.8)
    run.start()
    claim = run.verified()
    run.resolve("It gives 240 MW.", [claim], why_unverified="")
    run.route()
    run.answer("It gives 240 MW.", [claim], why_unverified="")  # the objective
    run.do(claims.decide_set_status, claim, "UNVERIFIED", "the second page was withdrawn")
    assert run.turn() == "verifying"  # in which it tries to verify it once more
    run.close_turn("notes_update")
    run.turn()
    r = run.research
    prompt = [
        SystemMessage(SYSTEM),
        HumanMessage(f"{task_text(r)}\n\n{base_text(r)}"),
        HumanMessage(now_text(r, r, run.now)),
    ]
    assert "q_002 was resolved without a VERIFIED claim" in prompt[-1].text
    calls = answer_to(prompt)
    assert {(name, args["id"]) for name, args in calls} == {("reopen_question", "q_001"), ("reopen_question", "q_002")}
