"""What one fetch may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of one fetch (case 28). Times in seconds, sizes in bytes; together they stay below `tool_seconds`."""

    redirects: int = 10
    body_bytes: int = 30_000_000
    """Of a body as it is sent."""
    decoded_bytes: int = 60_000_000
    """Of a body without its content coding."""
    markup_bytes: int = 10_000_000
    """Of a body that is to be read as HTML or text: what reading it costs grows with its size."""
    connect_seconds: float = 10.0
    idle_seconds: float = 15.0
    """Without a byte."""
    total_seconds: float = 40.0
    """From the first request to the last byte, redirects and waiting for one's turn included."""
    extract_seconds: float = 15.0
    retry_after_seconds: float = 10.0
    """The longest wait that a 429 or 503 may ask for, once."""
    side_by_side: int = 2
    """Requests to one host at a time."""
    pause_seconds: float = 0.2
    """Between the starts of two requests to one host."""
    crawl_delay_seconds: float = 5.0
    """The longest pause that a robots.txt may ask for."""
    robots_bytes: int = 1_000_000
    robots_seconds: float = 10.0
    robots_retry_seconds: float = 60.0
    """How long a robots.txt that could not be read is taken to be unreadable."""
    hosts_remembered: int = 1_000
