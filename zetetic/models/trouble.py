"""What an exception from a provider's client means: a kind, words for a person, and when to try again.

Kinds are told by status code and by the names of exception types, so that no client library is imported here, and a
client that changes its HTTP library does not change the answer. No message ever holds a key.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

ProviderErrorKind = Literal[
    "auth", "rate_limit", "connection", "timeout", "context", "server", "bad_request", "bad_answer"
]

_CONTEXT = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|too many tokens|input tokens exceed"
    r"|exceeds? the (?:available |model'?s? )?context|n_ctx|input is too long|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_NUMBER = r"\D{0,3}(\d[\d,]*)"
_WINDOW = re.compile(
    rf"(?:context length (?:is|of only)|context size \(|n_ctx\b\"?|tokens allowed|tokens >|\bLimit){_NUMBER}",
    re.IGNORECASE,
)
"""How servers tell their window, or the tokens their rate allows a request, in tokens."""
_ASKED = re.compile(
    rf"(?:resulted in|request \(|request has|\bRequested|n_prompt_tokens\"?|token count \(|keep the first|too long:)"
    rf"{_NUMBER}",
    re.IGNORECASE,
)
_OF_THE_PROMPT = re.compile(r"(\d[\d,]*) in the messages", re.IGNORECASE)
"""How they tell what the request came to by their own count, in tokens."""
_QUOTA = re.compile(
    r"insufficient_quota|insufficient (?:balance|credit|funds)|exceeded your current quota|billing", re.I
)
_TOOLS = re.compile(
    r"tool_choice|tool choice|(?:support|accept|allow|enable)\w*\W+(?:\w+\W+){0,3}tool|tool use|tools? (?:is|are) not",
    re.I,
)
_TOO_LARGE = re.compile(r"request too large|reduce the (?:length|size)|larger than the rate", re.IGNORECASE)
_WAIT = re.compile(
    r"(?:try again|retry|retryDelay\W+|wait)\s*(?:in|after|for)?\s*((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|seconds?|"
    r"m|min|minutes?|h|hours?)\s*)+)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli\w*|s|sec\w*|m|min\w*|h|hour\w*)(?![a-z])", re.IGNORECASE)
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|tvly|hf|ghp)[-_][A-Za-z0-9*_\-]{6,}|AIza[\w\-]{20,}"
    r"|(?i:\b(?:bearer|basic)\s+[^\s\"',}]+)"
    r"|(?i:(?<=key=)[^\s&\"']+|(?<=token=)[^\s&\"']+)|(?<=://)[^/@\s]+(?=@)"
    r"|(?i:(?<=key provided: )\S+)"
)
_LONGEST_MESSAGE = 500


class ProviderError(Exception):
    """A provider did not answer, or not with something that can be used.

    `kind` says who must act: `auth` a person (key, permission, credit), `rate_limit` nobody, after `retry_after`
    seconds if they are given, `context` and `bad_request` whoever built the request, the others the provider.
    `too_large`: the request alone is more than the rate allows, so it has to shrink; repeating it is no use. `window`
    and `asked` are what fits and what the request came to, in tokens by the server's own count, where it tells them.
    """

    def __init__(
        self,
        kind: ProviderErrorKind,
        message: str,
        retry_after: float | None = None,
        *,
        too_large: bool = False,
        window: int | None = None,
        asked: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ProviderErrorKind = kind
        self.message = message
        self.retry_after = retry_after
        self.too_large = too_large
        self.window = window
        self.asked = asked

    @property
    def has_to_shrink(self) -> bool:
        """Whether a smaller request is what would be answered (CASES 9, 15)."""
        return self.kind == "context" or self.too_large


def provider_error(
    error: Exception, model: BaseChatModel, tokens: int, timeout: float, *, tool_choice: str | None = None
) -> ProviderError:
    """The `ProviderError` for what a client raised. `tokens` estimates the request, `timeout` is in seconds."""
    if isinstance(error, ProviderError):
        return error
    said = scrub(_said(error), model)
    status = _status(error)
    kind = _kind(error, status, said)
    if kind == "timeout":
        return ProviderError(kind, f"The model did not answer within {timeout:g} seconds.")
    code = f" ({status})" if status else ""
    if kind == "context":
        window, asked = _sizes(error)
        return ProviderError(
            kind,
            f"The request of about {tokens} tokens does not fit the model's context window{code}: {said}",
            window=window,
            asked=asked,
        )
    if kind == "auth":
        advice = "out of credit or quota; add some" if _QUOTA.search(said) or status == 402 else "check its key"
        return ProviderError(kind, f"The provider refused access{code}, {advice}: {said}")
    if kind == "rate_limit":
        large = bool(_TOO_LARGE.search(said))
        window, asked = _sizes(error) if large else (None, None)
        return ProviderError(
            kind,
            f"The provider limits the rate{code}: {said}",
            _retry_after(error),
            too_large=large,
            window=window,
            asked=asked,
        )
    if kind == "connection":
        return ProviderError(kind, f"The provider could not be reached, or broke off the answer: {said}")
    if kind == "server":
        return ProviderError(kind, f"The provider failed{code}: {said}", _retry_after(error))
    if kind == "bad_request":
        if isinstance(error, NotImplementedError) or _TOOLS.search(said):
            what = "`tool_choice`" if tool_choice and re.search(r"tool.choice", said, re.I) else "tools"
            said = f"it does not accept {what}; choose a model and server that can call tools. It said: {said}"
        return ProviderError(kind, f"The provider refused the request{code}: {said}")
    return ProviderError(kind, f"The provider's answer could not be read ({type(error).__name__}): {said}")


def scrub(text: str, model: BaseChatModel | None = None) -> str:
    """The text without keys: those of the model and the environment, and whatever looks like one; cut to 500
    characters."""
    for secret in sorted(_secrets_of(model), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    text = " ".join(_SECRETS.sub("[secret]", text).split())
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


def _secrets_of(model: BaseChatModel | None) -> set[str]:
    held = {value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))}
    for name in type(model).model_fields if model is not None else ():
        value = getattr(model, name, None)
        if isinstance(value, SecretStr):
            held.add(value.get_secret_value())
    return {secret for secret in held if len(secret) >= 8}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _status(error: Exception) -> int | None:
    for link in _chain(error):
        for holder in (link, getattr(link, "response", None)):
            status = getattr(holder, "status_code", None)
            if isinstance(status, int) and status >= 400:
                return status
    return None


def _said(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    detail = inner.get("message") if isinstance(inner, dict) else inner
    said = detail if isinstance(detail, str) and detail else str(error)
    code = getattr(error, "code", None)
    if isinstance(code, str) and code not in said:
        said = f"{said} [{code}]"
    return said or type(error).__name__


def _kind(error: Exception, status: int | None, said: str) -> ProviderErrorKind:
    names = {base.__name__ for link in _chain(error) for base in type(link).__mro__}
    if "ContextOverflowError" in names or status == 413 or (status in (None, 400, 422, 500) and _CONTEXT.search(said)):
        return "context"
    if status is not None:
        return _kind_of_status(status, said)
    if names & {"TimeoutError", "APITimeoutError", "ModelTimeoutError", "TimeoutException", "ReadTimeout"}:
        return "timeout"
    if names & {"TransportError", "APIConnectionError", "ModelConnectionError", "ConnectionError", "OSError"}:
        return "connection"
    if "APIError" in names:  # an error event inside a stream carries no status
        if re.search(r"rate.?limit|429|overloaded", said, re.IGNORECASE):
            return "rate_limit"
        return "bad_answer" if re.search(r"tool.?call|pars", said, re.IGNORECASE) else "server"
    if isinstance(error, NotImplementedError):
        return "bad_request"
    if isinstance(error, RuntimeError) and "closed" in said:
        return "connection"
    return "bad_answer"


def _kind_of_status(status: int, said: str) -> ProviderErrorKind:
    if status in (401, 402, 403) or (status == 429 and _QUOTA.search(said)):
        return "auth"
    if status == 429:
        return "rate_limit"
    if status == 408:
        return "timeout"
    if status >= 500:
        # Local servers answer 500 when the model's own tool call could not be parsed: the request was fine (CASES 8).
        return "bad_answer" if re.search(r"pars\w* tool.?call", said, re.IGNORECASE) else "server"
    return "bad_request"


def _sizes(error: Exception) -> tuple[int | None, int | None]:
    """What fits and what was asked, in tokens, as far as the refusal tells; also from fields beside the message."""
    said = f"{_said(error)} {getattr(error, 'body', None) or ''}"
    found = _WINDOW.search(said), _OF_THE_PROMPT.search(said) or _ASKED.search(said)
    fits, came_to = (int(number[1].replace(",", "")) if number else None for number in found)
    return fits or None, came_to or None


def _retry_after(error: Exception) -> float | None:
    """Seconds to wait, from the headers or else from the words ("try again in 424 ms", CASES 15)."""
    for link in _chain(error):
        headers: Any = getattr(getattr(link, "response", None), "headers", None)
        if headers is None:
            continue
        for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            value = str(headers.get(name) or "")
            try:
                return max(float(value) * scale, 0.0)
            except ValueError:
                pass
        try:
            return max(parsedate_to_datetime(str(headers.get("retry-after") or "")).timestamp() - time.time(), 0.0)
        except (ValueError, TypeError):
            pass
    wait = _WAIT.search(_said(error))
    if wait is None:
        return None
    units = {"ms": 0.001, "mi": 0.001, "s": 1.0, "se": 1.0, "m": 60.0, "h": 3600.0, "ho": 3600.0}
    seconds = 0.0
    for number, unit in _AMOUNT.findall(wait[1]):
        unit = unit.lower()
        seconds += float(number) * (60.0 if unit.startswith("min") else units[unit[:2]])
    return seconds
