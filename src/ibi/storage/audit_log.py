"""The file of the audit log: lines are only ever added, in one write for all changes of a group.

A line is written before a change is confirmed, and outlives the process from then on. A thread of its own has the disk
keep it, moments later: a deposit that waited for one more sync would take a quarter longer. What a machine that loses
its power takes with it are the lines of these moments; the versions of the items tell who made them. A torn line at the
end, which such a crash may leave, is cut off before the next one is written.

Beside the log lies `head`, which says how many lines there are and the hash of the last: so it is noticed when lines at
the end are missing.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from ibi.model.audit import AuditEntry, AuditPosition, decode_entry, encode_entry, verify_chain
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, sync_directory, sync_file

DIRECTORY: Final = "audit"
_FILE: Final = "audit.log"
_HEAD: Final = "head"
_CHUNK: Final = 1 << 16
_PAUSE: Final = 0.2
"""Seconds at most from a line to the sync that has the disk keep it."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class FileAuditLog:
    """The port `AuditLog` in a directory of its own, which only its owner may read."""

    def __init__(self, data: Path) -> None:
        """`data` is the data directory. Nothing is made before the first line."""
        self._directory = data / DIRECTORY
        self._path = self._directory / _FILE
        self._lock, self._descriptor, self._head = Lock(), -1, -1
        self._end, self._position = 0, AuditPosition()
        self._written, self._closing = Event(), Event()
        self._syncing: Thread | None = None

    def append(self, entries: Sequence[AuditEntry]) -> None:
        if not entries:
            return
        with self._lock, refusals(DiskRefused, self._path):
            self._open()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                self._find_end()
                self._write(entries)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._written.set()

    def entries(self) -> Iterator[AuditEntry]:
        """Lines that are being written are not among them."""
        with refusals(DiskRefused, self._path):
            try:
                file = self._path.open("rb")
            except FileNotFoundError:
                known = self._known()
                yield from verify_chain((), known)
                return
        with file:
            known = self._known()  # before the lines: those that come meanwhile are more than it says
            whole = (line[:-1] for line in file if line.endswith(b"\n"))
            yield from verify_chain(whole, known)

    def close(self) -> None:
        with self._lock:
            self._closing.set()
            self._written.set()
            syncing, self._syncing = self._syncing, None
        if syncing is not None:
            syncing.join()
        with self._lock:
            if self._descriptor >= 0:
                with suppress(OSError):
                    sync_file(self._descriptor)
                os.close(self._descriptor)
                os.close(self._head)
            self._descriptor = self._head = -1

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        if not self._directory.is_dir():
            make_directory(self._directory)
            self._directory.chmod(0o700)
        self._descriptor = os.open(self._path, _FLAGS, 0o600)
        self._head = os.open(self._directory / _HEAD, _FLAGS, 0o600)
        sync_directory(self._directory)
        self._closing.clear()
        self._syncing = Thread(target=self._sync, name="ibi-audit", daemon=True)
        self._syncing.start()

    def _find_end(self) -> None:
        """Where the log ends, if another process has written since; what a crash left of a line is cut off."""
        size = os.fstat(self._descriptor).st_size
        if size == self._end:
            return
        whole = self._begin_of_line(size)
        if whole < size:
            os.ftruncate(self._descriptor, whole)
        last = self._begin_of_line(whole - 1) if whole else 0
        line = os.pread(self._descriptor, whole - last, last).removesuffix(b"\n")
        # A line that cannot be read is told by those who verify; what comes is bound to it all the same.
        before = decode_entry(line, 0)[1] if _is_readable(line) else AuditPosition(self._position.number)
        self._end, self._position = whole, before.after(line) if whole else AuditPosition()

    def _begin_of_line(self, end: int) -> int:
        """The place after the last line end before `end`."""
        while end > 0:
            begin = max(0, end - _CHUNK)
            found = os.pread(self._descriptor, end - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return 0

    def _write(self, entries: Sequence[AuditEntry]) -> None:
        lines, position = bytearray(), self._position
        for entry in entries:
            line = encode_entry(entry, position)
            position = position.after(line)
            lines += line + b"\n"
        try:
            written = os.pwrite(self._descriptor, lines, self._end)
            if written < len(lines):
                raise OSError(28, "No space left on device")
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise
        self._end, self._position = self._end + len(lines), position
        os.pwrite(self._head, f"{position.number:020d} {position.head}\n".encode("ascii"), 0)

    def _known(self) -> AuditPosition | None:
        try:
            number, head = (self._directory / _HEAD).read_text("ascii").split()
            return AuditPosition(int(number), head)
        except (OSError, ValueError):
            return None

    def _sync(self) -> None:
        descriptor = self._descriptor
        while True:
            self._written.wait()
            self._closing.wait(_PAUSE)  # deposits need the disk too: a few syncs a second will do
            self._written.clear()
            with suppress(OSError):  # the lines are written again by none, and are told missing if they are
                sync_file(descriptor)
            if self._closing.is_set():
                return


def _is_readable(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line)["number"], int)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
