"""Bodies within bounds: as they come, and with their content coding undone (case 28)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import httpx

ACCEPTED = "gzip, deflate"
"""What a request accepts: what can be undone in bounds with the standard library. Every server has gzip."""

HEAD_BYTES = 4096
"""Of a body that `read_body` shows before the rest has come."""


class DecodingError(Exception):
    """A body that cannot be decoded; the message is a sentence."""


class BodyTooLargeError(DecodingError):
    """A body over the cap."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The page is larger than {limit:,} bytes.")


async def read_body(answer: httpx.Response, limit: int, look: Callable[[bytes], None] | None = None) -> bytes:
    """The body as it was sent. Raises BodyTooLargeError as soon as it is known to be over `limit` bytes.

    `look` is called once, with the first 4,096 bytes or what there is, and may raise to end the reading.
    """
    declared = answer.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise BodyTooLargeError(limit)
    body = bytearray()
    async for part in answer.aiter_raw():
        body += part
        if len(body) > limit:
            raise BodyTooLargeError(limit)
        if look is not None and len(body) >= HEAD_BYTES:
            look(bytes(body))
            look = None
    if look is not None:
        look(bytes(body))
    return bytes(body)


def codings(header: str) -> Sequence[str]:
    """The codings that a Content-Encoding header names, in the order in which they were applied."""
    named = [name.strip().lower() for name in header.split(",")]
    return [name for name in named if name and name not in ("identity", "none", "utf-8")]


def decoded(body: bytes, header: str, limit: int) -> bytes:
    """The body without its codings, at most `limit` bytes. Raises DecodingError, BodyTooLargeError. CPU bound.

    A body that says gzip and is not is given as it is: servers that label a file by its name are common.
    """
    applied = codings(header)
    if len(applied) > 2:
        raise DecodingError("The page is compressed more than twice over.")
    for name in reversed(applied):
        if name in ("gzip", "x-gzip"):
            body = _gzip(body, limit) if body.startswith(b"\x1f\x8b") else body
        elif name == "deflate":
            body = _deflate(body, limit)
        else:
            raise DecodingError(f"The page comes in the coding {name[:40]!r}, which was not asked for.")
    if len(body) > limit:
        raise BodyTooLargeError(limit)
    return body


def _gzip(body: bytes, limit: int) -> bytes:
    """All members of a gzip file; what follows the last one is passed over."""
    whole = bytearray()
    while body.startswith(b"\x1f\x8b"):
        data, body = _inflated(body, 16 + zlib.MAX_WBITS, limit - len(whole), limit)
        whole += data
    return bytes(whole)


def _deflate(body: bytes, limit: int) -> bytes:
    """zlib's format, or the bare one that some servers send under this name."""
    try:
        return _inflated(body, zlib.MAX_WBITS, limit, limit)[0]
    except BodyTooLargeError:
        raise
    except DecodingError:
        return _inflated(body, -zlib.MAX_WBITS, limit, limit)[0]


def _inflated(body: bytes, window: int, left: int, limit: int) -> tuple[bytes, bytes]:
    machine = zlib.decompressobj(window)
    try:
        data = machine.decompress(body, left + 1)
    except zlib.error as error:
        raise DecodingError(f"The page's compression is broken: {error}.") from None
    if len(data) > left:
        raise BodyTooLargeError(limit)
    if not machine.eof:
        raise DecodingError("The page's compression is broken: it ends before its end.")
    return data, machine.unused_data
