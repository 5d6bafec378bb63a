"""Reading the web: connections that are judged where they are made, pages that are fetched within bounds."""

from zetetic.sources.web.addresses import AddressGuard
from zetetic.sources.web.caps import Caps
from zetetic.sources.web.client import USER_AGENT, guarded_client
from zetetic.sources.web.combined import CombinedFetcher
from zetetic.sources.web.fetcher import WebFetcher
from zetetic.sources.web.transport import AddressRefusedError, GuardedTransport

__all__ = [
    "USER_AGENT",
    "AddressGuard",
    "AddressRefusedError",
    "Caps",
    "CombinedFetcher",
    "GuardedTransport",
    "WebFetcher",
    "guarded_client",
]
