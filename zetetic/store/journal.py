"""What was paid for: answers of models, results of tool calls, texts of pages. Stored once, never changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from zetetic.state.events import UsageRecorded

from . import storage
from .log import storable

STOOD_IN = "stood_in"
"""Among a call's repairs: the role's own model had failed, and the fallback answered."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One model call under its task key, stored with what it cost before anything acts on it (D47).

    `request`, `answer` and `repairs` are JSON texts, `usd` is None where the price is unknown.
    """

    run_id: str
    key: str
    role: str
    model: str
    fingerprint: str
    at: datetime
    request: str = ""
    answer: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    latency_seconds: float = 0.0
    repairs: str = "[]"

    def usage(self) -> UsageRecorded:
        """The call as an event of the run. An unknown price counts as nothing."""
        repairs = json.loads(self.repairs)
        return UsageRecorded(
            at=self.at,
            role=self.role,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            usd=self.usd or 0.0,
            repairs=len([one for one in repairs if one != STOOD_IN]),
            stood_in=self.model if STOOD_IN in repairs else "",
        )


@dataclass(frozen=True, slots=True)
class StoredEffect:
    """The result of one tool call: what the model was told, and `payload`, JSON for the loop."""

    key: str
    call_id: str
    text: str
    payload: str = ""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """The text of a page, named by the SHA-256 of its UTF-8, and where it came from."""

    sha256: str
    text: str
    url: str
    final_url: str
    title: str
    media_type: str
    fetched_at: datetime


_ENTRY = [storage.journal.c[field.name] for field in fields(JournalEntry)]
_ENTRY_OF = select(*_ENTRY).where(storage.journal.c.key == bindparam("of_key"))
_EFFECTS_OF = select(*(storage.effects.c[field.name] for field in fields(StoredEffect))).where(
    storage.effects.c.key == bindparam("of_key")
)
_EFFECT_OF = _EFFECTS_OF.where(storage.effects.c.call_id == bindparam("of_call"))


def entry(connection: Connection, key: str) -> JournalEntry | None:
    """The call stored under a key."""
    row = connection.execute(_ENTRY_OF, {"of_key": key}).one_or_none()
    return None if row is None else JournalEntry(**row._mapping)


def entries(connection: Connection, run_id: str) -> list[JournalEntry]:
    """The calls of a run in the order of the log."""
    found = select(*_ENTRY).where(storage.journal.c.run_id == run_id).order_by(storage.journal.c.event_seq)
    return [JournalEntry(**row._mapping) for row in connection.execute(found)]


def add_entry(connection: Connection, given: JournalEntry, event_seq: int) -> JournalEntry:
    """Stores a call that is not stored yet; `event_seq` is that of its usage in the run's log."""
    row = _row(given)
    connection.execute(insert(storage.journal), row | {"event_seq": event_seq})
    return JournalEntry(**row)


def effect(connection: Connection, key: str, call_id: str) -> StoredEffect | None:
    """The result of one tool call of a task."""
    row = connection.execute(_EFFECT_OF, {"of_key": key, "of_call": call_id}).one_or_none()
    return None if row is None else StoredEffect(**row._mapping)


def effects(connection: Connection, key: str) -> dict[str, StoredEffect]:
    """The results of a task's tool calls by call id."""
    found = connection.execute(_EFFECTS_OF, {"of_key": key})
    return {row.call_id: StoredEffect(**row._mapping) for row in found}


def add_effect(connection: Connection, run_id: str, given: StoredEffect) -> StoredEffect:
    """Stores a result that is not stored yet."""
    row = _row(given)
    connection.execute(insert(storage.effects), row | {"run_id": run_id, "at": datetime.now(UTC)})
    return StoredEffect(**row)


def page(connection: Connection, sha256: str) -> StoredPage | None:
    """A stored page by the hash of its text."""
    row = connection.execute(select(storage.pages).where(storage.pages.c.sha256 == sha256)).one_or_none()
    return None if row is None else StoredPage(**row._mapping)


def named(given: StoredPage) -> StoredPage:
    """A page under the name its text has as it is stored."""
    text = storable(given.text)
    return replace(given, text=text, sha256=hashlib.sha256(text.encode()).hexdigest())


def add_page(connection: Connection, given: StoredPage) -> None:
    """Stores a named page if its text is not stored yet. Where the same text stood first is kept."""
    if page(connection, given.sha256) is None:
        connection.execute(insert(storage.pages), _row(given))


def _row(given: JournalEntry | StoredEffect | StoredPage) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in asdict(given).items()}
