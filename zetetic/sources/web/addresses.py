"""Which addresses may be connected to: public ones, and those that the user named. Pure.

The judgement is made on the number that a connection would go to, so that no spelling of a name, no redirect and no
answer of a name server can get around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What is special about a network, in the words of a refusal. Metadata services that have a number outside the private
# ranges stand here by it.
_IPV4 = tuple(
    (IPv4Network(network), words)
    for network, words in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a provider's internal address"),
        ("127.0.0.0/8", "a loopback address"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "a link-local address, where clouds keep their metadata service"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "an address reserved for protocols"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "an address of 6to4 relays"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_IPV6 = tuple(
    (IPv6Network(network), words)
    for network, words in (
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("::/96", "an IPv4 address in an abandoned notation"),
        ("::ffff:0:0/96", "an IPv4 address in IPv6 notation"),
        ("::ffff:0:0:0/96", "an IPv4 address in IPv6 notation"),
        ("64:ff9b:1::/48", "an address of a local translator"),
        ("100::/64", "an address that discards what it gets"),
        ("2001::/32", "an IPv4 address in a Teredo tunnel"),
        ("2001::/23", "an address reserved for protocols"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "an IPv4 address in a 6to4 tunnel"),
        ("3fff::/20", "an address for documentation"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
_TRANSLATED = IPv6Network("64:ff9b::/96")
_PUBLIC_IPV6 = IPv6Network("2000::/3")

# Below 1024 only the web's own ports; above, not those on which something else than HTTP listens that acts on what it
# is sent (the list of the WHATWG Fetch Standard).
WEB_PORTS = frozenset({80, 443})
OTHER_PROTOCOLS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)


def special_kind(address: Address) -> str:
    """What keeps an address from being a public one, as words such as `a loopback address`; '' for a public one.

    The well-known translation of a public IPv4 address (64:ff9b::/96) is public, since networks without IPv4 reach
    the web by it; every other way to write an IPv4 address in IPv6 is refused, whatever it holds.
    """
    if isinstance(address, IPv4Address):
        found = next((words for network, words in _IPV4 if address in network), "")
        return found or ("" if address.is_global else "an address that is not public")
    if address.scope_id is not None:
        return "an address of one network interface"
    if address in _TRANSLATED:
        return special_kind(IPv4Address(int(address) & 0xFFFFFFFF))
    if found := next((words for network, words in _IPV6 if address in network), ""):
        return found
    if address not in _PUBLIC_IPV6 or not address.is_global:
        return "an address that is not public"
    if int(address) >> 32 & 0xFDFFFFFF == 0x5EFE:  # ISATAP: the last 32 bits are an IPv4 address
        return special_kind(IPv4Address(int(address) & 0xFFFFFFFF))
    return ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Something the user lets be reached although it is not public: a network or a name, on one port or on any."""

    network: Network | None
    name: str
    port: int | None

    @classmethod
    def parsed(cls, text: str) -> Allowed:
        """Of `127.0.0.1:8123`, `10.0.0.0/8`, `[::1]:8123`, `fd00::/8` or `wiki.corp:8080`. Raises ValueError."""
        entry = text.strip()
        host, port = entry, None
        if found := re.fullmatch(r"\[([^\[\]]+)\](?::(\d+))?|([^:]+):(\d+)", entry):
            host = found[1] or found[3]
            digits = found[2] or found[4]
            port = int(digits) if digits else None
        if port is not None and not 0 < port < 65536:
            raise ValueError(f"{text!r} has no port between 1 and 65535.")
        try:
            return cls(ip_network(host, strict=False), "", port)
        except ValueError:
            pass
        if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", host) or written_as_number(host):
            raise ValueError(
                f"{text!r} is no address that can be allowed: give one such as 127.0.0.1:8080, 10.0.0.0/8 or "
                "wiki.corp:8080, without http://."
            )
        return cls(None, bare_host(host), port)

    def covers(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to `address`, found under the name `host`, is let through."""
        if self.port is not None and self.port != port:
            return False
        if self.network is None:
            return bare_host(host) == self.name
        return address in self.network


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """Says of each connection why it may not be made. `allow` is read by `Allowed.parsed`, which see."""

    allowed: tuple[Allowed, ...] = ()

    @classmethod
    def of(cls, allow: Iterable[str] = ()) -> AddressGuard:
        """The guard with these exceptions. Raises ValueError with a sentence for one that cannot be read."""
        return cls(tuple(Allowed.parsed(entry) for entry in allow))

    def refusal(self, host: str, port: int, addresses: Sequence[str]) -> str:
        """Why `host:port`, found at these numbers, may not be reached, as a sentence; '' if it may.

        One bad number is enough.
        """
        for number in addresses:
            try:
                address = ip_address(number)
            except ValueError:
                return f"{host} leads to {number[:80]!r}, which is no address."
            if any(entry.covers(host, port, address) for entry in self.allowed):
                continue
            if kind := special_kind(address):
                found = "" if bare_host(host) == number else f", at {number},"
                return f"{host}{found} is {kind}, not one of the public web."
            if port < 1024 and port not in WEB_PORTS:
                return f"Port {port} is not one of the web: only 80, 443 and ports from 1024 are used."
            if port in OTHER_PROTOCOLS:
                return f"Port {port} belongs to another protocol than HTTP."
        return ""


def bare_host(host: str) -> str:
    """A host in lower case, without brackets and a final dot."""
    return host.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def literal(host: str) -> str:
    """The number in a host that is one in its standard notation, else ''."""
    bare = bare_host(host)
    try:
        return str(ip_address(bare))
    except ValueError:
        return ""


def written_as_number(host: str) -> bool:
    """Whether a host would be read as an IPv4 number by some program and not by others: `2130706433`, `0x7f.1`.

    Its last part is a decimal or hexadecimal number, as that of no name is.
    """
    bare = bare_host(host)
    last = bare.rpartition(".")[2]
    return bool(re.fullmatch(r"\d+|0x[0-9a-f]*", last)) and not literal(host)
