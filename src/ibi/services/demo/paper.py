"""A PDF of plain text: the few objects that the format asks for, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

_WIDTH: Final = 78
"""Characters of a line of text at eleven points."""
_LINES: Final = 44
_FONT: Final = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
_FONTS: Final = b"<< /F1 %s /F2 %s >>" % (_FONT % b"Times-Roman", _FONT % b"Times-Bold")


def pdf(title: str, paragraphs: Sequence[str]) -> bytes:
    """Pages of A4: the title in bold, the paragraphs below it. Letters that Windows-1252 has not become `?`."""
    lines = [line for paragraph in paragraphs for line in (*wrap(paragraph, _WIDTH), "")]
    pages = [lines[start : start + _LINES] for start in range(0, len(lines), _LINES)]
    bodies: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    first = 3
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    bodies.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    for number, page in enumerate(pages):
        stream = _stream(title if number == 0 else "", page)
        bodies.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font %s >> /Contents %d 0 R >>"
            % (_FONTS, first + 2 * number + 1)
        )
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    return _file(bodies)


def _stream(title: str, lines: Sequence[str]) -> bytes:
    head = f"/F2 18 Tf 72 770 Td ({_escaped(title)}) Tj 0 -34 Td" if title else "72 770 Td"
    shown = " ".join(f"({_escaped(line)}) Tj T*" for line in lines)
    return f"BT {head} /F1 11 Tf 15 TL {shown} ET".encode("cp1252", "replace")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(bodies: Sequence[bytes]) -> bytes:
    """The objects, and the table that says at which byte each begins."""
    made, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(bodies, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, table)
    return bytes(made)
