"""The files of an item that has very many of them, as its record has them: each is read when somebody looks at it.

Of ten thousand files a reader wants one, or a page: to read them all takes two hundred milliseconds, during which
everybody else waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, overload

import msgspec

from ibi.errors import InvalidInput
from ibi.model.errors import InvalidDocument
from ibi.model.file import File

__all__ = ["RecordedFiles", "without_files"]


class _Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    size: int
    sha512: str
    media_type: str


class _Named(msgspec.Struct, frozen=True):
    path: str


_EACH: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ONE: Final = msgspec.json.Decoder(_Recorded)
_NAMES: Final = msgspec.json.Decoder(list[_Named])
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class RecordedFiles(Sequence[File]):
    """Equal to the tuple of the same files. They are sorted, and no two have one path: they are an item's already.

    What is wrong with a file is found when that is looked at, and is `InvalidDocument`.
    """

    __slots__ = ("_each", "_record")

    def __init__(self, record: msgspec.Raw) -> None:
        """`record` is the member `files` of an `item.json`."""
        self._record = record
        try:
            self._each = _EACH.decode(record)
        except msgspec.MsgspecError as error:
            raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error

    @property
    def size(self) -> int:
        """Bytes of the record."""
        return memoryview(self._record).nbytes

    @property
    def paths(self) -> list[str]:
        """Of all files in their order, without the rest of them."""
        try:
            return [named.path for named in _NAMES.decode(self._record)]
        except msgspec.MsgspecError as error:
            raise InvalidDocument("item.json.files", 0, "{cause}", cause=str(error)) from error

    def __len__(self) -> int:
        return len(self._each)

    @overload
    def __getitem__(self, index: int) -> File: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[File, ...]: ...

    def __getitem__(self, index: int | slice) -> File | tuple[File, ...]:
        if isinstance(index, slice):
            return tuple(map(_file, self._each[index]))
        return _file(self._each[index])

    def __iter__(self) -> Iterator[File]:
        return map(_file, self._each)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RecordedFiles):
            return bytes(self._record) == bytes(other._record) or tuple(self) == tuple(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"RecordedFiles({len(self)} files)"


def without_files(item_json: bytes) -> tuple[bytes, RecordedFiles | None]:
    """A record without its files, and those; None if it has none."""
    try:
        members = _MEMBERS.decode(item_json)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error
    files = members.pop("files", None)
    return msgspec.json.encode(members), None if files is None else RecordedFiles(files)


def _file(record: msgspec.Raw) -> File:
    try:
        one = _ONE.decode(record)
        return File(one.path, one.size, one.sha512, one.media_type)
    except (msgspec.MsgspecError, InvalidInput) as error:
        raise InvalidDocument("item.json.files", 0, "{cause}", cause=str(error)) from error
