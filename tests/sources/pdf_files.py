"""Small PDF files, written by hand so that a test says exactly what is on each line."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]], *, title: str = "", created: str = "") -> bytes:
    """A PDF with one line of text per string, in Helvetica, top to bottom."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for index, lines in enumerate(pages):
        shown = "".join(
            f"({line.replace(chr(92), '').replace('(', '').replace(')', '')}) Tj 0 -14 Td\n" for line in lines
        )
        stream = f"BT /F1 11 Tf 60 760 Td\n{shown}ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {5 + 2 * index} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) /CreationDate ({created}) >>")
    body = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
    trailer += f"<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + trailer.encode()
