import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import QUESTION, Ended, documents, zetetic

from zetetic.cli import main


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of one run that is complete; a test works on a copy of its folder."""
    place = tmp_path_factory.mktemp("complete")
    documents(place / "docs")
    args = ["--documents", "docs", "--home", "home", "--min-sources", "2", "--min-domains", "2"]
    assert zetetic("research", QUESTION, *args, cwd=place).code == 0
    return place / "home"


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ended]:
    """Runs the command in this process and in a folder of its own: quick, where only its words and code matter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["zetetic", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Ended(stopped.value.code, out, err)

    return run
