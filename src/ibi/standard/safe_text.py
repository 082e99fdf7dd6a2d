"""Makes text of strangers safe for display: on one line, of bounded length, without characters that move a cursor.

For terminals, e-mails, logs, messages and spreadsheets. Pages escape in their templates, and use this module to close
changes of the writing direction.
"""

from __future__ import annotations

import re
from typing import Final


def printable(text: str, replacement: str = " ") -> str:
    """Return the text on one line, with `replacement` for every control character."""
    return text if text.isprintable() else "".join(each if each.isprintable() else replacement for each in text)


def reveal(text: str) -> str:
    """Return the text with `[U+202E]` and the like for every invisible character, for names that must not deceive."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _code_point(each) for each in text)


def _code_point(character: str) -> str:
    return f"[U+{ord(character):04X}]"


_POP_EMBEDDING: Final = "\u202c"
_POP_ISOLATE: Final = "\u2069"
_CLOSERS: Final = {
    **dict.fromkeys("\u202a\u202b\u202d\u202e", _POP_EMBEDDING),
    **dict.fromkeys("\u2066\u2067\u2068", _POP_ISOLATE),
}
"""The character that ends each embedding, override and isolate (Unicode Standard Annex 9)."""
_POPS: Final = frozenset({_POP_EMBEDDING, _POP_ISOLATE})
_DIRECTIONS: Final = re.compile("([\u202a-\u202e\u2066-\u2069])")


def close_directions(text: str) -> str:
    """Return the text with every change of the writing direction ended within it.

    So it cannot disorder its neighbours. Open changes are closed at the end, and closers without a change are left out.
    Texts with a correct use of these characters stay the same.
    """
    if text.isascii() or _DIRECTIONS.search(text) is None:
        return text
    kept, needed, isolates = [], list[str](), 0
    for part in _DIRECTIONS.split(text):
        closer = _CLOSERS.get(part)
        if closer is not None:
            needed.append(closer)
            isolates += closer == _POP_ISOLATE
        elif part == _POP_ISOLATE and isolates:
            while needed.pop() != _POP_ISOLATE:  # an isolate ends the embeddings in it
                pass
            isolates -= 1
        elif part == _POP_EMBEDDING and needed and needed[-1] == _POP_EMBEDDING:
            needed.pop()
        elif part in _POPS:
            continue
        kept.append(part)
    return "".join((*kept, *reversed(needed)))


_ODD_OCTET: Final = re.compile("[\udc80-\udcff]")


def show_octets(text: str) -> str:
    """Return the text with every octet that is not UTF-8 shown as the letter of ISO 8859-1 (E33).

    Python holds such an octet as half a surrogate pair (PEP 383). The number of characters stays the same.
    """
    return text if text.isascii() else _ODD_OCTET.sub(lambda octet: chr(ord(octet[0]) - 0xDC00), text)


def tidy_lines(text: str) -> str:
    """Return the lines of a person's text, without blanks at their ends and empty lines around them."""
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "\n".join(lines).strip("\n ")


def is_visible(text: str) -> bool:
    """Return whether a text of several lines has only printable characters."""
    return all(line.replace("\t", " ").isprintable() for line in text.split("\n"))


def shorten(text: str, longest: int) -> str:
    """Return the text, or as many of its first characters as fit with the sign for an omission."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def quote(text: str, longest: int) -> str:
    """Return the text in quotes and with escapes, cut if it is long."""
    return repr(text if len(text) <= longest else f"{text[:longest]}…")


_FORMULA_SIGNS = "=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20"
"""The characters with which a formula may begin in a spreadsheet, including full-width forms."""


def csv_row(*cells: object) -> str:
    """Return a row of CSV (RFC 4180), with its line end.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, which shows it as text; numbers stay
    numbers.
    """
    return ",".join(map(_csv_cell, cells)) + "\r\n"


def _csv_cell(cell: object) -> str:
    if isinstance(cell, int):
        return str(cell)
    text = "" if cell is None else str(cell)
    if text.lstrip(" ")[:1] in _FORMULA_SIGNS and text.strip(" "):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in "\",\r\n\t ;'") else text
