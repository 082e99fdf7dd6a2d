"""The header of a netCDF file in one of the classic formats (NetCDF Classic Format Specification)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import error, unpack_from
from typing import Final

from ibi.items.rules.file_summaries.reading import shorten

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
        return shorten(self.take(self.count()).decode("utf-8", "replace"))

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
                yield name, shorten(content.decode("utf-8", "replace").rstrip("\0"))
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
        named = tuple(shorten(dimensions[place][0], _NAMED) for place in places[:_MOST_OF_VARIABLE])
        variables.append(NetcdfVariable(name, _TYPES[kind][0], rank, named, own))
    said = {1: "classic", 2: "64-bit offset", 5: "64-bit data"}[version]
    return NetcdfSummary(
        said, tuple(dimensions[:_MOST_LISTED]), attributes[:_MOST_LISTED], tuple(variables[:_MOST_LISTED])
    )
