"""The journal of running changes: after a crash it lists the items to check, and after a clean stop none.

Each process that changes items has one file. It locks the file while it lives, and removes it on closing: a file
without a lock was left by a crash. Its first line is the boot id of the machine, durable before the first change. Each
further line is the name of an item, written before its change begins.

These lines are not synced. They survive the death of the process, which is the usual case. After the death of the
machine the boot id differs, and the list is not trusted: everything is checked.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.ports.archive_store import EVERYTHING, Abandoned
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone, try_lock
from ibi.storage.machine import check_same_file, make_directory, refusals, sync_directory, sync_file

_LOCK = "lock"
_LONG = 1 << 16
"""Bytes after which the file is truncated, when no change is running."""


class ChangeJournal:
    """Implements the port `Journal` in files of one directory."""

    def __init__(self, directory: Path, boot: str) -> None:
        self._directory, self._boot = directory, boot
        self._lock = Lock()
        self._under_way: Counter[str] = Counter()
        self._own: Path | None = None
        self._descriptor = -1
        self._head = self._length = 0

    def begin(self, names: Iterable[str]) -> None:
        names = tuple(names)
        with self._lock, refusals(DiskRefused, self._directory):
            if self._own is None:
                self._open()
            self._length += os.write(self._descriptor, "".join(f"{name}\n" for name in names).encode("ascii"))
            self._under_way.update(names)

    def end(self, names: Iterable[str]) -> None:
        names = tuple(names)
        with self._lock, suppress(OSError):  # a list that is too long does no harm
            self._under_way.subtract(names)
            self._under_way = +self._under_way
            if not self._under_way and (self._length > _LONG or EVERYTHING in names):
                os.ftruncate(self._descriptor, self._head)
                self._length = self._head
                if EVERYTHING not in names:
                    # The last change stays listed: until the next one, the store also allows a catalogue without it.
                    self._length += os.write(self._descriptor, "".join(f"{name}\n" for name in names).encode("ascii"))

    def under_way(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._under_way)

    @contextmanager
    def take_abandoned(self) -> Iterator[tuple[Abandoned, ...]]:
        with refusals(DiskRefused, self._directory):
            taken = self._take() if self._directory.is_dir() else []
        try:
            yield tuple(self._read_abandoned(descriptor) for _, descriptor in taken)
            with refusals(DiskRefused, self._directory):
                for path, _ in taken:
                    path.unlink(missing_ok=True)
        finally:
            for _, descriptor in taken:
                os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            if self._own is None:
                return
            with suppress(OSError):
                if not self._under_way:
                    self._own.unlink()
            os.close(self._descriptor)
            self._own = None

    def _open(self) -> None:
        make_directory(self._directory)
        # Under this lock, no process takes the new file for abandoned before it is locked.
        with alone(self._directory / _LOCK):
            path = self._directory / secrets.token_hex(8)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self._head = self._length = os.write(self._descriptor, f"{self._boot}\n".encode("ascii"))
        sync_file(self._descriptor)
        sync_directory(self._directory)
        self._own = path

    def _take(self) -> list[tuple[Path, int]]:
        with alone(self._directory / _LOCK):
            others = (path for path in sorted(self._directory.iterdir()) if path.name != _LOCK and path != self._own)
            return [(path, descriptor) for path in others if (descriptor := _free(path)) is not None]

    def _read_abandoned(self, descriptor: int) -> Abandoned:
        text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("ascii", "replace")
        if "\n" not in text:
            return Abandoned((), whole=True)  # no change begins before the first line is durable
        boot, *names, rest = text.split("\n")
        listed = dict.fromkeys(names)
        whole = boot == self._boot and not rest and EVERYTHING not in listed
        return Abandoned(tuple(name for name in listed if name != EVERYTHING), whole)


def _free(path: Path) -> int | None:
    """Lock the file and return its descriptor; None if a living process holds it."""
    try:
        return try_lock(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
    except FileNotFoundError:
        return None


# --- the state that the catalogue is to have --------------------------------------------------------------------------

# The catalogue is a cache of the store. Both record the id of the store, a generation (new with each rebuild), a count
# of the changes since, and the number of items. The catalogue's copy changes in the transaction of each change. The
# store's copy is written inside that transaction, before its commit, with the states before and after.
#
# So a process that dies at any point leaves a catalogue in one of the two states. A catalogue in neither state is an
# older one, one of another store, or has lost rows: it must be compared with the store item by item.
#
# After the process closes the store, or another opens it, the file has the present state alone.
#
# The file is not synced with each change, which would slow deposits down. After the death of the machine the change
# journal has everything checked anyway. The file is synced when it is closed, and when a generation begins.

FILE_NAME: Final = "ibi-generation.json"
_LENGTH: Final = 384
"""The fixed length of the file in bytes: a single write within one page replaces it."""


@dataclass(frozen=True, slots=True)
class CatalogStanding:
    """The state of a catalogue."""

    store: str = ""
    """The id of its store; empty if the catalogue was never complete."""
    generation: str = ""
    changes: int = 0
    items: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """The content of the file: the states before and after the last change."""

    before: CatalogStanding
    after: CatalogStanding

    def allows(self, standing: CatalogStanding) -> bool:
        return standing.generation != "" and standing in (self.before, self.after)

    def state_of(self, store: str, generation: str, changes: int) -> CatalogStanding | None:
        """Return the state with this count of changes, whatever its number of items; None if neither has it."""
        if generation:
            for state in (self.after, self.before):
                if (state.changes, state.generation, state.store) == (changes, generation, store):
                    return state
        return None


class GenerationFile:
    """The open file of one store. It is written only inside a transaction of the catalogue that excludes other
    writers."""

    def __init__(self, root: Path) -> None:
        self.path = root / FILE_NAME
        self._known: tuple[bytes, Expected | None] = b"", None
        """The last written content with its decoded value."""
        with refusals(DiskRefused, self.path):
            is_new = not self.path.exists()
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            if is_new:
                sync_directory(root)

    def read(self) -> Expected | None:
        """Return the states; None if the file is new, or unreadable."""
        with refusals(DiskRefused, self.path):
            content = os.pread(self._descriptor, _LENGTH, 0)
        known, expected = self._known
        return expected if content == known else _decode(content)

    def write(self, before: CatalogStanding, after: CatalogStanding, *, durably: bool = False) -> None:
        with refusals(DiskRefused, self.path):
            content = _encode(before, after)
            if os.pwrite(self._descriptor, content, 0) != _LENGTH:
                raise OSError(0, "it was written in part")
            self._known = content, Expected(before, after)
            if durably:
                sync_file(self._descriptor)

    def check(self) -> None:
        """Raise an error if the file was replaced since it was opened: then the store was replaced."""
        check_same_file(self._descriptor, self.path)

    def close(self) -> None:
        with suppress(OSError):  # lost data are noticed at the next start
            sync_file(self._descriptor)
        os.close(self._descriptor)


def read_expected(root: Path) -> Expected | None:
    """Return the states in a store's file, without keeping it open; None if there is no readable file."""
    try:
        return _decode((root / FILE_NAME).read_bytes()[:_LENGTH])
    except FileNotFoundError:
        return None


def first_standing(store: str, items: int) -> CatalogStanding:
    """Return the state of a catalogue that has just been rebuilt. A new store gets an id."""
    return CatalogStanding(store or secrets.token_hex(16), secrets.token_hex(8), 0, items)


def _decode(content: bytes) -> Expected | None:
    try:
        document = json.loads(content)
        store = str(document["store"])
        before, after = (
            CatalogStanding(store, str(each["generation"]), int(each["changes"]), int(each["items"]))
            for each in (document["before"], document["after"])
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Expected(before, after)


def _encode(before: CatalogStanding, after: CatalogStanding) -> bytes:
    states = {
        name: {"generation": each.generation, "changes": each.changes, "items": each.items}
        for name, each in (("before", before), ("after", after))
    }
    text = json.dumps({"store": after.store, **states})
    return text.ljust(_LENGTH - 1).encode("ascii") + b"\n"
