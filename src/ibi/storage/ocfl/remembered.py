"""Inventories that were read lately."""

from __future__ import annotations

from typing import Final

from ibi.storage.bounded_cache import BoundedCache
from ibi.storage.ocfl.broken import Broken
from ibi.storage.ocfl.inventory import Inventory
from ibi.storage.ocfl.object import ObjectDirectory

__all__ = ["RememberedInventories"]

_MOST: Final = 256
_MOST_FILES: Final = 100_000
"""In all of them, those of earlier versions included: some thirty megabytes."""


class RememberedInventories:
    """Each is given only while the file it was read from is still in its place. From any thread."""

    def __init__(self) -> None:
        self._inventories: BoundedCache[str, tuple[tuple[int, ...], Inventory]] = BoundedCache(_MOST, _MOST_FILES)

    def inventory(self, found: ObjectDirectory) -> Inventory:
        try:
            status = found.inventory_status()
        except OSError as error:
            raise Broken("E063", error.strerror or "there is no inventory") from error
        known = self._inventories.get(found.name)
        if known is not None and known[0] == status:
            return known[1]
        inventory = found.inventory()
        # Read between two looks at the same file, it is that file's.
        if found.inventory_status() == status:
            self._inventories.keep(found.name, (status, inventory), _size(inventory))
        return inventory


def _size(inventory: Inventory) -> int:
    return len(inventory.manifest) + sum(len(version.files) for version in inventory.versions)
