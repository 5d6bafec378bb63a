"""`zetetic init`: what is looked at, what is said to do, and whether a run can start."""

import socket
from pathlib import Path
from typing import Any

import pytest
from cli.commands import KEY, documents, ended, environment, started, zetetic

from zetetic.testing import ChatCompletionsServer, calls, refuses, says, wire_call


@pytest.fixture
def papers(tmp_path: Path) -> str:
    return str(documents(tmp_path / "papers"))


def found(answer: Any, what: str) -> tuple[str, str, str]:
    """The one check of this name: finding, what was found, what to do."""
    (check,) = [one for one in answer.json["checks"] if one["what"] == what]
    return check["finding"], check["found"], check["todo"]


def test_with_documents_and_the_offline_model_a_run_can_start(tmp_path: Path, papers: str) -> None:
    answer = zetetic("init", "--documents", papers, "--json", cwd=tmp_path)
    assert (answer.code, answer.json["can_start"], answer.err) == (0, True, "")
    assert found(answer, "home")[0] == "ok"
    assert found(answer, "documents")[:2] == ("ok", "2 documents of 2 origins")
    assert found(answer, "search documents")[0] == "ok"
    assert found(answer, "model offline (every role)")[0] == "ok"
    assert not (tmp_path / ".zetetic").exists(), "looking makes nothing"


def test_with_nothing_to_look_in_it_says_what_to_give(tmp_path: Path) -> None:
    answer = zetetic("init", cwd=tmp_path)
    assert answer.code == 2
    assert "fails  search" in answer.out
    assert "- search: give --documents DIR, or --search of documents, web, tavily" in answer.out
    assert answer.out.rstrip().endswith("A run cannot start yet.")


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    answer = zetetic("init", "--documents", "nowhere", "--home", "file", "--json", cwd=tmp_path)
    assert (answer.code, answer.json["can_start"]) == (2, False)
    assert found(answer, "home")[0] == "fails"
    assert found(answer, "documents")[0] == "fails"
    assert found(answer, "search documents")[0] == "fails"


def test_each_search_provider_has_its_status(tmp_path: Path, papers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    names = f"documents,tavily,searxng:{nobody}"
    answer = zetetic("init", "--documents", papers, "--search", names, "--json", cwd=tmp_path)
    assert answer.code == 0, "one that can be searched is enough"
    finding, what, todo = found(answer, "search tavily")
    assert (finding, what.split(":")[0], todo) == ("note", "not_configured", "it needs TAVILY_API_KEY")
    assert found(answer, "search searxng")[1].startswith("failed")
    answer = zetetic("init", "--search", "tavily", "--json", cwd=tmp_path)
    assert (answer.code, found(answer, "search tavily")[0]) == (2, "fails")
    answer = zetetic("init", "--documents", papers, "--search", "documents,gogle", "--json", cwd=tmp_path)
    assert (answer.code, found(answer, "search gogle")[0]) == (2, "fails")


def asked(server: ChatCompletionsServer, papers: str, cwd: Path, *more: str) -> Any:
    args = ("init", "--documents", papers, "--model", "m", "--base-url", server.base_url, "--json", *more)
    return ended(started(*args, cwd=cwd, env=environment(OPENAI_API_KEY=KEY)))


READY = calls(wire_call("ready", ok=True))


def test_a_model_is_asked_one_small_question(tmp_path: Path, papers: str) -> None:
    told = {"/props": {"default_generation_settings": {"n_ctx": 8192}}}
    with ChatCompletionsServer([READY], require_key=KEY, told=told) as server:
        answer = asked(server, papers, tmp_path)
    assert answer.code == 0
    assert len(server.requests) == 1
    assert server.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "ready"}}
    assert found(answer, "model m (every role): answer")[0] == "ok"
    assert found(answer, "model m (every role): context window")[:2] == ("ok", "8192 tokens")
    assert found(answer, "model m (every role): price")[:2] == ("note", "not known: calls count as $0")


@pytest.mark.parametrize(
    ("reply", "finding", "said", "todo"),
    [
        (refuses(401, f"Incorrect API key provided: {KEY}"), "fails", "auth:", "set the provider's key"),
        (refuses(404, "model 'm' not found"), "fails", "bad_request:", "mend the model's name"),
        (refuses(400, "m does not support tools"), "fails", "does not accept tools", "one that can call tools"),
        (refuses(503, "loading"), "fails", "server:", "try again later"),
        (says("I am ready."), "fails", "does not call the tool", "choose a model and a server that can call tools"),
        (says('{"name": "ready", "arguments": {"ok": true}}'), "note", "tool call found in text", ""),
    ],
    ids=["key", "name", "tools", "server", "words", "call in text"],
)
def test_what_is_wrong_with_a_model_is_told(
    tmp_path: Path, papers: str, reply: Any, finding: str, said: str, todo: str
) -> None:
    with ChatCompletionsServer([reply]) as server:
        answer = asked(server, papers, tmp_path)
    check = found(answer, "model m (every role): answer")
    assert (check[0], answer.code) == (finding, 2 if finding == "fails" else 0)
    assert said in check[1]
    assert todo in check[2]
    assert KEY not in answer.out


def test_a_window_that_is_too_small_keeps_a_run_from_starting(tmp_path: Path, papers: str) -> None:
    told = {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}}
    with ChatCompletionsServer([READY], told=told) as server:
        answer = asked(server, papers, tmp_path)
    finding, what, todo = found(answer, "model m (every role): context window")
    assert (answer.code, finding, what) == (2, "fails", "4096 tokens")
    assert "6144 tokens or more" in todo


def test_each_model_is_checked_once_and_the_fallback_too(tmp_path: Path, papers: str) -> None:
    with ChatCompletionsServer([READY], repeat_last=True) as server:
        names = {"ZETETIC_EXTRACTOR": "small", "ZETETIC_FALLBACK": "standby"}
        args = ("init", "--documents", papers, "--model", "m", "--base-url", server.base_url, "--json")
        answer = ended(started(*args, cwd=tmp_path, env=environment(**names)))
    named = [one["what"] for one in answer.json["checks"] if one["what"].endswith(": answer")]
    assert named == [
        "model m (worker, evaluator): answer",
        "model small (extractor): answer",
        "model standby (fallback): answer",
    ]
    assert [body["model"] for body in server.requests] == ["m", "small", "standby"]


def test_a_limit_in_money_needs_a_price(tmp_path: Path, papers: str) -> None:
    with ChatCompletionsServer([READY]) as server:
        args = ("init", "--documents", papers, "--model", "m", "--base-url", server.base_url, "--json")
        answer = ended(started(*args, cwd=tmp_path, env=environment(ZETETIC_MAX_COST_USD="1")))
    assert (answer.code, found(answer, "model m (every role): price")[0]) == (2, "fails")


def test_an_address_without_a_model_and_a_model_without_its_package(tmp_path: Path, papers: str) -> None:
    answer = zetetic("init", "--documents", papers, "--base-url", "http://127.0.0.1:9/v1", "--json", cwd=tmp_path)
    assert (answer.code, found(answer, "model (every role)")[1]) == (2, "a base_url is given but no model")
    answer = zetetic("init", "--documents", papers, "--model", "nowhere:m", "--json", cwd=tmp_path)
    assert "Known providers" in found(answer, "model (every role)")[1]
