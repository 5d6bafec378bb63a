"""`research` and `resume`: a run from its start to its exit code, with Ctrl-C in between."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from langgraph.runtime import RunControl

from zetetic.export import summary_lines
from zetetic.export.ledger import loop_state
from zetetic.graph.result import ResearchResult
from zetetic.graph.run import aresearch, aresume, load_result, new_id, result_at
from zetetic.models import ModelError
from zetetic.nodes.context import Context
from zetetic.nodes.folder import write_folder
from zetetic.nodes.workbench import SetupError, Workbench, workbench
from zetetic.sources import DocumentFolder, DocumentsError
from zetetic.sources.documents import FEW, by_reason
from zetetic.state.decision import Refusal
from zetetic.state.research import Research
from zetetic.state.runs import decide_resume, decide_stop, directive_fault
from zetetic.store import StoreError

from .places import full_id, home_fault, how_to_go_on, stored_research
from .progress import Progress
from .settings import FILE as SETTINGS
from .settings import bounds_of, context_of, keep_settings, kept_settings
from .terminal import UserError, deaf_stdout, give, give_json, redacted, say

EXIT_CODES = {"complete": 0, "reported": 3, "blocked": 4, "failed": 5, "stopped": 130}
FAILED = EXIT_CODES["failed"]
STOPPED = EXIT_CODES["stopped"]
NAMED = 20
"""Unused documents that are named; more are counted (documents)."""
OFFLINE_NOTICE = (
    "No model is named, so the offline model works: it extracts sentences by rule and costs nothing. "
    "Name one with --model or ZETETIC_MODEL."
)
"""Said where nothing names a model: nothing is spent unasked."""
WAS_COMPLETE = "The run was complete; this is its report."
NOT_BEGUN = "Stopped before anything was begun; nothing was spent."
SETUP_ERRORS = (SetupError, ModelError, DocumentsError, StoreError, OSError)


@dataclass(frozen=True)
class Asked:
    """What `research` is asked, besides the configuration."""

    objective: str
    criteria: Sequence[str] = ()
    exclusions: Sequence[str] = ()
    directives: Sequence[str] = ()


async def start(asked: Asked, given: dict[str, Any], *, verbose: bool, as_json: bool) -> int:
    """Starts a run and takes it to its end; gives the exit code. Raises UserError before anything is spent."""
    if not asked.objective.strip():
        raise UserError("The objective is empty: say what is to be found out.")
    context = context_of(given)
    thresholds = context.thresholds()
    for text in asked.directives:
        if fault := directive_fault(text, thresholds):
            raise UserError(fault)
    unnamed = names_no_model(context)
    run_id = new_id()

    def begin(stop: Stop, progress: Progress) -> Awaitable[ResearchResult]:
        return aresearch(
            asked.objective,
            context=context,
            criteria=asked.criteria,
            exclusions=asked.exclusions,
            directives=asked.directives,
            run_id=run_id,
            control=stop.control,
            progress=progress,
        )

    notice = OFFLINE_NOTICE if unnamed else ""
    return await run_to_end(run_id, context, begin, notice=notice, verbose=verbose, as_json=as_json)


def names_no_model(context: Context) -> bool:
    """Whether the offline model works for want of another. Raises UserError where a server is named and no model."""
    named = "model" in context.model_fields_set or all((context.worker, context.evaluator, context.extractor))
    if not named and context.base_url:
        raise UserError("A base_url is given but no model: name the one the server has with --model.")
    return not named


async def go_on(run_id: str, given: dict[str, Any], room: dict[str, Any], *, verbose: bool, as_json: bool) -> int:
    """Lets a run go on as it was started; gives the exit code. Raises UserError before anything is spent."""
    home = context_of({"home": given.get("home")}).home
    run_id = await full_id(run_id, given)
    stored = kept_settings(home, run_id)
    found = context_of(given, stored)
    research = await stored_research(found, run_id)
    own = Path(found.home) / run_id
    if research.status == "complete" and not any(room.values()) and (not own.exists() or _is_written(research, own)):
        say(WAS_COMPLETE)
        result = result_at(research, datetime.now(UTC))
        return _closing(_Outcome(0, result), found, own if own.exists() else None, None, as_json=as_json)
    if "model" not in found.model_fields_set and not research.model.startswith("offline"):
        raise UserError(f"The run was started with the model {research.model}, and how is not kept: give --model.")
    bounds, added = bounds_of(research, room)
    refused = decide_resume(research, at=datetime.now(UTC), **added)
    if isinstance(refused, Refusal) and any(added.values()):  # else a last step may be left to do
        raise UserError(" ".join(refused.missing))
    context = context_of({**given, **bounds, "mode": research.mode, "user": given.get("user") or research.user}, stored)

    def begin(stop: Stop, progress: Progress) -> Awaitable[ResearchResult]:
        return aresume(run_id, context=context, **added, control=stop.control, progress=progress)

    notice = WAS_COMPLETE if research.status == "complete" else ""
    return await run_to_end(run_id, context, begin, notice=notice, verbose=verbose, as_json=as_json)


def _is_written(research: Research, folder: Path) -> bool:
    """Whether the last step of a complete run wrote its folder, whose state comes last; one cut off has to go on."""
    try:
        state = json.loads((folder / "loop_state.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    told = [loop_state(research), loop_state(research, "its evidence does not verify")]
    return state in told and (folder / "report.md").is_file()


# A run.


class Stop:
    """Ctrl-C: the first asks for an end after the step under way, the second cancels, the third kills."""

    def __init__(self, task: asyncio.Task[Any] | None, speak: Callable[[str], None]) -> None:
        self.control = RunControl()
        self.cancelled = False
        self._task = task
        self._speak = speak

    def interrupted(self) -> None:
        """SIGINT."""
        if not self.control.drain_requested:
            self.terminated()
        elif not self.cancelled and self._task is not None:
            self.cancelled = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._speak("cancelling…")
            self._task.cancel()

    def terminated(self) -> None:
        """SIGTERM."""
        if not self.control.drain_requested:
            self.control.request_drain("interrupted")
            self._speak("finishing this step… (Ctrl-C again cancels it)")

    def caught(self) -> bool:
        """Whether a CancelledError came from here; then the task goes on."""
        if self.cancelled and self._task is not None:
            self._task.uncancel()
        return self.cancelled


@contextmanager
def signals_to(stop: Stop) -> Iterator[None]:
    """Leads SIGINT and SIGTERM to `stop` for the length of a block."""
    loop = asyncio.get_running_loop()

    def leads_to(handler: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
        def lead(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(handler)

        return lead

    before = [
        (number, signal.signal(number, leads_to(handler)))
        for number, handler in ((signal.SIGINT, stop.interrupted), (signal.SIGTERM, stop.terminated))
    ]
    try:
        yield
    finally:
        for number, previous in before:
            signal.signal(number, previous)


Begin = Callable[[Stop, Progress], Awaitable[ResearchResult]]


@dataclass(frozen=True)
class _Outcome:
    """How it ended: the result where there is one, the exit code, and what went wrong in words."""

    code: int
    result: ResearchResult | None = None
    trouble: str = ""


async def run_to_end(
    run_id: str, context: Context, begin: Begin, *, notice: str = "", verbose: bool, as_json: bool
) -> int:
    """Takes a run to its end, with its progress on stderr; gives the exit code."""
    folder: Path | None = None
    documents: DocumentFolder | None = None
    with Progress(verbose=verbose) as progress:
        stop = Stop(asyncio.current_task(), progress.say)
        with signals_to(stop):
            try:
                async with _opened(context) as bench:
                    if stop.control.drain_requested:
                        raise asyncio.CancelledError
                    if notice:
                        progress.say(notice)
                    documents = bench.folder
                    for line in not_read(documents, bench.tables.unreadable):
                        progress.say(line)
                    folder = bench.run_folder(run_id)
                    _keep(context, folder)
                    progress.opening = f"Run {run_id}" + (f" in {folder}" if folder else "")
                    outcome = await _outcome(run_id, bench, stop, folder, begin(stop, progress))
            except asyncio.CancelledError:
                if not (stop.caught() or stop.control.drain_requested):
                    raise
                outcome = _Outcome(STOPPED, trouble=NOT_BEGUN)
    return _closing(outcome, context, folder, documents, as_json=as_json)


@asynccontextmanager
async def _opened(context: Context) -> AsyncIterator[Workbench]:
    """The workbench; what stands against opening it is the user's to mend."""
    if fault := home_fault(context.home):
        raise UserError(fault)
    async with contextlib.AsyncExitStack() as stack:
        try:
            bench = await stack.enter_async_context(workbench(context))
        except SETUP_ERRORS as error:
            raise UserError(str(error)) from None
        yield bench


