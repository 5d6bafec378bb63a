"""What a run works with: the store, the sources and the models of a context, opened once for an event loop."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import RunControl, Runtime
from pydantic import ValidationError

from zetetic.models import ProviderError, model_name
from zetetic.sources import DocumentFolder, Fetcher, SearchProvider, canonical_url
from zetetic.sources.documents import by_reason
from zetetic.sources.providers import KNOWN, ApiProvider, UnknownProvider, adapted, make_provider
from zetetic.sources.tables import MISSING, Tables
from zetetic.sources.web import CombinedFetcher, WebFetcher
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import Holdings
from zetetic.store import Store

from .channels import Channels
from .context import Context
from .found_texts import FoundTexts
from .holds import Hold
from .roles import SetupError as SetupError
from .roles import fallback_models, need_prices, role_models, told_rooms
from .windows import Role, Room

T = TypeVar("T")


_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def checked_run_id(run_id: str) -> str:
    """The id, if it can name a run and its folder. Raises SetupError otherwise."""
    if not _RUN_ID.fullmatch(run_id):
        raise SetupError(
            f"{run_id[:80]!r} cannot name a run: take up to 64 letters, digits, dots, dashes and underscores, a letter "
            "or digit first."
        )
    return run_id


class _Nowhere:
    """Stands in where nothing can be fetched."""

    async def fetch(self, url: str) -> Any:
        from zetetic.sources import FetchFailure

        return FetchFailure(url=url, kind="unsupported", message="Pages of the web are not read in this run.")


@dataclass
class Workbench:
    """The opened resources of one context. `clock` is where the outside's time enters.

    `rooms` holds what is known of the models' windows, `shut_out` the roles whose own model refuses access.
    """

    context: Context
    thresholds: Thresholds
    store: Store
    providers: Sequence[SearchProvider]
    fetcher: FoundTexts
    folder: DocumentFolder | None
    tables: Tables
    web: WebFetcher | None
    models: dict[Role, BaseChatModel]
    fallbacks: dict[Role, BaseChatModel] = field(default_factory=dict)
    rooms: dict[Role, Room] = field(default_factory=dict)
    shut_out: dict[Role, ProviderError] = field(default_factory=dict)
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    calls_let_go: set[asyncio.Future[Any]] = field(default_factory=set)
    readings_let_go: set[asyncio.Future[Any]] = field(default_factory=set)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a run folder is written."""
    written: dict[str, int] = field(default_factory=dict)
    """Up to which event each run's folder was written."""
    holds: dict[tuple[RunControl | None, str], Hold] = field(default_factory=dict)
    """The leases of invocations under way, by what marks the invocation, and run."""

    def clock(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)

    @property
    def model_label(self) -> str:
        """The worker's model, for the record."""
        return model_name(self.models["worker"])

    def holdings(self) -> Holdings:
        """What the sources can give at most (D42)."""
        if self.folder is None or len(self.providers) != 1 or self.providers[0] is not self.folder:
            return Holdings(tables=self.tables.schema)
        held = self.folder.holdings
        # What can be found by searching is what the gate may ask for; a folder with nothing but tables is queried.
        files = 0 if held.sources else len({table.file for table in self.tables.tables})
        return Holdings(
            local_only=True, sources=held.sources or files, domains=held.domains or files, tables=self.tables.schema
        )

    def identity(self, url: str) -> str:
        """The identity under which an address counts as visited (R6)."""
        return self.folder.identity(url) if self.folder is not None else canonical_url(url)

    def run_folder(self, run_id: str) -> Path | None:
        """Where a run's files go, if they are written."""
        return Path(self.context.home) / run_id if self.context.write_files else None

    def let_go(self, call: asyncio.Future[Any]) -> None:
        """Nobody waits for this model call any more: it has its grace to be answered and stored, then is cancelled."""
        if call.done():
            return _looked_at(call)
        ending = asyncio.get_running_loop().call_later(self.thresholds.cancel_grace_seconds, call.cancel)
        self.calls_let_go.add(call)
        call.add_done_callback(self.calls_let_go.discard)
        call.add_done_callback(lambda _: ending.cancel())
        return call.add_done_callback(_looked_at)

    async def at_most(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """What `work` brings, in at most so many seconds. Raises TimeoutError then, also where `work` pays no heed to
        being cancelled: it is left to itself, so that no tool of a host's can hold up the run (A21)."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                self.readings_let_go.add(task)
                task.add_done_callback(self.readings_let_go.discard)
                task.add_done_callback(_looked_at)
        if not task.done():
            raise TimeoutError
        return task.result()

    async def close(self) -> None:
        """Gives everything back; waits for model calls that were let go, each for what is left of its grace."""
        if self.calls_let_go:
            await asyncio.wait(self.calls_let_go)
        for hold in [*self.holds.values()]:  # of invocations that ended between two steps
            await hold.give_back()
        self.holds.clear()
        await self.store.close()
        for provider in self.providers:
            if isinstance(provider, ApiProvider):
                await provider.aclose()
        if self.web is not None:
            await self.web.close()
        if self.folder is not None:
            self.folder.close()


def _looked_at(call: asyncio.Future[Any]) -> None:
    """Takes note of how a call ended, so that asyncio does not report a failure that nobody waits for."""
    if not call.cancelled():
        call.exception()


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Workbench]] = WeakKeyDictionary()
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def _fingerprint(context: Context) -> str:
    parts = []
    for name in type(context).model_fields:
        value = getattr(context, name)
        plain = isinstance(value, str | int | float | bool | type(None))
        if isinstance(value, list):
            parts.append(f"{name}={[v if isinstance(v, str) else id(v) for v in value]}")
        else:
            parts.append(f"{name}={value if plain else id(value)}")
    return "|".join(parts)


async def _make(context: Context) -> Workbench:
    try:
        thresholds = context.thresholds()
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(p) for p in fault["loc"])
        raise SetupError(f"{name}: {fault['msg']} (given: {fault['input']!r}).") from None
    models, fallbacks = role_models(context, thresholds), fallback_models(context, thresholds)
    need_prices([*models.values(), *fallbacks.values()], thresholds)
    rooms = await told_rooms(models, thresholds)
    folder, tables = await open_documents(context.documents)
    providers = await _providers(context, folder)
    web = WebFetcher(allow=context.fetch_allow) if context.reads_web and context.fetcher is None else None
    home = Path(context.home)
    store = await Store.open(context.database_path, notes_dir=home if context.write_files else None)
    fetcher = FoundTexts(_fetcher(context, folder, web), providers, store)
    return Workbench(
        context, thresholds, store, providers, fetcher, folder, tables, web, models, fallbacks=fallbacks, rooms=rooms
    )


async def open_documents(path: str | None) -> tuple[DocumentFolder | None, Tables]:
    """The documents and the tables of a folder. Raises SetupError or DocumentsError where neither can be read."""
    if not path:
        return None, Tables(Path(), ())
    tables = await Tables.open(path)
    folder = await DocumentFolder.open(path, may_be_empty=bool(tables.tables or tables.unreadable))
    if folder.documents or tables.tables:
        return folder, tables
    folder.close()
    if any(reason == MISSING for _, reason in tables.unreadable):
        raise SetupError(f"{path} holds no document that can be read, but tables. {MISSING}")
    told = "".join(f"\n  {line}" for line in by_reason([*folder.unreadable, *tables.unreadable]))
    raise SetupError(f"{path} holds neither a document nor a table that can be read:{told}")


def _fetcher(context: Context, folder: DocumentFolder | None, web: WebFetcher | None) -> Fetcher:
    """What pages are read with: the host's own fetcher alone, else the folder and the web, as far as there are."""
    if context.fetcher is not None:
        return cast("Fetcher", context.fetcher)
    if folder is not None and web is not None:
        return CombinedFetcher(folder, web)
    return web or folder or _Nowhere()


async def _providers(context: Context, folder: DocumentFolder | None) -> list[SearchProvider]:
    """What is searched, in the order named. Those that lack something answer so; refused only if all do (R8)."""
    providers: list[SearchProvider] = []
    wanted = context.search or (["documents"] if folder is not None else [])
    for given in [one for at, one in enumerate(wanted) if not (isinstance(one, str) and one in wanted[:at])]:
        try:
            providers += [_named(given, folder)] if isinstance(given, str) else await adapted(given)
        except ValueError as error:
            raise SetupError(str(error)) from None
    if not providers:
        raise SetupError(
            "There is nothing to look in: give a folder with documents (--documents DIR), or search providers. "
            f"By name (--search NAMES) there are: {', '.join(KNOWN)}."
        )
    lacking = [lack for provider in providers if (lack := getattr(provider, "missing", ""))]
    if len(lacking) == len(providers):
        raise SetupError(f"Nothing can be searched. {' '.join(lacking)}")
    return providers


def _named(name: str, folder: DocumentFolder | None) -> SearchProvider:
    if name.strip().lower() == "documents":
        if folder is None:
            raise SetupError("search names documents, but no folder was given: set documents to one.")
        return folder
    provider = make_provider(name)
    if isinstance(provider, UnknownProvider):
        needs = "; ".join(f"{known} ({need})" for known, need in KNOWN.items())
        raise SetupError(f"The search provider {name!r} is not known. Known: {needs}; or a provider of your own.")
    return provider


async def open_bench(context: Context) -> Workbench:
    """The workbench of a context in the running event loop, opened if it is not yet.

    Raises SetupError, ModelError, DocumentsError or StoreError, each saying what to do.
    """
    loop = asyncio.get_running_loop()
    lock = _locks.setdefault(loop, asyncio.Lock())
    async with lock:
        benches = _open.setdefault(loop, {})
        key = _fingerprint(context)
        if key not in benches:
            benches[key] = await _make(context)
        return benches[key]


async def close_bench(context: Context) -> None:
    """Closes the workbench of a context in the running event loop, if it is open."""
    bench = _open.get(asyncio.get_running_loop(), {}).pop(_fingerprint(context), None)
    if bench is not None:
        await bench.close()


@asynccontextmanager
async def workbench(context: Context) -> AsyncIterator[Workbench]:
    """The workbench of a context for the length of a block; nested blocks share it, the last one closes it."""
    bench = await open_bench(context)
    bench.users += 1
    try:
        yield bench
    finally:
        bench.users -= 1
        if bench.users <= 0:
            await close_bench(context)


def recursion_limit(thresholds: Thresholds) -> int:
    """Supersteps a run can take at most: five a turn, three an evaluation, and some for starts and ends."""
    return thresholds.max_turns * 6 + thresholds.max_iterations * 3 + 50


async def known(bench: Workbench, channels: Channels) -> Research:
    """The research that this step's worker works on. One in memory that holds all that the last step knew will do: what
    is decided is decided anew on the log's head, in the transaction that writes it."""
    worker, seen = channels.get("worker") or "", channels.get("log_head") or 0
    return await bench.store.load(channels["run_id"], worker=worker, at_least=seen)


async def bench_of(runtime: Runtime[Context]) -> Workbench:
    """The workbench a node works with; a context that was not given is the environment's (LANGGRAPH: Building)."""
    context = cast("Context | None", runtime.context)
    if context is not None and not isinstance(context, Context):
        raise SetupError(
            f"The graph was given a context of type {type(context).__name__}. Call it from a node of your own and pass "
            "context=zetetic.Context(…)."
        )
    return await open_bench(context or Context())
