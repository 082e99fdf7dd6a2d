"""What the readers of files share: bytes by offset, and values cut to a length that a page shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

ReadAt = Callable[[int, int], bytes]
"""A function that returns bytes of a file from an offset on, up to a length; fewer at its end."""

SHOWN: Final = 200
"""Characters of a value."""


def shorten(text: str, most: int = SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
