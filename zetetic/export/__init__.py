"""What leaves a run: the report, the plain results, and the run folder."""

from .contents import has_report
from .evidence import Pack, is_won, pack_of, pack_text, research_of
from .gaps import Shortfall, shortfalls
from .ledger import budget, iteration_records, loop_state, loop_status, next_safe_action, recovery
from .pack import has_pack, quoted_pages, write_pack
from .plain_words import why_stopped
from .references import References
from .report import PagePath, render_report
from .results import result_claims, result_gaps, result_sources
from .run_folder import receipts, write_atomically, write_records, write_run_folder
from .summary import final_summary, summary_lines
from .verifying import Finding, Identities, Verification, verify_folder

__all__ = [
    "Finding",
    "Identities",
    "Pack",
    "PagePath",
    "References",
    "Shortfall",
    "Verification",
    "budget",
    "final_summary",
    "has_pack",
    "has_report",
    "is_won",
    "iteration_records",
    "loop_state",
    "loop_status",
    "next_safe_action",
    "pack_of",
    "pack_text",
    "quoted_pages",
    "receipts",
    "recovery",
    "render_report",
    "research_of",
    "result_claims",
    "result_gaps",
    "result_sources",
    "shortfalls",
    "summary_lines",
    "verify_folder",
    "why_stopped",
    "write_atomically",
    "write_pack",
    "write_records",
    "write_run_folder",
]
