import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.sources.web.addresses import AddressGuard, Allowed, special_kind, written_as_number

SPECIAL = [
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("10.1.2.3", "private"),
    ("100.64.0.1", "provider's internal"),
    ("100.100.100.200", "provider's internal"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("168.63.129.16", "metadata"),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "link-local"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.192", "reserved for protocols"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "6to4"),
    ("192.168.1.1", "private"),
    ("198.18.0.1", "benchmarks"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.9", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::7f00:1", "abandoned notation"),
    ("::ffff:127.0.0.1", "IPv6 notation"),
    ("::ffff:8.8.8.8", "IPv6 notation"),
    ("::ffff:0:127.0.0.1", "IPv6 notation"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::808:808", "local translator"),
    ("100::1", "discards"),
    ("2001::1", "Teredo"),
    ("2001:0:53aa:64c::", "Teredo"),
    ("2001:10::1", "reserved for protocols"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "6to4"),
    ("2002:808:808::1", "6to4"),
    ("3fff::1", "documentation"),
    ("4000::1", "not public"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "private"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "network interface"),
    ("2606:4700::1111%1", "network interface"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
    ("2600:1::5efe:10.0.0.1", "private"),
    ("2600:1::200:5efe:7f00:1", "loopback"),
]


@pytest.mark.parametrize(("number", "words"), SPECIAL)
def test_an_address_that_is_not_public_is_named_for_what_it_is(number: str, words: str) -> None:
    assert words in special_kind(ipaddress.ip_address(number))


@pytest.mark.parametrize(
    "number",
    [
        *("8.8.8.8", "1.1.1.1", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.32.0.1", "223.255.255.255"),
        *("2606:4700:4700::1111", "2a00:1450:4001:82b::200e", "2001:4860:4860::8888", "64:ff9b::808:808"),
    ],
)
def test_a_public_address_is_public(number: str) -> None:
    assert special_kind(ipaddress.ip_address(number)) == ""


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_that_the_registry_calls_special_is_public(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert special_kind(address) != ""


@given(st.ip_addresses(v=6))
def test_no_ipv6_address_that_the_registry_calls_special_is_public(address: ipaddress.IPv6Address) -> None:
    translated = address in ipaddress.ip_network("64:ff9b::/96")  # in a reserved range, and public by its own RFC
    reserved = address.is_reserved and not translated
    if not address.is_global or address.is_multicast or reserved or address.is_site_local:
        assert special_kind(address) != ""


# Hypothesis alone seldom hits a small network: it is sent there.
@given(
    st.sampled_from(
        ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
    ),
    st.integers(0, 2**32 - 1),
)
def test_no_form_of_an_inner_ipv4_address_is_public(network: str, number: int) -> None:
    inner = ipaddress.ip_network(network)
    address = inner[number % inner.num_addresses]
    value = int(address)
    forms = [
        address,
        ipaddress.IPv6Address(value),
        ipaddress.IPv6Address(0xFFFF << 32 | value),
        ipaddress.IPv6Address(0xFFFF << 48 | value),
        ipaddress.IPv6Address(0x64FF9B << 96 | value),
        ipaddress.IPv6Address(0x64FF9B0001 << 80 | value),
        ipaddress.IPv6Address(0x2002 << 112 | value << 80),
        ipaddress.IPv6Address(0x20010000 << 96 | value ^ 0xFFFFFFFF),
        ipaddress.IPv6Address(0x2600 << 112 | 0x5EFE << 32 | value),
    ]
    assert [form for form in forms if special_kind(form) == ""] == []


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "017700000001", "127.0.0.0x1"),
        *("1.2.3.4.5", "0x", "256.256.256.256", "127.0.0.1.2."),
    ],
)
def test_a_number_in_another_notation_is_recognised(host: str) -> None:
    assert written_as_number(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1.", "[::1]", "3.example", "x.y1", "a.0xyz"])
def test_a_plain_number_and_a_name_are_no_other_notation(host: str) -> None:
    assert not written_as_number(host)


# the guard


def test_one_bad_number_is_enough() -> None:
    why = AddressGuard().refusal("site.example", 443, ["8.8.8.8", "10.0.0.1"])
    assert why == "site.example, at 10.0.0.1, is a private address, not one of the public web."


def test_what_is_no_address_is_not_reached() -> None:
    assert "no address" in AddressGuard().refusal("site.example", 443, ["eight"])


@pytest.mark.parametrize(("port", "reached"), [(80, True), (443, True), (8080, True), (22, False), (6667, False)])
def test_a_page_is_read_from_ports_of_the_web(port: int, reached: bool) -> None:
    assert (AddressGuard().refusal("site.example", port, ["8.8.8.8"]) == "") is reached


@pytest.mark.parametrize(
    ("entry", "host", "port", "number", "reached"),
    [
        ("127.0.0.1:8123", "127.0.0.1", 8123, "127.0.0.1", True),
        ("127.0.0.1:8123", "any.example", 8123, "127.0.0.1", True),
        ("127.0.0.1:8123", "127.0.0.1", 8124, "127.0.0.1", False),
        ("127.0.0.1:8123", "127.0.0.2", 8123, "127.0.0.2", False),
        ("127.0.0.1:8123", "::ffff:127.0.0.1", 8123, "::ffff:127.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", 22, "127.0.0.1", True),
        ("10.0.0.0/8", "10.1.2.3", 80, "10.1.2.3", True),
        ("10.0.0.0/8:80", "10.1.2.3", 81, "10.1.2.3", False),
        ("[::1]:8123", "::1", 8123, "::1", True),
        ("::1", "::1", 8123, "::1", True),
        ("fd00::/8", "fd00::5", 443, "fd00::5", True),
        ("wiki.corp", "WIKI.corp.", 443, "10.9.9.9", True),
        ("wiki.corp:8080", "wiki.corp", 8080, "10.9.9.9", True),
        ("wiki.corp:8080", "wiki.corp", 80, "10.9.9.9", False),
        ("wiki.corp", "evil.wiki.corp", 443, "10.9.9.9", False),
    ],
)
def test_the_user_can_allow_an_address(entry: str, host: str, port: int, number: str, reached: bool) -> None:
    assert (AddressGuard.of([entry]).refusal(host, port, [number]) == "") is reached


@pytest.mark.parametrize("entry", ["", "http://127.0.0.1:80", "127.0.0.1:0", "x:99999", "0x7f.1", "a b", "10.0.0.0/99"])
def test_what_names_no_address_is_said_to_name_none(entry: str) -> None:
    with pytest.raises(ValueError, match=r"port between|no address that can be allowed"):
        Allowed.parsed(entry)
