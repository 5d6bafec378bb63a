"""The run folder as the nodes write it: from the research, after every attempt and at a run's ends (L2, L6)."""

from __future__ import annotations

import asyncio

from zetetic.export import quoted_pages, write_pack
from zetetic.state.research import Research

from .identities import IDENTITIES
from .workbench import Workbench


async def write_folder(bench: Workbench, r: Research) -> None:
    """The run folder, rewritten from the research, with the evidence pack once the run has ended (L2, L6). Of several
    workers the one that saw most writes last."""
    folder = bench.run_folder(r.run_id)
    if folder is None:
        return
    async with bench.writing:
        if bench.written.get(r.run_id, -1) > r.version:
            return
        pages = await quoted_pages(bench.store, r)
        await asyncio.to_thread(write_pack, r, folder, bench.clock(), pages, IDENTITIES)
        bench.written[r.run_id] = r.version
