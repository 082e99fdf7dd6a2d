"""The port `AuditTrail`: search the audit log backwards from its end, and verify it.

A page reads at most `_MOST_READ` bytes, so a log of a million lines costs as much as one of a thousand. Lines are only
appended, so the offset of a line never changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ibi.people.model.account import (
    LOG_BROKEN,
    AuditBroken,
    AuditCheck,
    AuditIncomplete,
    AuditLine,
    AuditPage,
    AuditQuery,
    decode_entry,
)
from ibi.people.store.audit_log import DIRECTORY, FILE, FileAuditLog
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import refusals, write_durably

_CHECKED: Final = "checked.json"
_LOCK: Final = "check.lock"
_PIECE: Final = 1 << 18
"""Bytes read at a time; a line has some hundred, and never this many."""
_MOST_READ: Final = 16 << 20
"""Maximum bytes read for one page: about fifty thousand lines, in hundredths of a second."""


class FileAuditTrail:
    """Implements the port `AuditTrail` on the directory of `FileAuditLog`."""

    def __init__(self, data: Path) -> None:
        self._data, self._directory = data, data / DIRECTORY
        self._path = self._directory / FILE

    def page(self, query: AuditQuery, most: int, before: int | None = None) -> AuditPage:
        with refusals(DiskRefused, self._path):
            try:
                descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return AuditPage((), None, None)
            try:
                return _Reading(descriptor, query, most).page(before)
            finally:
                os.close(descriptor)

    def export(self, query: AuditQuery) -> Iterator[bytes]:
        with refusals(DiskRefused, self._path):
            try:
                file = self._path.open("rb")
            except FileNotFoundError:
                return
        with file:
            while lines := file.readlines(_PIECE):
                found = [line for line in lines if line.endswith(b"\n") and _is_wanted(line, query)]
                if found:
                    yield b"".join(found)

    def verify(self, now: Callable[[], Instant]) -> AuditCheck | None:
        lock = WorkerLock(self._directory / _LOCK)
        if not lock.hold():
            return None
        try:
            check = self._check(now)
            written = {"at": str(check.at), "lines": check.lines, "problem": check.problem}
            write_durably(self._directory / _CHECKED, json.dumps(written).encode(), 0o600)
            return check
        finally:
            lock.release()

    def _check(self, now: Callable[[], Instant]) -> AuditCheck:
        lines, problem = 0, None
        log = FileAuditLog(self._data)
        try:
            for entry in log.entries():
                lines += 1
                if entry.act == LOG_BROKEN and problem is None:
                    problem = f"line {lines} says that the log was broken before it: {entry.detail}"
        except (AuditBroken, AuditIncomplete) as error:
            problem = str(error)
        finally:
            log.close()
        return AuditCheck(Instant(now().seconds), lines, problem)

    def is_being_verified(self) -> bool:
        if not (self._directory / _LOCK).exists():
            return False
        lock = WorkerLock(self._directory / _LOCK)
        try:
            return not lock.hold()
        finally:
            lock.release()

    def last_check(self) -> AuditCheck | None:
        with suppress(OSError, ValueError, KeyError, TypeError, IbiError):
            found = json.loads((self._directory / _CHECKED).read_bytes())
            problem = None if found["problem"] is None else str(found["problem"])
            return AuditCheck(Instant.parse(found["at"]), int(found["lines"]), problem)
        return None  # never made, or unreadable: verification is run again


class _Reading:
    """One page, read from an open file."""

    def __init__(self, descriptor: int, query: AuditQuery, most: int) -> None:
        self._descriptor, self._query, self._most = descriptor, query, most
        self._words = query.words
        self._found: list[AuditLine] = []
        self._reached: Instant | None = None

    def page(self, before: int | None) -> AuditPage:
        size = os.fstat(self._descriptor).st_size
        end = self._line_begin(size if before is None else min(max(before, 0), size))
        if self._query.until is not None:
            end = min(end, self._first_after(self._query.until, end))
        least = max(0, end - _MOST_READ)
        while end > least and len(self._found) < self._most:
            end, is_over = self._take_piece(end)
            if is_over:
                end = 0
        return AuditPage(tuple(self._found), end or None, self._reached)

    def _take_piece(self, end: int) -> tuple[int, bool]:
        """Read the lines before `end`. Return the next offset, and whether all earlier lines are too old."""
        begin = max(0, end - _PIECE)
        piece = os.pread(self._descriptor, end - begin, begin)
        if begin:  # the first line is complete only by chance
            cut = piece.find(b"\n") + 1
            begin, piece = (begin + cut, piece[cut:]) if 0 < cut < len(piece) else (begin, piece)
        if not all(word in piece for word in self._words):
            self._note_reached(piece.partition(b"\n")[0])
            return begin, self._is_too_old()
        place = end
        for line in reversed(piece.splitlines(keepends=True)):
            place -= len(line)
            self._take(line.rstrip(b"\n"))
            if self._is_too_old():
                return place, True
            if len(self._found) >= self._most:
                return place, False
        return begin, False

    def _take(self, line: bytes) -> None:
        if not all(word in line for word in self._words):
            return
        try:
            entry, position = decode_entry(line, 0)
        except AuditBroken:
            if not self._words:
                self._found.append(AuditLine(0, None))
            return
        self._reached = entry.at
        if self._query.is_met_by(entry):
            self._found.append(AuditLine(position.number + 1, entry))

    def _note_reached(self, line: bytes) -> None:
        with suppress(AuditBroken):
            self._reached = decode_entry(line, 0)[0].at

    def _is_too_old(self) -> bool:
        since = self._query.since
        return since is not None and self._reached is not None and self._reached.seconds < since.seconds

    def _first_after(self, until: Instant, end: int) -> int:
        """Return the offset of about the first line after that time, by bisection. Times do not decrease, unless a
        clock was set back."""
        low, high = 0, end
        while high - low > _PIECE:
            middle = self._line_begin((low + high) // 2)
            at = self._time_at(middle)
            if middle <= low or at is None:
                break
            low, high = (middle, high) if at.seconds <= until.seconds else (low, middle)
        return high

    def _time_at(self, place: int) -> Instant | None:
        line = os.pread(self._descriptor, _PIECE, place).partition(b"\n")[0]
        with suppress(AuditBroken):
            return decode_entry(line, 0)[0].at
        return None

    def _line_begin(self, place: int) -> int:
        """Return the offset after the last line end at or before `place`."""
        begin = max(0, place - _PIECE)
        found = os.pread(self._descriptor, place - begin, begin).rfind(b"\n")
        return begin + found + 1


def _is_wanted(line: bytes, query: AuditQuery) -> bool:
    if not all(word in line for word in query.words):
        return False
    if query == AuditQuery():
        return True
    with suppress(AuditBroken):
        return query.is_met_by(decode_entry(line.rstrip(b"\n"), 0)[0])
    return False
