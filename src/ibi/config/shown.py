"""What a message shows of the things a person typed: one line, not long, and nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["look_alike", "shown", "shown_path"]

_MOST = 120


def shown(text: str, *, quotes: bool = True) -> str:
    cut = text if len(text) <= _MOST else f"{text[:_MOST]}…"
    return cut if not quotes and cut.isprintable() else repr(cut)


def shown_path(path: Path) -> str:
    """Never cut: a person has to find it."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def look_alike(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelled one was probably meant to be."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:_MOST], list(known), n=1, cutoff=0.75)), None)
