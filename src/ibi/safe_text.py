"""Text of strangers made safe to show: on one line, of a bounded length, without anything that moves a cursor.

For terminals, letters, logs and messages. Pages escape by their templates. Short, because every layer may need it.
"""

from __future__ import annotations


def printable(text: str, replacement: str = " ") -> str:
    """The text on one line, with `replacement` for every control character."""
    return text if text.isprintable() else "".join(each if each.isprintable() else replacement for each in text)


def shorten(text: str, longest: int) -> str:
    """The text, or as many of its first characters as fit with the sign that something is left out."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def quote(text: str, longest: int) -> str:
    """The text in quotes and with escapes, cut if it is long."""
    return repr(text if len(text) <= longest else f"{text[:longest]}…")
