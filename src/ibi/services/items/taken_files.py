"""Files on their way into an item: what they are is found out while they are read, once.

The record of an item tells the size and digest of its files, and lies beside them in the same version. So the files are
read first, and the record is written when the last of them has gone through.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha512

from ibi.errors import IbiError
from ibi.model.content import Bytes, Copy, Derived, Keep, Move, Source, Stream
from ibi.model.file import DEFAULT_MEDIA_TYPE, File
from ibi.model.item import Draft
from ibi.ports.content import FileMissing, SourceRefused
from ibi.services.items.file_selection import media_type_of
from ibi.storage.ocfl.intake import open_source

_CHUNK = 1 << 20
_UNKNOWN = "0" * 128


Reader = Callable[[int], bytes]


def _ignore(length: int) -> None:
    """Nobody watches."""


class UploadDamaged(IbiError):
    """{path}: what is kept of this file is not what was sent. Send it again, then publish."""

    code = "upload-damaged"


def unread_files(paths: Iterable[str]) -> tuple[File, ...]:
    """Files for a draft of which nobody knows more than their names as yet."""
    return tuple(File(path, 0, _UNKNOWN) for path in paths)


class TakenFiles:
    """The files of a draft, by their paths below `doc/`, and where each comes from.

    `kept` are the files that the item has already. A media type comes from the draft, if it has the file, or else from
    the name. `on_bytes` is told of every piece that was read.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        draft: Draft,
        kept: Mapping[str, File] | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> None:
        self._on_bytes = on_bytes or _ignore
        self._kept = kept or {}
        self._types = {file.path: file.media_type for file in draft.files if file.media_type != DEFAULT_MEDIA_TYPE}
        self._sent = {file.path: file.sha512 for file in draft.files if file.sha512 != _UNKNOWN}
        self._files: dict[str, File] = {}
        self._given = sources
        self._descriptor = -1

    def expected(self, draft: Draft) -> Draft:
        """The draft with these files, as far as they are known before they are read."""
        return replace(draft, files=tuple(self._expected(path, source) for path, source in self._given.items()))

    def sources(self) -> dict[str, Source]:
        """The same, to be read in this order, and told by `actual` afterwards."""
        return {path: self._watched(path, source) for path, source in self._given.items()}

    @property
    def are_at_hand(self) -> bool:
        """Whether all of them are here already, and so little that it takes no time to keep them."""
        return sum(map(_size_at_hand, self._given.values())) < _CHUNK

    def actual(self, draft: Draft) -> Draft:
        """The draft with the files that went through; to be asked when all have."""
        missing = self._given.keys() - self._files.keys()
        if missing:
            raise RuntimeError(f"the record of an item was asked for before {min(missing)} was read")
        return replace(draft, files=tuple(self._files.values()))

    def _expected(self, path: str, source: Source) -> File:
        if isinstance(source, Keep):
            return self._kept_file(path, source)
        return File(path, 0, _UNKNOWN, self._type(path))

    def _kept_file(self, path: str, source: Keep) -> File:
        known = self._kept.get(source.path)
        if known is None:
            raise FileMissing(name="the item", path=source.path, version="now")
        return replace(known, path=path, media_type=self._types.get(path, known.media_type))

    def _type(self, path: str) -> str:
        return self._types.get(path) or media_type_of(path)

    def _watched(self, path: str, source: Source) -> Source:
        match source:
            case Bytes(content):
                self._files[path] = File(path, len(content), sha512(content).hexdigest(), self._type(path))
                self._on_bytes(len(content))
                return source
            case Keep(old):
                self._files[path] = self._kept_file(path, source)
                return Keep(f"doc/{old}")
            case Stream(read):
                return Stream(self._reader(path, lambda: read))
            case Copy(origin):
                return Stream(self._reader(path, lambda: self._opened(origin)))
            case Move(origin):
                self._measure(path, origin)
                self._check_sent(path)
                return source
            case Derived():
                raise TypeError(source)

    def _reader(self, path: str, start: Callable[[], Reader]) -> Reader:
        """Reads what `start` opens, when it is first asked to, and notes what it was at the end."""
        digest, size = sha512(), 0
        inner: Reader | None = None

        def read(length: int) -> bytes:
            nonlocal inner, size
            inner = inner or start()
            chunk = inner(length)
            digest.update(chunk)
            size += len(chunk)
            self._on_bytes(len(chunk))
            if not chunk:
                self._files[path] = File(path, size, digest.hexdigest(), self._type(path))
            return chunk

        return read

    def _measure(self, path: str, origin: str) -> None:
        read = self._reader(path, lambda: self._opened(origin))
        while read(_CHUNK):
            pass

    def _check_sent(self, path: str) -> None:
        """What a disk has made of it since it was sent is not published as what was sent."""
        if self._files[path].sha512 != self._sent.get(path, self._files[path].sha512):
            raise UploadDamaged(path=repr(path))

    def _opened(self, origin: str) -> Reader:
        """A plain file; `SourceRefused` for links and whatever else is none. One is open at a time."""
        self.close()
        self._descriptor = open_source(origin)

        def read(length: int) -> bytes:
            try:
                return os.read(self._descriptor, length)
            except OSError as error:
                raise SourceRefused(path=origin, reason=error.strerror or str(error)) from error

        return read

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _size_at_hand(source: Source) -> int:
    """Too much, if nobody knows how long it takes to read it."""
    if isinstance(source, Bytes):
        return len(source.content)
    if isinstance(source, Move):
        with suppress(OSError, ValueError):  # what is wrong with it is told when it is opened
            return os.lstat(source.path).st_size
    return _CHUNK
