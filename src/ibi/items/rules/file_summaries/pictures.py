"""The size of a picture, read from the beginning of a PNG, JPEG, GIF or WebP file."""

from __future__ import annotations

import re
from struct import error, unpack_from
from typing import Final

MOST_PICTURE_HEADER: Final = 1 << 20
"""Bytes in which the size of a picture is searched: a JPEG file may have much before it."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_MOST_SEGMENTS: Final = 1_000
"""Segments before the frame of a JPEG file. A camera writes some dozens, and a colour profile takes at most 255."""
_NO_FILL: Final = re.compile(rb"[^\xff]")
_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def read_points(begun: bytes) -> tuple[int, int] | None:
    """Return width and height of a picture, from the beginning of a PNG, JPEG, GIF or WebP file."""
    try:
        if begun.startswith(_PNG):
            width, height = unpack_from(">LL", begun, 16)
        elif begun[:6] in {b"GIF87a", b"GIF89a"}:
            width, height = unpack_from("<HH", begun, 6)
        elif begun[:4] == b"RIFF" and begun[8:12] == b"WEBP":
            width, height = _webp_points(begun)
        elif begun.startswith(b"\xff\xd8"):
            width, height = _jpeg_points(begun)
        else:
            return None
    except (error, ValueError):
        return None
    return width, height


def _webp_points(begun: bytes) -> tuple[int, int]:
    """Return the size of a WebP file (RFC 9649): a simple one, lossy or lossless, or an extended one with a canvas."""
    kind = begun[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(begun[24:27], "little"), 1 + int.from_bytes(begun[27:30], "little")
    if kind == b"VP8L":
        (bits,) = unpack_from("<L", begun, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind != b"VP8 ":
        raise ValueError(kind)
    width, height = unpack_from("<HH", begun, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_points(begun: bytes) -> tuple[int, int]:
    """Return the size in the frame segment (ITU-T T.81, B.2)."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        kind = _NO_FILL.search(begun, at + 1)  # any number of fill bytes may come before it
        if begun[at : at + 1] != b"\xff" or kind is None:
            raise ValueError(at)
        at = kind.end()
        if kind[0][0] in _JPEG_FRAMES:
            height, width = unpack_from(">HH", begun, at + 3)
            return width, height
        (length,) = unpack_from(">H", begun, at)
        at += max(length, 2)
    return 0xFFFF, 0xFFFF  # a file that hides its size counts as the largest possible
