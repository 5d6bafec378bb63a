import shutil
from pathlib import Path

import pytest
from cli.commands import QUESTION, documents

from zetetic import Context, research


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that ended in success with its proof: two records. Not to be touched."""
    place = tmp_path_factory.mktemp("complete")
    docs = documents(place / "docs")
    context = Context(documents=str(docs), home=str(place / "home"), model="offline", min_sources=2, min_domains=2)
    result = research(QUESTION, context=context, run_id="complete")
    assert (result.status, len(result.research.evaluations)) == ("complete", 2)
    return place / "home" / "complete"


@pytest.fixture
def complete(written: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(written, tmp_path / "complete"))
