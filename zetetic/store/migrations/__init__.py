"""Bringing a database to this version, at open, in the transaction of the caller (D49).

A new database gets the tables as `schema` and `storage` have them. An older one is taken there step by step, each step
an Alembic revision in `versions/`, named by its number. The marker table `zetetic_schema` holds the number and whose
database it is; Alembic's own table follows it.

To change the tables:
1. Change them in `schema` or `storage`, and set `storage.VERSION` to the next number N. A column that is never null
   needs a `server_default`, so that older rows have a value.
2. Add `versions/rNNNN_what_it_does.py` with `revision = "NNNN"`, `down_revision` the one before, and
   `def upgrade(op: Operations) -> None` with Alembic's operations on the `op` it is given (not `alembic.op`, which two
   stores that open at once would share). Write out what the step needs: it must not read `schema`, which will change
   again. For a vocabulary that has a new word there is `words.allow`. Everything must work on SQLite and PostgreSQL.
3. `tests/store/test_migrations.py` compares an upgraded database with a new one, table by table, and keeps the rows of
   every older one; add rows of what the step moves to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from sqlalchemy import Connection, func, insert, inspect, select, update

from .. import schema as schema  # its tables are created with the others
from .. import storage
from ..columns import metadata
from ..errors import StoreError

FOLDER = Path(__file__).parent


def version_of(connection: Connection) -> int | None:
    """The version of a database; None where it is not set up. Raises StoreError for another program's marker."""
    table = storage.zetetic_schema
    if not inspect(connection).has_table(table.name):
        return None
    rows = connection.execute(select(table.c.application, table.c.version)).all()
    if len(rows) != 1 or rows[0].application != storage.APPLICATION:
        raise StoreError(
            "The table zetetic_schema belongs to another program. It was left as it is; name another database."
        )
    return cast(int, rows[0].version)


def ready(connection: Connection) -> int:
    """Creates the tables where there are none, and gives the version that the database has then.

    Raises StoreError where a table of that name is another program's.
    """
    version = version_of(connection)
    if version is not None:
        return version
    taken = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
    if taken:
        raise StoreError(
            f"There is a table {taken[0]!r} of another program. It was left as it is; name another database or schema."
        )
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(storage.zetetic_schema).values(application=storage.APPLICATION, version=storage.VERSION))
    connection.execute(insert(storage.zetetic_migrations).values(version_num=_revision(storage.VERSION)))
    return storage.VERSION


def upgraded(connection: Connection) -> None:
    """Takes an older database to this version with its rows; does nothing to one that is there. Call it in a
    transaction that keeps other openers waiting."""
    version = ready(connection)
    if version >= storage.VERSION:
        return
    # Alembic is imported for this alone: it takes longer than opening the store does.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    stamp = storage.zetetic_migrations
    stamp.create(connection, checkfirst=True)
    if connection.scalar(select(func.count()).select_from(stamp)):
        connection.execute(update(stamp).values(version_num=_revision(version)))
    else:
        connection.execute(insert(stamp).values(version_num=_revision(version)))
    scripts = ScriptDirectory(FOLDER)
    context = MigrationContext.configure(
        connection,
        opts={
            "version_table": stamp.name,
            "fn": lambda heads, _: scripts._upgrade_revs(_revision(storage.VERSION), heads),
        },
    )
    context.run_migrations(op=Operations(context))
    connection.execute(update(storage.zetetic_schema).values(version=storage.VERSION))


def _revision(version: int) -> str:
    return f"{version:04d}"
