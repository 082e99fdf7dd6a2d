"""The file of the mint log: append-only, with each line on disk before anything relies on it.

The writer holds the lock of the data directory. A reader needs no lock, because lines that it was told about stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ibi.minting.rules.mint_log import GENESIS, LogBroken, check_links, decode, hash_of
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals, sync_directory, sync_file

_CHUNK = 1 << 16
_REWRITTEN = 1 << 20


class Position(NamedTuple):
    """A known end of the log: the number of lines and bytes, the start of the last line, and its hash."""

    number: int
    size: int
    last: int
    head: str

    def after(self, line: bytes) -> Position:
        return Position(self.number + 1, self.size + len(line) + 1, self.size, hash_of(line))


BEGINNING = Position(0, 0, 0, GENESIS)


class WrittenLine(NamedTuple):
    """A line, and the end of the log with it."""

    line: bytes
    position: Position


def take_over_lines(path: Path, other: Path) -> int:
    """Append to the unused log at `path` the further lines of another log, and return their number.

    Nothing is taken if the other log does not begin with the same bytes. Lines are taken up to the first one that does
    not follow from the one before it.
    """
    with refusals(DiskRefused, path), path.open("r+b") as own, other.open("rb") as more:
        number, head = 0, GENESIS
        for line in own:
            if not line.endswith(b"\n") or more.readline() != line:
                return 0
            number, head = number + 1, hash_of(line[:-1])
        taken = 0
        for line in more:
            if not line.endswith(b"\n") or not _follows(line[:-1], number + 1, head):
                break
            own.write(line)
            number, head, taken = number + 1, hash_of(line[:-1]), taken + 1
        own.flush()
        sync_file(own.fileno())
    return taken


def _follows(line: bytes, number: int, head: str) -> bool:
    try:
        entry = decode(line, number)
    except LogBroken:
        return False
    return (entry.number, entry.previous) == (number, head)


class _Status(NamedTuple):
    """The identity of a file, with its size and times to detect changes."""

    device: int = 0
    inode: int = 0
    size: int = 0
    written: int = 0
    changed: int = 0

    @property
    def seen(self) -> str:
        """The part that survives a restart of the machine, as text."""
        return f"{self.size} {self.written} {self.changed}"


def _status_of(found: os.stat_result) -> _Status:
    return _Status(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class MintLogFile:
    """The mint log on disk. All methods except `lines` are called under the lock."""

    def __init__(self, path: Path, on_step: Callable[[str], None] | None = None) -> None:
        """`on_step` is called at each step of writing. With it, a line is written in two parts, to test a crash between
        them."""
        self.path = path
        self._on_step = on_step
        self._descriptor: int | None = None
        self._file = _Status()
        self._known: tuple[_Status, Position] | None = None
        self._broken: tuple[_Status, Position, LogBroken] | None = None

    def is_at(self, position: Position, seen: str = "") -> bool:
        """Return whether the file ends exactly at `position`. Raise `LogBroken` if it ends before it, or if an earlier
        line was changed.

        This is cheap as long as the size and times of the file equal `seen`. Otherwise the file is read from its first
        line.
        """
        with refusals(DiskRefused, self.path):
            status = self._status()
            if self._known != (status, position):
                self._check(status, position, seen)
                self._known = (status, position) if status.size == position.size else None
        return self._known is not None

    def note_end(self, position: Position) -> None:
        """Record that the lines up to `position` are whole."""
        with refusals(DiskRefused, self.path):
            status = self._status()
        self._known = (status, position) if status.size == position.size else None

    @property
    def seen(self) -> str:
        """The size and times of the file when it was last known to be whole; empty for an empty log."""
        return "" if self._known is None or self._known[1] == BEGINNING else self._known[0].seen

    def append(self, line: bytes, position: Position) -> Position:
        """Append `line` after `position`, the end of the file, and sync it.

        On failure `DiskRefused` is raised and the line is removed. If it cannot be removed, the next minter finds it
        and it counts: its dates are lost then, but never given twice.
        """
        after = position.after(line)
        with refusals(DiskRefused, self.path):
            try:
                self._write(line + b"\n", position.size)
                self._step("line written")
                sync_file(self._open())
                self._step("line synced")
            except OSError:
                self._cut_back(position)
                raise
            self._known = _status_of(os.fstat(self._open())), after
        return after

    def take_in(self, position: Position) -> Iterator[WrittenLine]:
        """Yield the lines after `position`, once all are synced. A torn last line is cut off."""
        with refusals(DiskRefused, self.path):
            end = self._cut_torn_line(position.size, self._status().size)
            # After a failed sync, the system may hold pages as written that never reached the disk. So they are written
            # again.
            start = max(position.size, end - _REWRITTEN)
            self._write_all(os.pread(self._open(), end - start, start), start)
            sync_file(self._open())
            self._step("extra lines synced")
        for line in self.lines(position.size, end):
            position = position.after(line)
            yield WrittenLine(line, position)

    def read(self, start: int, length: int) -> bytes:
        with refusals(DiskRefused, self.path):
            return os.pread(self._open(), length, start)

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the complete lines between two offsets, without line ends."""
        if start == end:
            return
        with refusals(DiskRefused, self.path), self.path.open("rb") as file:
            file.seek(start)
            while start < end and (line := file.readline(end - start)).endswith(b"\n"):
                start += len(line)
                yield line[:-1]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._known = None, None

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                sync_directory(self.path.parent)
            self._file = _status_of(os.fstat(self._descriptor))
        return self._descriptor

    def _status(self) -> _Status:
        """Return the status of the file at the path. After a restore from a backup it differs from the open file."""
        try:
            status = _status_of(os.stat(self.path))  # noqa: PTH116  (in every commit, and quicker)
        except FileNotFoundError:
            status = _Status()
        if status[:2] != self._file[:2]:
            self.close()
        return status

    def _check(self, status: _Status, position: Position, seen: str) -> None:
        """Check the log. The result for a broken file is cached, because the file may be long and every request comes
        here."""
        if self._broken is not None and self._broken[:2] == (status, position):
            raise LogBroken(**self._broken[2].parameters)
        try:
            self._check_tail(status, position)
            if status.seen != seen:
                check_links(self.lines(0, position.size), position.head)
        except LogBroken as error:
            self._broken = status, position, error
            raise

    def _check_tail(self, status: _Status, position: Position) -> None:
        if status.size < position.size:
            raise LogBroken(line=position.number, reason="the file ends before it")
        if position == BEGINNING:
            return
        line = os.pread(self._open(), position.size - position.last, position.last)
        if line[-1:] != b"\n" or hash_of(line[:-1]) != position.head:
            raise LogBroken(line=position.number, reason="it was changed, or lines before it are missing")

    def _write(self, content: bytes, start: int) -> None:
        if self._on_step is None:
            self._write_all(content, start)
            return
        half = len(content) // 2
        self._write_all(content[:half], start)
        self._step("line half written")
        self._write_all(content[half:], start + half)

    def _write_all(self, content: bytes, start: int) -> None:
        while content:
            written = os.pwrite(self._open(), content, start)
            content, start = content[written:], start + written

    def _cut_back(self, position: Position) -> None:
        """Undo a failed write as far as possible. The next minter finds the rest."""
        with suppress(OSError):
            os.ftruncate(self._open(), position.size)
        with suppress(OSError):
            self.close()
        # The earlier lines were whole: on a full disk they should not be read again at every request.
        with suppress(OSError):
            status = self._status()
            self._known = (status, position) if status.size == position.size else None

    def _cut_torn_line(self, start: int, end: int) -> int:
        """Cut off the torn last line that a crash left after `start`, and return the new end of the file. Its labels
        were never given out, because that happens only after the line is on disk."""
        whole = self._begin_of_line(start, end)
        last = self._begin_of_line(start, end - 1) if whole == end > start else whole
        # A file system may have kept the end of a line and filled its beginning with zeros.
        if b"\0" in os.pread(self._open(), end - last, last):
            whole = last
        if whole < end:
            os.ftruncate(self._open(), whole)
            self._step("torn line cut")
        return whole

    def _begin_of_line(self, start: int, end: int) -> int:
        """Return the offset after the last line end between `start` and `end`; `start` if there is none."""
        while end > start:
            begin = max(start, end - _CHUNK)
            found = os.pread(self._open(), end - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return start

    def _step(self, name: str) -> None:
        if self._on_step is not None:
            self._on_step(name)
