"""The context window of a model, as far as the model or its server tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

_ASKING_SECONDS = 3.0
_LOADED = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""How servers call it in their list of models: vLLM, LM Studio, then gateways and hosts; the most exact first."""
_SMALLEST = 256
"""A smaller number is no context window (tokens)."""


async def known_window(model: BaseChatModel) -> int | None:
    """Tokens that the model's context window holds, or None where nobody tells. Never raises; asks a server of one's
    own (a model with a base_url) for at most a few seconds, and sends it no prompt."""
    if (address := _address(model)) is not None:
        return await _told_by_server(address, model)
    profile = getattr(model, "profile", None)
    return _tokens(profile.get("max_input_tokens")) if isinstance(profile, Mapping) else None


def _address(model: BaseChatModel) -> str | None:
    base = getattr(model, "openai_api_base", None) if model._llm_type == "openai-chat" else None
    if not isinstance(base, str) or (urlsplit(base).hostname or "").endswith("openai.com"):
        return None
    return base.rstrip("/")


async def _told_by_server(base: str, model: BaseChatModel) -> int | None:
    name = str(getattr(model, "model_name", ""))
    root = base.removesuffix("/v1")
    key = getattr(model, "openai_api_key", None)
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if isinstance(key, SecretStr) else {}
    async with httpx.AsyncClient(timeout=_ASKING_SECONDS, headers=headers, trust_env=False) as client:
        # llama.cpp's, then Ollama's and LM Studio's own lists of what is loaded, then the list that all servers have.
        for path in (f"{root}/props", f"{root}/api/ps", f"{root}/api/v0/models", f"{base}/models"):
            told = await _json(client, path)
            if told is None:
                continue
            for value in _windows_in(told, name):
                if (tokens := _tokens(value)) is not None:
                    return tokens
    return None


async def _json(client: httpx.AsyncClient, url: str) -> Any:
    try:
        answer = await client.get(url)
        return answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None


def _windows_in(told: Any, name: str) -> Iterator[Any]:
    """What may be the window in an answer: the whole server's, or that of the model of this name."""
    if not isinstance(told, dict):
        return
    settings = told.get("default_generation_settings")
    if isinstance(settings, dict):
        yield settings.get("n_ctx")
    for group in (told.get("data"), told.get("models")):
        for entry in group if isinstance(group, list) else ():
            if isinstance(entry, dict) and name in (entry.get("id"), entry.get("model"), entry.get("name")):
                yield from (entry.get(key) for key in _LOADED)


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= _SMALLEST else None
