"""Chat models: how they are made, called, repaired and priced. Imports nothing else of this project."""

from zetetic.models.calls import ProviderError, ProviderErrorKind, call_model, window_for
from zetetic.models.factory import ModelError, make_model, model_name
from zetetic.models.json_text import complete_lists, first_json, without_thoughts
from zetetic.models.repair import Call, CallError, Repaired, acceptable_history, repair
from zetetic.models.usage import CallUsage, Price, has_price, usage_of
from zetetic.models.windows import known_window

__all__ = [
    "Call",
    "CallError",
    "CallUsage",
    "ModelError",
    "Price",
    "ProviderError",
    "ProviderErrorKind",
    "Repaired",
    "acceptable_history",
    "call_model",
    "complete_lists",
    "first_json",
    "has_price",
    "known_window",
    "make_model",
    "model_name",
    "repair",
    "usage_of",
    "window_for",
    "without_thoughts",
]
