"""`zetetic steer` beside a process that is killed: the word is kept, delivered once, and receipted."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from cli.commands import KEY, QUESTION, Server, documents, ended, run_of, started, zetetic


@pytest.mark.rule("A24", "D54")
@pytest.mark.parametrize("at", [1, 4], ids=["before an attempt", "within one"])
def test_a_word_to_a_run_that_is_killed_right_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    monkeypatch.setenv("ZETETIC_API_KEY", KEY)
    known = threading.Event()
    processes: list[subprocess.Popen[str]] = []
    words = "Look at the yearbook first.\nNot at blogs."

    def before(number: int) -> None:
        if number != at or (not processes and not known.wait(60)):
            return
        said = zetetic("steer", run_of(tmp_path / "home"), words, "--home", "home", "--json", cwd=tmp_path)
        assert json.loads(said.out)["number"] == 1, said
        receipt = (tmp_path / "home" / run_of(tmp_path / "home") / "DIRECTIVES.md").read_text()
        assert f"## 1: from user\n\n{words}\n\nGiven" in receipt
        assert "Not yet delivered." in receipt
        os.kill(processes[0].pid, signal.SIGKILL)

    with Server(before) as server:
        processes.append(
            started(
                *("research", QUESTION, "--documents", str(documents(tmp_path / "docs")), "--home", "home"),
                *("--model", "some-model", "--base-url", server.base_url),
                cwd=tmp_path,
            )
        )
        known.set()
        assert ended(processes[0]).code == -signal.SIGKILL
        run = run_of(tmp_path / "home")
        resumed = zetetic("resume", run, "--home", "home", cwd=tmp_path)
        assert resumed.code in (0, 3), resumed.err
        prompts = [body["messages"][-1]["content"] for body in server.requests]
    told = [n for n, prompt in enumerate(prompts) if f"Directive 1 from user: {words}" in prompt]
    assert told
    assert {"\nStage: synthesizing\n" in prompts[n] for n in told} == {at == 4}, "the next attempt after it was said"
    receipt = (tmp_path / "home" / run / "DIRECTIVES.md").read_text()
    assert receipt.count("## 1: from user") == receipt.count("Delivered in attempt") == 1


@pytest.mark.rule("A24")
def test_a_word_to_a_run_that_does_not_run_is_shown_as_waiting(tmp_path: Path) -> None:
    docs = str(documents(tmp_path / "docs"))
    options = ("--documents", docs, "--home", "home", "--max-turns", "2")
    assert zetetic("research", QUESTION, *options, cwd=tmp_path).code in (3, 5)
    run = run_of(tmp_path / "home")
    said = zetetic("steer", run, "Look at the yearbook.", "--home", "home", cwd=tmp_path)
    assert said.out.startswith("Directive 1 waits for the next attempt; the run is ")
    receipt = (tmp_path / "home" / run / "DIRECTIVES.md").read_text()
    assert "it waits for the first attempt after a resume." in receipt
    refused = zetetic("steer", run, "x" * 2001, "--home", "home", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert "2001 characters; at most 2000" in refused.err
    assert (tmp_path / "home" / run / "DIRECTIVES.md").read_text() == receipt
