"""`research --batch`: many objectives, one line of JSON a result, as each is there."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zetetic.graph.batch import BatchResult, Watch, run_items
from zetetic.graph.batch_lines import Item, read_lines
from zetetic.nodes.workbench import Workbench
from zetetic.state.research import Research

from .places import home_fault
from .progress import trouble_line, turn_line
from .running import EXIT_CODES, FAILED, OFFLINE_NOTICE, STOPPED, Stop, names_no_model, signals_to
from .settings import context_of, keep_settings
from .terminal import UserError, deaf_stdout, give, say

WORST_FIRST = (STOPPED, FAILED, EXIT_CODES["blocked"], EXIT_CODES["reported"])


async def research_all(path: str, given: dict[str, Any], *, concurrency: int, again: bool, verbose: bool) -> int:
    """Runs the lines of a file, or of stdin for `-`; gives the exit code: the worst of the lines', 5 for an error.

    Raises UserError before anything is spent where the file or an option cannot be read.
    """
    items = read_lines(_read(path).splitlines())
    if not items:
        raise UserError(f"--batch {path}: there is no line in it; write one objective a line.")
    for note in _alike(items):
        say(note)
    context = context_of(given)
    if fault := home_fault(context.home):
        raise UserError(fault)
    unnamed = names_no_model(context)
    if unnamed and not all(item.line and "model" in item.line.settings for item in items):
        say(OFFLINE_NOTICE)
    stop = Stop(asyncio.current_task(), say)
    codes: list[int] = []
    watch = Watch(_told if verbose else _trouble, _begins, stop.control)
    with signals_to(stop):
        try:
            async with aclosing(run_items(items, context, concurrency, again, watch)) as results:
                async for result in results:
                    codes.append(_code(result, stop))
                    _give(result)
        except asyncio.CancelledError:
            if not stop.caught():
                raise
            codes.append(STOPPED)
    say(f"{codes.count(0)} of {len(items)} lines complete")
    if stop.control.drain_requested:
        codes.append(STOPPED)
        say("To go on: give the same command again")
    return next((code for code in WORST_FIRST if code in codes), 0)


def _alike(items: list[Item]) -> Iterator[str]:
    """Lines that may have been meant as one: equal ones, and others of one id. Each is a run all the same."""
    equal: dict[str, list[int]] = {}
    named: dict[str, list[int]] = {}
    for item in items:
        if item.line is not None:
            equal.setdefault(item.line.model_dump_json(), []).append(item.number)
            named.setdefault(item.line.id, []).append(item.number)
    repeated = [numbers for numbers in equal.values() if len(numbers) > 1]
    for numbers in repeated:
        yield f"Lines {_listed(numbers)} are equal: each is a run of its own."
    for name, numbers in named.items():
        if name and len(numbers) > 1 and numbers not in repeated:
            yield f"Lines {_listed(numbers)} have the same id {name!r}: tell their results apart by line."


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _read(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UserError(f"--batch {path} cannot be read: {error.strerror or error}.") from None
    return data.decode("utf-8-sig", "replace")


def _code(result: BatchResult, stop: Stop) -> int:
    if result.error:
        return STOPPED if stop.control.drain_requested and result.result is None else FAILED
    assert result.result is not None
    return EXIT_CODES.get(result.result.status, FAILED)


def _give(result: BatchResult) -> None:
    told = f"[{result.item.label}] {result.error or (result.result.status if result.result else '')}"
    say(f"{told} (known)" if result.known else told)
    try:
        give(json.dumps(result.as_dict(), ensure_ascii=False, default=str))
    except BrokenPipeError:  # nobody reads on; the runs are worth their reports all the same
        deaf_stdout()


def _told(item: Item, update: dict[str, Any], research: Research) -> None:
    account = str(update.get("account") or "")
    if account.startswith(("turn", "attempt")):
        say(f"[{item.label}] {turn_line(account, research, datetime.now(UTC))}")


def _trouble(item: Item, update: dict[str, Any], research: Research) -> None:
    if trouble := trouble_line(str(update.get("account") or "")):
        say(f"[{item.label}] {trouble}")


def _begins(item: Item, run_id: str, bench: Workbench) -> None:
    folder = bench.run_folder(run_id)
    if folder is not None:
        keep_settings(bench.context, folder)
    say(f"[{item.label}] Run {run_id}" + (f" in {folder}" if folder else ""))
