"""The store: event log, projections, pages, journal and effects in one SQLite file."""

from .errors import StoreError
from .journal import JournalEntry, StoredEffect, StoredPage
from .log import LogEntry
from .notes_file import NotesVersion
from .reads import RunRow, StateRow, TransitionRow
from .store import Executed, Store

__all__ = [
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
]
