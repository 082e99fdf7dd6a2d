"""The directories above objects: made when the first object comes, gone with the last (OCFL 1.1, E073)."""

from __future__ import annotations

import os
from contextlib import suppress

from ibi.storage.ocfl.durability import Batch

__all__ = ["Parents"]

_TRIES = 100


class Parents:
    """Renames objects to their places. From any thread."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._durable: set[str] = set()

    def bring_in(self, place: str, name: str, batch: Batch) -> None:
        """Rename the directory at `place` to that of `name`; the batch gets what is to be synced."""
        for _ in range(_TRIES):
            self._make(name, batch)
            try:
                os.rename(place, f"{self._root}/{name}")
            except FileNotFoundError:
                # Somebody else's change was refused, and took the directory away that it had made.
                self._durable.clear()
            else:
                return
        raise FileNotFoundError(2, "its directory comes and goes")

    def note_durable(self, name: str) -> None:
        """The directories above the object have been synced."""
        self._durable.add(name.rpartition("/")[0])

    def prune(self, name: str) -> None:
        """Remove the directories above an object that did not come, as far as they are empty."""
        folder = name.rpartition("/")[0]
        self._durable.discard(folder)
        with suppress(OSError):
            while folder:
                with suppress(FileNotFoundError):
                    os.rmdir(f"{self._root}/{folder}")
                folder = folder.rpartition("/")[0]

    def _make(self, name: str, batch: Batch) -> None:
        folder = name.rpartition("/")[0]
        batch.add_directory(f"{self._root}/{folder}")
        if folder in self._durable:
            return
        # One that is there may be somebody else's who has not synced it yet: all are synced, made or found.
        parts = folder.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join((self._root, *parts[: depth - 1]))
            batch.add_directory(above)
            with suppress(FileExistsError):
                os.mkdir(f"{above}/{parts[depth - 1]}")
