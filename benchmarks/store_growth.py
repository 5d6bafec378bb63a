"""Whether what a turn adds to the databases stays as it is: bytes a turn in the log and in the checkpoints.

    python benchmarks/store_growth.py [--turns 200] [--json FILE]

Scripted models on the real graph (see scripted_research.py), over whose turns the sizes of what each table holds are
read. The notes are allowed to grow with what is found, as they do in a research that finds much. Exits with 1 when a
late turn takes more room than an early one, by more than noise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from scripted_research import Script, play

from zetetic.store import Store

TURNS = 200
TURNS_A_QUESTION = 5
NOTES = 200_000
"""Tokens of the notes: never reached, so that they are not consolidated and grow."""
GROWTH = 1.15
"""Bytes of a turn in the last quarter over those in the second that count as flat."""
WRITES = ("checkpoints", "writes")


def bytes_by_turn(home: Path) -> dict[str, list[tuple[int, int]]]:
    """For each table: (turn, bytes) of its rows, as the text and blobs in them take it, without indexes."""
    found: dict[str, list[tuple[int, int]]] = {}
    with closing(sqlite3.connect(home / "zetetic.db")) as log:
        # The turn that an event belongs to is the number of turns recorded up to it.
        turns = [seq for (seq,) in log.execute(
            "SELECT seq FROM events WHERE event = 'state_recorded' AND json_extract(body, '$.is_turn') ORDER BY seq"
        )]  # fmt: skip

        def turn_of(seq: int) -> int:
            return sum(start <= seq for start in turns)

        placed = {"events": "seq", "journal": "event_seq", "notes_versions": "event_seq", "snapshots": "seq"}
        for table, column in placed.items():
            size = _size(log, table)
            found[table] = [(turn_of(seq), n) for seq, n in log.execute(f"SELECT {column}, {size} FROM {table}")]
        effects = log.execute(f"SELECT rowid, {_size(log, 'effects')} FROM effects ORDER BY rowid").fetchall()
        found["effects"] = [(1 + n * len(turns) // len(effects), size) for n, (_, size) in enumerate(effects)]
    with closing(sqlite3.connect(home / "checkpoints.db")) as checkpoints:
        for table in WRITES:
            rows = checkpoints.execute(f"SELECT {_size(checkpoints, table)} FROM {table} ORDER BY rowid").fetchall()
            found[f"checkpoints.{table}"] = [(1 + n * len(turns) // len(rows), size) for n, (size,) in enumerate(rows)]
    return found


def _size(database: sqlite3.Connection, table: str) -> str:
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    return " + ".join(f"ifnull(length(CAST({json.dumps(name)} AS BLOB)), 0)" for name in names)


def share(rows: list[tuple[int, int]], first: int, last: int) -> float:
    """Bytes a turn from one turn to another."""
    return sum(size for turn, size in rows if first <= turn < last) / (last - first)


async def played(home: str, turns: int) -> int:
    """Plays the research, and gives the characters of all its notes' versions as they are read."""
    done = await play(Script(questions=turns // TURNS_A_QUESTION + 2), home=home, notes_max_tokens=NOTES)
    async with await Store.open(f"{home}/zetetic.db") as store:
        return sum(len(version.text) for version in await store.notes_versions(done.result.run_id))


def measured(turns: int) -> tuple[dict[str, Any], bool]:
    """Plays the research and tells what its turns took; whether they stayed as they were."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        whole = asyncio.run(played(folder, turns))
        found = bytes_by_turn(home)
        files = {path.name: path.stat().st_size for path in home.glob("*.db")}
        with closing(sqlite3.connect(home / "zetetic.db")) as log:
            (versions, stored) = log.execute("SELECT count(*), sum(length(text)) FROM notes_versions").fetchone()
    quarter = turns // 4
    spans = [(n * quarter + 1, (n + 1) * quarter + 1) for n in range(4)]
    told: dict[str, Any] = {}
    # Wholes and snapshots come seldom, in steps: they are judged by what they come to, and not span by span.
    seldom = {"snapshots", "notes_versions"}
    for table, rows in found.items():
        told[table] = [round(share(rows, *span)) for span in spans]
        print(f"{table:22} {'  '.join(f'{size:9,d}' for size in told[table])}  bytes a turn, by quarter")
    regular = [sum(told[table][n] for table in found if table not in seldom) for n in range(4)]
    print(f"{'all but the seldom':22} {'  '.join(f'{size:9,d}' for size in regular)}")
    total = sum(size for table in found for _, size in found[table])
    print(f"{turns} turns: {total / turns:,.0f} bytes a turn over all; files: {files}")
    print(f"notes: {versions} versions of {whole:,} characters, kept in {stored:,}")
    grown = regular[3] / regular[1]
    kept = grown <= GROWTH and sum(told["notes_versions"][2:]) <= GROWTH * 2 * sum(told["notes_versions"][:2])
    print(f"the last quarter takes {grown:.2f} times the second: {'flat' if kept else 'it GROWS'}")
    return {"bytes_a_turn": told, "files": files, "versions": versions, "notes": [whole, stored], "growth": grown}, kept


def main() -> int:
    """Runs it; 0 if nothing grows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS, help="turns that are looked at (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    asked = parser.parse_args()
    figures, kept = measured(asked.turns)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
