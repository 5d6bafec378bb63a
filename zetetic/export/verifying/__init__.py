"""Verifying an evidence pack from its folder alone: offline, without a database, believing nothing that can be computed
anew (L6)."""

from .findings import Finding, Identities, Verification
from .folder import verify_folder
from .pages import PAGES, page_name
from .proofs import proof_id, proof_of

__all__ = [
    "PAGES",
    "Finding",
    "Identities",
    "Verification",
    "page_name",
    "proof_id",
    "proof_of",
    "verify_folder",
]
