"""The layout of a ZIP file of an item's files, computed before any file is read.

The files are stored uncompressed (method 0), in the order of their paths, below one folder, with one date. So the same
files give the same bytes, and a download can resume at any byte. Sizes and CRC-32s come from the record of the item.
Zip64 records appear only where a size, an offset or the number of files needs them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from struct import Struct
from typing import Final

from ibi.items.model.file import File
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant, civil

# APPNOTE.TXT 6.3.10: §4.3.7 local file header, §4.3.12 central directory, §4.3.14 and §4.3.15 zip64 end, §4.3.16 end.
_LOCAL: Final = Struct("<IHHHHHIIIHH")
_CENTRAL: Final = Struct("<IHHHHHHIIIHHHHHII")
_ZIP64_END: Final = Struct("<IQHHIIQQQQ")
_ZIP64_LOCATOR: Final = Struct("<IIQI")
_END: Final = Struct("<IHHHHIIH")
_LOCAL_EXTRA: Final = Struct("<HHQQ")

_MOST_32, _MOST_16 = 0xFFFFFFFF, 0xFFFF
_PLAIN, _ZIP64 = 20, 45
"""Versions of the format that are needed to read a file: 2.0, and 4.5 for zip64."""
_UNIX: Final = 3 << 8
_UTF_8: Final = 1 << 11
_MODE: Final = 0o100644 << 16
"""External attributes of an ordinary file that its owner may write."""
_FIRST_YEAR, _LAST_YEAR = 1980, 2107
"""The years that the format can represent."""
_DAY: Final = 86_400


class CrcUnknown(IbiError):
    """The CRC-32 of {path} is not known yet."""

    code = "crc-unknown"
    # The CRC-32s of an item from an earlier version are computed when its files are read in full.
    kind = ErrorKind.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a file's own bytes."""

    file: File
    offset: int
    length: int


class ZipLayout:
    """The source of each byte of the ZIP file. Time and memory grow with the number of files: some tens of bytes
    each."""

    def __init__(self, folder: str, files: Sequence[File], when: Instant) -> None:
        """Compute the layout. `folder` is one name, without a slash. Raise `CrcUnknown` if a file has no CRC-32."""
        if "/" in folder or "\\" in folder or folder in {"", ".", ".."}:
            raise ValueError(f"{folder!r} is not the name of a folder")
        self._folder, self._files, (self._time, self._date) = f"{folder}/".encode(), files, _dos_time(when)
        self._starts = array("Q")
        digest, offset, directory = sha256(f"ibi-zip-1 {folder} {self._date} {self._time}\n".encode()), 0, 0
        for file in files:
            if file.crc32 is None:
                raise CrcUnknown(path=file.path)
            self._starts.append(offset)
            digest.update(f"{file.sha512} {file.size} {file.crc32} {file.path}\n".encode())
            directory += self._central_size(file, offset)
            offset += self._local_size(file) + file.size
        self._directory, self._directory_size = offset, directory
        """Offset of the central directory, and its bytes."""
        self.size = offset + directory + len(self._end())
        self.digest = digest.hexdigest()
        """Equal for equal bytes."""

    def parts(self, offset: int, length: int) -> Iterator[bytes | StoredPart]:
        """Yield the parts of the file from `offset` on, in order."""
        end = min(offset + length, self.size)
        if offset < self._directory:
            yield from self._content(offset, min(end, self._directory))
        if end > self._directory:
            yield from self._tail(max(offset, self._directory), end)

    def _content(self, offset: int, end: int) -> Iterator[bytes | StoredPart]:
        index = bisect_right(self._starts, offset) - 1
        while index < len(self._files) and self._starts[index] < end:
            file, start = self._files[index], self._starts[index]
            head = self._local(file)
            if offset < start + len(head):
                yield head[max(0, offset - start) : end - start]
            first = start + len(head)
            begin, stop = max(offset - first, 0), min(end - first, file.size)
            if stop > begin:
                yield StoredPart(file, begin, stop - begin)
            index += 1

    def _tail(self, offset: int, end: int) -> Iterator[bytes]:
        """Yield the central directory and the records after it. Entries before `offset` are skipped by their sizes."""
        position = self._directory
        for file, start in self._entries():
            length = self._central_size(file, start)
            if position >= end:
                return
            if position + length > offset:
                yield self._central(file, start)[max(0, offset - position) : end - position]
            position += length
        if position < end:
            yield self._end()[max(0, offset - position) : end - position]

    def _entries(self) -> Iterator[tuple[File, int]]:
        return zip(self._files, self._starts, strict=True)

    def _name(self, file: File) -> bytes:
        return self._folder + file.path.encode()

    def _local_size(self, file: File) -> int:
        return _LOCAL.size + len(self._name(file)) + (_LOCAL_EXTRA.size if file.size >= _MOST_32 else 0)

    def _local(self, file: File) -> bytes:
        name, is_large = self._name(file), file.size >= _MOST_32
        extra = _LOCAL_EXTRA.pack(1, 16, file.size, file.size) if is_large else b""
        size = _MOST_32 if is_large else file.size
        needed = _ZIP64 if is_large else _PLAIN
        head = _LOCAL.pack(
            *(0x04034B50, needed, _UTF_8, 0, self._time, self._date, _crc(file), size, size, len(name), len(extra))
        )
        return head + name + extra

    @staticmethod
    def _central_extra(file: File, start: int) -> bytes:
        """Return the sizes and the offset that do not fit into the entry (§4.5.3)."""
        large = [file.size, file.size] if file.size >= _MOST_32 else []
        far = [start] if start >= _MOST_32 else []
        found = large + far
        return Struct(f"<HH{len(found)}Q").pack(1, 8 * len(found), *found) if found else b""

    def _central_size(self, file: File, start: int) -> int:
        return _CENTRAL.size + len(self._name(file)) + len(self._central_extra(file, start))

    def _central(self, file: File, start: int) -> bytes:
        name, extra = self._name(file), self._central_extra(file, start)
        needed, size = _ZIP64 if extra else _PLAIN, min(file.size, _MOST_32)
        named = (len(name), len(extra), 0, 0, 0, _MODE, min(start, _MOST_32))
        dated = (_UTF_8, 0, self._time, self._date)
        return _CENTRAL.pack(0x02014B50, _UNIX | needed, needed, *dated, _crc(file), size, size, *named) + name + extra

    def _end(self) -> bytes:
        number, size, start = len(self._files), self._directory_size, self._directory
        short, wide = min(number, _MOST_16), (min(size, _MOST_32), min(start, _MOST_32))
        end = _END.pack(0x06054B50, 0, 0, short, short, *wide, 0)
        if number < _MOST_16 and size < _MOST_32 and start < _MOST_32:
            return end
        versions = (_UNIX | _ZIP64, _ZIP64)
        zip64 = _ZIP64_END.pack(0x06064B50, _ZIP64_END.size - 12, *versions, 0, 0, number, number, size, start)
        return zip64 + _ZIP64_LOCATOR.pack(0x07064B50, 0, start + size, 1) + end


def _crc(file: File) -> int:
    assert file.crc32 is not None  # checked when the layout was made
    return int(file.crc32, 16)


def _dos_time(when: Instant) -> tuple[int, int]:
    """Return time and date in the format of ZIP, in steps of two seconds."""
    days, seconds = divmod(when.seconds, _DAY)
    year, month, day = civil(days)
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        year, month, day, seconds = min(max(year, _FIRST_YEAR), _LAST_YEAR), 1, 1, 0
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return hour << 11 | minute << 5 | second // 2, (year - _FIRST_YEAR) << 9 | month << 5 | day
