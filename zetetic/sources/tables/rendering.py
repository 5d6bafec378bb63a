"""How tables and answers read: the schema in few words, and an answer whose every row can be quoted by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zetetic.sources.extracted import one_line, tidy

from .files import Table

COLUMN_CHARACTERS = 60
MORE_COLUMNS = 40
"""Columns of one table that the schema lists."""
_NEEDS_QUOTES = re.compile(r'^\s|\s$|["|]|: |^$|^NULL$')


def answer_text(
    sql: str, files: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str | None]], note: str, most: int
) -> tuple[str, str]:
    """The stored text of an answer of at most about `most` characters, and what was left out, as a sentence.

    Each row is a paragraph of its own with the columns' names before the values, so that a quote of it shows one row
    and nothing of its neighbours.
    """
    names = [column_name(name) for name in columns]
    head = [f"Query: {one_line(sql, 2000)}", f"Files: {', '.join(one_line(file) for file in files)}"]
    blocks: list[str] = []
    size = 0
    for row in rows:
        block = " | ".join(f"{name}: {cell(value)}" for name, value in zip(names, row, strict=True))
        if blocks and size + len(block) > most:
            note = f"Only the first {len(blocks)} rows are shown: aggregate, filter or order to see others."
            break
        blocks.append(block)
        size += len(block) + 2
    count = f"Rows: {len(blocks)}" if blocks else "Rows: none"
    return tidy("\n\n".join(["\n".join([*head, count, *([note] if note else [])]), *blocks])), note


def cell(value: str | None) -> str:
    """A value on one line; in quotation marks where it could be taken for a mark of the table."""
    if value is None:
        return "NULL"
    shown = " ".join(tidy(value).split())
    if shown != value or _NEEDS_QUOTES.search(shown):
        return '"' + shown.replace('"', '""') + '"'
    return shown


def column_name(name: str) -> str:
    """A column's name on one line, without what separates columns."""
    return re.sub(r"[|:\"]", " ", one_line(name, COLUMN_CHARACTERS)).strip() or "column"


def schema_text(tables: Sequence[Table], most: int) -> str:
    """One line a table, as many as fit into `most` characters, each with as many columns as fit."""
    lines: list[str] = []
    size = 0
    for table in tables:
        line = table_line(table)
        if lines and size + len(line) > most:
            lines.append(f"(+{len(tables) - len(lines)} more tables; query SHOW TABLES)")
            break
        line = line if len(line) <= most else line[: most - 1] + "…"
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def table_line(table: Table) -> str:
    """A table's name, columns with types, rows and file."""
    shown = ", ".join(f"{sql_name(name)} {kind}" for name, kind in table.columns[:MORE_COLUMNS])
    more = f", +{len(table.columns) - MORE_COLUMNS} more" if len(table.columns) > MORE_COLUMNS else ""
    rows = f"{table.rows:,} rows" if table.rows is not None else "rows not counted"
    inner = f", table {one_line(table.sqlite_table, COLUMN_CHARACTERS)}" if table.sqlite_table else ""
    return f"- {table.name}({shown}{more}) {rows}; {one_line(table.file, 200)}{inner}"


def sql_name(name: str) -> str:
    """A column as a query names it."""
    bare = one_line(name, COLUMN_CHARACTERS)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", bare):
        return bare
    return '"' + bare.replace('"', '""') + '"'


def quotable(address: str, text: str) -> str:
    """A stored text with the head of a query's answer blanked out, place for place: what the query says is no evidence
    of what the files hold (D31)."""
    if not address.startswith("query:"):
        return text
    head = text.partition("\n\n")[0]
    return "\n" * len(head) + text[len(head) :]
