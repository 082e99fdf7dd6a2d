"""The layout of a ZIP file, read by other programs of the same format."""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import sha512
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile
from zlib import crc32

import pytest

from ibi.items.model.file import File
from ibi.items.rules.zip_layout import CrcUnknown, StoredPart, ZipLayout
from ibi.standard.document_errors import InvalidFileName
from ibi.standard.instant import Instant

WHEN = Instant.parse("2014-01-02T17:23:57Z")
CONTENT = {
    "Relatório/a b.txt": b"0123456789",
    "data/empty": b"",
    "data/\N{SNOWMAN}.csv": b"a,b\n" * 500,
    "z": bytes(range(256)) * 9,
}


def file_of(path: str, content: bytes) -> File:
    return File(path, len(content), sha512(content).hexdigest(), crc32=f"{crc32(content):08x}")


def layout_of(content: Mapping[str, bytes], when: Instant = WHEN) -> ZipLayout:
    return ZipLayout("item", tuple(file_of(path, each) for path, each in sorted(content.items())), when)


def read(layout: ZipLayout, content: Mapping[str, bytes], offset: int = 0, length: int | None = None) -> bytes:
    found = b""
    for part in layout.parts(offset, layout.size if length is None else length):
        if isinstance(part, StoredPart):
            found += content[part.file.path][part.offset : part.offset + part.length]
        else:
            found += part
    return found


def test_pythons_own_reader_finds_every_file_below_one_folder() -> None:
    whole = read(layout_of(CONTENT), CONTENT)
    assert len(whole) == layout_of(CONTENT).size
    with ZipFile(BytesIO(whole)) as opened:
        assert opened.testzip() is None
        assert {each.filename: opened.read(each) for each in opened.infolist()} == {
            f"item/{path}": each for path, each in CONTENT.items()
        }
        assert {each.compress_type for each in opened.infolist()} == {ZIP_STORED}
        assert {each.date_time for each in opened.infolist()} == {(2014, 1, 2, 17, 23, 56)}


def test_a_zip_is_the_same_at_any_byte_and_twice() -> None:
    layout, whole = layout_of(CONTENT), read(layout_of(CONTENT), CONTENT)
    assert read(layout, CONTENT) == whole
    for offset in range(layout.size):
        assert read(layout, CONTENT, offset, 3) == whole[offset : offset + 3]
    chance = random.Random(1)
    for _ in range(300):
        offset, length = chance.randrange(layout.size), chance.randrange(1, layout.size + 9)
        assert read(layout, CONTENT, offset, length) == whole[offset : offset + length]


def test_other_content_has_another_digest() -> None:
    digests = {
        layout_of(CONTENT).digest,
        layout_of({**CONTENT, "z": b"other"}).digest,
        layout_of({**CONTENT, "y": CONTENT["z"]}).digest,
        layout_of(CONTENT, Instant.parse("2015-01-02T17:23:57Z")).digest,
    }
    assert len(digests) == 4


@pytest.mark.parametrize("year", ["1970-03-04", "2500-03-04"])
def test_a_date_that_the_format_cannot_say_is_the_nearest_year(year: str) -> None:
    whole = read(layout_of(CONTENT, Instant.parse(f"{year}T10:00:00Z")), CONTENT)
    with ZipFile(BytesIO(whole)) as opened:
        assert {each.date_time[1:] for each in opened.infolist()} == {(1, 1, 0, 0, 0)}


def test_a_file_without_a_crc_is_told() -> None:
    with pytest.raises(CrcUnknown):
        ZipLayout("item", (File("a", 1, "0" * 128),), WHEN)


@pytest.mark.parametrize("folder", ["", ".", "..", "a/b", "a\\b", "../x"])
def test_zip_slip_the_folder_is_one_name(folder: str) -> None:
    with pytest.raises(ValueError, match="folder"):
        ZipLayout(folder, (), WHEN)


@pytest.mark.parametrize("path", ["../evil", "/etc/passwd", "a/../../evil", "..\\evil", "a//b"])
def test_zip_slip_no_such_name_becomes_a_file(path: str) -> None:
    with pytest.raises(InvalidFileName):
        file_of(path, b"")


class Sparse:
    """A file object of a ZIP whose large files are all zeros, as `zipfile` reads it."""

    def __init__(self, layout: ZipLayout) -> None:
        self._layout, self._at = layout, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._layout.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def read(self, length: int = -1) -> bytes:
        length = self._layout.size - self._at if length < 0 else length
        found = b"".join(
            bytes(part.length) if isinstance(part, StoredPart) else part
            for part in self._layout.parts(self._at, length)
        )
        self._at += len(found)
        return found


GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    "sizes",
    [
        (5 * GIGABYTE, 10),  # a size and an offset beyond 32 bits
        (3 * GIGABYTE, 3 * GIGABYTE, 7),  # an offset alone
        (0xFFFFFFFF, 1),
        (0xFFFFFFFE, 1),
        (0xFFFFFFFF - 49, 1),
    ],
)
def test_large_files_are_found_by_zip64(sizes: tuple[int, ...]) -> None:
    files = tuple(
        File(f"f{number}", size, "0" * 128, crc32=f"{crc32(bytes(min(size, 99))):08x}")
        for number, size in enumerate(sizes)
    )
    layout = ZipLayout("item", files, WHEN)
    with ZipFile(Sparse(layout)) as opened:
        assert [(each.filename, each.file_size) for each in opened.infolist()] == [
            (f"item/{file.path}", file.size) for file in files
        ]
        with opened.open(opened.infolist()[-1]) as last:  # reads its local header
            assert last.read() == bytes(sizes[-1])


def test_more_files_than_16_bits_count_are_found() -> None:
    files = tuple(File(f"{number:06}", 0, "0" * 128, crc32="00000000") for number in range(65_600))
    with ZipFile(Sparse(ZipLayout("item", files, WHEN))) as opened:
        assert len(opened.infolist()) == 65_600
