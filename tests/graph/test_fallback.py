"""A model that stands in where the chosen one fails for good: real HTTP on loopback (A12)."""

from pathlib import Path
from typing import Any

import pytest
from graph.rig import OBJECTIVE, PAGES, whole, worker
from graph.test_provider import DOWN, Provider

from zetetic import Context, aresearch, open_store
from zetetic.models import make_model
from zetetic.nodes.workbench import SetupError
from zetetic.testing import ChatCompletionsServer, FixtureSearch, FixtureWeb, refuses


def context(home: Path, first: ChatCompletionsServer, second: ChatCompletionsServer, **bounds: Any) -> Context:
    given = {"call_retries": 0, "arm_retries": 0, **bounds}
    return Context(
        model="chosen",
        base_url=first.base_url,
        fallback=make_model("standby", base_url=second.base_url),
        search=[FixtureSearch(PAGES)],
        fetcher=FixtureWeb(PAGES),
        home=str(home),
        min_sources=2,
        min_domains=2,
        **given,
    )


@pytest.mark.rule("A12", "D47")
@pytest.mark.parametrize("how", DOWN)
async def test_where_the_chosen_model_fails_the_fallback_answers_and_the_report_says_so(home: Path, how: str) -> None:
    script = worker(whole())
    chosen, standby = Provider(script, lambda n: DOWN[how] if n in (2, 3) else None), Provider(script, lambda n: None)
    with ChatCompletionsServer(chosen) as first, ChatCompletionsServer(standby) as second:
        settings = context(home, first, second, provider_error_limit=1)
        result = await aresearch(OBJECTIVE, context=settings)
    assert (result.status, result.research.turns) == ("complete", 10), "no turn was lost"
    async with open_store(settings) as store:
        entries = await store.calls(result.run_id)
    stood_in = [entry for entry in entries if entry.model == "standby"]
    workers = [entry for entry in stood_in if entry.role == "worker"]
    assert len(workers) == (9 if how in ("401", "403") else 2), "a door that is shut is not tried again"
    assert all("stood_in" in entry.repairs for entry in stood_in)
    assert not any("stood_in" in entry.repairs for entry in entries if entry.model == "chosen")
    told = f"Calls that standby answered as the fallback, since the model chosen for them failed: {len(stood_in)}."
    assert told in result.report
    assert told in [gap["text"] for gap in result.gaps]


@pytest.mark.rule("A12")
async def test_only_when_both_fail_is_it_the_providers_trouble(home: Path) -> None:
    script = worker(whole())
    chosen = Provider(script, lambda n: DOWN["503"] if n >= 2 else None)
    standby = Provider(script, lambda n: refuses(500, "the standby is down") if n >= 2 else None)
    with ChatCompletionsServer(chosen) as first, ChatCompletionsServer(standby) as second:
        result = await aresearch(OBJECTIVE, context=context(home, first, second))
    assert (result.status, result.stop_reason) == ("blocked", "blocked:model:server")
    assert chosen.asked == 4
    assert standby.asked == 3, "one answer, and one refusal in each of two turns"


@pytest.mark.rule("A12")
async def test_a_fallback_that_is_not_needed_is_never_asked(home: Path) -> None:
    with ChatCompletionsServer(Provider(worker(whole()), lambda n: None)) as first, ChatCompletionsServer([]) as second:
        result = await aresearch(OBJECTIVE, context=context(home, first, second))
    assert (result.status, second.requests) == ("complete", [])
    assert "fallback" not in result.report


async def test_a_limit_in_money_needs_the_fallbacks_price_as_well(home: Path) -> None:
    settings = Context(model="offline", fallback="ollama:unknown-model", documents=str(home), home=str(home))
    with pytest.raises(SetupError, match="The price of the model 'unknown-model' is not known"):
        await aresearch(OBJECTIVE, context=settings.model_copy(update={"max_cost_usd": 1.0}))
