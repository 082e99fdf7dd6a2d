"""The directory of a ZIP file. Nothing is unpacked, so a decompression bomb is a harmless list of sizes."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, unpack_from
from typing import Final

from ibi.items.rules.file_summaries.reading import SHOWN, ReadAt, shorten
from ibi.standard.safe_text import reveal

MOST_ENTRIES: Final = 200
_MOST_DIRECTORY: Final = 1 << 20
_END: Final = Struct("<4s4H2LH")
_ENTRY: Final = Struct("<4s6H3L5H2L")
_MOST_COMMENT: Final = 0xFFFF
_BOMB: Final = 1_000
"""The most that a file may grow when unpacked, as a factor. Deflate reaches at most 1,032."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    name: str
    size: int
    is_folder: bool
    is_unsafe: bool
    """True if the name leads out of the folder into which it is unpacked, or has invisible characters. These may change
    the direction of writing, so that the name seems to end otherwise."""


@dataclass(frozen=True, slots=True)
class ZipSummary:
    number: int
    """Number of files and folders in the directory."""
    size: int
    """Unpacked bytes of the files shown, as the directory says."""
    files: tuple[PackedFile, ...]
    is_bomb: bool
    """True if the directory claims so large a growth that the file should not be unpacked."""


def read_zip(size: int, read: ReadAt) -> ZipSummary | None:
    """Return the directory of a ZIP file of `size` bytes. Nothing is unpacked."""
    tail_size = min(size, _END.size + _MOST_COMMENT)
    tail = read(size - tail_size, tail_size)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        return None
    _, _, _, _, number, length, offset, _ = _END.unpack_from(tail, place)
    if number == 0xFFFF or offset == 0xFFFFFFFF or length == 0xFFFFFFFF or offset + length > size:
        return _zip64(size, read, tail, place)
    return _directory(number, offset, length, size, read)


def _zip64(size: int, read: ReadAt, tail: bytes, place: int) -> ZipSummary | None:
    locator = place - 20
    if locator < 0 or tail[locator : locator + 4] != b"PK\x06\x07":
        return None
    (there,) = unpack_from("<Q", tail, locator + 8)
    end = read(there, 56) if there + 56 <= size else b""
    if len(end) < 56 or end[:4] != b"PK\x06\x06":
        return None
    number, length, offset = unpack_from("<QQQ", end, 32)
    return _directory(number, offset, length, size, read) if offset + length <= size else None


def _directory(number: int, offset: int, length: int, size: int, read: ReadAt) -> ZipSummary | None:
    content, at, unpacked = read(offset, min(length, _MOST_DIRECTORY)), 0, 0
    files: list[PackedFile] = []
    while len(files) < min(number, MOST_ENTRIES) and at + _ENTRY.size <= len(content):
        found = _ENTRY.unpack_from(content, at)
        if found[0] != b"PK\x01\x02":
            return None
        names, extra, comment = found[10:13]
        start = at + _ENTRY.size
        if start + names > len(content):
            break
        name = content[start : start + names].decode("utf-8" if found[3] & 0x800 else "cp437", "replace")
        unpacked += found[9]
        files.append(PackedFile(shorten(reveal(name[: SHOWN + 1])), found[9], name.endswith("/"), _is_unsafe(name)))
        at = start + names + extra + comment
    return ZipSummary(number, unpacked, tuple(files), unpacked > _BOMB * size)


def _is_unsafe(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return not name.isprintable() or parts[0] == "" or ".." in parts or ":" in parts[0]
