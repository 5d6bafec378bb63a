"""What an arm may take: less than a worker, whatever is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from graph.rig import OBJECTIVE, PAGES, Rig, content_answer, whole, worker
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import convert_to_messages
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from zetetic import Context, aresearch
from zetetic.nodes.workbench import workbench
from zetetic.state.allowance import Allowance, arm_allowance, narrowed, worker_allowance
from zetetic.state.thresholds import Thresholds
from zetetic.testing import ChatCompletionsServer, FixtureSearch, FixtureWeb, from_message

pytestmark = pytest.mark.rule("A23")

allowances = st.builds(
    Allowance,
    tokens=st.integers(0, 10**6),
    seconds=st.floats(0, 10**7),
    retries=st.integers(0, 100),
)
asked = st.none() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=True, allow_infinity=True)


@given(allowances, asked, asked, asked)
def test_nothing_that_is_asked_makes_an_allowance_larger(
    whole: Allowance, tokens: float | None, seconds: float | None, retries: float | None
) -> None:
    less = narrowed(whole, tokens=tokens, seconds=seconds, retries=retries)
    assert 0 <= less.tokens <= whole.tokens
    assert 0 <= less.seconds <= whole.seconds
    assert 0 <= less.retries <= whole.retries


@given(allowances, asked, asked)
def test_narrowing_twice_is_the_narrower_of_the_two(whole: Allowance, one: float | None, other: float | None) -> None:
    twice = narrowed(narrowed(whole, seconds=one), seconds=other)
    assert twice == narrowed(narrowed(whole, seconds=other), seconds=one)


@given(
    st.builds(
        Thresholds,
        answer_max_tokens=st.integers(1, 10**6),
        arm_max_tokens=st.integers(1, 10**6),
        call_seconds=st.floats(0.01, 10**5),
        arm_seconds=st.floats(0.01, 10**5),
        call_retries=st.integers(0, 9),
        arm_retries=st.integers(0, 9),
    ),
    st.none() | st.floats(0, 10**5),
)
def test_an_arm_never_has_more_than_a_worker(bounds: Thresholds, left: float | None) -> None:
    arm, whole = arm_allowance(bounds, left), worker_allowance(bounds)
    assert arm.tokens == min(bounds.arm_max_tokens, whole.tokens)
    assert arm.seconds <= whole.seconds
    assert arm.seconds <= bounds.arm_seconds
    assert arm.retries == min(bounds.arm_retries, whole.retries)


def test_the_defaults() -> None:
    assert worker_allowance(Thresholds()) == Allowance(tokens=4096, seconds=120.0, retries=2)
    assert arm_allowance(Thresholds()) == Allowance(tokens=1024, seconds=60.0, retries=1)
    assert arm_allowance(Thresholds(), 7.5).seconds == 7.5


@pytest.mark.parametrize("own", [None, 8000, 500])
async def test_the_requests_of_arms_ask_for_less_output(home: Path, own: int | None) -> None:
    """Also where the host gives one model of its own for everything."""
    script = worker(whole())

    def answer(body):  # type: ignore[no-untyped-def]
        if "Stage: judge" in str(body["messages"][0]) or len(body["tools"]) == 1:
            return from_message(content_answer(body["tools"]))
        return from_message(script.bind_tools(body["tools"]).invoke(convert_to_messages(body["messages"])))

    with ChatCompletionsServer(answer) as server:
        model = ChatOpenAI(
            model="test-model",
            base_url=server.base_url,
            api_key=SecretStr("none"),
            max_completion_tokens=own,
            use_responses_api=False,
            default_headers={"Connection": "close"},
        )
        context = Context(
            model=model,
            search=[FixtureSearch(PAGES)],
            fetcher=FixtureWeb(PAGES),
            home=str(home),
            min_sources=2,
            min_domains=2,
        )
        result = await aresearch(OBJECTIVE, context=context)
    assert result.status == "complete"
    sizes = [
        (len(body["tools"]) == 1, body.get("max_completion_tokens", body.get("max_tokens"))) for body in server.requests
    ]
    assert {size for is_arm, size in sizes if is_arm} == {min(own or 1024, 1024)}
    assert {size for is_arm, size in sizes if not is_arm} == {own}


async def test_a_model_without_such_a_field_is_taken_as_it_is(home: Path) -> None:
    rig = Rig(home, worker(whole()))
    async with workbench(rig.context()) as bench:
        assert bench.models["evaluator"] is rig.evaluator
