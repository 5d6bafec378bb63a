"""From a model's name to a chat model."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from zetetic.models.usage import OFFLINE

OLLAMA_URL = "http://127.0.0.1:11434/v1"
"""Where Ollama listens by default; its API there is OpenAI-compatible."""

PROVIDERS = {
    "anthropic": "langchain-anthropic",
    "azure_openai": "langchain-openai",
    "bedrock_converse": "langchain-aws",
    "cohere": "langchain-cohere",
    "deepseek": "langchain-deepseek",
    "fireworks": "langchain-fireworks",
    "google_genai": "langchain-google-genai",
    "google_vertexai": "langchain-google-vertexai",
    "groq": "langchain-groq",
    "huggingface": "langchain-huggingface",
    "mistralai": "langchain-mistralai",
    "nvidia": "langchain-nvidia-ai-endpoints",
    "openrouter": "langchain-openrouter",
    "perplexity": "langchain-perplexity",
    "together": "langchain-together",
    "xai": "langchain-xai",
}
"""Providers beyond the built-in ones, each with the package it needs."""

_BUILT_IN = ("offline", "ollama", "openai")
_NO_KEY = "no-key-needed"


class ModelError(ValueError):
    """The model named in the configuration cannot be made; the message says what to do."""


def make_model(
    spec: str | BaseChatModel,
    *,
    base_url: str | None = None,
    api_key: SecretStr | str | None = None,
    timeout: float = 120.0,
    client_retries: int = 2,
    max_output_tokens: int | None = None,
    temperature: float | None = 0.0,
) -> BaseChatModel:
    """The chat model that `spec` names; an instance is returned as it is.

    `"offline"`, `"openai:NAME"`, `"ollama:NAME"` (no key, `OLLAMA_URL` unless `base_url` says otherwise), a bare NAME
    with a `base_url` (any OpenAI-compatible server), or `"PROVIDER:NAME"` for what langchain's `init_chat_model`
    knows. `timeout` is in seconds for one request. `client_retries` counts further tries after the first by the clients
    of other providers; for OpenAI and what speaks like it `call_model` makes them. A server at `base_url` is sent
    `api_key`, else OPENAI_API_KEY, else a placeholder; Ollama is never sent the variable.

    Raises `ModelError` for an unknown provider, a missing key, and a package that is not installed.
    """
    if not isinstance(spec, str):
        return spec
    spec = spec.strip()
    if spec == OFFLINE:
        return _offline()
    provider, separator, name = spec.partition(":")
    if not separator or (base_url is not None and provider not in PROVIDERS and provider not in _BUILT_IN):
        provider, name = ("openai" if base_url else ""), spec
    if not name:
        raise ModelError(
            f"The model {spec!r} names no model. Write it as PROVIDER:NAME, for example openai:gpt-5-mini."
        )
    if not provider:
        raise ModelError(
            f"The model {spec!r} names no provider. Write openai:{name} or ollama:{name}, or give the base_url of an"
            f" OpenAI-compatible server. {_known()}"
        )
    if base_url is not None and not _is_address(base_url):
        raise ModelError(
            f"The base_url {base_url!r} is no address of a server: write it like http://127.0.0.1:8000/v1."
        )
    limits: dict[str, Any] = {"timeout": timeout, "temperature": temperature}
    if max_output_tokens is not None:
        limits["max_tokens"] = max_output_tokens
    key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
    if provider == "ollama":
        return _compatible(name, base_url or OLLAMA_URL, key or _NO_KEY, limits)
    if provider == "openai":
        key = key or os.environ.get("OPENAI_API_KEY")
        if not key and not base_url:
            raise ModelError(
                f"The model {spec!r} needs a key: set the environment variable OPENAI_API_KEY, or give a base_url of"
                " your own server, or use the model 'offline', which needs none."
            )
        return _compatible(name, base_url, key or _NO_KEY, limits)
    return _by_langchain(provider, name, base_url, key, {**limits, "max_retries": client_retries})


def model_name(model: BaseChatModel) -> str:
    """The model's name for records and prices, such as `gpt-5-mini` or `offline`; never empty."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return model._llm_type


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        return False


def _known() -> str:
    return f"Known providers: {', '.join(sorted([*_BUILT_IN, *PROVIDERS]))}."


def _offline() -> BaseChatModel:
    from zetetic.models.offline import OfflineModel

    model: BaseChatModel = OfflineModel()
    return model


def _compatible(name: str, base_url: str | None, key: str, limits: dict[str, Any]) -> BaseChatModel:
    # Imported on first use: the client takes a second to load, and the offline model does without it.
    from zetetic.models.compatible import CompatibleChat

    settings = {**limits, "max_retries": 0, "model": name, "base_url": base_url, "api_key": SecretStr(key)}
    # The client pools its connections for the whole process, and one that was opened in an event loop that has ended
    # (a second asyncio.run, a test) fails when it is used again: so none is kept.
    return CompatibleChat(
        **settings, use_responses_api=False, stream_usage=True, default_headers={"Connection": "close"}
    )


def _by_langchain(
    provider: str, name: str, base_url: str | None, key: str | None, limits: dict[str, Any]
) -> BaseChatModel:
    if provider not in PROVIDERS:
        raise ModelError(
            f"The provider {provider!r} is not known. {_known()} Or give the base_url of an OpenAI-compatible server."
        )
    install = f"pip install langchain {PROVIDERS[provider]}"
    try:
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError:
        raise ModelError(f"The provider {provider!r} needs packages that are not installed: {install}") from None
    if base_url:
        limits["base_url"] = base_url
    if key:
        limits["api_key"] = key
    if limits["temperature"] is None:
        del limits["temperature"]
    try:
        model: BaseChatModel = init_chat_model(name, model_provider=provider, **limits)
    except ImportError:
        raise ModelError(f"The provider {provider!r} needs packages that are not installed: {install}") from None
    except Exception as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        if key:
            reason = reason.replace(key, "[secret]")
        variable = f"{provider.upper()}_API_KEY"
        raise ModelError(
            f"The model {provider}:{name} could not be made: {reason} If its key is missing, set {variable}."
        ) from None
    return model
