"""PubMed: biomedical papers with their abstracts; a key allows more requests a second."""

from __future__ import annotations

from typing import Any

import httpx
from lxml import etree  # type: ignore[import-untyped]

from zetetic.sources.providers.calling import ApiProvider, Trouble
from zetetic.sources.providers.readings import hit, inner_text, json_value, plain, rows, table, usable, xml_tree
from zetetic.sources.search import Hit, SearchStatus

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class PubMed(ApiProvider):
    """Two requests a search: the papers' ids, then their records. A hit's url is the paper's page at PubMed."""

    name = "pubmed"
    address = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    variables = ("NCBI_API_KEY",)
    query_chars = 1_000
    most_hits = 50
    wants_all_words = True
    interval = 0.34

    def __init__(self, *, interval: float | None = None, **more: Any) -> None:
        """Three requests a second without a key, ten with one."""
        super().__init__(interval=interval, **more)
        if interval is None and self.key:
            self._interval = 0.1

    async def asked(self, query: str, limit: int, deadline: float) -> list[Hit]:
        """The ids by relevance, then the records in that order."""
        ids = self._ids(await self.answered(self.request(query, limit), deadline))
        if not ids:
            return []
        asked = {"db": "pubmed", "id": ",".join(ids[:limit]), "retmode": "xml"}
        return self.hits(await self.answered(self._request("efetch.fcgi", asked), deadline))

    def request(self, query: str, limit: int) -> httpx.Request:
        """POST esearch.fcgi: what is posted stands in no log."""
        asked = {"db": "pubmed", "term": query, "retmax": str(limit), "retmode": "json", "sort": "relevance"}
        return self._request("esearch.fcgi", asked)

    def _request(self, program: str, asked: dict[str, str]) -> httpx.Request:
        named = {**asked, "tool": "zetetic"} | ({"api_key": self.key} if self.key else {})
        return httpx.Request("POST", f"{self.endpoint}/{program}", data=named)

    def _ids(self, body: bytes) -> list[str]:
        answer = table(json_value(body))
        if error := plain(answer.get("error"), 160):
            if "rate limit" in error.lower():
                raise self.rate_limited(None, error)
            raise Trouble(SearchStatus.FAILED, f"pubmed failed: {error}.")
        found = table(answer.get("esearchresult"), "`esearchresult`")
        if error := plain(found.get("ERROR"), 160):
            raise Trouble(SearchStatus.FAILED, f"pubmed failed: {error}.")
        listed = rows(found.get("idlist"), "`idlist`")
        return [number for number in listed if isinstance(number, str) and number.isdecimal()]

    def hits(self, body: bytes) -> list[Hit]:
        """Of the records' articles and book chapters."""
        records = list(xml_tree(body).iterchildren("PubmedArticle", "PubmedBookArticle"))
        return usable(map(_hit, records), len(records))


def _hit(record: etree._Element) -> Hit | None:
    number = inner_text(record.find(".//PMID"))
    title = record.find(".//ArticleTitle")
    return hit(
        f"https://pubmed.ncbi.nlm.nih.gov/{number}/" if number.isdecimal() else "",
        inner_text(title if title is not None else record.find(".//BookTitle")),
        " ".join(filter(None, map(_part, record.iterfind(".//Abstract/AbstractText")))),
        _date(record),
    )


def _part(element: etree._Element) -> str:
    label, text = element.get("Label", ""), inner_text(element)
    return f"{label}: {text}" if label and text else text


def _date(record: etree._Element) -> str:
    """Of the electronic publication, else of the issue: `2024-05-01`, `2024-05` or `2024`."""
    for path in (".//ArticleDate", ".//JournalIssue/PubDate", ".//Book/PubDate", ".//ContributionDate"):
        place = record.find(path)
        if place is None:
            continue
        year = inner_text(place.find("Year")) or inner_text(place.find("MedlineDate"))[:4]
        month = inner_text(place.find("Month"))
        if month[:3].lower() in _MONTHS:
            month = str(_MONTHS.index(month[:3].lower()) + 1)
        parts = [year, month, inner_text(place.find("Day"))]
        kept = parts[: parts.index("")] if "" in parts else parts
        if all(part.isdecimal() for part in kept) and kept:
            return "-".join(kept)
    return ""
