"""The file that says which state of the store the catalogue must have."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ibi.storage.errors import DiskRefused
from ibi.storage.machine import check_same_file, refusals, sync_directory, sync_file

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
