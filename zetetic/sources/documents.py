"""A folder of the user's documents: read once, searched by full text, fetched by url or path."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote, urldefrag, urlsplit

from pydantic import BaseModel, ConfigDict

from zetetic.sources.extraction import Extracted, ExtractionFailure, extract
from zetetic.sources.fulltext import FullText, best_passage, content_words
from zetetic.sources.identity import canonical_url, registrable_domain, text_sketch, work_identity
from zetetic.sources.media_types import BY_SUFFIX
from zetetic.sources.pages import FetchFailure, Page, text_sha256
from zetetic.sources.search import Hit, SearchResult, SearchStatus

SUFFIXES = frozenset(BY_SUFFIX) - {".xhtml"}
MAX_DOCUMENT_BYTES = 100_000_000
REMEMBERED_READINGS = 2_000


class DocumentsError(Exception):
    """A documents folder that cannot be used; the message says what to do."""


class Holdings(BaseModel):
    """What a folder holds at most: the gate's source and domain counts fall to it (D42)."""

    model_config = ConfigDict(frozen=True)

    sources: int
    domains: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file's extraction with what is computed from it."""

    extracted: Extracted
    sketch: tuple[int, ...]
    sha256: str


class _Readings:
    """Files read in this process, by (path, mtime, size): a folder opened again is not extracted again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], _Reading | ExtractionFailure] = OrderedDict()

    def of(self, path: Path) -> _Reading | ExtractionFailure:
        """The reading of a file. Raises OSError."""
        facts = path.stat()
        if facts.st_size > MAX_DOCUMENT_BYTES:
            size = f"{facts.st_size:,} bytes, more than {MAX_DOCUMENT_BYTES:,}"
            return ExtractionFailure(kind="unsupported", message=f"The file is too large ({size}).")
        key = (str(path), facts.st_mtime_ns, facts.st_size)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        reading = _read(path)
        with self._lock:
            self._kept[key] = reading
            while len(self._kept) > REMEMBERED_READINGS:
                self._kept.popitem(last=False)
        return reading


def _read(path: Path) -> _Reading | ExtractionFailure:
    found = extract(path.read_bytes(), url="", declared_type=None, filename=path.name)
    if isinstance(found, ExtractionFailure):
        return found
    return _Reading(found, text_sketch(found.text), text_sha256(found.text))


_readings = _Readings()


class DocumentFolder:
    """The documents of a folder, as a search provider and a fetcher.

    A document's url is the one it declares, else `file:<relative path>`. Two files that declare what R6 folds into one
    URL stay two documents: their `canonical` keeps the fragment, or takes the path as one where even that is equal.
    """

    name = "documents"

    def __init__(self, root: Path, documents: Sequence[Page], unreadable: Sequence[tuple[str, str]]) -> None:
        """Of documents already read: use `open`."""
        self.root = root
        self.documents = tuple(documents)
        self.unreadable = tuple(unreadable)
        """(relative path, reason) of each file that could not be read."""
        self._index = FullText((page.title, page.text) for page in documents)
        self._places = _places(documents, root)

    @classmethod
    async def open(cls, path: str | os.PathLike[str], *, may_be_empty: bool = False) -> DocumentFolder:
        """Read a folder: .html .htm .pdf .md .markdown .txt .docx, in its subfolders too, in order of path.

        Hidden files and links out of the folder are passed over. Raises DocumentsError when the folder is missing, is a
        file, or holds no document that can be read and may not be empty of them.
        """
        return await asyncio.to_thread(cls._opened, Path(path), may_be_empty)

    @classmethod
    def _opened(cls, path: Path, may_be_empty: bool) -> DocumentFolder:
        path = path.expanduser()
        if not path.exists():
            raise DocumentsError(f"The documents folder {path} does not exist: give the path of a folder.")
        if not path.is_dir():
            raise DocumentsError(f"{path} is a file: give the folder that holds the documents, such as {path.parent}.")
        root = path.resolve()
        read: list[tuple[str, _Reading]] = []
        unreadable: list[tuple[str, str]] = []
        for relative in _files(root):
            if relative != (readable := os.fsencode(relative).decode("utf-8", "replace")):
                unreadable.append((readable, "Its name is no UTF-8: rename the file."))
                continue
            try:
                reading = _readings.of(root / relative)
            except OSError as error:
                unreadable.append((relative, f"The file could not be opened: {error.strerror or error}."))
                continue
            if isinstance(reading, ExtractionFailure):
                unreadable.append((relative, reading.message))
            else:
                read.append((relative, reading))
        if not read and not may_be_empty:
            raise DocumentsError(_nothing_to_read(path, unreadable))
        return cls(root, _pages(read, root), unreadable)

    @property
    def holdings(self) -> Holdings:
        """How many sources and domains there are to find here (D42)."""
        return Holdings(sources=len(self.documents), domains=len({page.domain for page in self.documents}))

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """The documents with any content word of the query, by bm25; each snippet stands verbatim in its text."""
        return await asyncio.to_thread(self._search, query, limit)

    def _search(self, query: str, limit: int) -> SearchResult:
        words = content_words(query)
        if not words:
            detail = "The query holds no word to search for."
            return SearchResult(provider=self.name, status=SearchStatus.NO_RESULTS, detail=detail)
        try:
            found = self._index.ranked(words, max(limit, 0))
            weights = self._index.weights(words) if found else {}
        except ValueError:
            detail = "The documents folder is closed."
            return SearchResult(provider=self.name, status=SearchStatus.FAILED, detail=detail)
        if not found:
            detail = f"None of the {len(self.documents)} documents holds any of: {', '.join(words)}."
            return SearchResult(provider=self.name, status=SearchStatus.NO_RESULTS, detail=detail)
        hits = tuple(self._hit(self.documents[number], weights) for number in found)
        return SearchResult(provider=self.name, status=SearchStatus.OK, hits=hits)

    def _hit(self, page: Page, weights: dict[str, float]) -> Hit:
        snippet = best_passage(page.text, weights)
        return Hit(url=page.url, title=page.title, snippet=snippet, date=page.published, identity=page.canonical)

    def find(self, url: str) -> Page | None:
        """The document at a declared or canonical url, a relative or absolute path, or a `file:` url."""
        wanted = url.strip()
        for key in (wanted, canonical_url(wanted), _local_path(wanted)):
            if key and key in self._places:
                return self._places[key]
        return None

    def identity(self, url: str) -> str:
        """The identity by which `url` counts as visited (R6): its document's `canonical`, else `canonical_url(url)`."""
        page = self.find(url)
        return page.canonical if page else canonical_url(url)

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The document at `url`, see `find`; a document that could not be read says why."""
        page = self.find(url)
        if page:
            return page.model_copy(update={"url": url.strip()})
        local = _local_path(url.strip())
        for relative, reason in self.unreadable:
            if local in (relative, str(self.root / relative)):
                return FetchFailure(url=url, kind="unreadable", message=reason)
        return FetchFailure(url=url, kind="not_found", message=f"The documents folder holds no document {url}.")

    def close(self) -> None:
        """Free the index; `fetch` still works. Twice is harmless."""
        self._index.close()

    async def __aenter__(self) -> DocumentFolder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


FEW = 20
"""Files that are named one by one where they cannot be read; of more, each reason is told with its first ones."""


def by_reason(unreadable: Sequence[tuple[str, str]], *, most: int = 5, names: int = 3) -> list[str]:
    """Why files could not be read, a line a reason: how many, why, and the first of them. Figures make no reason."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for path, reason in unreadable:
        alike.setdefault(re.sub(r"\d[\d,.]*", "#", reason), []).append((path, reason))
    ordered = sorted(alike.values(), key=len, reverse=True)
    lines = []
    for same in ordered[:most]:
        first = ", ".join([*(path for path, _ in same[:names]), *(["…"] if len(same) > names else [])])
        lines.append(f"{len(same):,}: {same[0][1]} ({first})")
    others = sum(len(same) for same in ordered[most:])
    return [*lines, f"{others:,} for other reasons"] if others else lines


