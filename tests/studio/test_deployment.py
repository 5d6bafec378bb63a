"""The deployment's configuration: valid, served by a real `langgraph dev`, and the same as in the image's."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio.test_server import BIN, ROOT, RUN_SECONDS, Server, serving

DEPLOY = ROOT / "deploy"
GRAPHS = {"zetetic": {}, "zetetic-fleet": {"max_parallel": 3}, "zetetic-simple": {"loop": "simple"}}
QUESTION = "What is the installed capacity of the Kestrow barrage?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("deployed"), source=DEPLOY / "langgraph.json") as running:
        yield running


def test_the_configuration_is_valid() -> None:
    command = [str(BIN / "langgraph"), "validate", "--config", str(DEPLOY / "langgraph.json")]
    quiet = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.rule("D53", "D51")
@pytest.mark.parametrize("name", GRAPHS)
def test_each_graph_is_served_and_runs(server: Server, name: str) -> None:
    (assistant,) = server.ask("POST", "/assistants/search", {"graph_id": name})
    schemas = server.ask("GET", f"/assistants/{assistant['assistant_id']}/schemas")
    assert all(schemas[f"{kind}_schema"] is not None for kind in ("input", "output", "state", "context"))
    thread = server.ask("POST", "/threads", {})["thread_id"]
    body = {
        "assistant_id": name,
        "input": {"objective": QUESTION},
        "context": {"max_turns": 6, **GRAPHS[name]},
        "durability": "sync",
    }
    final = server.ask("POST", f"/threads/{thread}/runs/wait", body, seconds=RUN_SECONDS)
    assert "__error__" not in final, final
    assert final["status"] in ("reported", "complete")
    assert final["report"].startswith(f"# {QUESTION}\n")


def test_the_image_serves_the_same() -> None:
    set_in_image = dict(re.findall(r"^ENV (\w+)='(.*)'$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M))
    config: dict[str, Any] = json.loads((DEPLOY / "langgraph.json").read_text(encoding="utf-8"))
    assert json.loads(set_in_image["LANGSERVE_GRAPHS"]) == config["graphs"]
    assert json.loads(set_in_image["LANGGRAPH_CHECKPOINTER"]) == config["checkpointer"]
    assert set(config["graphs"]) == set(GRAPHS)


def test_every_setting_of_the_example_is_one_of_the_contexts() -> None:
    from zetetic import Context

    named = re.findall(r"ZETETIC_(\w+):", (DEPLOY / "compose.yml").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if name.lower() not in Context.model_fields] == []
    for copied in re.findall(r"^COPY (.*) \S+$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M):
        assert all((ROOT / Path(name)).exists() for name in copied.split())
