"""The tables the store itself lives on: the log, paid-for answers, effects, pages, leases, and whose database it is."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, PrimaryKeyConstraint, String, Table

from .columns import count, metadata, moment, of_run, run_id, text

APPLICATION = "zetetic"
VERSION = 2
"""Of all tables. A change gives the next number and a revision in `migrations`, which says how."""

zetetic_schema = Table(
    "zetetic_schema",
    metadata,
    text("application", key=True),
    Column("version", Integer, nullable=False),
)

zetetic_migrations = Table(
    "zetetic_migrations",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="zetetic_migrations_pkc"),  # as Alembic would make it
)

events = Table(
    "events",
    metadata,
    run_id(),
    count("seq", key=True, least=1),
    text("event"),
    text("worker"),
    text("step_key"),
    moment("at"),
    text("body"),
    of_run(),
)

snapshots = Table(
    "snapshots",
    metadata,
    run_id(),
    count("seq", key=True, least=1),
    text("shape"),
    text("body"),
    of_run(),
)

journal = Table(
    "journal",
    metadata,
    text("key", key=True, filled=True),
    text("run_id"),
    text("role"),
    text("model"),
    text("fingerprint"),
    text("request"),
    text("answer"),
    text("error"),
    count("input_tokens"),
    count("output_tokens"),
    count("cached_tokens"),
    Column("usd", Float, nullable=True),
    Column("latency_seconds", Float, nullable=False),
    text("repairs"),
    count("event_seq", least=1),
    moment("at"),
    of_run(),
    Index("journal_run", "run_id", "event_seq"),
)

effects = Table(
    "effects",
    metadata,
    text("key", key=True, filled=True),
    text("call_id", key=True, filled=True),
    text("run_id"),
    text("text"),
    text("payload"),
    moment("at"),
    of_run(),
    Index("effects_run", "run_id"),
)

pages = Table(
    "pages",
    metadata,
    text("sha256", key=True),
    text("text"),
    text("url"),
    text("final_url"),
    text("title"),
    text("media_type"),
    moment("fetched_at"),
)

leases = Table(
    "leases",
    metadata,
    text("run_id", key=True, filled=True),
    text("owner", filled=True),
    moment("until"),
)
