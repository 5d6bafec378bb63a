"""What one model call cost: tokens and US dollars, as counted by the provider or estimated and said so (D47)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

OFFLINE = "offline"
"""Name of the built-in model; it costs nothing."""

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, for a model the bundled list does not know."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Tokens and money of one call.

    `input_tokens` includes `cached_tokens`. `usd` is None when no price is known. `estimated`: the provider reported
    no counts, and these are `count_tokens_approximately`'s.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float | None
    estimated: bool


def usage_of(
    prompt_messages: Sequence[BaseMessage],
    answer: AIMessage,
    model_name: str,
    *,
    tools: Sequence[dict[str, Any]] = (),
    price: Price | None = None,
) -> CallUsage:
    """The usage of one call, from the answer's metadata or else estimated from messages and tools. A given `price` goes
    before the list."""
    reported = answer.usage_metadata
    if reported and reported["input_tokens"] > 0:
        details = reported.get("input_token_details") or {}
        taken = reported["input_tokens"]
        given = max(reported["output_tokens"], 0)
        cached = min(max(details.get("cache_read") or 0, 0), taken)
    else:
        taken = count_tokens_approximately(list(prompt_messages), tools=list(tools))
        given = count_tokens_approximately([answer])
        cached = 0
        reported = None
    usd = cost(model_name, taken, given, cached, price=price)
    return CallUsage(taken, given, cached, None if usd is None else float(usd), estimated=reported is None)


def cost(
    model_name: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0, *, price: Price | None = None
) -> Decimal | None:
    """US dollars for these tokens, or None when the model's price is unknown."""
    if price is not None:
        cached_rate = price.input if price.cached is None else price.cached
        fresh = input_tokens - cached_tokens
        return (fresh * price.input + cached_tokens * cached_rate + output_tokens * price.output) / _MILLION
    if model_name == OFFLINE:
        return Decimal(0)
    return _listed_cost(model_name, input_tokens, output_tokens, cached_tokens)


def has_price(model_name: str, *, price: Price | None = None) -> bool:
    """Whether a call of this model can be priced: a money budget needs it before the first call."""
    return cost(model_name, 1, 1, price=price) is not None


def _listed_cost(model_name: str, input_tokens: int, output_tokens: int, cached_tokens: int) -> Decimal | None:
    # Imported on first use: the list takes half a second to load, and the offline model never needs it.
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens)
    try:
        return calc_price(usage, model_name.rpartition("/")[2] or model_name).total_price
    except (LookupError, ValueError):
        return None
