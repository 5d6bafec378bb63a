"""The store: event log, projections, pages, journal and effects in one SQLite file or one PostgreSQL database."""

from .errors import StoreError
from .journal import STOOD_IN, JournalEntry, StoredEffect, StoredPage
from .leases import name_of as lease_name
from .log import LogEntry
from .notes_versions import NotesVersion
from .opening import database_exists
from .reads import RunRow, StateRow, TransitionRow
from .store import Executed, Store

__all__ = [
    "STOOD_IN",
    "Executed",
    "JournalEntry",
    "LogEntry",
    "NotesVersion",
    "RunRow",
    "StateRow",
    "Store",
    "StoreError",
    "StoredEffect",
    "StoredPage",
    "TransitionRow",
    "database_exists",
    "lease_name",
]