def _keep(context: Context, folder: Path | None) -> None:
    if folder is None:
        return
    try:
        keep_settings(context, folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}.") from None


def _forget(folder: Path | None) -> None:
    """Removes what was kept for a run that never came to be."""
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / SETTINGS).unlink()
            folder.rmdir()


async def _outcome(
    run_id: str, bench: Workbench, stop: Stop, folder: Path | None, work: Awaitable[ResearchResult]
) -> _Outcome:
    trouble = ""
    try:
        result = await work
        return _Outcome(EXIT_CODES.get(result.status, FAILED), result)
    except asyncio.CancelledError:
        if not stop.caught():
            raise
    except SetupError as error:
        raise UserError(str(error)) from None
    except Exception as error:
        trouble = f"The run broke off: {_named(error)}" + _traceback(error, folder)
    if not await bench.store.exists(run_id):
        _forget(folder)
        if stop.control.drain_requested:
            return _Outcome(STOPPED, trouble=NOT_BEGUN)
        return _Outcome(FAILED, trouble=trouble)
    if trouble:
        return _Outcome(FAILED, await load_result(bench, run_id), trouble)
    done = await bench.store.execute(run_id, lambda r: decide_stop(r, at=bench.clock()), reason="stop")
    await write_folder(bench, done.research)
    return _Outcome(STOPPED, await load_result(bench, run_id))


