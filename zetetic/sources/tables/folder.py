"""The tables in the files of a folder, and read-only SQL over them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zetetic.sources.extracted import one_line
from zetetic.sources.identity import text_sketch
from zetetic.sources.pages import FailureKind, FetchFailure, Page, text_sha256

from .files import KINDS, Table, safe_names, table_files
from .judgement import Judgement, judged
from .process import MISSING, Engine, EngineEndedError, EngineTimeoutError, in_engine, is_installed
from .rendering import answer_text, cell, schema_text, table_line

SCHEME = "query:"
NO_TABLES = (
    "There are no tables to query: the documents folder holds no CSV, TSV, Parquet, JSON or SQLite file. "
    "Use web_search."
)


@dataclass(frozen=True, slots=True)
class TableCaps:
    """What one query, and looking at the files, may take. Times in seconds, sizes in bytes or characters."""

    seconds: float = 20.0
    memory_bytes: int = 1_500_000_000
    """Of address space of the engine's process; DuckDB itself gets half of it."""
    rows: int = 200
    characters: int = 20_000
    """Of an answer's text."""
    cell_characters: int = 2_000
    files: int = 200
    describe_seconds: float = 40.0
    """For looking at all files."""
    count_seconds: int = 5
    """For one statement about one file."""
    count_bytes: int = 200_000_000
    """Size up to which the rows of a CSV or JSON file are counted."""
    sqlite_bytes: int = 500_000_000
    sqlite_rows: int = 500_000
    """Of an SQLite table, which is copied into memory."""
    schema_characters: int = 2_000
    """Of the tables' list in the prompt."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query that ran brought: a page where it shows what files hold, else a text (their schema, a plan)."""

    page: Page | None = None
    text: str = ""


class Tables:
    """The tables of a folder. Their files are opened by the engine's process only, while a query runs."""

    def __init__(
        self,
        root: Path,
        tables: Sequence[Table],
        unreadable: Sequence[tuple[str, str]] = (),
        paths: dict[str, Path] | None = None,
        caps: TableCaps | None = None,
    ) -> None:
        """Of tables already found: use `open`."""
        self.root = root
        self.tables = tuple(tables)
        self.unreadable = tuple(unreadable)
        """(relative path, reason) of each file that could not be read."""
        self._paths = paths or {}
        self._caps = caps or TableCaps()

    @classmethod
    async def open(cls, path: str | Path, caps: TableCaps | None = None) -> Tables:
        """Looks at the files of a folder: .csv .tsv .parquet .json .jsonl .ndjson .sqlite .sqlite3 .db, its subfolders
        too. Nothing is loaded. A file that cannot be read is named in `unreadable`; nothing is raised for it."""
        caps = caps or TableCaps()
        root, listed = await asyncio.to_thread(_listed, Path(path))
        unreadable = [(relative, why) for relative, _, why in listed if why]
        found = [(relative, real) for relative, real, why in listed if not why]
        unreadable += [
            (relative, f"Only {caps.files} files with tables are read.") for relative, _ in found[caps.files :]
        ]
        found = found[: caps.files]
        if found and not is_installed():
            return cls(root, (), [*unreadable, *((relative, MISSING) for relative, _ in found)], {}, caps)
        key = tuple([(str(real), *_facts(real)) for _, real in found])
        described = _described.get((key, caps))
        if described is None:
            described = await _described_files(found, caps) if found else {}
            _described.clear()  # one folder is remembered, so that the run's next invocation need not look again
            _described[key, caps] = described
        tables: list[tuple[str, dict[str, Any]]] = []
        for relative, real in found:
            told = described.get(str(real), {"error": "There was no time left to look at the file."})
            if "error" in told:
                why = str(told["error"]).replace(str(real), relative).rstrip(".")
                unreadable.append((relative, f"The file could not be read as a table: {why}."))
            tables += [(relative, table) for table in told.get("tables", ())]
        names = safe_names((relative, table["sqlite_table"]) for relative, table in tables)
        made = [
            Table(
                name=name,
                file=relative,
                kind=KINDS[Path(relative).suffix.lower()],
                columns=tuple((str(column), str(kind)) for column, kind in table["columns"]),
                rows=table["rows"],
                sqlite_table=table["sqlite_table"],
            )
            for name, (relative, table) in zip(names, tables, strict=True)
        ]
        return cls(root, made, sorted(unreadable), dict(found), caps)

    @property
    def schema(self) -> str:
        """The tables as the prompt lists them; '' where there are none."""
        return schema_text(self.tables, self._caps.schema_characters)

    async def query(self, sql: str) -> Answer | FetchFailure:
        """The answer to one statement, or why there is none: `refused` for one that is not carried out, `timeout`, or
        `unreadable` for one that failed. Cancelling ends the query at once."""
        if not self.tables:
            missing = next((reason for _, reason in self.unreadable if reason == MISSING), "")
            return _failure(sql, "unsupported", missing or NO_TABLES)
        caps = self._caps
        try:
            return await in_engine(
                lambda engine: self._asked(engine, sql), memory=caps.memory_bytes, seconds=caps.seconds + 2
            )
        except EngineTimeoutError:
            return _failure(sql, "timeout", _too_long(caps))
        except EngineEndedError:
            return _failure(sql, "unreadable", f"The query took too much memory or could not be worked with. {_HINT}")

    def _asked(self, engine: Engine, sql: str) -> Answer | FetchFailure:
        caps = self._caps
        seconds = max(1, round(caps.seconds))
        real = {file: self._paths[file].resolve() for file in {table.file for table in self.tables}}
        inside = {file: path for file, path in real.items() if path.is_relative_to(self.root)}
        opened = [str(path) for path in inside.values()]
        parsed = engine.ask({"do": "parse", "sql": sql, "paths": opened, "seconds": seconds})
        if "error" in parsed:
            return _failure(sql, "refused", f"It is no SQL that can be read: {parsed['error']}")
        judgement = judged(parsed, [table.name for table in self.tables])
        if judgement.refused:
            return _failure(sql, "refused", judgement.refused)
        if judgement.lists_tables:
            return Answer(text="\n".join(map(table_line, self.tables)))
        used = [table for table in self.tables if table.name in judgement.tables]
        if gone := [table.file for table in used if table.file not in inside]:
            return _failure(sql, "refused", f"{gone[0]} now leads out of the documents folder.")
        asked = {
            "do": "run",
            "sql": sql,
            "tables": [self._for_engine(table, str(inside[table.file])) for table in used],
            "rows": caps.rows,
            "characters": caps.characters,
            "cell": caps.cell_characters,
        }
        got = engine.ask(asked)
        if "error" in got:
            return _failed(sql, got, caps)
        return self._answer(sql, used, got, judgement)

    def _for_engine(self, table: Table, path: str) -> dict[str, Any]:
        return {
            "name": table.name,
            "path": path,
            "kind": table.kind,
            "types": [list(column) for column in table.columns] if table.kind == "csv" else None,
            "sqlite_table": table.sqlite_table,
            "most_rows": self._caps.sqlite_rows,
        }

    def _answer(self, sql: str, used: Sequence[Table], got: dict[str, Any], judgement: Judgement) -> Answer:
        caps = self._caps
        files = list(dict.fromkeys(table.file for table in used))
        if not judgement.shows_rows:
            lines = [" ".join(cell(value) for value in row) for row in got["rows"]]
            return Answer(text="\n".join(lines)[: caps.characters])
        note = f"Only the first {len(got['rows'])} rows are shown: aggregate, filter or order to see others."
        text, note = answer_text(sql, files, got["columns"], got["rows"], note if got["more"] else "", caps.characters)
        address = query_address(sql, files)
        return Answer(
            Page(
                url=address,
                final_url=address,
                canonical=address,
                title=f"Query of {', '.join(one_line(file, 60) for file in files[:3])}: {one_line(sql, 200)}",
                text=text,
                media_type="text/plain",
                published=None,
                domain=" + ".join(f"local:{file}" for file in files),
                work_id="",
                sketch=text_sketch(text),
                sha256=text_sha256(text),
                path=files[0],
                location=", ".join(str(self.root / file) for file in files),
                note=note,
            )
        )


