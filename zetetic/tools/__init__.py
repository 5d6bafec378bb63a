"""What the model can call: schemas, and their mapping to decisions and to readings of the outside."""

from .decisions import Call, decide_call, quoted_sources
from .schemas import READS, TOOLS, Args, read_args, tool_schema, tool_schemas

__all__ = [
    "READS",
    "TOOLS",
    "Args",
    "Call",
    "decide_call",
    "quoted_sources",
    "read_args",
    "tool_schema",
    "tool_schemas",
]
