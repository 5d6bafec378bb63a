"""The words a column allows, changed where the database has them: in a check of its table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alembic.operations import Operations
from sqlalchemy import Connection, text


def allow(op: Operations, table: str, column: str, words: Sequence[str]) -> None:
    """Lets a column that `one_of` made hold these words and no others; rows stay as they are.

    Raises LookupError where the table has no such check.
    """
    quoted = ", ".join("'{}'".format(word.replace("'", "''")) for word in words)
    condition = f"{column} IN ({quoted})"
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _in_sqlite(connection, table, column, condition)
    else:
        _in_postgres(op, connection, table, column, condition)


def _in_postgres(op: Operations, connection: Connection, table: str, column: str, condition: str) -> None:
    found = connection.execute(
        text(
            "SELECT c.conname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = "
            "ARRAY[a.attnum] WHERE c.conrelid = CAST(:table AS regclass) AND c.contype = 'c' AND a.attname = :column "
            "AND pg_get_constraintdef(c.oid) LIKE '%ANY%'"
        ),
        {"table": table, "column": column},
    ).scalar_one_or_none()
    if found is None:
        raise LookupError(f"{table}.{column} has no list of words")
    op.drop_constraint(found, table, type_="check")
    op.create_check_constraint(found, table, condition)


def _in_sqlite(connection: Connection, table: str, column: str, condition: str) -> None:
    """SQLite cannot change a check: the table is built anew from its own text, and takes over rows and indexes."""
    rows = connection.execute(
        text("SELECT type, sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL"), {"table": table}
    ).all()
    (before,) = [row.sql for row in rows if row.type == "table"]
    made, checks = re.subn(rf"CHECK \({column} IN \([^)]*\)\)", lambda _: f"CHECK ({condition})", before)
    made, names = re.subn(rf'^CREATE TABLE "?{table}"?', f"CREATE TABLE {table}_anew", made)
    if not checks or not names:
        raise LookupError(f"{table}.{column} has no list of words")
    for statement in (
        made,
        f"INSERT INTO {table}_anew SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE {table}_anew RENAME TO {table}",
        *(row.sql for row in rows if row.type != "table"),
    ):
        connection.exec_driver_sql(statement)
