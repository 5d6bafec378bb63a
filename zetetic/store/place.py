"""Whether a file is a database of ours, before anything is written to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from . import storage
from .errors import StoreError


def inspected(path: Path) -> None:
    """Makes the folder and looks at the file without writing to it.

    Raises StoreError when the file is no database, another program's, or of a newer version.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"{path} is a folder. Name a file in it, such as {path / 'zetetic.db'}.")
        if not all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists()):
            raise StoreError(f"{path} cannot be written. Make it and its folder writable, or name another database.")
        if not path.exists() or path.stat().st_size == 0:
            return
    except OSError as error:
        raise StoreError(f"{path} cannot be used: {error.strerror or error}. Name another database.") from error
    try:
        # By SQLite alone: closing a file of one's own would end every lock that this process holds on it, and another
        # process would take the database for one that nobody has open.
        _check_owner(path)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            raise StoreError(f"{path} is not a database. It was left as it is; name another file.") from error
        raise StoreError(f"{path} cannot be read as a database: {error}. It was left as it is.") from error


def newer(place: object, version: int) -> StoreError:
    """The refusal of a database that a newer version wrote."""
    return StoreError(
        f"{place} was written by a newer zetetic (schema {version}, this one knows {storage.VERSION}). Update zetetic, "
        "or name another database."
    )


def _check_owner(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=30.0)) as connection:
        names = "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        tables = {name for (name,) in connection.execute(names)}
        if not tables:
            return
        foreign = f"{path} belongs to another program. It was left as it is; name another file."
        if storage.zetetic_schema.name not in tables:
            raise StoreError(foreign)
        rows = list(connection.execute(f"SELECT application, version FROM {storage.zetetic_schema.name}"))
        if len(rows) != 1 or rows[0][0] != storage.APPLICATION:
            raise StoreError(foreign)
        if rows[0][1] > storage.VERSION:
            raise newer(path, rows[0][1])
