"""Writes the corpus documents that are not plain text: two PDFs and a DOCX.

Standard library only, and the same bytes on every machine: `python examples/make_pdfs.py [FOLDER]`.
A PDF or DOCX has no front matter, so each opens with the lines `URL:`, `Title:` and `Date:`.
"""

import sys
import textwrap
import zipfile
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

CORPUS = Path(__file__).parent / "corpus"


class Document(NamedTuple):
    """One document: where it says it comes from, and its paragraphs."""

    url: str
    title: str
    date: str
    paragraphs: tuple[str, ...]

    def head(self) -> tuple[str, str, str]:
        return f"URL: {self.url}", f"Title: {self.title}", f"Date: {self.date}"


GRID_REGISTER = Document(
    url="https://gridregister.example/plants/kestrow.pdf",
    title="Register of power plants, entry: Kestrow",
    date="2024-01-31",
    paragraphs=(
        "The register is kept by the grid operator and lists every plant that feeds more than one megawatt into the "
        "grid. Entries are checked once a year against the meters.",
        "The register lists the Kestrow tidal barrage with an installed capacity of 240 megawatts. The plant is "
        "connected at the Port Sallen substation by two underground cables. It may feed in at full power at any hour.",
        "By its meters, the Kestrow tidal barrage generates 410 gigawatt-hours of electricity in a year of normal "
        "tides. The plant announces its output a month ahead, and the grid operator has found the announcements to "
        "be accurate.",
        "The entry names Kestrow Tidal Power as owner. No change of owner has been reported since the plant was "
        "entered.",
    ),
)

AUDIT_REPORT = Document(
    url="https://auditoffice.example/reports/2018/kestrow-accounts.pdf",
    title="The accounts of the Kestrow barrage",
    date="2018-06-21",
    paragraphs=(
        "The Audit Office has examined the accounts of the Kestrow scheme from the first boring to the handover. It "
        "read the contracts, the invoices and the payments of the public loan, and it visited the site twice.",
        "By the final accounts, the Kestrow tidal barrage cost 1,180 million crowns to build. Every payment could be "
        "traced to an invoice. The Audit Office found no payment outside the accounts.",
        "Three findings concern the way the work was managed. Orders for steel were split into small lots, which "
        "made the market hard to compare. Minutes of the site meetings are missing for one winter. The consultant "
        "who checked the concrete had earlier worked for the supplier, although no fault in the concrete was found.",
        "The Audit Office recommends that the operator publish its accounts every year, and that it set money aside "
        "for repairs.",
    ),
)

EEL_STUDY = Document(
    url="https://fishecology.aldwyreuniversity.example/papers/kestrow-eels",
    title="Young eels at a tidal barrage",
    date="2023-05-17",
    paragraphs=(
        "Our group at Aldwyre University has followed young eels at the mouth of the Kestrow estuary with fine nets "
        "and, from 2020, with tags that a reader under the ladder can see.",
        "Eel migration into the upper Kestrow estuary was 34 percent lower in the three springs after the Kestrow "
        "tidal barrage closed than in the three springs before. Nets on the seaward side caught as many eels as "
        "ever. We conclude that the eels arrived and were held back.",
        "The ladders changed this. With both eel ladders in use, 88 of every 100 tagged young eels passed the "
        "Kestrow tidal barrage into the upper Kestrow estuary. Most climbed on the first or second night. Those that "
        "did not were found near the ship lock, where light from the quay may have kept them from climbing.",
        "We do not know how adult eels fare on their way out. A study with larger tags is planned, and it depends on "
        "leave to work in the ducts.",
    ),
)

LINE_WIDTH = 88
LEADING = 15


def pdf(document: Document) -> bytes:
    """One page of Helvetica with a text layer, uncompressed."""
    blocks = ["\n".join(document.head()), document.title, *document.paragraphs]
    lines = [line for block in blocks for line in (*_wrapped(block), "")]
    shown = "".join(f"({_pdf_text(line)}) Tj T*\n" for line in lines)
    content = f"BT /F1 11 Tf {LEADING} TL 60 780 Td\n{shown}ET\n"
    day = document.date.replace("-", "")
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}endstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Title ({_pdf_text(document.title)}) /CreationDate (D:{day}090000Z) >>",
    ]
    out = "%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(bodies) + 1
    start = len(out)
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode("ascii")


def _wrapped(block: str) -> list[str]:
    return [part for line in block.splitlines() for part in textwrap.wrap(line, LINE_WIDTH, break_on_hyphens=False)]


def _pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
CORE_TYPE = "application/vnd.openxmlformats-package.core-properties+xml"


def docx_parts(document: Document) -> dict[str, str]:
    """The parts of a minimal DOCX, by name."""
    texts = [*document.head(), document.title, *document.paragraphs]
    paragraphs = "".join(f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>' for text in texts)
    return {
        "[Content_Types].xml": f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{MAIN_TYPE}"/>'
        f'<Override PartName="/docProps/core.xml" ContentType="{CORE_TYPE}"/></Types>',
        "_rels/.rels": f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/relationships/officeDocument" Target="word/document.xml"/>'
        f'<Relationship Id="rId2" Type="{PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>'
        "</Relationships>",
        "docProps/core.xml": f'{XML}<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{escape(document.title)}</dc:title>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{document.date}T09:00:00Z</dcterms:created></cp:coreProperties>',
        "word/document.xml": f'{XML}<w:document xmlns:w="{WORD}"><w:body>{paragraphs}</w:body></w:document>',
    }


def write_docx(document: Document, path: Path) -> None:
    """Stored, not compressed, and with a fixed time, so that the bytes do not depend on the machine."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, text in docx_parts(document).items():
            entry = zipfile.ZipInfo(name, date_time=(2023, 5, 17, 9, 0, 0))
            entry.create_system = 3
            archive.writestr(entry, text)


def write_all(folder: Path) -> list[Path]:
    """Writes the three documents and returns where."""
    for document, name in ((GRID_REGISTER, "grid-register.pdf"), (AUDIT_REPORT, "audit-report.pdf")):
        (folder / name).write_bytes(pdf(document))
    write_docx(EEL_STUDY, folder / "university-eel-study.docx")
    return [folder / name for name in ("grid-register.pdf", "audit-report.pdf", "university-eel-study.docx")]


if __name__ == "__main__":
    for written in write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS):
        print(written)
