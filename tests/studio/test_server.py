"""A real `langgraph dev` on loopback: what Studio reads of the graph, and a run through its REST interface."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fleet.alone import OBJECTIVE
from fleet.alone import context as crew_context
from fleet.served import CrewServer, basins
from fleet.test_work import Held
from store.stories import rows

from zetetic import SetupError, aresume
from zetetic.state.thresholds import Thresholds

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
START_SECONDS = 40.0
RUN_SECONDS = 60.0


def environment(home: Path) -> dict[str, str]:
    """The settings of a machine without a key, a network or a configuration of its own."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("ZETETIC_", "LANGSMITH_", "LANGCHAIN_", "PYTEST_"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "ZETETIC_HOME": str(home),
        "ZETETIC_DOCUMENTS": str(ROOT / "examples" / "corpus"),
    }


class Server:
    """The address of a running server, and JSON to and from it."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    def ask(self, method: str, path: str, body: Any = None, seconds: float = 10.0) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home) as running:
        yield running


@contextmanager
def serving(home: Path, *, source: Path = ROOT / "langgraph.json", **more: str) -> Iterator[Server]:
    """A server of a configuration, with these settings besides, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home / "server.log"
    # The server keeps its threads in a folder under the working directory, so it gets one of its own.
    config = home / "langgraph.json"
    told = json.loads(source.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**told, "dependencies": [str(ROOT)]}), encoding="utf-8")
    command = [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--config", str(config)], cwd=home, env=environment(home) | more, stdout=output, stderr=output
        ) as process,
    ):
        try:
            running = Server(port, process)
            until = time.monotonic() + START_SECONDS
            while True:
                try:
                    assert running.ask("GET", "/ok", seconds=1.0)["ok"]
                    break
                except (urllib.error.URLError, OSError):
                    said = log.read_text(encoding="utf-8", errors="replace")
                    assert process.poll() is None, said
                    assert time.monotonic() < until, said
                    time.sleep(0.1)
            yield running
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def schemas(server: Server) -> dict[str, Any]:
    (assistant,) = server.ask("POST", "/assistants/search", {"graph_id": "zetetic"})
    found: dict[str, Any] = server.ask("GET", f"/assistants/{assistant['assistant_id']}/schemas")
    return found


def test_no_schema_is_null(schemas: dict[str, Any]) -> None:
    names = ("input_schema", "output_schema", "state_schema", "config_schema", "context_schema")
    assert {name: schemas.get(name) is not None for name in names} == dict.fromkeys(names, True)


def test_studio_asks_for_an_objective_and_shows_the_result(schemas: dict[str, Any]) -> None:
    given = set(schemas["input_schema"]["properties"])
    assert given >= {"objective", "messages", "criteria", "scope", "exclusions", "directives"}
    shown = set(schemas["output_schema"]["properties"])
    assert shown >= {
        "report",
        "status",
        "stop_reason",
        "run_id",
        "claims",
        "sources",
        "gaps",
        "usage",
        "loop",
        "messages",
    }


@pytest.mark.rule("A17", "D52")
def test_every_bound_is_offered_with_what_it_means(schemas: dict[str, Any]) -> None:
    offered = schemas["context_schema"]["properties"]
    for name, field in Thresholds.model_fields.items():
        assert offered[name]["description"] == field.description
    assert offered["model"]["default"] == "offline"
    assert all(field.get("description") for field in offered.values())


@pytest.mark.rule("A2")
def test_studio_draws_the_arms(server: Server) -> None:
    (assistant,) = server.ask("POST", "/assistants/search", {"graph_id": "zetetic"})
    drawn = server.ask("GET", f"/assistants/{assistant['assistant_id']}/graph")
    assert {"judge", "verify", "critique", "completeness", "route"} <= {node["id"] for node in drawn["nodes"]}


@pytest.mark.rule("D54", "D45")
def test_the_example_runs_through_the_server(server: Server, home: Path) -> None:
    thread = server.ask("POST", "/threads", {})["thread_id"]
    objective = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8").strip()
    body = {"assistant_id": "zetetic", "input": {"objective": objective}, "durability": "sync"}
    final = server.ask("POST", f"/threads/{thread}/runs/wait", body, seconds=RUN_SECONDS)
    assert "__error__" not in final, final
    assert final["status"] in ("complete", "reported")
    assert "## Sources" in final["report"]
    assert "240 megawatts" in final["report"]
    state = server.ask("GET", f"/threads/{thread}/state")
    assert state["next"] == []
    assert state["values"]["report"] == final["report"]
    assert "## Sources" in (home / final["run_id"] / "report.md").read_text(encoding="utf-8")


