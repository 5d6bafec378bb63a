"""From a model's name to a model, or to a sentence that says what to do."""

import pytest
from pydantic import SecretStr

from zetetic.models import ModelError, make_model, model_name
from zetetic.models.compatible import CompatibleChat
from zetetic.models.factory import OLLAMA_URL
from zetetic.testing import ChatCompletionsServer, ScriptedModel, says


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def compatible(spec: str, **settings: object) -> CompatibleChat:
    model = make_model(spec, **settings)  # type: ignore[arg-type]
    assert isinstance(model, CompatibleChat)
    return model


def key_of(model: CompatibleChat) -> str:
    assert isinstance(model.openai_api_key, SecretStr)
    return model.openai_api_key.get_secret_value()


def test_an_instance_is_returned_as_it_is() -> None:
    model = ScriptedModel(script=[])
    assert make_model(model) is model
    assert model_name(model) == "scripted"


def test_openai_with_a_key() -> None:
    model = compatible("openai:gpt-5-mini", api_key=SecretStr("sk-1"), timeout=9.0, max_output_tokens=50)
    assert (model.model_name, model_name(model), key_of(model)) == ("gpt-5-mini", "gpt-5-mini", "sk-1")
    assert (model.request_timeout, model.max_retries, model.max_tokens) == (9.0, 0, 50)
    assert (model.use_responses_api, model.stream_usage) == (False, True)
    assert "sk-1" not in repr(model)


@pytest.mark.parametrize("spec", ["qwen2.5:7b", "openai:qwen2.5:7b"])
def test_a_server_of_ones_own_needs_no_key(spec: str) -> None:
    model = compatible(spec, base_url="http://127.0.0.1:9/v1")
    assert (model.model_name, model.openai_api_base) == ("qwen2.5:7b", "http://127.0.0.1:9/v1")
    assert key_of(model) != ""


def test_ollama_is_never_sent_the_other_providers_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    model = compatible("ollama:llama3.1:8b")
    assert (model.model_name, model.openai_api_base) == ("llama3.1:8b", OLLAMA_URL)
    assert key_of(model) != "sk-from-the-environment"
    assert key_of(compatible("openai:gpt-5-mini")) == "sk-from-the-environment"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("openai:gpt-5-mini", "set the environment variable OPENAI_API_KEY"),
        ("nowhere:m", "Known providers: anthropic, azure_openai"),
        ("gpt-5-mini", "Write openai:gpt-5-mini or ollama:gpt-5-mini"),
        ("openai:", "names no model"),
        ("", "names no model"),
    ],
)
def test_an_error_says_what_to_do(spec: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        make_model(spec)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "address", ["localhost:8000", "http://", "http://[broken/v1", "ftp://host/v1", "http://h:x/v1"]
)
def test_an_address_that_is_none_is_said_at_once(address: str) -> None:
    with pytest.raises(ModelError, match=r"write it like http://127\.0\.0\.1:8000/v1"):
        make_model("m", base_url=address)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langchain.chat_models", None)
    with pytest.raises(ModelError, match="pip install langchain langchain-anthropic"):
        make_model("anthropic:claude-sonnet-4-5")


async def test_a_bound_on_the_answer_is_sent_under_the_name_that_every_server_knows() -> None:
    with ChatCompletionsServer([says("Noon.")]) as server:
        await make_model("m", base_url=server.base_url, max_output_tokens=50).ainvoke("When?")
    [body] = server.requests
    assert (body["max_tokens"], body["temperature"]) == (50, 0.0)
    assert "max_completion_tokens" not in body
