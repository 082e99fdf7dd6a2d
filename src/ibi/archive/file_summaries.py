"""Summaries of files, read from a few of their bytes: FITS, netCDF, ZIP, tables of text and pictures.

Strangers made the files. Each reader gets bytes, or reads them by offset, within fixed limits. Nothing is unpacked, so
a decompression bomb is a harmless list of sizes. An unreadable file yields None.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct, error, unpack_from
from typing import Final

from ibi.safe_text import reveal

ReadAt = Callable[[int, int], bytes]
"""A function that returns bytes of a file from an offset on, up to a length; fewer at its end."""

_SHOWN: Final = 200
"""Characters of a value."""


def _shorten(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


# --- tables -----------------------------------------------------------------------------------------------------------

MOST_ROWS: Final = 50
MOST_COLUMNS: Final = 20
_SEPARATORS: Final = ",;\t|"


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows of a table, cut or filled to the length of the first row. That row names the columns."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_whole: bool = True
    """True if no row and no column was left out."""


def read_table(text: str, *, is_whole: bool = True) -> Table | None:
    """Return the table in a text with separated values, or None if its first line has no separator. Unless `is_whole`,
    the last line may be cut."""
    if not is_whole:
        text = text[: text.rfind("\n") + 1]
    first = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    if separator not in first:
        return None
    rows: list[list[str]] = []
    try:
        for row in csv.reader((f"{line}\n" for line in text.split("\n")), delimiter=separator):
            if len(rows) > MOST_ROWS:
                is_whole = False
                break
            if row:
                rows.append(row)
    except csv.Error:
        is_whole = False
    if not rows:
        return None
    width = min(len(rows[0]), MOST_COLUMNS)
    is_whole = is_whole and all(len(row) <= width for row in rows)
    shaped = [tuple(_shorten(cell) for cell in row[:width]) + ("",) * (width - len(row)) for row in rows]
    return Table(shaped[0], tuple(shaped[1:]), is_whole)


# --- ZIP --------------------------------------------------------------------------------------------------------------

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
        files.append(PackedFile(_shorten(reveal(name[: _SHOWN + 1])), found[9], name.endswith("/"), _is_unsafe(name)))
        at = start + names + extra + comment
    return ZipSummary(number, unpacked, tuple(files), unpacked > _BOMB * size)


def _is_unsafe(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return not name.isprintable() or parts[0] == "" or ".." in parts or ":" in parts[0]


# --- FITS -------------------------------------------------------------------------------------------------------------

# FITS Standard 4.0: §3.1 blocks of 2880 bytes, §4.1 cards of 80 characters, §4.4.1 the keywords that size the data.

_BLOCK, _CARD = 2880, 80
_MOST_BLOCKS: Final = 40
_QUOTED: Final = re.compile("'((?:''|[^'])*+)'")
MOST_UNITS: Final = 12
MOST_CARDS: Final = 200
FITS: Final = b"SIMPLE  ="


@dataclass(frozen=True, slots=True)
class FitsUnit:
    """A header with the shape of its data. `cards` are keyword, value and comment."""

    name: str
    shape: tuple[int, ...]
    cards: tuple[tuple[str, str, str], ...]


def read_fits(size: int, read: ReadAt) -> tuple[FitsUnit, ...] | None:
    """Return the headers of the first units of a FITS file."""
    if read(0, len(FITS)) != FITS:
        return None
    units: list[FitsUnit] = []
    offset = 0
    while offset < size and len(units) < MOST_UNITS:
        found = _fits_header(offset, read)
        if found is None:
            break
        cards, length = found
        values = {keyword: value for keyword, value, _ in cards}
        name = values.get("EXTNAME") or values.get("XTENSION") or ("PRIMARY" if not units else "")
        shape, data = _fits_data(values)
        units.append(FitsUnit(name, shape, tuple(cards[:MOST_CARDS])))
        offset += length + -(-data // _BLOCK) * _BLOCK
    return tuple(units) or None


def _fits_header(offset: int, read: ReadAt) -> tuple[list[tuple[str, str, str]], int] | None:
    """Return the cards up to END, and the bytes of the header. None if END is not within the limit."""
    cards: list[tuple[str, str, str]] = []
    for number in range(_MOST_BLOCKS):
        block = read(offset + number * _BLOCK, _BLOCK)
        if len(block) < _BLOCK:
            return None
        for start in range(0, _BLOCK, _CARD):
            card = block[start : start + _CARD].decode("ascii", "replace")
            keyword = card[:8].rstrip()
            if keyword == "END":
                return cards, (number + 1) * _BLOCK
            if keyword and card[8:10] == "= ":
                cards.append((keyword, *_fits_value(card[10:])))
            elif keyword in {"COMMENT", "HISTORY"} and card[8:].strip():
                cards.append((keyword, card[8:].strip(), ""))
    return None


def _fits_value(text: str) -> tuple[str, str]:
    """Return the value of a card and the comment after the slash. In a text, quotes are doubled."""
    stripped = text.strip()
    if not stripped.startswith("'"):
        value, _, comment = stripped.partition("/")
        return value.strip(), comment.strip()
    quoted = _QUOTED.match(stripped)
    if quoted is None:
        return stripped[1:].strip(), ""
    return quoted[1].replace("''", "'").rstrip(), stripped[quoted.end() :].partition("/")[2].strip()


def _fits_data(values: dict[str, str]) -> tuple[tuple[int, ...], int]:
    """Return the shape of the data, and its bytes."""
    axes = min(_whole_number(values.get("NAXIS"), 0), 999)
    shape = tuple(_whole_number(values.get(f"NAXIS{number + 1}"), 0) for number in range(axes))
    if not shape:
        return (), 0
    counted = 1
    for axis in shape[1:] if shape[0] == 0 and values.get("GROUPS") == "T" else shape:
        counted *= axis
    bits = abs(_whole_number(values.get("BITPIX"), 8, signed=True))
    number, more = _whole_number(values.get("GCOUNT"), 1), _whole_number(values.get("PCOUNT"), 0)
    return shape, bits // 8 * number * (more + counted)


def _whole_number(text: str | None, otherwise: int, *, signed: bool = False) -> int:
    text = (text or "").strip()
    digits = text[1:] if signed and text.startswith("-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else otherwise


# --- netCDF -----------------------------------------------------------------------------------------------------------

# NetCDF Classic Format Specification (also 64-bit offset and CDF-5): magic, numrecs, dim_list, gatt_list, var_list.

HDF5: Final = b"\x89HDF\r\n\x1a\n"
MOST_HEADER: Final = 256 * 1024
_MOST_LISTED: Final = 200
_TYPES: Final = {
    1: ("byte", "b"),
    2: ("char", "c"),
    3: ("short", "h"),
    4: ("int", "i"),
    5: ("float", "f"),
    6: ("double", "d"),
    7: ("ubyte", "B"),
    8: ("ushort", "H"),
    9: ("uint", "I"),
    10: ("int64", "q"),
    11: ("uint64", "Q"),
}
_SIZES: Final = {"b": 1, "c": 1, "h": 2, "i": 4, "f": 4, "d": 8, "B": 1, "H": 2, "I": 4, "q": 8, "Q": 8}
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_MOST_VALUES: Final = 20
_MOST_OF_VARIABLE: Final = 20
"""Dimensions listed for one variable. Each takes four bytes of the file, however long its name is."""
_NAMED: Final = 60
"""Characters of such a name."""

Attribute = tuple[str, str]
"""A name and its value as text."""


@dataclass(frozen=True, slots=True)
class NetcdfVariable:
    name: str
    kind: str
    rank: int
    dimensions: tuple[str, ...]
    """The names of the first dimensions."""
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class NetcdfSummary:
    version: str
    dimensions: tuple[tuple[str, int | None], ...]
    """Names and lengths. None is the length of the dimension that grows with records."""
    attributes: tuple[Attribute, ...]
    variables: tuple[NetcdfVariable, ...]


class _Unreadable(Exception):
    """The header does not say what the format has there, or goes on beyond the bytes that are looked at."""


class _Header:
    """A reader of a header from its beginning: big-endian, padded to four bytes."""

    def __init__(self, content: bytes, version: int) -> None:
        self._content, self._at = content, 4
        self._count, self._offset = (">Q" if version == 5 else ">I"), (">I" if version == 1 else ">Q")

    def _unpack(self, form: str) -> int:
        try:
            (value,) = unpack_from(form, self._content, self._at)
        except error:
            raise _Unreadable from None
        self._at += 8 if form == ">Q" else 4
        return int(value)

    def count(self) -> int:
        return self._unpack(self._count)

    def tag(self) -> int:
        return self._unpack(">I")

    def skip_offset(self) -> None:
        self._unpack(self._offset)

    def take(self, length: int) -> bytes:
        found = self._content[self._at : self._at + length]
        if len(found) < length:
            raise _Unreadable
        self._at += -(-length // 4) * 4
        return found

    def name(self) -> str:
        return _shorten(self.take(self.count()).decode("utf-8", "replace"))

    def number_of(self, tag: int) -> int:
        """Return the number of elements in a list; 0 if the list is absent."""
        found, number = self.tag(), self.count()
        if found not in {tag, 0} or (found == 0 and number):
            raise _Unreadable
        return number

    def attributes(self) -> Iterator[Attribute]:
        for _ in range(self.number_of(_ATTRIBUTES)):
            name, kind, number = self.name(), self.tag(), self.count()
            if kind not in _TYPES:
                raise _Unreadable
            code = _TYPES[kind][1]
            content = self.take(number * _SIZES[code])
            if code == "c":
                yield name, _shorten(content.decode("utf-8", "replace").rstrip("\0"))
            else:
                shown = min(number, _MOST_VALUES)
                values = ", ".join(
                    f"{value:g}" if code in "fd" else str(value) for value in unpack_from(f">{shown}{code}", content)
                )
                yield name, values if shown == number else f"{values}, …"


def read_netcdf(begun: bytes) -> NetcdfSummary | None:
    """Return the summary of a file in a classic format of netCDF, from its first bytes. None if they are no such
    header, or the header is longer."""
    if begun[:3] != b"CDF" or begun[3:4] not in {b"\x01", b"\x02", b"\x05"}:
        return None
    try:
        return _netcdf(_Header(begun, begun[3]), begun[3])
    except _Unreadable:
        return None


def _netcdf(header: _Header, version: int) -> NetcdfSummary:
    header.count()  # number of records
    dimensions = []
    for _ in range(header.number_of(_DIMENSIONS)):
        name, length = header.name(), header.count()
        dimensions.append((name, length or None))
    attributes = tuple(header.attributes())
    variables = []
    for _ in range(header.number_of(_VARIABLES)):
        name, rank = header.name(), header.count()
        places = [header.count() for _ in range(rank)]
        own = tuple(header.attributes())
        kind = header.tag()
        header.count()  # number of bytes
        header.skip_offset()
        if kind not in _TYPES or any(place >= len(dimensions) for place in places):
            raise _Unreadable
        named = tuple(_shorten(dimensions[place][0], _NAMED) for place in places[:_MOST_OF_VARIABLE])
        variables.append(NetcdfVariable(name, _TYPES[kind][0], rank, named, own))
    said = {1: "classic", 2: "64-bit offset", 5: "64-bit data"}[version]
    return NetcdfSummary(
        said, tuple(dimensions[:_MOST_LISTED]), attributes[:_MOST_LISTED], tuple(variables[:_MOST_LISTED])
    )


# --- pictures ---------------------------------------------------------------------------------------------------------

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
