"""What leaves a run: the report, the plain results, and the run folder."""

from .contents import has_report
from .gaps import Shortfall, shortfalls
from .ledger import budget, iteration_records, loop_state, loop_status, next_safe_action, recovery
from .plain_words import why_stopped
from .references import References
from .report import PagePath, render_report
from .results import result_claims, result_gaps, result_sources
from .run_folder import receipts, write_atomically, write_records, write_run_folder
from .summary import final_summary, summary_lines

__all__ = [
    "PagePath",
    "References",
    "Shortfall",
    "budget",
    "final_summary",
    "has_report",
    "iteration_records",
    "loop_state",
    "loop_status",
    "next_safe_action",
    "receipts",
    "recovery",
    "render_report",
    "result_claims",
    "result_gaps",
    "result_sources",
    "shortfalls",
    "summary_lines",
    "why_stopped",
    "write_atomically",
    "write_records",
    "write_run_folder",
]
