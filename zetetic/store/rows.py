"""Changes of rows as values, and writing them with few statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, delete, insert, update

from .errors import StoreError

Values = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class New:
    """A row that was not there."""

    table: Table
    row: Values


@dataclass(frozen=True, slots=True)
class Changed:
    """New values for some columns of a row; `key` names it."""

    table: Table
    key: Values
    row: Values


@dataclass(frozen=True, slots=True)
class Gone:
    """A row that is no more."""

    table: Table
    key: Values


Change = New | Changed | Gone


def settled(changes: Iterable[Change]) -> list[Change]:
    """One change a row, with the effect of all of them in turn.

    Raises StoreError when the same row is new twice.
    """
    last: dict[tuple[str, Key], Change] = {}
    for change in changes:
        table = change.table
        key = _key(table, change.row if isinstance(change, New) else change.key)
        before = last.pop((table.name, key), None)
        after = change if before is None else _joined(before, change)
        if after is not None:
            last[(table.name, key)] = after
    return list(last.values())


def _joined(before: Change, change: Change) -> Change | None:
    match before, change:
        case New(), Changed():
            return New(before.table, {**before.row, **change.row})
        case New(), Gone():
            return None
        case Changed(), Changed():
            return Changed(before.table, before.key, {**before.row, **change.row})
        case Gone(), New():
            columns = [column.name for column in before.table.primary_key]
            rest = {name: value for name, value in change.row.items() if name not in columns}
            return Changed(before.table, before.key, rest)
        case New(), New():
            raise StoreError(f"{change.table.name}: the row {_key(change.table, change.row)} is created twice")
        case _:
            return change


def _key(table: Table, row: Values) -> Key:
    return tuple(row[column.name] for column in table.primary_key)


def write(connection: Connection, changes: Iterable[Change]) -> None:
    """Writes the changes, one statement for all rows of a table that change alike."""
    new: dict[str, tuple[Table, list[dict[str, Any]]]] = {}
    changed: dict[tuple[str, Key], tuple[Table, Values, Values, list[dict[str, Any]]]] = {}
    gone: list[Gone] = []
    for change in settled(changes):
        match change:
            case New(table, row):
                new.setdefault(table.name, (table, []))[1].append(dict(row))
            case Changed(row=row) if not row:
                pass
            case Changed(table, key, row):
                alike = (table.name, tuple(sorted(row)))
                bound = {f"k_{name}": value for name, value in key.items()} | dict(row)
                changed.setdefault(alike, (table, key, row, []))[3].append(bound)
            case Gone():
                gone.append(change)
    for table, rows in new.values():
        connection.execute(insert(table), rows)
    for table, key, row, bound_rows in changed.values():
        found = and_(*(table.c[name] == bindparam(f"k_{name}") for name in key))
        statement = update(table).where(found).values({name: bindparam(name) for name in row})
        connection.execute(statement, bound_rows)
    for change in gone:
        found = and_(*(change.table.c[name] == value for name, value in change.key.items()))
        connection.execute(delete(change.table).where(found))
