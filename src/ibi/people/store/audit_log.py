"""The file of the audit log: append-only, with one write for all changes of a group.

A line is written before its change is confirmed, and then survives the process. A server job syncs it moments later,
because another sync would slow deposits by a quarter. A power failure can lose only the lines of these moments; the
versions of the items still name their authors. A torn last line is cut off before the next write.

Beside the log, `head` has the number of lines and the hash of the last one, so that missing lines at the end are
noticed. Before a write, the end of the log is compared with `head` and with this process's last write or read. A
difference is recorded as a line of its own, so that later lines do not hide it; the change itself is not refused. A log
that is longer than `head` says is sound: a process was killed between the two writes.

Lines that the disk refuses are kept in memory, and written before the next ones. Their changes are done, so a caller
must not be told that they failed.

`directory.json` records that a log was begun, so that a removed log can be told from one that never existed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.people.model.account import (
    LOG_BROKEN,
    AuditBroken,
    AuditEntry,
    AuditIncomplete,
    AuditPosition,
    decode_entry,
    encode_entry,
    verify_chain,
)
from ibi.standard.storage_errors import StorageError
from ibi.storage.directory_record import note_begun, was_begun
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, sync_directory, sync_file

DIRECTORY: Final = "audit"
FILE: Final = "audit.log"
_HEAD: Final = "head"
_CHUNK: Final = 1 << 12
_MOST_KEPT: Final = 10_000
"""Maximum lines in memory while the disk refuses them."""
_MOST_TOLD: Final = 20
"""Maximum lost lines that the message names."""
_MOST_HEAD: Final = 256
"""Bytes read of `head`: more than it ever has."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def _ignore() -> None:
    """Do nothing: lines are synced when the log is closed."""


