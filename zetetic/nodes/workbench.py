"""What a run works with: the store, the sources and the models of a context, opened once for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from pydantic import ValidationError

from zetetic.models import has_price, make_model, model_name
from zetetic.sources import DocumentFolder, Fetcher, SearchProvider, canonical_url
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import Holdings
from zetetic.store import Store

from .context import Context

Role = Literal["worker", "evaluator", "extractor"]


class SetupError(ValueError):
    """The configuration cannot be worked with; the message says what to do."""


class _Nowhere:
    """Stands in where nothing can be fetched."""

    async def fetch(self, url: str) -> Any:
        from zetetic.sources import FetchFailure

        return FetchFailure(url=url, kind="unsupported", message="No fetcher is configured for this address.")


@dataclass
class Workbench:
    """The opened resources of one context. `clock` is where the outside's time enters."""

    context: Context
    thresholds: Thresholds
    store: Store
    providers: Sequence[SearchProvider]
    fetcher: Fetcher
    folder: DocumentFolder | None
    models: dict[Role, BaseChatModel]
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)

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
            return Holdings()
        held = self.folder.holdings
        return Holdings(local_only=True, sources=held.sources, domains=held.domains)

    def identity(self, url: str) -> str:
        """The identity under which an address counts as visited (R6)."""
        return self.folder.identity(url) if self.folder is not None else canonical_url(url)

    def run_folder(self, run_id: str) -> Path | None:
        """Where a run's files go, if they are written."""
        return Path(self.context.home) / run_id if self.context.write_files else None

    async def close(self) -> None:
        """Gives everything back."""
        await self.store.close()
        if self.folder is not None:
            self.folder.close()


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
    models = _models(context, thresholds)
    _need_prices(models, thresholds)
    folder = await DocumentFolder.open(context.documents) if context.documents else None
    providers = _providers(context, folder)
    fetcher: Fetcher = context.fetcher or folder or _Nowhere()
    home = Path(context.home)
    store = await Store.open(context.database_path, notes_dir=home if context.write_files else None)
    return Workbench(context, thresholds, store, providers, fetcher, folder, models)


def _models(context: Context, thresholds: Thresholds) -> dict[Role, BaseChatModel]:
    def make(spec: Any, tokens: int, seconds: float, retries: int) -> BaseChatModel:
        return make_model(
            spec if spec is not None else context.model,
            base_url=context.base_url,
            api_key=context.api_key,
            timeout=seconds,
            max_retries=retries,
            max_output_tokens=tokens,
        )

    t = thresholds
    return {
        "worker": make(context.worker, t.answer_max_tokens, t.call_seconds, t.call_retries),
        # An evaluation needs no worker's allowance: each bound is the smaller of the two (A23).
        "evaluator": make(
            context.evaluator,
            min(t.arm_max_tokens, t.answer_max_tokens),
            min(t.arm_seconds, t.call_seconds),
            min(t.arm_retries, t.call_retries),
        ),
        "extractor": make(context.extractor, t.answer_max_tokens, t.call_seconds, t.call_retries),
    }


def _need_prices(models: dict[Role, BaseChatModel], thresholds: Thresholds) -> None:
    """A limit in money needs a price for every model, before the first call."""
    for name in dict.fromkeys(model_name(m) for m in models.values()):
        if thresholds.max_cost_usd and not has_price(name):
            raise SetupError(
                f"The price of the model {name!r} is not known, so max_cost_usd cannot be kept: leave it out and bound "
                "the run by max_total_tokens."
            )


def _providers(context: Context, folder: DocumentFolder | None) -> list[SearchProvider]:
    providers: list[SearchProvider] = []
    for wanted in context.search or (["documents"] if folder is not None else []):
        if wanted == "documents":
            if folder is None:
                raise SetupError("search names documents, but no folder was given: set documents to one.")
            providers.append(folder)
        elif isinstance(wanted, str):
            raise SetupError(
                f"The search provider {wanted!r} is not known; known: documents, or a provider of your own."
            )
        else:
            providers.append(wanted)
    if not providers:
        raise SetupError(
            "There is nothing to look in: give a folder with documents (--documents DIR), or search providers."
        )
    return providers


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


async def bench_of(runtime: Runtime[Context]) -> Workbench:
    """The workbench a node works with; a context that was not given is the environment's (LANGGRAPH: Building)."""
    context = cast("Context | None", runtime.context)
    if context is not None and not isinstance(context, Context):
        raise SetupError(
            f"The graph was given a context of type {type(context).__name__}. Call it from a node of your own and pass "
            "context=zetetic.Context(…)."
        )
    return await open_bench(context or Context())
