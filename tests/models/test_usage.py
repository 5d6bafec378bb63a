"""Tokens and money."""

from decimal import Decimal

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata

from zetetic.models import Price, has_price, usage_of

PROMPT = [HumanMessage("When is high water in Brest?")]


def answer(taken: int, given: int, cached: int = 0) -> AIMessage:
    details = InputTokenDetails(cache_read=cached)
    usage = UsageMetadata(
        input_tokens=taken, output_tokens=given, total_tokens=taken + given, input_token_details=details
    )
    return AIMessage(content="Noon.", usage_metadata=usage)


@pytest.mark.rule("D47")
def test_the_offline_model_costs_nothing() -> None:
    usage = usage_of(PROMPT, AIMessage(content="Noon."), "offline")
    assert (usage.usd, usage.estimated) == (0.0, True)


@pytest.mark.rule("D47")
def test_a_listed_price_counts_the_cached_part_for_less() -> None:
    pytest.importorskip("genai_prices")
    plain = usage_of(PROMPT, answer(1000, 10), "gpt-4o-mini").usd
    cached = usage_of(PROMPT, answer(1000, 10, cached=100), "gpt-4o-mini").usd
    assert plain == pytest.approx(0.000156)
    assert cached == pytest.approx(0.0001485)
    assert usage_of(PROMPT, answer(1000, 10), "openai/gpt-4o-mini").usd == plain


@pytest.mark.rule("D47")
def test_an_unknown_price_is_none_and_a_given_one_is_used() -> None:
    given = Price(Decimal(1), Decimal(10), cached=Decimal("0.1"))
    assert usage_of(PROMPT, answer(1000, 10), "house-model").usd is None
    assert usage_of(PROMPT, answer(1000, 10, cached=500), "house-model", price=given).usd == pytest.approx(0.00065)
    assert usage_of(PROMPT, answer(1000, 10, cached=500), "m", price=Price(Decimal(1), Decimal(10))).usd == 0.0011
    assert (has_price("house-model"), has_price("house-model", price=given), has_price("offline")) == (
        False,
        True,
        True,
    )


def test_counts_that_make_no_sense_are_not_believed() -> None:
    assert usage_of(PROMPT, answer(0, 5), "house-model").estimated
    assert usage_of(PROMPT, answer(10, 5, cached=50), "house-model").cached_tokens == 10
