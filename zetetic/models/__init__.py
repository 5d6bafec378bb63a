"""Chat models: how they are made, called, repaired and priced. Imports nothing else of this project."""

from zetetic.models.calls import ProviderError, ProviderErrorKind, call_model
from zetetic.models.factory import ModelError, make_model, model_name
from zetetic.models.json_text import complete_items, first_json, without_thoughts
from zetetic.models.repair import Call, CallError, Repaired, acceptable_history, repair
from zetetic.models.usage import CallUsage, Price, has_price, usage_of

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
    "complete_items",
    "first_json",
    "has_price",
    "make_model",
    "model_name",
    "repair",
    "usage_of",
    "without_thoughts",
]
