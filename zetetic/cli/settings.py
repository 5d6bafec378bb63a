"""The configuration a command works with, and the part of it that is kept so that a run can be resumed by its id."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import SettingsError

from zetetic.nodes.context import Context
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.store.address import has_secret, is_postgres

from .bounds import ROOM, option_name
from .terminal import UserError

FILE = "context.json"
SCHEMA_VERSION = "1.0"
KEPT = (
    *("model", "worker", "evaluator", "extractor", "fallback", "base_url"),
    *("documents", "search", "fetch", "fetch_allow", "database", "loop", "user", "own_workers"),
)
"""What a run is resumed with, besides the mode and the bounds, which stand in its log. Never a key."""
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def context_of(given: dict[str, Any], stored: dict[str, Any] | None = None) -> Context:
    """The context of the options given, over what was stored, over the environment.

    Raises UserError, naming the option or the variable, where a value cannot be taken.
    """
    chosen = {name: value for name, value in given.items() if value not in (None, "", [])}
    values = {**(stored or {}), **chosen, "interactive": False}
    try:
        context = Context(**values)
        context.thresholds()
    except ValidationError as error:
        raise UserError(_in_words(error, values)) from None
    except SettingsError as error:
        raise UserError(f"The environment cannot be read: {error}") from None
    return context.model_copy(update={"home": os.path.expanduser(context.home)})


def _in_words(error: ValidationError, values: dict[str, Any]) -> str:
    return " ".join(_fault(dict(fault), values) for fault in error.errors(include_url=False))


def _fault(fault: dict[str, Any], values: dict[str, Any]) -> str:
    if not fault["loc"]:  # of values that do not go together, which the message names
        return str(fault["msg"]).removeprefix("Value error, ") + "."
    name = str(fault["loc"][0])
    variable = f"ZETETIC_{name.upper()}"
    where = option_name(name) if name in values or variable not in os.environ else f"The variable {variable}"
    says = _wanted(fault)
    secret = "key" in name or name == "database"
    return f"{where}: {says} (given: {'[secret]' if secret else repr(fault['input'])})."


_WANTED = {
    "greater_than_equal": "give {ge} or more",
    "greater_than": "give more than {gt}",
    "less_than_equal": "give {le} or less",
    "less_than": "give less than {lt}",
    "int_parsing": "give a whole number",
    "int_type": "give a whole number",
    "int_from_float": "give a whole number",
    "int_parsing_size": "give a smaller number",
    "float_parsing": "give a number",
    "float_type": "give a number",
    "finite_number": "give a number that is no infinity",
    "bool_parsing": "give true or false",
    "literal_error": "give one of {expected}",
    "string_type": "give a text",
    "list_type": "give names with commas between",
}
"""What an option or a variable wants, by the kind of fault."""


def _wanted(fault: dict[str, Any]) -> str:
    known = _WANTED.get(str(fault["type"]))
    if known is not None:
        return known.format(**{name: _number(value) for name, value in fault.get("ctx", {}).items()})
    return str(fault["msg"]).removeprefix("Input ").removeprefix("Value error, ")


def _number(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, int | float) else str(value).replace("'", "").replace(" or ", ", ")


# What is kept.


def keep_settings(context: Context, folder: Path) -> None:
    """Writes what a resumed run needs into its folder. Raises OSError where that cannot be written."""
    from zetetic.export import write_atomically

    kept: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    for name in KEPT:
        value = getattr(context, name)
        texts = value if isinstance(value, list) else [value]
        if value is None or any(isinstance(text, str) and _holds_secret(text) for text in texts):
            continue
        kept[name] = _absolute(value) if name in ("documents", "database") else value
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, json.dumps(kept, indent=2) + "\n")


def _holds_secret(value: str) -> bool:
    """Whether a text is an address that carries a password or a parameter, which could be a key; `searxng:http://…`
    holds one after its name. The user of a database is none."""
    if is_postgres(value):
        return has_secret(value)
    try:
        places = [urlsplit(text) for text in (value, value.partition(":")[2])]
    except ValueError:
        return True
    return any(parts.scheme and parts.netloc and ("@" in parts.netloc or parts.query) for parts in places)


def _absolute(value: str) -> str:
    return value if "://" in value else str(Path(value).expanduser().absolute())


def kept_settings(home: str, run_id: str) -> dict[str, Any]:
    """What was kept of a run; nothing where nothing was. Raises UserError where the file cannot be used."""
    if not _RUN_ID.fullmatch(run_id):
        return {}
    path = Path(home) / run_id / FILE
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}): delete it, and name model and documents anew.") from None
    if not isinstance(kept, dict) or kept.get("schema_version") != SCHEMA_VERSION:
        raise UserError(f"{path} is of another version: delete it, and name model and documents anew.")
    return {name: kept[name] for name in KEPT if name in kept}


def check_bounds(research: Research, changed: dict[str, Any]) -> None:
    """Raises UserError where a run cannot have these bounds; a name that is none is left to whoever knows them all."""
    known = {name: value for name, value in changed.items() if name in Thresholds.model_fields}
    try:
        Thresholds(**{**research.thresholds.model_dump(), **known})
    except ValidationError as error:
        raise UserError(_in_words(error, known)) from None


def bounds_of(research: Research, room: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The bounds a run goes on with, and what that adds in the words of `aresume` (D54).

    `room` holds new totals. Raises UserError where one is not above what the run had.
    """
    bounds = research.thresholds.model_dump()
    added: dict[str, Any] = {}
    for name, total in room.items():
        if total is None:
            continue
        had = bounds[name]
        if not had and name in ("max_total_tokens", "max_cost_usd"):
            raise UserError(f"{option_name(name)}: the run has no such limit, so there is nothing to add to.")
        if not total > had:
            raise UserError(f"{option_name(name)} is the new total: give more than the {had:.15g} that the run had.")
        try:
            Thresholds(**{**bounds, name: total})
        except ValidationError as error:
            raise UserError(_in_words(error, room)) from None
        added[ROOM[name]] = total - had
        bounds[name] = total
    return bounds, added