def _nothing_to_read(path: Path, unreadable: Sequence[tuple[str, str]]) -> str:
    kinds = " ".join(sorted(SUFFIXES))
    said = f"{path} holds no document that can be read: put {kinds} files there."
    if len(unreadable) > FEW:
        told = by_reason(unreadable)
        said += f" Of {len(unreadable):,} such files none could be read:"
    else:
        told = [f"{name}: {reason}" for name, reason in unreadable]
    return said + "".join(f"\n  {line}" for line in told)


def _files(root: Path) -> Iterator[str]:
    """Relative paths of the files to read, sorted. A link counts if it leads to a file in the folder not yet listed."""
    found: list[str] = []
    links: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(folder, name)
            if name.startswith(".") or file.suffix.lower() not in SUFFIXES:
                continue
            if file.is_symlink():
                links.append(file)
            elif file.is_file():
                found.append(file.relative_to(root).as_posix())
    listed = set(found)
    for link in sorted(links):
        try:
            target = link.resolve()
        except (OSError, RuntimeError):  # a link that leads back to itself
            continue
        if target.is_file() and target.is_relative_to(root) and target.relative_to(root).as_posix() not in listed:
            listed.add(target.relative_to(root).as_posix())
            found.append(link.relative_to(root).as_posix())
    return iter(sorted(found))


