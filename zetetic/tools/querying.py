"""The tool `query`: SQL over the tables in the user's files, observed like a page that was read (D10, D30, D33)."""

from __future__ import annotations

from zetetic.sources import FetchFailure
from zetetic.sources.tables import SCHEME, Tables, query_digest
from zetetic.state.research import Research
from zetetic.state.values import Source
from zetetic.state.wording import one_line

from . import schemas as s
from .reading import PageRead, ReadResult


def earlier_answer(research: Research, sql: str) -> Source | None:
    """The source that this query's answer is; it is not run a second time."""
    start = f"{SCHEME}{query_digest(sql)}@"
    return next((source for source in research.sources.values() if source.url.startswith(start)), None)


def earlier_failure(research: Research, sql: str) -> str:
    """What became of this query where it was run before and failed, or ''."""
    digest = query_digest(sql)
    return next(
        (
            f"This query was run before and failed: {record.outcome}. Change it."
            for record in research.all_queries()
            if record.tool == "query" and record.status == "failed" and query_digest(record.query) == digest
        ),
        "",
    )


async def ask_tables(args: s.Query, call_id: str, tables: Tables) -> tuple[ReadResult, str]:
    """Runs one query; the result without its text, and the text."""
    got = await tables.query(args.sql)
    base = ReadResult(call_id=call_id, tool="query", query=args.sql)
    if isinstance(got, FetchFailure):
        if got.kind in ("refused", "unsupported"):
            return base.model_copy(update={"refused": got.message}), ""
        return base.model_copy(update={"failure": got}), ""
    if got.page is None:
        return base.model_copy(update={"shown": got.text or "(nothing)"}), ""
    return base.model_copy(update={"canonical": got.page.canonical, "page": PageRead.of(got.page)}), got.page.text


def failed(sql: str, message: str) -> FetchFailure:
    """A query that its caller ended."""
    return FetchFailure(url=one_line(sql, 400), kind="timeout", message=message)
