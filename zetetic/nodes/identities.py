"""How the verification of an evidence pack tells sources apart: as they were told apart when they were read (D33)."""

from __future__ import annotations

from zetetic.export import Identities
from zetetic.sources.identity import site_of, text_sketch, work_identity

IDENTITIES = Identities(sketch=text_sketch, site=site_of, work=work_identity)
