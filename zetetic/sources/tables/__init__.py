"""Read-only SQL over the tables in the user's files, in a process that can do nothing else (D30)."""

from zetetic.sources.tables.files import Table
from zetetic.sources.tables.folder import NO_TABLES, SCHEME, Answer, TableCaps, Tables, query_address, query_digest
from zetetic.sources.tables.process import MISSING
from zetetic.sources.tables.rendering import quotable

__all__ = [
    "MISSING",
    "NO_TABLES",
    "SCHEME",
    "Answer",
    "Table",
    "TableCaps",
    "Tables",
    "query_address",
    "query_digest",
    "quotable",
]