_Key = tuple[tuple[tuple[str, int, int], ...], TableCaps]
_described: dict[_Key, dict[str, dict[str, Any]]] = {}
"""What the files last looked at in this process hold, by path, time and size."""
_HINT = "Ask for less: filter, aggregate, join on keys."


def _listed(path: Path) -> tuple[Path, list[tuple[str, Path, str]]]:
    root = path.expanduser().resolve()
    return root, list(table_files(root))


def _facts(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError:
        return (0, 0)
    return facts.st_mtime_ns, facts.st_size


async def _described_files(found: Sequence[tuple[str, Path]], caps: TableCaps) -> dict[str, dict[str, Any]]:
    """What the engine says of each file. A file that breaks the engine or takes all its time is left out, and the
    engine started anew for those behind it, while there is time."""
    described: dict[str, dict[str, Any]] = {}
    until = asyncio.get_running_loop().time() + caps.describe_seconds
    waiting = [
        {
            "path": str(real),
            "kind": KINDS[Path(relative).suffix.lower()],
            "count_bytes": caps.count_bytes,
            "most_bytes": caps.sqlite_bytes,
        }
        for relative, real in found
    ]

    def look(engine: Engine) -> None:
        try:
            for told in engine.answers({"do": "describe", "files": waiting, "seconds": caps.count_seconds}):
                described[told["path"]] = told
        except EngineEndedError:
            pass

    while waiting and (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await in_engine(look, memory=caps.memory_bytes, seconds=left)
        except EngineTimeoutError:
            break
        waiting = [file for file in waiting if file["path"] not in described]
        if waiting:
            broken = waiting.pop(0)
            described[str(broken["path"])] = {"error": "it takes too much memory or broke the reader"}
    return described


def _failure(sql: str, kind: FailureKind, message: str) -> FetchFailure:
    return FetchFailure(url=one_line(sql, 400), kind=kind, message=message)


def _failed(sql: str, got: dict[str, Any], caps: TableCaps) -> FetchFailure:
    """A failure in words: what the engine said, or which cap was reached."""
    kind, said = str(got.get("kind")), str(got["error"])
    if kind == "InterruptException":
        return _failure(sql, "timeout", _too_long(caps))
    if kind == "OutOfMemoryException":
        return _failure(sql, "unreadable", f"The query needs more memory than it may take. {_HINT}")
    if kind == "PermissionException":
        return _failure(sql, "refused", "It would open something else than the tables' files.")
    return _failure(sql, "unreadable", f"The query failed: {said}")


def _too_long(caps: TableCaps) -> str:
    return f"The query took longer than {caps.seconds:g} seconds and was ended. {_HINT}"


# The address of a query.


def query_digest(sql: str) -> str:
    """What names a query: equal for texts that differ in spaces, letter case outside quotes, and a final semicolon."""
    text = sql.strip().rstrip(";").rstrip()
    if "--" not in text and "/*" not in text and "$" not in text:
        parts = re.split(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", text)
        text = "".join(part if n % 2 else " ".join(f" {part.lower()} ".split()) for n, part in enumerate(parts))
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def query_address(sql: str, files: Sequence[str]) -> str:
    """`query:<sha256 of the statement>@<file>`, with + between several files."""
    return f"{SCHEME}{query_digest(sql)}@{'+'.join(quote(file) for file in files)}"
