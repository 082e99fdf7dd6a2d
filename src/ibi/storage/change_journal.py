"""What a start after a crash has to look at: which items were being changed, so that a clean one looks at nothing, and
the state that the catalogue is to have.

Each process that changes items has one file, which it holds a lock on while it lives and removes when it closes: a file
whose lock is free was left by a crash. Its first line is the boot of the machine, durable before the first change; each
further line is the name of an item, written before its change begins.

These lines are not synced. They survive the death of the process, which is what mostly happens; after the death of the
machine, the boot is another, and the list is not trusted any more: everything is to be looked at.
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
"""Bytes after which the file is cut short, when nothing is under way."""


class ChangeJournal:
    """The port `Journal` in files of one directory."""

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
                    # The last change stays named: until the next one, the store also allows a catalogue without it.
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
        # Between making a file and locking it, no process takes it for abandoned.
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
    """The file, if no living process holds it."""
    try:
        return try_lock(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
    except FileNotFoundError:
        return None


# --- the state that the catalogue is to have --------------------------------------------------------------------------

# What the store says of the state that its catalogue is to have: `ibi-generation.json` in the root of the store.
#
# The catalogue is a cache of the store. Both keep the id of the store, a generation (another one each time the
# catalogue is made anew), a count of the changes since, and the number of items. The catalogue's copy changes in the
# transaction of each change; the store's is written inside that same transaction, before it is committed, with the
# state before and the state after. So a process that dies at any point leaves a catalogue that has one of the two, and
# a catalogue that has neither is an older one, one of another store, or lost rows: it has to be compared with the store
# item by item.
#
# Once the process closes the store, or another opens it, the file has the present state alone.
#
# The file is not synced with each change, which would slow deposits down. After the death of the machine the journal of
# changes (`change_journal`) has everything looked at anyway; the file is synced when it is closed, and when a
# generation begins.

FILE_NAME: Final = "ibi-generation.json"
_LENGTH: Final = 384
"""Bytes of the file, always as many: one write within one page replaces it."""


@dataclass(frozen=True, slots=True)
class CatalogStanding:
    """The state of a catalogue."""

    store: str = ""
    """The id of the store that it lists; empty if it was never complete."""
    generation: str = ""
    changes: int = 0
    items: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """What the file has: the state before the last change and the one after it."""

    before: CatalogStanding
    after: CatalogStanding

    def allows(self, standing: CatalogStanding) -> bool:
        return standing.generation != "" and standing in (self.before, self.after)

    def state_of(self, store: str, generation: str, changes: int) -> CatalogStanding | None:
        """The one of the two that has this count of changes, whatever its number of items; None if neither has."""
        if generation:
            for state in (self.after, self.before):
                if (state.changes, state.generation, state.store) == (changes, generation, store):
                    return state
        return None


class GenerationFile:
    """The file of one store, open. Written only inside a transaction of the catalogue that excludes other writers."""

    def __init__(self, root: Path) -> None:
        self.path = root / FILE_NAME
        self._known: tuple[bytes, Expected | None] = b"", None
        """What was written last, which need not be decoded again."""
        with refusals(DiskRefused, self.path):
            is_new = not self.path.exists()
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            if is_new:
                sync_directory(root)

    def read(self) -> Expected | None:
        """None if the file was just made, or cannot be read."""
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
        """Raise an error if the file is not the one that was opened: the store was replaced."""
        check_same_file(self._descriptor, self.path)

    def close(self) -> None:
        with suppress(OSError):  # what is not durable is noticed at the next start
            sync_file(self._descriptor)
        os.close(self._descriptor)


def read_expected(root: Path) -> Expected | None:
    """What the file of a store has, without opening it for anything else; None if there is none that can be read."""
    try:
        return _decode((root / FILE_NAME).read_bytes()[:_LENGTH])
    except FileNotFoundError:
        return None


def first_standing(store: str, items: int) -> CatalogStanding:
    """The state of a catalogue that has just been made to agree with its store; a new store gets an id."""
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