class FileAuditLog:
    """Implements the port `AuditLog` in a directory of its own, which only its owner may read."""

    def __init__(self, data: Path) -> None:
        """`data` is the data directory. Nothing is created before the first line."""
        self._directory = data / DIRECTORY
        self._path = self._directory / FILE
        self._head_path = self._directory / _HEAD
        self._lock, self._descriptor, self._head = Lock(), -1, -1
        # Kept as strings, because they are used before each line, and a `Path` takes three times as long.
        self._names = str(self._path), str(self._head_path)
        self._opened: tuple[tuple[int, int], ...] = ()
        self._is_noted = False
        self._end, self._position, self._said = 0, AuditPosition(), b""
        self._kept: list[AuditEntry] = []
        self._on_written: Callable[[], object] = _ignore
        self._is_told = False
        """True if the watcher already knows of unsynced lines."""

    def append(self, entries: Sequence[AuditEntry]) -> None:
        if not entries:
            return
        with self._lock:
            pending = [*self._kept, *entries]
            try:
                self._append(pending)
            except StorageError as error:
                if len(pending) > _MOST_KEPT:
                    raise
                if not self._kept:
                    self._tell(f"cannot be written; lines are kept in memory until it can: {_reason(error)}")
                self._kept = pending
                self._tell_of_lines()

    def _append(self, entries: Sequence[AuditEntry]) -> None:
        with refusals(DiskRefused, self._path):
            size = self._lock_file()
            try:
                self._add(entries, size)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._kept = []
        self._tell_of_lines()

    def _tell_of_lines(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._on_written()

    def watch(self, on_written: Callable[[], object]) -> None:
        self._on_written = on_written

    def sync(self) -> None:
        self._is_told = False  # first, so that a later line is announced again
        with self._lock:
            if self._kept:
                self._append(self._kept)
            if self._descriptor < 0:
                return
            descriptor = os.dup(self._descriptor)
        try:
            with refusals(DiskRefused, self._path):
                sync_file(descriptor)
        finally:
            os.close(descriptor)

    def entries(self) -> Iterator[AuditEntry]:
        """Yield the verified lines. Lines that are just being written may be missing."""
        with refusals(DiskRefused, self._path):
            try:
                file = self._path.open("rb")
            except FileNotFoundError:
                known = self._read_position()
                yield from verify_chain((), known)
                self._require_head(0, known)
                return
        lines = 0
        with file:
            known = self._read_position()  # before the lines: new lines then only exceed it
            whole = (line[:-1] for line in file if line.endswith(b"\n"))
            for entry in verify_chain(whole, known):
                lines += 1
                yield entry
        self._require_head(lines, known or self._read_position())  # again: the log may have been begun meanwhile

    def size(self) -> int:
        """Return the length of the log in bytes; 0 if there is none."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def was_begun(self) -> bool:
        """Return whether this data directory is known to have had a log, even if it was lost since."""
        return was_begun(self._directory)

    def close(self) -> None:
        with self._lock:
            if self._kept:
                self._append_last()
            if self._descriptor >= 0:
                with suppress(OSError):
                    sync_file(self._descriptor)
            self._close_files()

    def _append_last(self) -> None:
        try:
            self._append(self._kept)
        except StorageError as error:
            lost = "; ".join(f"{entry.act} {entry.subject}" for entry in self._kept[:_MOST_TOLD])
            self._tell(f"could not be written, and {len(self._kept)} lines are lost ({lost}): {_reason(error)}")
            self._kept = []

    def _close_files(self) -> None:
        for descriptor in (self._descriptor, self._head):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._head = -1

    def _lock_file(self) -> int:
        """Lock the log at the present path, and return its size. If another file has replaced it, open that one."""
        while True:
            self._open()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            is_same = False
            try:
                log, head = map(os.stat, self._names)
                is_same = ((log.st_dev, log.st_ino), (head.st_dev, head.st_ino)) == self._opened
            except FileNotFoundError:
                pass  # removed: created again
            finally:
                if not is_same:
                    self._close_files()  # also unlocks
            if is_same:
                return log.st_size

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        if not self._directory.is_dir():
            make_directory(self._directory)
            self._directory.chmod(0o700)
        try:
            self._descriptor = os.open(self._path, _FLAGS, 0o600)
            self._head = os.open(self._head_path, _FLAGS, 0o600)
            status = [os.fstat(descriptor) for descriptor in (self._descriptor, self._head)]
            self._opened = tuple((one.st_dev, one.st_ino) for one in status)
            sync_directory(self._directory)
        except BaseException:
            self._close_files()
            raise
        self._said, self._is_noted = b"", False  # so that the files are compared before the next line

    def _add(self, entries: Sequence[AuditEntry], size: int) -> None:
        said = os.pread(self._head, _MOST_HEAD, 0)
        if size == self._end and said and said == self._said:
            self._write(entries, self._end, self._position)
            return
        end, position, is_readable = self._find_end(size)
        if not (end or said or self._position.number or was_begun(self._directory)):
            self._begin()
        elif reason := self._find_break(end, position, _decode_head(said), is_readable=is_readable):
            self._tell(f"is broken: {reason}")
            entries = [AuditEntry(entries[0].at, LOG_BROKEN, "audit", address="log", detail=reason), *entries]
        if not self._is_noted:
            note_begun(self._directory)
            self._is_noted = True
        self._write(entries, end, position)
        if len(said) > len(self._said):  # another program wrote it
            os.ftruncate(self._head, len(self._said))

    def _begin(self) -> None:
        """Write a `head` for an empty log before its first line, so that no later log lacks a `head`."""
        os.pwrite(self._head, _encode_head(AuditPosition()), 0)
        sync_file(self._head)

    def _tell(self, reason: str) -> None:
        import logging

        logging.getLogger("ibi.audit").error("the audit log %s %s", self._path, reason)

    def _find_break(self, end: int, found: AuditPosition, head: AuditPosition | None, *, is_readable: bool) -> str:
        """Return the difference between the log and its recorded state; empty if there is none."""
        ends = f"found the log to end with {_describe(found)}"
        if not is_readable:
            return f"line {found.number}, the last, cannot be read"
        if self._position.number and self._hash_before(end, self._end) != self._position.head:
            return f"expected {_describe(self._position)}, as this process knew it; {ends}"
        if head is None:
            return f"`head` is missing or cannot be read; {ends}"
        if head != found and (head.number >= found.number or self._hash_of(head.number) != head.head):
            return f"expected {_describe(head)}, as `head` says; {ends}"
        return ""

    def _hash_before(self, end: int, place: int) -> str | None:
        """Return the hash of the line that ends at that offset; None if the log is shorter."""
        if not 0 < place <= end:
            return None
        begin = self._begin_of_line(place - 1)
        return sha256(os.pread(self._descriptor, place - begin, begin).removesuffix(b"\n")).hexdigest()

    def _hash_of(self, number: int) -> str:
        """Return the hash of the line with that number. It reads all lines before, and is only needed after a process
        was killed."""
        if number <= 0:
            return AuditPosition().head
        with self._path.open("rb") as file:
            line = next(islice(file, number - 1, None), b"")
        return sha256(line.removesuffix(b"\n")).hexdigest()

    def _find_end(self, size: int) -> tuple[int, AuditPosition, bool]:
        """Return the end of the log, its position, and whether its last line is readable. A torn line is cut off."""
        end = self._begin_of_line(size)
        if end < size:
            os.ftruncate(self._descriptor, end)
        if not end:
            return 0, AuditPosition(), True
        last = self._begin_of_line(end - 1)
        line = os.pread(self._descriptor, end - last, last).removesuffix(b"\n")
        try:
            return end, decode_entry(line, 0)[1].after(line), True
        except AuditBroken:  # verification reports it; the next line is chained to it all the same
            with self._path.open("rb") as file:
                return end, AuditPosition(sum(1 for _ in file) - 1).after(line), False

    def _begin_of_line(self, end: int) -> int:
        """Return the offset after the last line end before `end`."""
        while end > 0:
            begin = max(0, end - _CHUNK)
            found = os.pread(self._descriptor, end - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return 0

    def _write(self, entries: Sequence[AuditEntry], end: int, position: AuditPosition) -> None:
        lines = bytearray()
        for entry in entries:
            line = encode_entry(entry, position)
            position = position.after(line)
            lines += line + b"\n"
        said = _encode_head(position)
        try:
            written = os.pwrite(self._descriptor, lines, end)
            if written < len(lines):
                raise OSError(28, "No space left on device")
            os.pwrite(self._head, said, 0)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise
        self._end, self._position, self._said = end + len(lines), position, said

    def _read_position(self) -> AuditPosition | None:
        try:
            with self._head_path.open("rb") as file:
                return _decode_head(file.read(_MOST_HEAD))
        except OSError:
            return None

    def _require_head(self, lines: int, known: AuditPosition | None) -> None:
        if known is not None:
            return
        if lines:
            reason = f"{self._head_path}, which says where the log ends, is missing or cannot be read"
            raise AuditIncomplete(reason=f"{reason}. Lines after line {lines} may be missing")
        if self.was_begun():
            raise AuditIncomplete(reason=f"{self._directory} is missing or empty, and this data directory had a log")


def _reason(error: StorageError) -> object:
    """Return the reason alone: the message of the error speaks of a refused request, and here none was refused."""
    return error.parameters.get("reason", error.code)


def _encode_head(position: AuditPosition) -> bytes:
    return f"{position.number:020d} {position.head}\n".encode("ascii")


def _decode_head(said: bytes) -> AuditPosition | None:
    """Decode `head`; None if `_encode_head` did not write it."""
    try:
        number, head = said.decode("ascii").split()
        position = AuditPosition(int(number), head)
        return position if _encode_head(position) == said else None
    except ValueError:
        return None


def _describe(position: AuditPosition) -> str:
    return f"line {position.number} (SHA-256 {position.head})" if position.number else "no line"
