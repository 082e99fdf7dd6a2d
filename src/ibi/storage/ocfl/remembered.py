"""Inventories that were read lately."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from ibi.storage.ocfl.broken import Broken
from ibi.storage.ocfl.inventory import Inventory
from ibi.storage.ocfl.object import ObjectDirectory

__all__ = ["RememberedInventories"]

_MOST = 256
_MOST_FILES = 10_000
"""An inventory of more files is read each time: a few of them would fill the memory."""


class RememberedInventories:
    """Each is given only while the file it was read from is still in its place. From any thread."""

    def __init__(self) -> None:
        self._inventories: OrderedDict[str, tuple[tuple[int, ...], Inventory]] = OrderedDict()
        self._lock = Lock()

    def inventory(self, found: ObjectDirectory) -> Inventory:
        try:
            status = found.inventory_status()
        except OSError as error:
            raise Broken("E063", error.strerror or "there is no inventory") from error
        with self._lock:
            known = self._inventories.get(found.name)
            if known is not None and known[0] == status:
                self._inventories.move_to_end(found.name)
                return known[1]
        inventory = found.inventory()
        # Read between two looks at the same file, it is that file's.
        if len(inventory.manifest) <= _MOST_FILES and found.inventory_status() == status:
            self._remember(found.name, status, inventory)
        return inventory

    def _remember(self, name: str, status: tuple[int, ...], inventory: Inventory) -> None:
        with self._lock:
            self._inventories[name] = status, inventory
            self._inventories.move_to_end(name)
            if len(self._inventories) > _MOST:
                self._inventories.popitem(last=False)