def test_its_checkpoints_are_in_the_home(server: Server, home: Path) -> None:
    thread = server.ask("POST", "/threads", {})["thread_id"]
    assert_checkpoints(server, thread, str(home / "checkpoints.db"))


def test_with_a_postgres_address_log_and_checkpoints_are_there(postgres_address: str, tmp_path: Path) -> None:
    with serving(tmp_path, ZETETIC_DATABASE=postgres_address) as server:
        thread = server.ask("POST", "/threads", {})["thread_id"]
        assert_checkpoints(server, thread, postgres_address)
    assert rows(postgres_address, "SELECT status FROM research_runs") == [("reported",)]
    assert not list(tmp_path.glob("*.db"))


def assert_checkpoints(server: Server, thread: str, database: str) -> None:
    """Lets a brief run leave its checkpoints there, and reads its state back through the server."""
    question = "What is the installed capacity of the Kestrow barrage?"
    body = {
        "assistant_id": "zetetic",
        "input": {"objective": question},
        "context": {"max_turns": 3},
        "durability": "sync",
    }
    final = server.ask("POST", f"/threads/{thread}/runs/wait", body, seconds=RUN_SECONDS)
    assert final["status"] == "reported", final
    assert rows(database, "SELECT count(*) > 10 FROM checkpoints WHERE thread_id = ?", thread) in ([(1,)], [(True,)])
    assert server.ask("GET", f"/threads/{thread}/state")["values"]["report"] == final["report"]
    assert len(server.ask("POST", f"/threads/{thread}/history", {"limit": 5})) == 5


def test_a_context_given_through_the_server_reaches_the_run(server: Server) -> None:
    thread = server.ask("POST", "/threads", {})["thread_id"]
    body = {
        "assistant_id": "zetetic",
        "input": {"messages": [{"role": "user", "content": "What is the installed capacity of the Kestrow barrage?"}]},
        "context": {"max_turns": 3},
        "durability": "sync",
    }
    final = server.ask("POST", f"/threads/{thread}/runs/wait", body, seconds=RUN_SECONDS)
    assert (final["status"], final["stop_reason"]) == ("reported", "breaker:iterations")
    assert final["messages"][-1]["content"] == final["report"]


def test_a_run_of_the_server_is_not_taken_up_by_another_process(server: Server, home: Path, tmp_path: Path) -> None:
    held = Held()
    basins(tmp_path / "docs", 1)
    thread = server.ask("POST", "/threads", {})["thread_id"]
    with CrewServer(1, held) as models:
        given = crew_context(tmp_path, str(home / "zetetic.db"), models.base_url)
        names = ("model", "base_url", "documents", "max_turns", "min_sources", "min_domains")
        context = {name: getattr(given, name) for name in names} | {"api_key": "none"}
        body = {"assistant_id": "zetetic", "input": {"objective": OBJECTIVE}, "context": context, "durability": "sync"}
        run = server.ask("POST", f"/threads/{thread}/runs", body)["run_id"]
        assert held.asked.wait(RUN_SECONDS)
        research = server.ask("GET", f"/threads/{thread}/state")["values"]["run_id"]
        with pytest.raises(SetupError, match=rf"^The run {research} is being worked on "):
            asyncio.run(aresume(research, context=given))
        held.let_go.set()
        final = server.ask("GET", f"/threads/{thread}/runs/{run}/join", seconds=RUN_SECONDS)
    assert (final["run_id"], final["status"]) == (research, "complete"), final
    assert rows(str(home / "zetetic.db"), "SELECT * FROM leases WHERE run_id = ?", research) == []


def test_a_wrong_setting_is_told_in_words(server: Server) -> None:
    thread = server.ask("POST", "/threads", {})["thread_id"]
    body = {"assistant_id": "zetetic", "input": {"objective": "  "}}
    final = server.ask("POST", f"/threads/{thread}/runs/wait", body, seconds=RUN_SECONDS)
    assert "The objective is empty" in final["__error__"]["message"]


def test_the_configuration_is_valid() -> None:
    done = subprocess.run(
        [str(BIN / "langgraph"), "validate"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
