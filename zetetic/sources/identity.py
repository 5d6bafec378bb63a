"""Identity of sources: of URLs (R6), of sites and works (D33), and of texts that are nearly the same (D33)."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import quote, unquote, urlsplit

import tldextract

from zetetic.state.independence import sketch_similarity

__all__ = ["canonical_url", "registrable_domain", "site_of", "sketch_similarity", "text_sketch", "work_identity"]

SHINGLE_WORDS = 5
SKETCH_HASHES = 256

# fmt: off
_TRACKING = frozenset((
    "__hsfp", "__hssc", "__hstc", "_branch_match_id", "_ga", "_gl", "_hsenc", "_hsmi", "_openstat", "at_campaign",
    "at_medium", "cmpid", "dclid", "epik", "fbclid", "ga_campaign", "ga_medium", "ga_source", "gbraid", "gclid",
    "gclsrc", "hsctatracking", "igsh", "igshid", "li_fat_id", "mc_cid", "mc_eid", "mkt_tok", "msclkid", "ncid",
    "oly_anon_id", "oly_enc_id", "pk_campaign", "pk_cid", "pk_content", "pk_keyword", "pk_kwd", "pk_medium",
    "pk_source", "rb_clickid", "ref_src", "ref_url", "s_cid", "smid", "spm", "srsltid", "ttclid", "twclid",
    "vero_conv", "vero_id", "wbraid", "wickedid", "yclid",
))
# fmt: on
_TRACKING_PREFIXES = ("utm_", "mtm_", "matomo_", "piwik_", "hsa_")
_ARXIV_HOSTS = frozenset({"arxiv.org", "export.arxiv.org", "ar5iv.org", "ar5iv.labs.arxiv.org"})
_ARXIV_ID = r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})"
_ARXIV_PATH = re.compile(rf"/(?:abs|pdf|html|ps|format)/({_ARXIV_ID})(?:v\d+)?(?:\.pdf)?", re.IGNORECASE)
_ARXIV_STAMP = re.compile(rf"arxiv:\s?({_ARXIV_ID})(?:v\d+)?", re.IGNORECASE)
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.({_ARXIV_ID})(?:v\d+)?", re.IGNORECASE)
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>?#&]+", re.IGNORECASE)
_MARKED_DOI = re.compile(r"(?:\bdoi(?:\.org/|:|\s)\s*)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
_HEAD_CHARACTERS = 3000

# Copies that caches and archives keep carry the address of the page in their own.
_KEPT_COPY = re.compile(
    r"https?://(?:web\.archive\.org/web/\w+/|(?:www\.)?google\.[a-z.]+/amp/|[\w-]+\.cdn\.ampproject\.org/[a-z](?=/))"
    r"/?(?P<secure>s/)?(?P<address>\S+)",
    re.IGNORECASE,
)
_ARXIV_MIRROR = re.compile(
    rf"https://(?:alphaxiv\.org/(?:abs|pdf|overview)|huggingface\.co/papers|arxiv-vanity\.com/papers)/({_ARXIV_ID})(?:v\d+)?"
)
_PREPRINT_FORM = re.compile(r"(10\.(?:1101|64898)/[\d.]+)v\d+(?:\.[a-z.-]+)?")

# With the private part of the list: two blogs on one host (foo.github.io, bar.github.io) are two sites.
_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(maxsize=1 << 16)
def canonical_url(url: str) -> str:
    """The one identity of a URL (R6). Idempotent; never raises; what is no web address comes back stripped.

    Folded: http and https, host case, `www.`, default ports, credentials, fragments, trailing and duplicate-dot path
    parts, percent-encoding, order of query parameters, tracking parameters, and every form of an arXiv or DOI address.
    Kept apart: everything else, `?id=1` and `?id=2` among it.
    """
    text = url.strip()
    if text.startswith("//"):
        text = "https:" + text
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if parts.scheme not in ("http", "https") or not host:
        return text
    host = _folded_host(host)
    if not host:
        return text
    path = _folded_path(parts.path)
    if host in _ARXIV_HOSTS and (found := _ARXIV_PATH.fullmatch(path)):
        return f"https://arxiv.org/abs/{found[1].lower()}"
    if host in ("doi.org", "dx.doi.org"):
        host, path = "doi.org", path.lower()
        if found := _ARXIV_DOI.fullmatch(path[1:]):
            return f"https://arxiv.org/abs/{found[1]}"
    if ":" in host:
        host = f"[{host}]"
    if port is not None and port not in (80, 443):
        host = f"{host}:{port}"
    query = _folded_query(parts.query)
    return f"https://{host}{path}" + (f"?{query}" if query else "")


def _folded_host(host: str) -> str:
    host = unicodedata.normalize("NFKC", host).lower().strip(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            host = quote(host).lower()
    if any(character in host for character in "/?#@\\ "):
        return ""
    while host.startswith("www.") and host.count(".") > 1:
        host = host.removeprefix("www.")
    return host


def _folded_path(path: str) -> str:
    folded = _recoded(path, "/:@!$&'()*+,;=~")
    if "/." in folded:
        folded = posixpath.normpath("/" + folded.lstrip("/"))
    folded = folded.rstrip("/")
    return folded if not folded or folded.startswith("/") else "/" + folded


def _folded_query(query: str) -> str:
    kept = []
    for pair in query.split("&"):
        name = unquote(pair.partition("=")[0]).strip().lower()
        if pair and name not in _TRACKING and not name.startswith(_TRACKING_PREFIXES):
            kept.append(_recoded(pair.replace("+", "%20"), "=/:@!$'()*,;~?"))
    return "&".join(sorted(kept))


def _recoded(text: str, safe: str) -> str:
    """One spelling for what may be percent-encoded or not; an encoded delimiter stays encoded."""

    def spelled(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character.isascii() and (character.isalnum() or character in "-._~") else found[0].upper()

    once = re.sub(r"%([0-9A-Fa-f]{2})", spelled, text)
    return quote(once, safe=safe + "%", errors="replace")


@lru_cache(maxsize=4096)
def registrable_domain(url: str) -> str:
    """The site a URL belongs to, as the unit of independence (D33): `news.bbc.co.uk` → `bbc.co.uk`. Offline.

    Under a suffix that the public suffix list lacks (`.example`) the last two labels; an IP address, `localhost` and a
    bare suffix as they are; empty for what has no host. A copy in an archive or cache belongs to the site it copies.
    """
    url = _copied_address(url.strip())
    if url.lower().startswith(("file:", "mailto:", "data:", "javascript:")):
        return ""
    try:
        parts = urlsplit(url if "//" in url else "//" + url)
        host = parts.hostname
    except ValueError:
        return ""
    if not host or (parts.scheme and parts.scheme not in ("http", "https")):
        return ""
    host = _folded_host(host)
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    found = _suffixes(host)
    if found.suffix and found.domain:
        return f"{found.domain}.{found.suffix}"
    return host if found.suffix else ".".join(host.split(".")[-2:])


def site_of(address: str) -> str:
    """The site of a page as its final address alone says it: `registrable_domain`, or `local:…` for a file that
    declares no url, the files behind a query, and a text that a tool found (D33); '' where the address does not say.
    """
    scheme, _, rest = address.partition(":")
    match scheme.lower():
        case "http" | "https":
            return registrable_domain(address)
        case "file":
            return f"local:{unquote(rest)}"
        case "query":
            return " + ".join(f"local:{unquote(file)}" for file in rest.partition("@")[2].split("+"))
        case "tool":
            return "local:" + "/".join(unquote(part) for part in rest.split("/")[:2])
        case _:
            return ""


def _copied_address(url: str) -> str:
    """The address of the page that an archive's or a cache's address leads to; any other address as it is."""
    found = _KEPT_COPY.fullmatch(url)
    if not found:
        return url
    address = found["address"]
    if address.lower().startswith(("http://", "https://")):
        return address
    return f"https://{address}" if "." in address.partition("/")[0] else url


def work_identity(url: str, text: str, canonical_link: str | None = None) -> str:
    """The work behind a page (D33): `arxiv:…`, `doi:…`, else `canonical:…`, or '' for a local text that names nothing.

    A DOI or arXiv id counts when it stands in one of the addresses, or when it is the only one marked as such
    (`doi:`, `arXiv:`) in the first 3,000 characters of the text: a paper names itself there, and so does a report on
    it. A bibliography further down does not count. Where the publisher declares no canonical link, the work is the
    page's own address, so that a syndicated copy pointing at it is the same work.
    """
    addresses = [canonical_url(_copied_address(address.strip())) for address in (url, canonical_link) if address]
    for address in addresses:
        parts = urlsplit(address)
        if named := _work_in_address(address, parts.path) or _work_in_address(address, parts.query):
            return named
    head = text[:_HEAD_CHARACTERS]
    dois = {_doi_work(found) for found in _MARKED_DOI.findall(head)}
    arxiv = {f"arxiv:{found.lower()}" for found in _ARXIV_STAMP.findall(head)} | {d for d in dois if d[0] == "a"}
    dois -= arxiv
    for named_works in (arxiv, dois):
        if len(named_works) == 1:
            return named_works.pop()
    web = [address for address in addresses if address.startswith("https://")]
    return f"canonical:{web[-1]}" if web else ""


def _work_in_address(address: str, part: str) -> str:
    if address.startswith("https://arxiv.org/abs/"):
        return "arxiv:" + address.removeprefix("https://arxiv.org/abs/")
    if mirrored := _ARXIV_MIRROR.fullmatch(address):
        return f"arxiv:{mirrored[1]}"
    found = _DOI.search(unquote(part))
    return _doi_work(found[0]) if found else ""


def _doi_work(doi: str) -> str:
    bare = doi.lower().rstrip(".,;:)]}'/").removesuffix(".pdf")
    for suffix in ("/full", "/abstract", "/pdf", "/epdf", "/html", "/fulltext"):
        bare = bare.removesuffix(suffix)
    if preprint := _PREPRINT_FORM.fullmatch(bare):
        bare = preprint[1]
    found = _ARXIV_DOI.fullmatch(bare)
    return f"arxiv:{found[1]}" if found else f"doi:{bare}"


# Scripts written without spaces count a character as a word, else a paragraph would be one word.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])(?:[-\u2010]\s*\n\s*|\u00ad\s*)(?=[^\W\d_])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


def text_sketch(text: str) -> tuple[int, ...]:
    """A FracMinHash of the text's word 5-shingles: (log2 of the scale, then at most 256 ascending 32-bit hashes).

    Hashes below 2**32 / scale are kept. Case, punctuation, ligatures and hyphenation at line ends do not count.
    Deterministic on every machine. A text of fewer than five words is one shingle; without words it is (0,).
    """
    whole = _INVISIBLE.sub("", _BROKEN_WORD.sub("", text))
    words = [word.encode() for word in _WORD.findall(unicodedata.normalize("NFKC", whole).casefold())]
    if not words:
        return (0,)
    last = max(len(words) - SHINGLE_WORDS, 0)
    shingles = {b" ".join(words[start : start + SHINGLE_WORDS]) for start in range(last + 1)}
    hashes = sorted({int.from_bytes(blake2b(shingle, digest_size=4).digest()) for shingle in shingles})
    scale = 0
    while len(hashes) > SKETCH_HASHES:
        scale += 1
        limit = 1 << (32 - scale)
        hashes = [value for value in hashes if value < limit]
    return (scale, *hashes)
