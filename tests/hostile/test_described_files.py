"""Files that make much work of the few bytes that are read of them for a preview."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from time import process_time

import pytest

from ibi.items.rules.file_summaries.fits import read_fits
from ibi.items.rules.file_summaries.netcdf import MOST_HEADER, read_netcdf
from ibi.items.rules.file_summaries.pictures import MOST_PICTURE_HEADER, read_points
from ibi.items.rules.file_summaries.tables import read_table
from ibi.items.rules.file_summaries.zip_directory import read_zip

MOST_CPU = 0.1
"""Seconds; each of these takes some hundredths at most, several of them took tenths."""
NONE_HERE = pack(">II", 0, 0)


def zip_of(name: bytes, number: int = 200) -> Callable[[], object]:
    entry = pack("<4s6H3L5H2L", b"PK\1\2", 0, 0, 0x800, 0, 0, 0, 0, 1, 1, len(name), 0, 0, 0, 0, 0, 0) + name
    content = entry * number
    content += pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, number, len(content), 0, 0)
    return lambda: read_zip(len(content), lambda offset, length: content[offset : offset + length])


def fits_of(card: str) -> Callable[[], object]:
    cards = "SIMPLE  =                    T".ljust(80) + card.ljust(80) * (36 * 40 - 2) + "END".ljust(80)
    content = cards.encode() * 12
    return lambda: read_fits(len(content), lambda offset, length: content[offset : offset + length])


def netcdf_of(*lists: bytes) -> Callable[[], object]:
    content = (b"CDF\1" + pack(">I", 0) + b"".join(lists))[:MOST_HEADER]
    return lambda: read_netcdf(content)


def jpeg_of(segment: bytes) -> Callable[[], object]:
    content = (b"\xff\xd8" + segment * (MOST_PICTURE_HEADER // len(segment)))[:MOST_PICTURE_HEADER]
    return lambda: read_points(content)


def table_of(unit: str) -> Callable[[], object]:
    content = (unit * (1 << 16))[: 1 << 16]
    return lambda: read_table(content)


DIMENSIONS = pack(">II", 10, 20_000) + pack(">II", 0, 1) * 20_000
ATTRIBUTES = pack(">II", 12, 15_000) + pack(">III", 0, 2, 0) * 15_000
VARIABLES = pack(">II", 11, 9_000) + pack(">IIIIIII", 0, 0, 0, 0, 1, 0, 0) * 9_000
LABORIOUS = {
    "a picture of fill bytes": jpeg_of(b"\xff"),
    "a picture of empty segments": jpeg_of(b"\xff\xe1\0\2"),
    "a picture of segments without a length": jpeg_of(b"\xff\xe1\0\0"),
    "a package of long names": zip_of(b"a" * 5_000),
    "a package of names that are not seen": zip_of("\u202e".encode() * 1_700),
    "a package of controls": zip_of(b"\1" * 5_000),
    "a package of very long names": zip_of(b"\1" * 65_000, 16),
    "a package of folders in folders": zip_of(b"/" * 5_000),
    "a table of separators": table_of(","),
    "a table of quotation marks": table_of('",'),
    "a table of empty lines": table_of(",a\n\n\n"),
    "headers of quotation marks": fits_of("K       = '" + "'" * 60),
    "headers of comments": fits_of("COMMENT x"),
    "headers of very many axes": fits_of("NAXIS   = 999"),
    "netCDF of dimensions": netcdf_of(DIMENSIONS, NONE_HERE, NONE_HERE),
    "netCDF of attributes": netcdf_of(NONE_HERE, ATTRIBUTES, NONE_HERE),
    "netCDF of variables": netcdf_of(NONE_HERE, NONE_HERE, VARIABLES),
}


@pytest.mark.parametrize("name", LABORIOUS)
def test_a_file_that_describes_itself_laboriously_costs_its_reader_little(name: str) -> None:
    costs = []
    for _ in range(3):
        begun = process_time()
        LABORIOUS[name]()
        costs.append(process_time() - begun)
    assert min(costs) <= MOST_CPU


def test_a_picture_that_hides_its_size_behind_very_many_segments_counts_as_the_largest() -> None:
    frame = b"\xff\xc2\0\x11\x08" + pack(">HH", 600, 800)
    assert read_points(b"\xff\xd8" + b"\xff\xe1\0\2" * 500 + b"\xff" * 5_000 + frame) == (800, 600)
    assert read_points(b"\xff\xd8" + b"\xff\xe1\0\2" * 2_000 + frame) == (0xFFFF, 0xFFFF)
