"""The models of a run by role: worker, evaluator, extractor, and the fallback of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from langchain_core.language_models import BaseChatModel

from zetetic.models import has_price, make_model, model_name
from zetetic.state.allowance import Allowance, arm_allowance, worker_allowance
from zetetic.state.thresholds import Thresholds

from .context import Context
from .windows import Role, Room, WindowTooSmall, known_rooms

ROLES: tuple[Role, ...] = get_args(Role)


class SetupError(ValueError):
    """The configuration cannot be worked with; the message says what to do."""


def allowance_of(role: Role, thresholds: Thresholds) -> Allowance:
    """What one call of a role may take."""
    return arm_allowance(thresholds) if role == "evaluator" else worker_allowance(thresholds)


def named_for(role: Role, context: Context) -> Any:
    """What the configuration names for a role: a model of its own, or the one of all roles."""
    own = getattr(context, role)
    return context.model if own is None else own


def role_models(context: Context, thresholds: Thresholds) -> dict[Role, BaseChatModel]:
    """The model of each role. Raises ModelError for one that cannot be made."""
    return {role: made_for(named_for(role, context), role, context, thresholds) for role in ROLES}


def fallback_models(context: Context, thresholds: Thresholds) -> dict[Role, BaseChatModel]:
    """The fallback with each role's bounds; none where none is named."""
    if context.fallback is None:
        return {}
    return {role: made_for(context.fallback, role, context, thresholds) for role in ROLES}


def made_for(spec: Any, role: Role, context: Context, thresholds: Thresholds) -> BaseChatModel:
    """A chat model with what one call of a role may take."""
    allowed = allowance_of(role, thresholds)
    model = make_model(
        spec,
        base_url=context.base_url,
        api_key=context.api_key,
        timeout=allowed.seconds,
        client_retries=allowed.retries,
        max_output_tokens=allowed.tokens,
    )
    return with_less_output(model, allowed.tokens) if role == "evaluator" else model


_OUTPUT_FIELDS = ("max_tokens", "max_output_tokens", "num_predict")


def with_less_output(model: BaseChatModel, tokens: int) -> BaseChatModel:
    """A model of the host's own with its output bounded where it has a field for that; itself where it has none (A23).

    Its time is bounded by the arm, and its retries with it.
    """
    for name in _OUTPUT_FIELDS:
        if name in type(model).model_fields:
            own = getattr(model, name)
            narrow = own is not None and 0 < own <= tokens
            return model if narrow else model.model_copy(update={name: tokens})
    return model


def need_prices(models: Sequence[BaseChatModel], thresholds: Thresholds) -> None:
    """A limit in money needs a price for every model, before the first call."""
    for name in dict.fromkeys(model_name(m) for m in models):
        if thresholds.max_cost_usd and not has_price(name):
            raise SetupError(
                f"The price of the model {name!r} is not known, so max_cost_usd cannot be kept: leave it out and bound "
                "the run by max_total_tokens."
            )


async def told_rooms(models: dict[Role, BaseChatModel], thresholds: Thresholds) -> dict[Role, Room]:
    """What the models' windows leave, where they tell; one that is too small is refused before anything is spent
    (CASES 9)."""
    try:
        return await known_rooms(models, {role: allowance_of(role, thresholds).tokens for role in models})
    except WindowTooSmall as error:
        raise SetupError(str(error)) from None
