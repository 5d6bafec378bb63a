"""No request reaches an address inside, however it is asked for. Nothing in here leaves the machine: see `Wire`."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sources.web.loopback import Loopback, Wire, answer, article, moved

from zetetic.sources import FetchFailure, Page
from zetetic.sources.web import AddressRefusedError, WebFetcher, guarded_client
from zetetic.sources.web.transport import AddressGuard, GuardedBackend, system_resolve

PUBLIC = "93.184.215.14"
INSIDE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2001:0:1:1:1:1:80ff:fffe",
    "2002:7f00:1::1",
    "fd00:ec2::254",
    "fe80::1%eth0",
    "ff02::1",
]


async def fetched(wire: Wire, url: str, allow: tuple[str, ...] = ()) -> Page | FetchFailure:
    async with WebFetcher(allow=allow, robots=False, resolve=wire.resolve, connect=wire.connect) as web:
        return await web.fetch(url)


def refused(got: Page | FetchFailure) -> str:
    assert isinstance(got, FetchFailure)
    assert got.kind == "refused", got
    return got.message


@pytest.mark.parametrize("number", INSIDE)
async def test_a_name_that_leads_inside_is_refused_before_anything_is_sent(number: str) -> None:
    wire = Wire({"site.example": [number]})
    assert "not one of the public web" in refused(await fetched(wire, "http://site.example/"))
    assert wire.asked == []


@pytest.mark.parametrize("number", INSIDE)
async def test_a_name_with_a_public_and_an_inner_number_is_refused(number: str) -> None:
    wire = Wire({"site.example": [PUBLIC, number]})
    refused(await fetched(wire, "https://site.example/"))
    assert wire.asked == []


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1.", "127.0.0.1:22", "169.254.169.254", "0", "127.1", "2130706433", "0x7f000001"),
        *("0x7f.1", "0177.0.0.1", "127。0。0。1", "127．0．0．1", "①②⑦.0.0.1", "１２７.0.0.1", "%31%32%37.0.0.1"),
        *("[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[::]"),
        *("[fd00:ec2::254]", "[fe80::1%25eth0]"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_number_inside_is_refused_in_every_notation(scheme: str, host: str) -> None:
    wire = Wire()
    async with WebFetcher(robots=False, resolve=system_resolve, connect=wire.connect) as web:
        refused(await web.fetch(f"{scheme}://{host}/latest/meta-data/"))
    assert wire.asked == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST"])
async def test_the_machines_own_name_is_refused(host: str) -> None:
    wire = Wire()
    async with WebFetcher(robots=False, resolve=system_resolve, connect=wire.connect) as web:
        assert "loopback" in refused(await web.fetch(f"http://{host}:8080/"))
    assert wire.asked == []


@pytest.mark.parametrize(
    "target",
    [
        *("http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://inside.example/", "//127.0.0.1/"),
        *("http://2130706433/", "https://0x7f.1/", "http://user:word@site.example/", "http://site.example:22/"),
        *("file:///etc/passwd", "data:text/html,x", "ftp://site.example/x", "javascript:alert(1)"),
        "gopher://127.0.0.1:6379/",
    ],
)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_no_redirect_leads_inside_or_out_of_the_web(status: str, target: str) -> None:
    async with Loopback({"/": moved(target, status)}) as site:
        wire = Wire({"site.example": [PUBLIC], "inside.example": ["10.0.0.1"]}, {(PUBLIC, 80): site.port})
        refused(await fetched(wire, "http://site.example/"))
    assert wire.asked == [(PUBLIC, 80)]


async def test_a_name_that_changes_between_check_and_use_changes_nothing() -> None:
    async with Loopback({"/": answer(article())}) as site:
        wire = Wire({"site.example": [[PUBLIC], ["127.0.0.1"]]}, {(PUBLIC, 80): site.port})
        async with WebFetcher(robots=False, resolve=wire.resolve, connect=wire.connect) as web:
            assert isinstance(await web.fetch("http://site.example/"), Page)
            assert wire.looked_up == ["site.example"]  # once: there is no second answer to be misled by
            assert "loopback" in refused(await web.fetch("http://site.example/"))
    assert wire.asked == [(PUBLIC, 80)]


async def test_the_next_number_is_tried_where_the_first_does_not_answer() -> None:
    async with Loopback({"/": answer(article())}) as site:
        wire = Wire({"site.example": ["2606:4700::1111", PUBLIC]}, {(PUBLIC, 80): site.port})
        assert isinstance(await fetched(wire, "http://site.example/"), Page)
    assert wire.asked == [("2606:4700::1111", 80), (PUBLIC, 80)]


async def test_proxy_settings_of_the_environment_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Loopback({"/": answer(article())}) as site, Loopback({}) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
            monkeypatch.setenv(name.lower(), proxy.url())
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,.internal")
        wire = Wire({"site.example": [PUBLIC]}, {(PUBLIC, 80): site.port})
        assert isinstance(await fetched(wire, "http://site.example/"), Page)
        refused(await fetched(wire, "http://127.0.0.1/"))
        async with guarded_client(timeout=5, resolve=wire.resolve, connect=wire.connect) as client:
            assert (await client.get("http://site.example/")).status_code == 200
            with pytest.raises(AddressRefusedError):
                await client.get("http://127.0.0.1:80/")
        assert (proxy.paths, site.paths) == ([], ["/", "/"])
    assert wire.asked == [(PUBLIC, 80), (PUBLIC, 80)]


async def test_what_the_user_allows_is_reached_and_nothing_beside_it() -> None:
    async with Loopback({"/": answer(article())}) as site, Loopback({"/": answer(article())}) as other:
        wire = Wire({"wiki.corp": ["127.0.0.1"]})
        assert isinstance(await fetched(wire, site.url(), site.allow), Page)
        assert isinstance(await fetched(wire, f"http://wiki.corp:{site.port}/", (f"wiki.corp:{site.port}",)), Page)
        refused(await fetched(wire, other.url(), site.allow))
        assert other.paths == []


async def test_sockets_of_the_machine_are_not_opened(tmp_path: Path) -> None:
    wire = Wire()
    backend = GuardedBackend(AddressGuard(), wire.resolve, wire.connect)
    with pytest.raises(AddressRefusedError):
        await backend.connect_unix_socket(str(tmp_path / "docker.sock"))


async def test_an_address_that_holds_a_password_is_not_asked_for() -> None:
    wire = Wire({"site.example": [PUBLIC]})
    assert "password" in refused(await fetched(wire, "http://ann:secret@site.example/"))
    assert (wire.looked_up, wire.asked) == ([], [])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "site.example",
        "http://",
        "http:///x",
        "http://a b/",
        "http://[::1",
        "\x00",
        "http://x:0/",
        "http://x:70000/",
    ],
)
async def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    wire = Wire()
    refused(await fetched(wire, url))
    assert (wire.looked_up, wire.asked) == ([], [])


# TLS


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for these names, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the test's own")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


async def test_the_certificate_is_that_of_the_name_not_of_the_number(tmp_path: Path) -> None:
    server, trust = certificate(tmp_path, "site.example")
    asked_for: list[str | None] = []
    server.sni_callback = lambda _, name, __: asked_for.append(name)
    async with Loopback({"/": answer(article())}, tls=server) as site:
        wire = Wire({"site.example": [PUBLIC], "other.example": [PUBLIC]}, {(PUBLIC, 443): site.port})
        async with WebFetcher(robots=False, resolve=wire.resolve, connect=wire.connect, tls=trust) as web:
            assert isinstance(await web.fetch("https://site.example/"), Page)
            wrong = await web.fetch("https://other.example/")
    assert asked_for == ["site.example", "other.example"]
    assert "\r\nhost: site.example\r\n" in site.heads[0].lower()
    assert isinstance(wrong, FetchFailure)
    assert wrong.message.startswith("There is no secure connection to other.example: ")


async def test_an_unknown_certificate_is_not_trusted(tmp_path: Path) -> None:
    server, _ = certificate(tmp_path, "site.example")
    async with Loopback({"/": answer(article())}, tls=server) as site:
        wire = Wire({"site.example": [PUBLIC]}, {(PUBLIC, 443): site.port})
        got = await fetched(wire, "https://site.example/")
    assert isinstance(got, FetchFailure)
    assert (got.kind, site.paths) == ("unreadable", [])


# the client for APIs


async def test_an_api_is_called_over_the_same_guard() -> None:
    routes = {"/": answer('{"a": 1}', "application/json"), "/to": moved("http://10.0.0.1/")}
    async with Loopback(routes) as site, guarded_client(timeout=5, allow=site.allow) as client:
        assert (await client.get(site.url())).json() == {"a": 1}
        assert (await client.get(site.url("/to"))).status_code == 302
        with pytest.raises(httpx.ConnectError, match="loopback"):
            await client.get("http://127.0.0.1:1/")
    assert "zetetic/" in site.heads[0]
