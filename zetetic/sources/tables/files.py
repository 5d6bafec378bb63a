"""Which files hold tables, and under which names a query reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
}
NAME_CHARACTERS = 40
_RESERVED = frozenset(
    word
    for line in (
        "all analyse analyze and any array as asc asymmetric both case cast check collate column constraint",
        "create default deferrable describe desc distinct do else end except false fetch for foreign from",
        "grant group having in initially intersect into lambda lateral leading limit not null offset on only",
        "or order pivot placing primary qualify references returning select show some summarize symmetric",
        "table then to trailing true union unique unpivot using variadic when where window with",
    )
    for word in line.split()
)


class Table(BaseModel):
    """One table that a query can read. `rows` is None where they were not counted."""

    model_config = ConfigDict(frozen=True)

    name: str
    file: str
    """Relative path, with forward slashes."""
    kind: str
    columns: tuple[tuple[str, str], ...]
    """(name as in the file, type)."""
    rows: int | None = None
    sqlite_table: str = ""


def table_files(root: Path) -> Iterator[tuple[str, Path, str]]:
    """(relative path, real path, why not) of each file with tables below a folder, in order of path.

    Hidden files are passed over; a link counts if it leads to a file in the folder.
    """
    root = root.resolve()
    found: list[tuple[str, Path]] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and Path(name).suffix.lower() in KINDS:
                found.append((Path(folder, name).relative_to(root).as_posix(), Path(folder, name)))
    seen: set[Path] = set()
    for relative, path in sorted(found, key=lambda entry: (entry[1].is_symlink(), entry[0])):
        shown = os.fsencode(relative).decode("utf-8", "replace")
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):  # a link to nothing, or back to itself
            yield shown, path, "The link leads nowhere."
            continue
        if not real.is_relative_to(root):
            yield shown, path, "The link leads out of the documents folder."
        elif not real.is_file():
            continue
        elif shown != relative:
            yield shown, path, "Its name is no UTF-8: rename the file."
        elif real not in seen:
            seen.add(real)
            yield relative, real, ""


def safe_names(wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Names for (file, table in it): lower-case letters, digits and underscores, no two alike, none reserved."""
    given: set[str] = set()
    names = []
    for file, inner in wanted:
        base = PurePosixPath(file).stem + (f"_{inner}" if inner else "")
        name = re.sub(r"[^a-z0-9]+", "_", base.lower()).strip("_")[:NAME_CHARACTERS].strip("_") or "table_1"
        if name[0].isdigit() or name in _RESERVED:
            name = f"t_{name}"
        number, unique = 1, name
        while unique in given:
            number += 1
            unique = f"{name}_{number}"
        given.add(unique)
        names.append(unique)
    return names
