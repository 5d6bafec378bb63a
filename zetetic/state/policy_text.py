"""The policy as text: the ladder as a jq program, and the tables of ladder and bounds (A17, A18)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .policy import COUNTERS, EXACT, FLAGS, LADDER, LIMITS, Rung, limits_of
from .thresholds import MODES, Mode, Thresholds, thresholds_for

USUAL: Mode = "bounded-research"
_DESCRIPTION = re.compile(r"(?P<meaning>.+) \((?P<unit>[^()]+)\)")


# The ladder as a program.


def policy_jq(ladder: Sequence[Rung] = LADDER) -> str:
    """The ladder as a jq program: one `routing` object of iterations.jsonl in, its route out (A18, LEDGER.md).

    It needs nothing besides and runs in any jq from 1.5 on. A missing, null or wrongly typed field gives "blocked",
    never null; each is looked at before anything is compared, because in jq `0 >= null` is true.
    """
    flags = ", ".join(f".{name}" for name in FLAGS)
    counts = ", ".join([*(f".{name}" for name in COUNTERS), *(f".thresholds.{name}" for name in LIMITS)])
    lines = [
        "# The route of one attempt: the first rung that holds, from the top.",
        "# In: one `routing` object of iterations.jsonl. Out: answered, reported, retry, diversify or blocked.",
        'def flag: type == "boolean";',
        f'def count: type == "number" and (floor as $n | . == $n and $n >= 0 and $n <= {EXACT});',
        'if type != "object" or (.thresholds | type) != "object" then "blocked"',
        f'elif [{flags}] | all(flag) | not then "blocked"',
        f'elif [{counts}] | all(count) | not then "blocked"',
        *(f'elif {_jq_test(rung)} then "{rung.route.lower()}"  # {rung.number}' for rung in ladder),
        'else "blocked" end',
    ]
    return "\n".join(lines) + "\n"


def _jq_test(rung: Rung) -> str:
    tests = [f".{c}" if isinstance(c, str) else f".{c[0]} >= .thresholds.{c[1]}" for c in rung.when]
    return " and ".join(tests) or "true"


# Tables.


class LadderRow(NamedTuple):
    """One rung in words. `resets` is the streak that a Diversify of this rung sets back to 0, or ''."""

    number: str
    when: str
    route: str
    resets: str


class BoundRow(NamedTuple):
    """One bound: its value, what the mode has without it being set, what it means, and its unit."""

    name: str
    value: float
    default: float
    unit: str
    meaning: str


def policy_table(thresholds: Thresholds) -> tuple[LadderRow, ...]:
    """The ladder in its order, with the numbers of the bounds it compares with."""
    limits = limits_of(thresholds)

    def said(condition: str | tuple[str, str]) -> str:
        if isinstance(condition, str):
            return condition
        counter, limit = condition
        return f"{counter} >= {limits[limit]} ({LIMITS[limit]})"

    return tuple(
        LadderRow(rung.number, " and ".join(map(said, rung.when)) or "otherwise", rung.route, rung.resets)
        for rung in LADDER
    )


def bounds_table(thresholds: Thresholds, mode: Mode = USUAL) -> tuple[BoundRow, ...]:
    """Every bound, in the order of `Thresholds`, beside the mode's default."""
    usual = thresholds_for(mode)
    return tuple(
        BoundRow(name, getattr(thresholds, name), getattr(usual, name), unit, meaning)
        for name, (meaning, unit) in meanings().items()
    )


def meanings() -> dict[str, tuple[str, str]]:
    """The meaning and the unit of each bound, from its description. Raises ValueError where one names no unit."""
    found = {}
    for name, field in Thresholds.model_fields.items():
        match = _DESCRIPTION.fullmatch(field.description or "")
        if match is None:
            raise ValueError(f"the description of {name} ends in no unit")
        found[name] = (match["meaning"], match["unit"])
    return found


def number(value: float) -> str:
    """A number in full, without a fraction that is 0."""
    return f"{value:.15g}"


def thresholds_markdown() -> str:
    """The page docs/thresholds.md: the bounds with their defaults in each mode, and the ladder."""
    modes = [USUAL, *(mode for mode in MODES if mode != USUAL)]
    of = {mode: thresholds_for(mode) for mode in modes}

    def defaults(name: str) -> list[str]:
        usual = getattr(of[USUAL], name)
        values = [getattr(of[mode], name) for mode in modes]
        return [number(value) if value == usual else f"**{number(value)}**" for value in values]

    bounds = ([f"`{name}`", meaning, unit, *defaults(name)] for name, (meaning, unit) in meanings().items())
    ladder = ([row.number, row.when, row.route, row.resets] for row in policy_table(of[USUAL]))
    return "\n".join(
        [
            "# Thresholds",
            "",
            "<!-- Written by scripts/thresholds. -->",
            "",
            "Every number that decides when a run stops, starts or counts. A mode sets the defaults; in bold are those",
            f"that differ from {USUAL}. Each is an option of `zetetic research` (`--max-turns 20`), a",
            "variable (`ZETETIC_MAX_TURNS=20`) and a field of `Context` (`max_turns=20`). `zetetic policy --mode MODE`",
            "shows what a run would have. The values are recorded with the run, which keeps them when it is resumed.",
            "",
            *_table(["bound", "meaning", "unit", *modes], bounds),
            "",
            "## The ladder",
            "",
            f"What happens after an attempt: the first rung that holds, here with the numbers of {USUAL}. A",
            "field that is missing or cannot be read gives Blocked. `zetetic policy --jq` prints the ladder as a",
            "program for jq, which recomputes the routes of a run from its ledger alone:",
            "",
            "```sh",
            "zetetic policy --jq > ladder.jq",
            "jq -r .routing.route iterations.jsonl                # as recorded",
            "jq .routing iterations.jsonl | jq -r -f ladder.jq    # as recomputed",
            "```",
            "",
            *_table(["rung", "when", "route", "streak it resets"], ladder),
            "",
        ]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
