"""The bounds of a run as options, made from the one place they stand in (A17)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from zetetic.state.thresholds import Thresholds

Command = TypeVar("Command", bound=Callable[..., Any])

PANEL = "Bounds (defaults of bounded-research; another mode may have its own)"
ROOM_PANEL = "Room (the new total, above what the run had)"
ROOM = {
    "max_turns": "turns",
    "max_iterations": "iterations",
    "max_total_tokens": "tokens",
    "max_cost_usd": "usd",
    "max_wall_time_seconds": "seconds",
}
"""What can be added to a run, and the name under which `aresume` takes it (D54)."""


def option_name(field: str) -> str:
    """`max_turns` → `--max-turns`."""
    return "--" + field.replace("_", "-")


def with_bounds(command: Command) -> Command:
    """Gives a command with `**bounds` an option for each field of Thresholds."""
    return _with_options(command, tuple(Thresholds.model_fields), PANEL, show_default=True)


def with_room(command: Command) -> Command:
    """Gives a command with `**room` the options by which a run that goes on gets room."""
    return _with_options(command, tuple(ROOM), ROOM_PANEL, show_default=False)


def _with_options(command: Command, names: tuple[str, ...], panel: str, *, show_default: bool) -> Command:
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    added = []
    for name in names:
        field = Thresholds.model_fields[name]
        option = typer.Option(
            option_name(name),
            help=f"{field.description}; default {field.default:g}" if show_default else field.description,
            metavar="N",
            rich_help_panel=panel,
        )
        kind: Any = field.annotation
        annotation = Annotated[kind | None, option]
        added.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return command
