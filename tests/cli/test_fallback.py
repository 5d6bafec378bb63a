"""`--fallback`: the model that is asked where the chosen one fails for good, over HTTP on loopback (A12)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import KEY, QUESTION, Ended, Server, documents, run_of

from zetetic.testing import Answer, refuses

Here = Callable[..., Ended]
pytestmark = pytest.mark.rule("A12")


class Half(Server):
    """A server of two models: `chosen` is down, `standby` answers."""

    def _answered(self, body: dict[str, Any]) -> Answer:
        if body["model"] == "chosen":
            return refuses(403, "no access to this model")
        return super()._answered(body)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)


@pytest.fixture
def docs(tmp_path: Path) -> str:
    return str(documents(tmp_path / "docs"))


def models(here: Here, home: str) -> set[str]:
    calls = here("show", "latest", "calls", "--home", home, "--json").json
    return {call["model"] for call in calls if not call["error"]}


@pytest.mark.usefixtures("key")
def test_a_run_is_done_by_the_fallback_and_goes_on_with_it(here: Here, docs: str, tmp_path: Path) -> None:
    args = ("--documents", docs, "--home", "home")
    with Half() as server:
        served = ("--model", "chosen", "--base-url", server.base_url)
        alone = here("research", QUESTION, *args, *served)
        assert alone.code == 4
        assert "Trouble in turn 1 (q_001): the model's provider refused access (model:auth): " in alone.err
        resumed = here("resume", "latest", "--home", "home", "--fallback", "standby")
        assert resumed.code == 0
        assert models(here, "home") == {"standby"}
        assert "Calls that standby answered as the fallback, since the model chosen for them failed: " in resumed.out
        done = here("research", QUESTION, *args[:2], "--home", "other", *served, "--fallback", "standby")
        assert done.code == 0
        assert models(here, "other") == {"standby"}
    kept = json.loads((tmp_path / "other" / run_of(tmp_path / "other") / "context.json").read_text())
    assert (kept["model"], kept["fallback"]) == ("chosen", "standby")


@pytest.mark.usefixtures("key")
def test_a_batch_and_a_check_of_the_setup_take_one_too(here: Here, docs: str, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(QUESTION)
    with Half() as server:
        served = ("--model", "chosen", "--base-url", server.base_url, "--fallback", "standby", "--documents", docs)
        (line,) = here("research", "--batch", "b.txt", *served, "--home", "home").out.splitlines()
        assert json.loads(line)["status"] == "complete"
        assert models(here, "home") == {"standby"}
        checked = {check["what"]: check["finding"] for check in here("init", *served, "--json").json["checks"]}
    assert "model standby (fallback): answer" in checked
    assert checked["model chosen (every role): answer"] == "fails"
