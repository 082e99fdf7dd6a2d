"""A folder that receives the files of an item: each file completely or not at all, with its digest checked.

A file is written beside its place under a name that ends in `.ibi-part`, and renamed once its digest is right. A
partial file from a broken download is resumed: its bytes are read again, and enter the digest like all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha512
from pathlib import Path
from typing import Final

from ibi.items.model.file import File, checked_path
from ibi.standard.errors import ErrorKind
from ibi.standard.safe_text import printable
from ibi.standard.storage_errors import StorageError
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals

PART: Final = ".ibi-part"
_PIECE: Final = 1 << 20

ReadFrom = Callable[[int], Iterable[bytes]]
"""Returns the bytes of a file from an offset on."""


class DownloadDiffers(StorageError):
    """{path} is there already, and is not the file that the item has. Move it away, or name another folder; nothing was
    written over it."""

    code = "download-differs"
    kind = ErrorKind.INTERNAL


class DownloadDamaged(StorageError):
    """{path} did not arrive as it was announced: {reason}. It was not kept; ask again."""

    code = "download-damaged"
    kind = ErrorKind.INTERNAL


class UnsafeFolder(StorageError):
    """{path} leads out of the folder that was named, through a link. Nothing was written there."""

    code = "unsafe-folder"
    kind = ErrorKind.INTERNAL


class DownloadFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fetch(self, file: File, read_from: ReadFrom, on_bytes: Callable[[int], object] = id) -> bool:
        """Download a file of an item into the folder; return false if it is there already with the right digest.

        `read_from` returns the missing bytes. `on_bytes` gets the number of processed bytes.
        """
        place = self._place(checked_path(file.path))
        with refusals(DiskRefused, place):
            if place.exists():
                if place.stat().st_size != file.size or _digest(place) != file.sha512:
                    raise DownloadDiffers(path=printable(str(place)))
                on_bytes(file.size)
                return False
            part = place.with_name(place.name + PART)
            try:
                self._write(part, file, read_from, on_bytes)
            except DownloadDamaged:
                with suppress(OSError):
                    part.unlink()
                raise
            part.replace(place)
        return True

    def _place(self, path: str) -> Path:
        place = self._folder.joinpath(*path.split("/"))
        with refusals(DiskRefused, place):
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.parent.resolve().is_relative_to(self._folder.resolve()) or place.is_symlink():
                raise UnsafeFolder(path=printable(str(place)))
        return place

    @staticmethod
    def _write(part: Path, file: File, read_from: ReadFrom, on_bytes: Callable[[int], object]) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(part, flags, 0o666), "r+b") as written:
            found, done = sha512(), 0
            while done < file.size and (piece := written.read(min(_PIECE, file.size - done))):
                found.update(piece)
                done += len(piece)
            written.truncate(done)  # a longer part does not belong to this file
            on_bytes(done)
            for piece in read_from(done) if done < file.size else ():
                done += len(piece)
                if done > file.size:
                    raise DownloadDamaged(path=printable(file.path), reason="it is longer")
                found.update(piece)
                written.write(piece)
                on_bytes(len(piece))
            written.flush()
            if done < file.size:
                # The partial file stays, so that the download can be resumed.
                raise DownloadCut(path=printable(file.path), done=done, size=file.size)
            if found.hexdigest() != file.sha512:
                raise DownloadDamaged(path=printable(file.path), reason="its digest is another")
            os.fsync(written.fileno())


class DownloadCut(StorageError):
    """{path} broke off after {done} of {size} bytes, which are kept: ask again to go on."""

    code = "download-cut"
    kind = ErrorKind.INTERNAL


def _digest(place: Path) -> str:
    found = sha512()
    with place.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
