"""Which drafts were changed: told among the processes that share a data directory, so that none has to look at all.

Each process appends the id of a draft that it has changed to one file, in records of equal length, and reads what
others have appended since it last looked. The drafts themselves are the truth; this says where to look. It need not
survive a crash, nor be complete after one: a process that starts looks at all drafts, and each does so now and then.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.model.draft_record import DRAFT_ID

_RECORD: Final = 32
"""Bytes: who, a space, the id of a draft, a line feed."""
_MOST: Final = _RECORD * 32_768
"""Bytes after which the file is begun anew. Readers then look at all drafts once."""
_ATTEMPTS: Final = 3


class _Opened:
    """A file that stays open; what is open cannot have its number taken by another file."""

    __slots__ = ("descriptor", "number")

    def __init__(self, path: Path, flags: int) -> None:
        self.descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.number = os.fstat(self.descriptor).st_ino

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self.descriptor)


class DraftChanges:
    """The changes of one data directory. From any thread."""

    def __init__(self, path: Path) -> None:
        self._path, self._who, self._lock = path, secrets.token_hex(4), Lock()
        self._writer: _Opened | None = None
        self._reader: _Opened | None = None
        self._position, self._is_first = 0, True

    def note(self, draft: str) -> None:
        """Say that the draft has changed. What cannot be said, on a full disk, is seen by others later."""
        record = f"{self._who} {draft}\n".encode("ascii")
        with self._lock, suppress(OSError):
            for _ in range(_ATTEMPTS):
                if self._append(record):
                    break
                self._writer = None  # another process has begun the file anew

    def read_others(self) -> Collection[str] | None:
        """The drafts that others have changed since the last call; None if that is not known, as the first time."""
        with self._lock:
            found = None
            with suppress(OSError):
                found = self._path.stat()
            before, number = None if self._reader is None else self._reader.number, found and found.st_ino
            # Shorter than before it is if it was emptied by hand.
            if self._is_first or number != before or (found is not None and found.st_size < self._position):
                self._open_reader()
                return None
            return () if found is None or found.st_size == self._position else self._read_on(found.st_size)

    def _open_reader(self) -> None:
        """What is there by now is not read, for the caller looks at all drafts."""
        self._is_first, self._reader, self._position = False, None, 0
        with suppress(OSError):
            self._reader = _Opened(self._path, os.O_RDONLY)
            self._position = os.fstat(self._reader.descriptor).st_size

    def _read_on(self, end: int) -> Collection[str] | None:
        assert self._reader is not None
        whole = (end - self._position) // _RECORD * _RECORD
        try:
            read = os.pread(self._reader.descriptor, whole, self._position)
        except OSError:
            return None
        self._position += len(read)
        drafts = set()
        for start in range(0, len(read), _RECORD):
            who, _, draft = read[start : start + _RECORD].decode("latin-1").removesuffix("\n").partition(" ")
            if DRAFT_ID.fullmatch(draft) is None:  # a full disk took half a record: all later ones are displaced
                self._begin_anew()
                return None
            if who != self._who:
                drafts.add(draft)
        return drafts

    def _append(self, record: bytes) -> bool:
        """Whether the record is where others read."""
        if self._writer is None:
            self._writer = _Opened(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(self._writer.descriptor, record)
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        if found.st_size > _MOST:
            self._begin_anew()
        return found.st_ino == self._writer.number

    def _begin_anew(self) -> None:
        empty = self._path.with_name(f"{self._path.name}-{secrets.token_hex(4)}")
        with suppress(OSError):
            empty.touch(0o600)
            empty.replace(self._path)
