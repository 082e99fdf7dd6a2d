"""The file of the mint log: lines are only ever added, and are on the disk before they are relied on.

Who writes holds the lock of the data directory. A reader needs none: what it was told is there stays there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ibi.minting.mint_log import GENESIS, LogBroken, check_links, decode, hash_of
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals, sync_directory, sync_file

_CHUNK = 1 << 16
_REWRITTEN = 1 << 20


class Position(NamedTuple):
    """Up to where the log is known: how many lines and bytes, where the last line begins, and its hash."""

    number: int
    size: int
    last: int
    head: str

    def after(self, line: bytes) -> Position:
        return Position(self.number + 1, self.size + len(line) + 1, self.size, hash_of(line))


BEGINNING = Position(0, 0, 0, GENESIS)


class WrittenLine(NamedTuple):
    """A line, and up to where the log is known with it."""

    line: bytes
    position: Position


def take_over_lines(path: Path, other: Path) -> int:
    """Add to the log at `path`, which is not in use, the lines that another one has more; how many those are.

    None if the other does not begin with the same bytes; and none from the first line on that does not follow from the
    one before it.
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
    """Which file lies there, and what tells that it was changed."""

    device: int = 0
    inode: int = 0
    size: int = 0
    written: int = 0
    changed: int = 0

    @property
    def seen(self) -> str:
        """What stays the same from one start of the machine to the next, as text."""
        return f"{self.size} {self.written} {self.changed}"


def _status_of(found: os.stat_result) -> _Status:
    return _Status(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class MintLogFile:
    """Its methods are called under the lock, all but `lines`."""

    def __init__(self, path: Path, on_step: Callable[[str], None] | None = None) -> None:
        """`on_step` is told of each step of writing; a line is then written in two parts, for a crash between them."""
        self.path = path
        self._on_step = on_step
        self._descriptor: int | None = None
        self._file = _Status()
        self._known: tuple[_Status, Position] | None = None
        self._broken: tuple[_Status, Position, LogBroken] | None = None

    def is_at(self, position: Position, seen: str = "") -> bool:
        """Whether the file ends at `position` and not after it; `LogBroken` if before it, or if a line up to there was
        changed. Cheap while only minters write, whose files look as `seen` says; others are read from the first line.
        """
        with refusals(DiskRefused, self.path):
            status = self._status()
            if self._known != (status, position):
                self._check(status, position, seen)
                self._known = (status, position) if status.size == position.size else None
        return self._known is not None

    def note_end(self, position: Position) -> None:
        """The lines up to `position` are known to be whole."""
        with refusals(DiskRefused, self.path):
            status = self._status()
        self._known = (status, position) if status.size == position.size else None

    @property
    def seen(self) -> str:
        """What the file looked like when it was last known to be whole: its size and times; of an empty one nothing."""
        return "" if self._known is None or self._known[1] == BEGINNING else self._known[0].seen

    def append(self, line: bytes, position: Position) -> Position:
        """Put `line` after `position`, where the file ends. It is on the disk afterwards, or `DiskRefused` is raised
        and it is gone; or it is found there later and counts: its dates are lost then, but never given twice."""
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
        """The lines after `position`, all on the disk before the first is given; a torn one at the end is cut off."""
        with refusals(DiskRefused, self.path):
            end = self._cut_torn_line(position.size, self._status().size)
            # After a failed sync, the system may hold as written what never reached the disk: so it is written again.
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
        """The whole lines between two places, without their ends."""
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
        """What lies at the path now: after a backup was put back, it is another file than the one that is open."""
        try:
            status = _status_of(os.stat(self.path))  # noqa: PTH116  (in every commit, and quicker)
        except FileNotFoundError:
            status = _Status()
        if status[:2] != self._file[:2]:
            self.close()
        return status

    def _check(self, status: _Status, position: Position, seen: str) -> None:
        """Once for a file that is broken: it may be long, and every request comes here."""
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
        """After a failure: what can be undone is; what cannot is found by the next minter."""
        with suppress(OSError):
            os.ftruncate(self._open(), position.size)
        with suppress(OSError):
            self.close()
        # The lines before were whole: on a full disk they are not to be read again at every request.
        with suppress(OSError):
            status = self._status()
            self._known = (status, position) if status.size == position.size else None

    def _cut_torn_line(self, start: int, end: int) -> int:
        """Cut off what a crash left of a last line after `start`, and give where the file ends then. Its labels were
        not given out: that is done after it is on the disk."""
        whole = self._begin_of_line(start, end)
        last = self._begin_of_line(start, end - 1) if whole == end > start else whole
        # A file system may have kept the end of a line and filled its begin with zeros.
        if b"\0" in os.pread(self._open(), end - last, last):
            whole = last
        if whole < end:
            os.ftruncate(self._open(), whole)
            self._step("torn line cut")
        return whole

    def _begin_of_line(self, start: int, end: int) -> int:
        """The place after the last line end between `start` and `end`; `start` if there is none."""
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
