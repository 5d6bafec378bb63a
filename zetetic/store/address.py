"""What a database is named by: the file of a path or `sqlite:///…` URL, or a PostgreSQL address with its secrets."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from .errors import StoreError

POSTGRES = ("postgresql", "postgres")
_SECRET = re.compile(r"([?&](?:password|sslpassword|passfile|oauth_client_secret)=)[^&]*", re.IGNORECASE)
_UNREADABLE = (
    "The PostgreSQL address cannot be read. Write postgresql://user:password@host:5432/name, with %-escapes for other "
    "characters than letters and digits in the password, or leave it out and set PGPASSWORD."
)


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A PostgreSQL database. `conninfo` may hold a password and is shown nowhere; `str` is what can be shown."""

    conninfo: str = field(repr=False)
    shown: str

    def __str__(self) -> str:
        return self.shown


def is_postgres(database: str | Path) -> bool:
    """Whether a database is named by a PostgreSQL address."""
    return isinstance(database, str) and "://" in database and _scheme(database) in POSTGRES


def address_of(database: str | Path) -> Path | PostgresAddress:
    """The file or the PostgreSQL database that is named. Raises StoreError for anything else, without a secret."""
    text = os.fspath(database)
    if is_postgres(database):
        return _postgres(text)
    if "://" in text and isinstance(database, str):
        text = _path_of_url(text)
    if text in ("", ":memory:"):
        raise StoreError("The store needs a file: give a path, such as .zetetic/zetetic.db.")
    return Path(text).expanduser().absolute()


def shown(database: str) -> str:
    """A database as it may be shown and logged: an address with stars for its secrets."""
    if not is_postgres(database):
        return database
    masked = re.sub(r"(?<=://)([^:@/?]*):.*@", r"\1:***@", database, flags=re.DOTALL)
    return _SECRET.sub(r"\1***", masked)


def has_secret(database: str) -> bool:
    """Whether a PostgreSQL address carries a password."""
    return shown(database) != database


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0].lower()


def _postgres(url: str) -> PostgresAddress:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise StoreError(
            "PostgreSQL needs more packages: pip install 'zetetic[postgres]', or give the path of a SQLite file."
        ) from None
    given = url.partition("://")[2]
    conninfo = f"postgresql://{given}"
    who = given.partition("?")[0].rpartition("@")[0]
    if any(mark in who for mark in "@/#"):  # of a password that would be taken for the host, and told as such
        raise StoreError(_UNREADABLE)
    try:
        conninfo_to_dict(conninfo)
    except ProgrammingError:  # its message may quote part of the password
        raise StoreError(_UNREADABLE) from None
    return PostgresAddress(conninfo, shown(url))


def _path_of_url(url: str) -> str:
    if _scheme(url) != "sqlite":
        raise StoreError(
            f"{url.partition('://')[0]}:// is no database the store knows. Give the path of a SQLite file, or "
            "postgresql://…"
        )
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError("This URL names no file. Write sqlite:///folder/file.db, or just the path.") from error
    if parsed.host:
        raise StoreError("A SQLite URL has three slashes: sqlite:///folder/file.db, four for an absolute path.")
    return parsed.database or ""
