"""What files say of themselves, also hostile ones: within bounds, or nothing at all."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from ibi.items.rules.file_summaries.fits import MOST_UNITS, read_fits
from ibi.items.rules.file_summaries.netcdf import read_netcdf
from ibi.items.rules.file_summaries.reading import ReadAt
from ibi.items.rules.file_summaries.tables import MOST_COLUMNS, MOST_ROWS, read_table
from ibi.items.rules.file_summaries.zip_directory import MOST_ENTRIES, read_zip


def reader(content: bytes) -> tuple[int, ReadAt]:
    return len(content), lambda offset, length: content[offset : offset + length]


class TestTable:
    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_separators_are_found(self, separator: str) -> None:
        table = read_table(f"a{separator}b\n1{separator}2\n")
        assert table is not None
        assert (table.names, table.rows, table.is_whole) == (("a", "b"), (("1", "2"),), True)

    def test_a_text_without_columns_is_none(self) -> None:
        assert read_table("one\ntwo\n") is None
        assert read_table("") is None

    def test_rows_columns_and_cells_are_bounded(self) -> None:
        wide = ",".join(["x" * 300] * 40)
        table = read_table("\n".join([wide] * 100), is_whole=False)
        assert table is not None
        assert (len(table.rows), len(table.names)) == (MOST_ROWS, MOST_COLUMNS)
        assert max(map(len, table.names)) < 250
        assert not table.is_whole

    def test_rows_of_different_lengths_are_made_alike(self) -> None:
        table = read_table("a,b\n1\n1,2,3\n")
        assert table is not None
        assert table.rows == (("1", ""), ("1", "2"))

    def test_an_open_quote_ends_with_the_text(self) -> None:
        assert read_table('a,"' + "b\n" * 50_000) is not None


def packed(*entries: tuple[str, bytes]) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as made:
        for name, each in entries:
            made.writestr(ZipInfo(name), each, ZIP_DEFLATED)
    return content.getvalue()


class TestZip:
    def test_names_and_sizes_are_told(self) -> None:
        found = read_zip(*reader(packed(("a/", b""), ("a/b.txt", b"hello"))))
        assert found is not None
        assert [(each.name, each.size, each.is_folder, each.is_unsafe) for each in found.files] == [
            ("a/", 0, True, False),
            ("a/b.txt", 5, False, False),
        ]
        assert (found.number, found.size, found.is_bomb) == (2, 5, False)

    @pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/passwd", "..\\evil", "C:\\evil", "C:/evil"])
    def test_zip_slip_is_shown_and_marked(self, name: str) -> None:
        found = read_zip(*reader(packed((name, b"x"))))
        assert found is not None
        assert [each.is_unsafe for each in found.files] == [True]

    @pytest.mark.parametrize(
        ("name", "shown"),
        [("a\u202egpj.exe", "a[U+202E]gpj.exe"), ("a\u2067b", "a[U+2067]b"), ("a\u200bb.txt", "a[U+200B]b.txt")],
    )
    def test_characters_that_are_not_seen_are_shown_and_the_name_is_marked(self, name: str, shown: str) -> None:
        found = read_zip(*reader(packed((name, b"x"), ("صورة.jpg", b"x"))))
        assert found is not None
        assert [(each.name, each.is_unsafe) for each in found.files] == [(shown, True), ("صورة.jpg", False)]

    def test_a_decompression_bomb_is_not_unpacked_and_said_to_be_one(self) -> None:
        content = bytearray(packed(("big", bytes(1_000_000))))
        place = content.index(b"PK\x01\x02")
        struct.pack_into("<L", content, place + 24, 0xFFFFFFF0)  # what it says of its size
        found = read_zip(*reader(bytes(content)))
        assert found is not None
        assert found.is_bomb

    def test_many_entries_are_counted_and_some_are_shown(self) -> None:
        found = read_zip(*reader(packed(*((f"f{number}", b"") for number in range(MOST_ENTRIES + 50)))))
        assert found is not None
        assert (found.number, len(found.files)) == (MOST_ENTRIES + 50, MOST_ENTRIES)

    def test_a_directory_elsewhere_than_in_the_file_is_none(self) -> None:
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, 400, 0xFFFFFF00, 0)
        assert read_zip(*reader(bytes(100) + end)) is None
        assert read_zip(*reader(b"PK\x05\x06")) is None
        assert read_zip(*reader(b"no zip at all")) is None


def card(keyword: str, value: str, comment: str = "") -> str:
    return f"{keyword:<8}= {value:>20} / {comment}".ljust(80)[:80]


def header(*cards: str) -> bytes:
    text = "".join((*cards, "END".ljust(80)))
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


PRIMARY = (card("SIMPLE", "T"), card("BITPIX", "-32"), card("NAXIS", "2"), card("NAXIS1", "30"), card("NAXIS2", "40"))
TABLE = (card("XTENSION", "'BINTABLE'"), card("BITPIX", "8"), card("NAXIS", "1"), card("NAXIS1", "5"))


class TestFits:
    def test_headers_of_all_units_are_read(self) -> None:
        data = bytes(2 * 2880)  # 30 by 40 numbers of four bytes, filled up to blocks
        content = header(*PRIMARY, card("OBJECT", "'it''s M 31'", "target")) + data + header(*TABLE) + bytes(2880)
        units = read_fits(*reader(content))
        assert units is not None
        assert [(unit.name, unit.shape) for unit in units] == [("PRIMARY", (30, 40)), ("BINTABLE", (5,))]
        assert ("OBJECT", "it's M 31", "target") in units[0].cards

    def test_what_has_no_end_or_another_beginning_is_none(self) -> None:
        assert read_fits(*reader(b"".join(each.encode() for each in PRIMARY).ljust(200 * 2880))) is None
        assert read_fits(*reader(b"%PDF-1.4")) is None
        assert read_fits(*reader(b"")) is None

    @pytest.mark.parametrize("axis", ["9" * 18, "-5", "1E9", "x", ""])
    def test_absurd_axes_end_the_reading(self, axis: str) -> None:
        content = header(card("SIMPLE", "T"), card("NAXIS", "1"), card("NAXIS1", axis))
        assert read_fits(*reader(content)) is not None

    def test_units_without_data_are_bounded(self) -> None:
        content = header(card("SIMPLE", "T"), card("NAXIS", "0")) * 500
        units = read_fits(*reader(content))
        assert units is not None
        assert len(units) == MOST_UNITS


def name(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)


NETCDF = (
    b"CDF\x01"
    + struct.pack(">III", 0, 10, 2)
    + name("time")
    + struct.pack(">I", 0)
    + name("lat")
    + struct.pack(">I", 3)
    + struct.pack(">II", 12, 1)
    + name("title")
    + struct.pack(">II", 2, 9)
    + b"Sea level\0\0\0"
    + struct.pack(">II", 11, 1)
    + name("sst")
    + struct.pack(">III", 2, 0, 1)
    + struct.pack(">II", 12, 1)
    + name("scale")
    + struct.pack(">IIf", 5, 1, 0.5)
    + struct.pack(">III", 5, 12, 200)
)


class TestNetcdf:
    def test_dimensions_attributes_and_variables_are_read(self) -> None:
        found = read_netcdf(NETCDF)
        assert found is not None
        assert found.dimensions == (("time", None), ("lat", 3))
        assert found.attributes == (("title", "Sea level"),)
        (variable,) = found.variables
        assert (variable.name, variable.kind, variable.dimensions) == ("sst", "float", ("time", "lat"))
        assert variable.attributes == (("scale", "0.5"),)

    def test_a_header_that_goes_on_is_none(self) -> None:
        for length in range(len(NETCDF)):
            assert read_netcdf(NETCDF[:length]) is None

    def test_dimensions_of_a_variable_are_bounded(self) -> None:
        listed = struct.pack(">III", 0, 10, 1) + name("d" * 200) + struct.pack(">IQ", 3, 0)
        variable = name("v") + struct.pack(">I", 5_000) + bytes(4 * 5_000) + struct.pack(">QIII", 0, 5, 12, 200)
        found = read_netcdf(b"CDF\x01" + listed + struct.pack(">II", 11, 1) + variable)
        assert found is not None
        assert found.variables[0].rank == 5_000
        assert found.variables[0].dimensions == ("d" * 60 + "…",) * 20

    @pytest.mark.parametrize("number", [0xFFFFFFFF, 0x10000000])
    def test_absurd_numbers_end_at_once(self, number: int) -> None:
        assert read_netcdf(b"CDF\x01" + struct.pack(">III", 0, 10, number) + bytes(100_000)) is None
        assert read_netcdf(b"CDF\x01" + struct.pack(">IIII", 0, 10, 1, number)) is None


@pytest.mark.parametrize(
    ("read", "sample"),
    [
        (lambda content: read_zip(*reader(content)), packed(("a", b"b" * 100), ("c", b"d"))),
        (lambda content: read_fits(*reader(content)), header(*PRIMARY) + bytes(2880)),
        (read_netcdf, NETCDF),
    ],
)
def test_spoilt_bytes_never_raise(read: Callable[[bytes], object], sample: bytes) -> None:
    chance = random.Random(3)
    for _ in range(2_000):
        spoilt = bytearray(sample)
        for _ in range(chance.randrange(1, 6)):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        read(bytes(spoilt))
