"""`init`: whether a run could start as things are configured, and what to do where it could not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from zetetic.models import ModelError, ProviderError, call_model, has_price, known_window, model_name, repair
from zetetic.nodes.context import Context
from zetetic.nodes.roles import ROLES, made_for, named_for
from zetetic.nodes.windows import Role, least_window
from zetetic.nodes.workbench import SetupError, open_documents
from zetetic.sources import DocumentFolder, DocumentsError, SearchProvider, SearchStatus
from zetetic.sources.providers import KNOWN, ApiProvider, adapted, make_provider
from zetetic.state.thresholds import Thresholds
from zetetic.state.wording import counted

from .places import home_fault
from .settings import context_of
from .terminal import give, give_json, give_table

Finding = Literal["ok", "note", "fails"]
SETUP_LACKS = 2
"""The exit code where no run could start."""
PROBE_SECONDS = 60.0
SEARCH_SECONDS = 20.0
PROBE_QUERY = "zetetic"
READY: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "ready",
        "description": "Say that you can call tools.",
        "parameters": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    },
}
TODO = {
    "auth": "set the provider's key, or have access and credit looked at",
    "rate_limit": "wait, or ask for a higher rate",
    "connection": "start the server, or mend --base-url",
    "timeout": "see whether the server is at work on something else, or raise --call-seconds",
    "context": "start the server with a larger context window",
    "server": "try again later, or look at the server's own log",
    "bad_request": "mend the model's name, or choose one that can call tools",
    "bad_answer": "see that --base-url is the address of a chat-completions server, such as http://localhost:8000/v1",
}
"""What to do about a provider's trouble, by its kind."""
NO_TOOLS = "choose a model and a server that can call tools: every step of a run is a tool call"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `fails`: no run can start so; `note`: one can, but should know."""

    what: str
    finding: Finding
    found: str
    todo: str = ""


async def check_setup(given: dict[str, Any], *, as_json: bool) -> int:
    """Looks at everything a run would need, prints it, and gives 0 if a run can start. Raises UserError for options
    that cannot be read. A model that is not offline is asked one small question; search services one query."""
    context = context_of(given)
    checks = [check async for check in _checks(context)]
    fails = any(check.finding == "fails" for check in checks)
    if as_json:
        give_json({"can_start": not fails, "checks": [asdict(check) for check in checks]})
        return SETUP_LACKS if fails else 0
    give_table(("", "what", "found"), [(check.finding, check.what, check.found) for check in checks])
    todo = [f"- {check.what}: {check.todo}." for check in checks if check.todo]
    give("\n".join(["", "What to do:", *todo, ""]) if todo else "")
    give("A run cannot start yet." if fails else "A run can start.")
    return SETUP_LACKS if fails else 0


async def _checks(context: Context) -> AsyncIterator[Check]:
    thresholds = context.thresholds()
    fault = home_fault(context.home)
    yield Check("home", "fails" if fault else "ok", fault or f"{context.home} can be written", fault and "name another")
    for check in await _sources(context):
        yield check
    for names, role, spec in _named(context):
        async for check in _model(names, role, spec, context, thresholds):
            yield check


# Documents and search.


async def _sources(context: Context) -> list[Check]:
    folder: DocumentFolder | None = None
    checks: list[Check] = []
    if context.documents:
        try:
            folder, tables = await open_documents(context.documents)
        except (SetupError, DocumentsError, OSError) as error:
            checks.append(Check("documents", "fails", str(error), "name a folder with documents that can be read"))
        else:
            assert folder is not None
            held = folder.holdings
            found = f"{counted(held.sources, 'document')} of {counted(held.domains, 'origin')}"
            found += f", {counted(len(tables.tables), 'table')}" if tables.tables else ""
            unread = len(folder.unreadable) + len(tables.unreadable)
            checks.append(Check("documents", "ok", found + (f"; {unread} cannot be read" if unread else "")))
    try:
        checks += await _searches(context, folder)
    finally:
        if folder is not None:
            folder.close()
    return checks


async def _searches(context: Context, folder: DocumentFolder | None) -> list[Check]:
    wanted = list(context.search) or (["documents"] if context.documents else [])
    if not wanted:
        names = ", ".join(KNOWN)
        return [
            Check("search", "fails", "there is nothing to look in", f"give --documents DIR, or --search of {names}")
        ]
    named: list[SearchProvider | Check] = []
    for one in wanted:
        if isinstance(one, str) and one.strip().lower() == "documents":
            named.append(
                folder or Check("search documents", "fails", "no folder can be searched", "give --documents DIR")
            )
            continue
        try:
            named += [make_provider(one)] if isinstance(one, str) else await adapted(one)
        except ValueError as error:
            named.append(Check(f"search {one}", "fails", str(error), "mend its name"))
    checks = await asyncio.gather(*(_search(one) for one in named if not isinstance(one, Check)))
    for provider in named:
        if isinstance(provider, ApiProvider):
            await provider.aclose()
    found = [*(one for one in named if isinstance(one, Check)), *checks]
    if any(check.finding == "ok" for check in found):  # what one lacks does not keep a run from starting
        return [check if check.finding == "ok" else _only_noted(check) for check in found]
    return found


def _only_noted(check: Check) -> Check:
    # A name that is none is refused by a run, whatever else there is to search.
    return check if check.found.startswith("unknown") else Check(check.what, "note", check.found, check.todo)


async def _search(provider: SearchProvider) -> Check:
    what = f"search {provider.name}"
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            result = await provider.search(PROBE_QUERY, limit=1)
    except TimeoutError:
        return Check(what, "fails", f"failed: no answer within {SEARCH_SECONDS:g} seconds", "try again later")
    except Exception as error:  # a host's own may raise anything (R7)
        return Check(what, "fails", f"failed: {type(error).__name__}: {error}", "see to the provider")
    status = result.status.value
    if result.status.executed:
        return Check(what, "ok", status)
    todo = {
        SearchStatus.NOT_CONFIGURED: f"it needs {KNOWN.get(provider.name, 'its settings')}",
        SearchStatus.UNKNOWN: f"take one of {', '.join(KNOWN)}",
        SearchStatus.QUOTA: "have its quota raised, or take another",
        SearchStatus.RATE_LIMITED: "wait, or take another",
    }.get(result.status, "try again later, or take another")
    return Check(what, "fails", f"{status}: {result.detail}" if result.detail else status, todo)


# Models.


def _named(context: Context) -> list[tuple[str, Role, Any]]:
    """Each model once, with the roles it has; the first of them is what it is checked for."""
    roles: dict[Any, list[Role]] = {}
    for role in ROLES:
        spec = named_for(role, context)
        roles.setdefault(spec if isinstance(spec, str) else id(spec), []).append(role)
    named = [
        ("every role" if len(found) == len(ROLES) else ", ".join(found), found[0], named_for(found[0], context))
        for found in roles.values()
    ]
    return [*named, ("fallback", ROLES[0], context.fallback)] if context.fallback is not None else named


async def _model(names: str, role: Role, spec: Any, context: Context, thresholds: Thresholds) -> AsyncIterator[Check]:
    unnamed = "model" not in context.model_fields_set and spec == context.model
    if unnamed and context.base_url:
        yield Check(f"model ({names})", "fails", "a base_url is given but no model", "name the server's with --model")
        return
    try:
        model = made_for(spec, role, context, thresholds)
    except ModelError as error:
        yield Check(f"model ({names})", "fails", str(error), "as it says")
        return
    name = model_name(model)
    what = f"model {name} ({names})"
    if name == "offline":
        todo = "name another with --model for a report that is written" if unnamed else ""
        yield Check(what, "ok", "works without a network, costs nothing; it is extractive", todo)
        return
    yield _price(what, name, thresholds)
    yield _window(what, await known_window(model), role)
    yield await _tools(what, model)


def _price(what: str, name: str, thresholds: Thresholds) -> Check:
    if has_price(name):
        return Check(f"{what}: price", "ok", "known")
    if thresholds.max_cost_usd:
        todo = "leave --max-cost-usd out and bound the run by --max-total-tokens"
        return Check(f"{what}: price", "fails", "not known, so max_cost_usd cannot be kept", todo)
    return Check(f"{what}: price", "note", "not known: calls count as $0", "bound runs by --max-total-tokens")


def _window(what: str, window: int | None, role: Role) -> Check:
    needed = least_window(role)
    if window is None:
        todo = f"see that it has {needed} tokens or more"
        return Check(f"{what}: context window", "note", "nobody tells it", todo)
    if window < needed:
        todo = f"start the server with {needed} tokens or more, or name another model"
        return Check(f"{what}: context window", "fails", f"{window} tokens", todo)
    return Check(f"{what}: context window", "ok", f"{window} tokens")


async def _tools(what: str, model: BaseChatModel) -> Check:
    """One small question that can only be answered by the tool that is forced."""
    what = f"{what}: answer"
    asked = [SystemMessage("You test a connection."), HumanMessage("Call the tool ready with ok true.")]
    try:
        answer = await call_model(model, asked, tools=[READY], tool_choice="ready", timeout=PROBE_SECONDS)
    except ProviderError as error:
        return Check(what, "fails", f"{error.kind}: {error}", TODO[error.kind])
    read = repair(answer, allowed=["ready"], known=["ready"], key="init")
    if not read.calls:
        return Check(what, "fails", "it answers, but does not call the tool it is told to call", NO_TOOLS)
    if read.repairs:
        return Check(what, "note", f"calls tools, and needs repair: {', '.join(sorted(set(read.repairs)))}")
    return Check(what, "ok", "reachable, calls the tool it is told to call")
