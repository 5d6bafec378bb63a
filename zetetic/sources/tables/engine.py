"""The process in which DuckDB works, one for each query. A program, not a module to import: stdlib and duckdb only.

It runs with an environment of its own (no keys), within limits of the operating system on memory, processor time and
written bytes, and is killed when its time is up. It reads JSON lines on stdin and answers each with one on stdout:
`{"do": "describe", "files": […]}`, or `{"do": "parse", "sql": …}` and then `{"do": "run", …}`.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import duckdb

Row = dict[str, Any]
WHOLE_SAMPLE_BYTES = 50_000_000
"""Up to this size every row of a CSV or JSON file is looked at for its types."""
SQLITE_BATCH = 20_000
PLAIN_EXPONENT = 25
"""Powers of ten up to which a number is written out, so that it is quoted as people write it."""


def limited(memory: int, seconds: int) -> None:
    """The operating system's limits on this process: nothing written to a file, so much memory and time."""
    try:
        import resource
    except ImportError:  # not on this system: DuckDB's own limits and the killed process are what is left
        return
    for what, most in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds + 1),
        (resource.RLIMIT_AS, memory),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def connected(paths: Iterable[str], memory: int, seconds: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that can open these files and nothing else; `lock` it before foreign SQL runs."""
    con = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "memory_limit": f"{memory // 2}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_unsigned_extensions": False,
            "allow_persistent_secrets": False,
            "enable_external_file_cache": False,
            "python_enable_replacements": False,
            "max_execution_time": seconds * 1000,
        },
    )
    con.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    con.execute("SET enable_external_access = false")
    return con


def reader(file: Row) -> str:
    """The table function that reads a CSV, Parquet or JSON file."""
    path = literal(file["path"])
    sample = ", sample_size = -1" if os.path.getsize(file["path"]) <= WHOLE_SAMPLE_BYTES else ""
    match file["kind"]:
        case "parquet":
            return f"read_parquet({path})"
        case "json":
            return f"read_json({path}{sample})"
        case _:
            types = file.get("types")
            known = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types or ())
            return f"read_csv({path}{f', types = {{{known}}}' if known else sample})"


def view(con: duckdb.DuckDBPyConnection, table: Row) -> None:
    """Makes a file one table: a view of the file, or for SQLite a copy of the table."""
    if table["kind"] == "sqlite":
        copied(con, table)
    else:
        con.execute(f"CREATE VIEW {quoted(table['name'])} AS SELECT * FROM {reader(table)}")


# SQLite files are read by Python's own sqlite3, since DuckDB would have to download an extension for them. It opens
# them read-only, and reads tables only: what a view or a virtual table of a foreign file would do is not known.


def sqlite_file(path: str) -> sqlite3.Connection:
    """A read-only connection that trusts nothing in the file's schema."""
    con = sqlite3.connect(f"{path_uri(path)}?mode=ro", uri=True)
    con.execute("PRAGMA trusted_schema = OFF")
    con.execute("PRAGMA query_only = ON")
    con.text_factory = lambda data: data.decode("utf-8", "replace")
    return con


def path_uri(path: str) -> str:
    """The file: address of a path, with what an address would read as its own escaped."""
    return "file:" + re.sub(r"[^A-Za-z0-9/._~-]", lambda m: "".join(f"%{b:02X}" for b in os.fsencode(m[0])), path)


def sqlite_tables(con: sqlite3.Connection) -> list[str]:
    """The ordinary tables of a file."""
    found = con.execute("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'").fetchall()
    return sorted(name for (name,) in found if not name.startswith("sqlite_"))


def sqlite_columns(con: sqlite3.Connection, table: str) -> tuple[list[tuple[str, str]], int]:
    """Columns with the DuckDB types that hold every value of theirs, and the number of rows."""
    names = [row[1] for row in con.execute(f"PRAGMA table_info({quoted(table)})")]
    kinds = ("integer", "real", "text", "blob")
    asked = [f"max(typeof({quoted(name)}) = '{kind}')" for name in names for kind in kinds]
    held = con.execute(f"SELECT count(*), {', '.join(asked)} FROM {quoted(table)}").fetchone()
    columns = []
    for number, name in enumerate(names):
        integer, real, text, blob = held[1 + 4 * number : 5 + 4 * number]
        only_numbers = not text and not blob and (integer or real)
        columns.append((name, ("DOUBLE" if real else "BIGINT") if only_numbers else "VARCHAR"))
    return columns, held[0]


def copied(con: duckdb.DuckDBPyConnection, table: Row) -> None:
    """Copies one SQLite table into memory. Raises ValueError where it is too large for that."""
    source = sqlite_file(table["path"])
    try:
        columns, rows = sqlite_columns(source, table["sqlite_table"])
        if rows > table["most_rows"]:
            raise ValueError(
                f"{table['name']} has {rows:,} rows, more than the {table['most_rows']:,} that are read of an SQLite "
                "file: save the table as Parquet or CSV."
            )
        made = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
        con.execute(f"CREATE TABLE {quoted(table['name'])} ({made})")
        cursor = source.execute(f"SELECT * FROM {quoted(table['sqlite_table'])}")
        put = ", ".join(f"unnest(?::{kind}[])" for _, kind in columns)
        while batch := cursor.fetchmany(SQLITE_BATCH):
            given = [[as_kind(row[number], kind) for row in batch] for number, (_, kind) in enumerate(columns)]
            con.execute(f"INSERT INTO {quoted(table['name'])} SELECT {put}", given)
    finally:
        source.close()


def as_kind(value: Any, kind: str) -> Any:
    """A value of SQLite as its column holds it."""
    if value is None or kind == "BIGINT":
        return value
    if kind == "DOUBLE":
        return float(value)
    return value.hex() if isinstance(value, bytes) else str(value)


# What is asked.


def described(files: Sequence[Row], memory: int, seconds: int) -> Iterator[Row]:
    """Each file's tables with columns, types and rows, or why there are none."""
    con = connected([f["path"] for f in files if f["kind"] != "sqlite"], memory, seconds)
    for file in files:
        try:
            yield {"path": file["path"], "tables": list(_tables(con, file))}
        except (duckdb.Error, sqlite3.Error, OSError, ValueError, MemoryError) as error:
            yield {"path": file["path"], "error": said(error)}


def _tables(con: duckdb.DuckDBPyConnection, file: Row) -> Iterator[Row]:
    if file["kind"] == "sqlite":
        if os.path.getsize(file["path"]) > file["most_bytes"]:
            raise ValueError(f"The file is larger than {file['most_bytes']:,} bytes: save its tables as Parquet.")
        source = sqlite_file(file["path"])
        try:
            for name in sqlite_tables(source):
                columns, rows = sqlite_columns(source, name)
                yield {"sqlite_table": name, "columns": columns, "rows": rows}
        finally:
            source.close()
        return
    read = reader(file)
    columns = [(row[0], row[1]) for row in con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()]
    counted = file["kind"] == "parquet" or os.path.getsize(file["path"]) <= file["count_bytes"]
    yield {"sqlite_table": "", "columns": columns, "rows": row_count(con, read) if counted else None}


def row_count(con: duckdb.DuckDBPyConnection, read: str) -> int | None:
    """The rows of a file; None where counting them takes too long."""
    try:
        return int((con.execute(f"SELECT count(*) FROM {read}").fetchone() or (0,))[0])
    except duckdb.InterruptException:
        return None


def parsed(con: duckdb.DuckDBPyConnection, sql: str) -> Row:
    """What DuckDB's own parser makes of a text: each statement's kind, and the tree of a SELECT."""
    kinds = [statement.type.name for statement in con.extract_statements(sql)]
    asked = sql
    if kinds == ["EXPLAIN"]:
        asked = re.sub(r"^\s*explain\s+(analyze\s+)?", "", sql, flags=re.IGNORECASE)
    (tree,) = con.execute("SELECT json_serialize_sql(?)", [asked]).fetchone() or ("",)
    return {"kinds": kinds, "tree": json.loads(tree)}


def ran(con: duckdb.DuckDBPyConnection, asked: Row) -> Row:
    """The first rows of the answer, each value as text or None."""
    for table in asked["tables"]:
        view(con, table)
    con.execute("SET lock_configuration = true")
    answer = con.execute(asked["sql"])
    columns = [column[0] for column in answer.description or ()]
    rows: list[list[str | None]] = []
    size = 0
    more = False
    while (row := answer.fetchone()) is not None:
        if len(rows) >= asked["rows"] or size > asked["characters"]:
            more = True
            break
        rows.append([shown(value, asked["cell"]) for value in row])
        size += sum(len(value or "") + 8 for value in rows[-1])
    return {"columns": columns, "rows": rows, "more": more}


def shown(value: Any, most: int) -> str | None:
    """A value as text, cut to `most` characters; None for NULL."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    text = plain(value) if isinstance(value, float | Decimal) else json_text(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def plain(value: float | Decimal) -> str:
    """A number written out, as it would be quoted."""
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if not exact.is_finite() or abs(exact.adjusted()) > PLAIN_EXPONENT:
        return str(value)
    return f"{exact:f}"


def json_text(value: Any) -> str:
    """Any other value: texts as they are, times in ISO form, lists and structures as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=lambda v: plain(v) if isinstance(v, Decimal) else str(v))
    return str(value)


def said(error: BaseException) -> str:
    """An error in one line, without the drawing below it."""
    if isinstance(error, MemoryError):
        return "Out of memory"
    return " ".join(str(error).split("\n\n")[0].split("\nLINE ")[0].split())[:600]


def answered(asked: Row, con: duckdb.DuckDBPyConnection | None) -> Row:
    """The answer to one request of a query."""
    assert con is not None
    try:
        return parsed(con, asked["sql"]) if asked["do"] == "parse" else ran(con, asked)
    except MemoryError:
        return {"error": "Out of memory", "kind": "OutOfMemoryException"}
    except (duckdb.Error, sqlite3.Error, OSError, ValueError) as error:
        return {"error": said(error), "kind": type(error).__name__}


def main() -> None:
    """Answers until stdin ends."""
    con: duckdb.DuckDBPyConnection | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "describe":
            for found in described(asked["files"], asked["memory"], asked["seconds"]):
                print(json.dumps(found), flush=True)
            return
        if con is None:
            con = connected(asked["paths"], asked["memory"], asked["seconds"])
        print(json.dumps(answered(asked, con)), flush=True)


if __name__ == "__main__":
    limited(int(sys.argv[1]), int(sys.argv[2]))
    main()
