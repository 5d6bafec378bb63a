"""Keys that a model made up beside a tool's arguments (CASES 3)."""

from __future__ import annotations

from typing import Any


def without_invented(value: Any, schema: Any) -> tuple[Any, bool]:
    """The arguments without keys that the JSON schema does not have, and whether there were any.

    An object that lacks a required key keeps its own: one of them may be a misspelling, which the refusal then names.
    """
    if not isinstance(schema, dict):
        return value, False
    if isinstance(value, list):
        items = [without_invented(item, schema.get("items")) for item in value]
        return [item for item, _ in items], any(found for _, found in items)
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict) or schema.get("additionalProperties"):
        return value, False
    complete = all(key in value for key in schema.get("required", ()))
    kept: dict[str, Any] = {}
    found = False
    for key, item in value.items():
        if key in properties:
            kept[key], inside = without_invented(item, properties[key])
            found = found or inside
        elif complete:
            found = True
        else:
            kept[key] = item
    return kept, found
