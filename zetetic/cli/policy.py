"""`policy`: what decides after an attempt, and every bound, as a table or as a program."""

from __future__ import annotations

from typing import Any

from zetetic.state.policy_text import BoundRow, bounds_table, number, policy_jq, policy_table

from .settings import context_of
from .terminal import give, give_json, give_table


def show_policy(given: dict[str, Any], *, as_json: bool) -> int:
    """The ladder with its numbers and every bound, as a run started here and now would have them."""
    context = context_of(given)
    thresholds = context.thresholds()
    ladder, bounds = policy_table(thresholds), bounds_table(thresholds, context.mode)
    if as_json:
        give_json(
            {
                "mode": context.mode,
                "ladder": [row._asdict() for row in ladder],
                "bounds": [row._asdict() for row in bounds],
            }
        )
        return 0
    give(f"Mode: {context.mode}. After an attempt, the first rung that holds:")
    give_table(
        ("RUNG", "ROUTE", "WHEN"),
        ((r.number, r.route, r.when + (f"; resets the {r.resets} streak" if r.resets else "")) for r in ladder),
    )
    give("\nBounds:")
    give_table(("BOUND", "VALUE", "UNIT", "MEANING"), ((b.name, _value(b), b.unit, b.meaning) for b in bounds))
    return 0


def _value(bound: BoundRow) -> str:
    """The value; beside it the mode's, where the environment set another."""
    shown = number(bound.value)
    return shown if bound.value == bound.default else f"{shown} (default {number(bound.default)})"


def show_program(given: dict[str, Any], *, as_json: bool) -> int:
    """The ladder as a jq program. It is the same in every mode: the numbers stand in the record it reads."""
    context_of(given)
    if as_json:
        give_json({"jq": policy_jq()})
    else:
        give(policy_jq())
    return 0
