"""The database that a path or an address names, of whichever kind."""

from __future__ import annotations

from pathlib import Path

from .address import address_of
from .database import Database
from .sqlite import SqliteDatabase


async def open_database(database: str | Path) -> Database:
    """Opens or creates it and brings it to this version. Raises StoreError, and leaves it as it is, where it cannot."""
    address = address_of(database)
    if isinstance(address, Path):
        return await SqliteDatabase.open(address)
    from .postgres import PostgresDatabase

    return await PostgresDatabase.open(address)


async def database_exists(database: str | Path) -> bool:
    """Whether there is a store to open, which is not made. Raises StoreError where that cannot be found out."""
    address = address_of(database)
    if isinstance(address, Path):
        return address.exists()
    from .postgres import PostgresDatabase

    return await PostgresDatabase.is_set_up(address)
