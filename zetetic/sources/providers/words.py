"""What a service says of trouble, in its own words: read for what they mean, and kept free of keys."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, quote_plus

import httpx

from zetetic.sources.providers.readings import looks_like_html, plain

SAID_CHARS = 200
"""Of the provider's own words in a detail (characters)."""

QUOTA = re.compile(
    r"(?:not enough|insufficient|no(?: more)?|out of|exceeded[\w ]{0,20}) (?:credits?|balance|funds|budget|quota)"
    r"|quota[\w ]{0,20}(?:exceeded|exhausted|reached|limited)|quota_limited|credits? (?:exhausted|limit)|usage limit"
    r"|(?:daily|monthly) [\w ]{0,20}(?:limit|budget|allowance)|no_more_credits|budget_exceeded",
    re.IGNORECASE,
)
BAD_KEY = re.compile(
    r"(?:api[ _-]?key|subscription[ _-]?token|access token)[\w .:'\"-]{0,40}"
    r"(?:invalid|not valid|incorrect|wrong|missing|unknown|expired)"
    r"|(?:invalid|incorrect|unknown|bad|missing)[\w ]{0,20}(?:api[ _-]?key|subscription[ _-]?token)",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"\b(?:again|retry|wait)\b[\w ]{0,20}?\b(?P<figure>\d{1,6}(?:\.\d{1,3})?) ?"
    r"(?:(?P<ms>ms|milliseconds?)|(?P<s>s|secs?|seconds?)|(?P<m>m|mins?|minutes?))\b",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_KEY_IN_ADDRESS = re.compile(r"([?&](?:api_key|key|token|mailto|email)=)[^&\s\"]+", re.IGNORECASE)


class _NoKeysInLog(logging.Filter):
    """httpx logs the address of each request; a key that a service wants in its address stays out of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _KEY_IN_ADDRESS.sub(r"\1[key]", str(value)) if isinstance(value, httpx.URL) else value
                for value in record.args
            )
        return True


logging.getLogger("httpx").addFilter(_NoKeysInLog())


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """A text in which no secret stands, nor one as it is written in an address."""
    for secret in filter(None, secrets):
        for form in {secret, quote(secret, safe=""), quote_plus(secret)}:
            text = text.replace(form, "[key]")
    return text


def retry_after(value: str) -> float | None:
    """Seconds of a retry-after header, which holds seconds or a date; None for anything else."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value).astimezone(UTC) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
        return max(seconds, 0.0)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def wait_told(said: str) -> float | None:
    """Seconds of `try again in 424 ms` and the like; None where nothing of the kind is said."""
    found = _WAIT.search(said)
    return float(found["figure"]) * _UNITS[found.lastgroup or "s"] if found else None


_MESSAGES = ("message", "detail", "error", "info", "msg", "description", "title", "code", "tag")


def said_in(body: bytes) -> str:
    """The service's own words in an error's body, on one line; '' for an HTML page or no words."""
    if looks_like_html(body):
        return ""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return plain(body[:2_000].decode("utf-8", "replace"), SAID_CHARS)
    return plain(" ".join(_messages(value, depth=3)), SAID_CHARS)


def _messages(value: object, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping) and depth:
        return [text for key in _MESSAGES if key in value for text in _messages(value[key], depth - 1)]
    return []