def _pages(read: Iterable[tuple[str, _Reading]], root: Path) -> list[Page]:
    entries = [(relative, reading, _url(relative, reading)) for relative, reading in read]
    folded = Counter(canonical_url(url) for _, _, url in entries)
    with_fragment = Counter(_with_fragment(url) for _, _, url in entries)
    pages = []
    for relative, reading, url in entries:
        canonical = canonical_url(url)
        if folded[canonical] > 1:
            finer = _with_fragment(url)
            canonical = finer if with_fragment[finer] == 1 else f"{canonical}#{_quoted(relative)}"
        found = reading.extracted
        pages.append(
            Page(
                url=url,
                final_url=url,
                canonical=canonical,
                title=found.title,
                text=found.text,
                media_type=found.media_type,
                published=found.published,
                domain=registrable_domain(url) if found.declared_url else f"local:{relative}",
                work_id=work_identity(found.work_url or url, found.text, found.declared_url),
                sketch=reading.sketch,
                sha256=reading.sha256,
                links=found.links,
                path=relative,
                location=str(root / relative),
                note=found.note,
            )
        )
    return pages


def _url(relative: str, reading: _Reading) -> str:
    return reading.extracted.declared_url or f"file:{_quoted(relative)}"


def _quoted(relative: str) -> str:
    """A relative path in a url; a name that is no UTF-8 is quoted byte by byte."""
    return quote(os.fsencode(relative))


def _with_fragment(url: str) -> str:
    bare, fragment = urldefrag(url)
    return f"{canonical_url(bare)}#{fragment}" if fragment else canonical_url(bare)


def _places(documents: Sequence[Page], root: Path) -> dict[str, Page]:
    """Every spelling under which a document may be asked for; exact ones first, then those that folding made equal."""
    places: dict[str, Page] = {}
    spellings = (
        lambda page: page.path,
        lambda page: page.location,
        lambda page: page.canonical,
        lambda page: page.url,
        lambda page: _with_fragment(page.url),
        lambda page: canonical_url(page.url),
    )
    for spelling in spellings:
        for page in documents:
            places.setdefault(spelling(page), page)
    return places


def _local_path(url: str) -> str:
    """The path in a `file:` url or a spelling of a path; '' for another address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme == "file":
        url = unquote(parts.path)
    elif parts.scheme or not url:
        return ""
    return os.path.normpath(url)
