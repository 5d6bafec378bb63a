"""What a model or its server tells of its context window (CASES 9)."""

import socket
from typing import Any

import pytest

from zetetic.models import known_window, make_model
from zetetic.testing import ChatCompletionsServer, ScriptedModel

LM_STUDIO = {"id": "m", "max_context_length": 32768, "loaded_context_length": 4096}


@pytest.mark.parametrize(
    ("told", "window"),
    [
        ({"/props": {"default_generation_settings": {"n_ctx": 8192}}}, 8192),
        ({"/v1/models": {"data": [{"id": "other", "max_model_len": 1024}, {"id": "m", "max_model_len": 4096}]}}, 4096),
        ({"/api/v0/models": {"data": [LM_STUDIO]}}, 4096),
        ({"/api/ps": {"models": [{"name": "m", "context_length": 4096}]}}, 4096),
        ({"/v1/models": {"data": [{"id": "m", "context_length": 200_000}]}}, 200_000),
        ({"/v1/models": {"data": [{"id": "m"}]}}, None),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": "many"}]}}, None),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": True}]}}, None),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 0}]}}, None),
        ({"/v1/models": ["m"], "/props": 7, "/api/ps": {"models": "none"}}, None),
        ({}, None),
    ],
    ids=["llama.cpp", "vllm", "lm studio", "ollama", "gateway", "silent", "words", "boolean", "zero", "odd", "none"],
)
async def test_what_a_server_tells_of_its_window(told: dict[str, Any], window: int | None) -> None:
    with ChatCompletionsServer([], told=told) as server:
        assert await known_window(make_model("m", base_url=server.base_url)) == window
        assert server.requests == [], "nothing is asked of the model"


async def test_a_server_that_is_not_there_tells_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    assert await known_window(make_model("m", base_url=nobody)) is None


async def test_an_instance_tells_by_its_profile() -> None:
    assert await known_window(ScriptedModel(script=[])) is None
    assert await known_window(ScriptedModel(script=[], profile={"max_input_tokens": 8192})) == 8192
