"""A PNG of a landscape that nobody has seen: hills, a river and clouds, drawn by arithmetic."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from math import cos, hypot, sin
from struct import pack

Colour = tuple[int, int, int]


_DOT = 3
"""Pixels that share one colour, across and down: a third of a second for a picture instead of three."""


def landscape(width: int = 160, height: int = 106, *, season: float = 0.0) -> bytes:
    """Seen from above, in so many dots; `season` moves the clouds and changes the green."""
    return _png(width, height, lambda x, y: _seen(x / width, y / height, season))


def _seen(x: float, y: float, season: float) -> Colour:
    river = abs(y - 0.5 - 0.12 * sin(7 * x) - 0.05 * sin(19 * x + 2))
    ground = _ground(x, y, season)
    colour = (38, 84, 124) if river < 0.012 + 0.02 * x else ground
    return _lighter(colour, _cloud(x, y, season))


def _ground(x: float, y: float, season: float) -> Colour:
    height = sin(5 * x + 2 * cos(6 * y)) * cos(9 * y - 3 * x) + 0.4 * sin(31 * x) * sin(27 * y)
    shade = 0.5 + 0.28 * height
    dry = 0.5 + 0.5 * sin(season)
    return round(60 + 90 * shade * dry), round(80 + 95 * shade), round(50 + 40 * shade)


def _cloud(x: float, y: float, season: float) -> float:
    """How white it is, from 0 to 1."""
    places = ((0.2, 0.2), (0.65, 0.3), (0.85, 0.75), (0.4, 0.8))
    near = (0.13 - hypot(x - u - 0.06 * sin(season + v * 9), (y - v) * 0.8) for u, v in places)
    return max(0.0, min(1.0, 9 * max(near) * (0.8 + 0.4 * sin(40 * x) * cos(35 * y))))


def _lighter(colour: Colour, amount: float) -> Colour:
    red, green, blue = (round(part + (246 - part) * amount) for part in colour)
    return max(0, min(255, red)), max(0, min(255, green)), max(0, min(255, blue))


def _png(width: int, height: int, colour_at: Callable[[int, int], Colour]) -> bytes:
    rows = b"".join(
        (b"\0" + b"".join(bytes(colour_at(x, y)) * _DOT for x in range(width))) * _DOT for y in range(height)
    )
    head = pack(">IIBBBBB", width * _DOT, height * _DOT, 8, 2, 0, 0, 0)
    pieces = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_piece, *zip(*pieces, strict=True)))


def _piece(kind: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))
