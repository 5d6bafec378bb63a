"""Many runs side by side: a line of a file each, resumable, the results in order of completion (DESIGN: Interfaces).

A run's id follows from what its line says and from what it is asked of and with, so that the same command given again
goes on with what is unfinished and does not redo what is done. One line that fails costs no other.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.runtime import RunControl
from pydantic import ValidationError

from zetetic.models import ModelError
from zetetic.nodes.context import Context
from zetetic.nodes.folder import write_folder
from zetetic.nodes.workbench import SetupError, Workbench, workbench
from zetetic.sources import DocumentsError
from zetetic.state.research import Research
from zetetic.state.runs import decide_stop
from zetetic.store import StoreError

from .batch_lines import Item, Line, as_list, in_words, read_lines
from .result import ResearchResult
from .run import aresearch, aresume, is_cut_off, load_result

SETUP_ERRORS = (SetupError, ModelError, DocumentsError, StoreError, OSError)
NOT_BEGUN = "stopped before it was begun; nothing was spent on it"
DONE = frozenset({"complete", "reported", "failed"})
"""Statuses of a run that goes no further by itself."""
NAMING = ("documents", "search", "mode", "loop", "model", "worker", "evaluator", "extractor")


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a line: the run's result, or the error that kept it from one. `known`: it was done before."""

    item: Item
    run_id: str = ""
    result: ResearchResult | None = None
    report_path: str = ""
    known: bool = False
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON. The report is a path where run folders are written, else its text."""
        r = self.result
        return {
            "line": self.item.number,
            "id": self.item.line.id if self.item.line is not None else "",
            "run_id": self.run_id,
            "status": r.status if r is not None else "",
            "stop_reason": r.stop_reason if r is not None else "",
            **(
                {"report_path": self.report_path} if self.report_path else {"report": r.report if r is not None else ""}
            ),
            "usage": r.usage if r is not None else {},
            "known": self.known,
            "error": self.error,
        }


@dataclass
class Watch:
    """Who looks on. `told` hears of every turn, `begins` of a run before it works, `control` asks all for an end."""

    told: Callable[[Item, dict[str, Any], Research], None] = lambda item, update, research: None
    begins: Callable[[Item, str, Workbench], None] = lambda item, run_id, bench: None
    control: RunControl = field(default_factory=RunControl)


async def abatch(
    lines: Iterable[str | Mapping[str, Any]],
    *,
    context: Context | None = None,
    concurrency: int = 4,
    again: bool = False,
    watch: Watch | None = None,
) -> AsyncGenerator[BatchResult, None]:
    """Researches each of the lines, objectives or mappings with one, so many at once; gives each result when it is
    there, as `run_items` says."""
    async with aclosing(run_items(read_lines(lines), context, concurrency, again, watch or Watch())) as results:
        async for result in results:
            yield result


async def run_items(
    items: Sequence[Item], context: Context | None, concurrency: int, again: bool, watch: Watch
) -> AsyncGenerator[BatchResult, None]:
    """Runs the items, so many at once, and gives each result when it is there.

    A run that is done is given as it stands, one that was cut off goes on; `again` begins each anew. A drain asked of
    `watch.control` ends every run after its step; what was not begun is then given with an error that says so.
    Cancelled, it stops every run under way, gives what became of each, and then raises; they too can be resumed.
    """
    if concurrency < 1:
        raise SetupError(f"concurrency is at least 1, not {concurrency}.")
    crew = _Crew(context or Context(), items, again, watch)
    tasks = [asyncio.create_task(crew.work()) for _ in range(min(concurrency, len(crew.items)))]
    try:
        for _ in crew.items:
            yield await crew.next_result()
    except asyncio.CancelledError:
        await _cancelled(tasks)
        for result in crew.left_over():
            yield result
        raise
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Crew:
    """Takes the lines in their order, as many at once as there are callers of `work`."""

    def __init__(self, context: Context, items: Sequence[Item], again: bool, watch: Watch) -> None:
        self.items = items
        self._context = context
        self._again = again
        self._watch = watch
        self._left = iter(items)
        self._stopped = False
        self._results: asyncio.Queue[BatchResult | Exception] = asyncio.Queue()
        self._to_come = Counter(_settings(item) for item in items)
        self._benches: dict[str, AsyncExitStack] = {}

    async def next_result(self) -> BatchResult:
        """The next result; raises what broke a worker, which no line's own trouble does."""
        got = await self._results.get()
        if isinstance(got, Exception):
            raise got
        return got

    def left_over(self) -> Iterator[BatchResult]:
        """The results that nobody took."""
        while not self._results.empty():
            if isinstance(got := self._results.get_nowait(), BatchResult):
                yield got

    async def work(self) -> None:
        """Runs one line after another; once cancelled, it gives the rest as not begun."""
        for item in self._left:
            try:
                result = await self._run(item)
            except asyncio.CancelledError:
                self._stopped = True
                result = BatchResult(item, error=NOT_BEGUN)
            except Exception as error:
                self._results.put_nowait(error)
                return
            await self._over(_settings(item))
            self._results.put_nowait(result)

    async def _run(self, item: Item) -> BatchResult:
        if item.line is None:
            return BatchResult(item, error=item.fault)
        if self._stopped or self._watch.control.drain_requested:
            return BatchResult(item, error=NOT_BEGUN)
        try:
            context = _context_of(self._context, item.line)
            bench = await self._bench(context, _settings(item))
        except SETUP_ERRORS as error:
            return BatchResult(item, error=str(error))
        run_id, status = await self._chosen(bench, _run_name(item, context))
        return await self._carried_out(item, item.line, bench, run_id, status)

    async def _carried_out(self, item: Item, line: Line, bench: Workbench, run_id: str, status: str) -> BatchResult:
        def progress(update: dict[str, Any], research: Research) -> None:
            self._watch.told(item, update, research)

        known, error = False, ""
        try:
            known = status in DONE and not await is_cut_off(bench, run_id)
            if not known:
                self._watch.begins(item, run_id, bench)
                given: dict[str, Any] = {
                    "context": bench.context,
                    "control": self._watch.control,
                    "progress": progress,
                }
                if status:
                    await aresume(run_id, **given)
                else:
                    asked = line.model_dump(include={"criteria", "scope", "exclusions", "directives"})
                    await aresearch(line.objective, run_id=run_id, **asked, **given)
        except asyncio.CancelledError:
            self._stopped = True
            if not await bench.store.exists(run_id):
                raise
            done = await bench.store.execute(run_id, lambda r: decide_stop(r, at=bench.clock()), reason="stop")
            await write_folder(bench, done.research)
        except SETUP_ERRORS as trouble:
            error = str(trouble)
        except Exception as trouble:
            error = f"the run broke off: {type(trouble).__name__}: {trouble}"
        return await self._result(item, bench, run_id, error, known=known)

    async def _result(self, item: Item, bench: Workbench, run_id: str, error: str, *, known: bool) -> BatchResult:
        try:
            result = await load_result(bench, run_id) if await bench.store.exists(run_id) else None
        except StoreError as trouble:
            return BatchResult(item, run_id, error=error or str(trouble))
        folder = bench.run_folder(run_id)
        path = folder / "report.md" if folder is not None else None
        there = path is not None and await asyncio.to_thread(path.is_file)
        return BatchResult(item, run_id, result, str(path) if there else "", known, error)

    async def _chosen(self, bench: Workbench, name: str) -> tuple[str, str]:
        """The id of the line's run, and its status, '' where it is not opened yet; `again` takes a new id."""
        latest, status, number = name, "", 1
        while await bench.store.exists(candidate := name if number == 1 else f"{name}-{number}"):
            latest, status, number = candidate, (await bench.store.load(candidate)).status, number + 1
        return (candidate, "") if self._again or not status else (latest, status)

    async def _bench(self, context: Context, settings: str) -> Workbench:
        """The workbench of a line, open until the last line with these settings is done."""
        stack = self._benches.setdefault(settings, AsyncExitStack())
        return await stack.enter_async_context(workbench(context))

    async def _over(self, settings: str) -> None:
        self._to_come[settings] -= 1
        if not self._to_come[settings] and (stack := self._benches.pop(settings, None)) is not None:
            with suppress(*SETUP_ERRORS):
                await stack.aclose()


def _run_name(item: Item, context: Context) -> str:
    """The id of a line's run: other sources, models, mode or loop make another run, other bounds do not."""
    assert item.line is not None
    parts: dict[str, Any] = {**item.line.model_dump(), "place": item.place}
    for name in NAMING:
        value = getattr(context, name)
        many = [one if isinstance(one, str | None) else type(one).__name__ for one in as_list(value)]
        parts[name] = [str(Path(one).absolute()) for one in many if one] if name == "documents" else many
    return "b" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _settings(item: Item) -> str:
    return json.dumps(item.line.settings, sort_keys=True) if item.line is not None else ""


def _context_of(base: Context, line: Line) -> Context:
    """The context of a line: the batch's with what the line sets. Raises SetupError where it cannot be."""
    if not line.settings:
        return base
    given = {name: getattr(base, name) for name in base.model_fields_set}
    try:
        context = Context(**{**given, **line.settings})
        context.thresholds()
    except ValidationError as error:
        raise SetupError(in_words(error)) from None
    return context