def _named(error: Exception) -> str:
    """An error in words; one that speaks to the user needs no name."""
    if isinstance(error, SETUP_ERRORS) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _traceback(error: Exception, folder: Path | None) -> str:
    """Where the traceback of an unexpected error was written, for whoever is to mend it."""
    if isinstance(error, SETUP_ERRORS) or folder is None:
        return ""
    path = folder / "traceback.txt"
    try:
        path.write_text(redacted("".join(traceback.format_exception(error))), encoding="utf-8")
    except OSError:
        return ""
    return f" (traceback in {path})"


# What is said at the end.


def _closing(
    outcome: _Outcome,
    context: Context,
    folder: Path | None,
    documents: DocumentFolder | None,
    *,
    as_json: bool,
) -> int:
    """The report to stdout, then the summary with what to do next to stderr (L12)."""
    code, result = outcome.code, outcome.result
    if outcome.trouble:
        say(outcome.trouble)
    if result is None:
        return code
    try:
        if as_json:
            give_json(result.as_dict())
        elif result.report:
            give(result.report)
    except BrokenPipeError:
        deaf_stdout()
    except OSError as error:
        deaf_stdout()
        say(f"The report could not be written to standard output: {error.strerror or error}.")
        code = FAILED
    research = result.research
    if documents is not None:
        _say_unused(documents, research)
    for line in summary_lines(research):
        say(line)
    if folder is not None:
        say(f"Run folder: {folder}")
    if result.status != "complete":
        say(how_to_go_on(research, context))
    return code


def not_read(documents: DocumentFolder | None, tables: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The files that cannot be read: each with its reason where they are few; else how many, why, and the first."""
    unreadable = [*(documents.unreadable if documents else ()), *tables]
    if len(unreadable) <= FEW:
        yield from (f"Not read: {path}: {reason}" for path, reason in unreadable)
        return
    read = len(documents.documents) if documents else 0
    yield f"{read:,} of {read + len(unreadable):,} files could be read, {len(unreadable):,} could not:"
    yield from (f"  {line}" for line in by_reason(unreadable))


def _say_unused(documents: DocumentFolder, research: Research) -> None:
    used = {source.canonical for source in research.sources.values()}
    unused = [page.path for page in documents.documents if page.canonical not in used]
    if unused:
        more = f" and {len(unused) - NAMED} more" if len(unused) > NAMED else ""
        say(f"Not used: {len(unused)} of the {len(documents.documents)} documents: {', '.join(unused[:NAMED])}{more}")
