"""Text of strangers made safe to show: on one line, of a bounded length, without anything that moves a cursor.

For terminals, letters, logs, messages and spreadsheets. Pages escape by their templates. Short, because every
layer may need it.
"""

from __future__ import annotations


def printable(text: str, replacement: str = " ") -> str:
    """The text on one line, with `replacement` for every control character."""
    return text if text.isprintable() else "".join(each if each.isprintable() else replacement for each in text)


def tidy_lines(text: str) -> str:
    """The lines of a text that a person typed, without blanks at their ends and empty lines around them."""
    lines = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "\n".join(lines).strip("\n ")


def is_visible(text: str) -> bool:
    """Whether a text of several lines has no character that cannot be shown."""
    return all(line.replace("\t", " ").isprintable() for line in text.split("\n"))


def shorten(text: str, longest: int) -> str:
    """The text, or as many of its first characters as fit with the sign that something is left out."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def quote(text: str, longest: int) -> str:
    """The text in quotes and with escapes, cut if it is long."""
    return repr(text if len(text) <= longest else f"{text[:longest]}…")


_FORMULA_SIGNS = "=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20"
"""What a spreadsheet may take a formula to begin with, full-width forms among them."""


def csv_row(*cells: object) -> str:
    """A row of CSV (RFC 4180), with its end. A text that a spreadsheet would run as a formula begins with an apostrophe
    instead, which shows it as text; numbers stay numbers."""
    return ",".join(map(_csv_cell, cells)) + "\r\n"


def _csv_cell(cell: object) -> str:
    if isinstance(cell, int):
        return str(cell)
    text = "" if cell is None else str(cell)
    if text.lstrip(" ")[:1] in _FORMULA_SIGNS and text.strip(" "):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in "\",\r\n\t ;'") else text
