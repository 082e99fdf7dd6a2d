"""Objects that a crash has left between two versions.

A new version is placed in this order, each step durable before the next but one:

1. the directory `v<n>` is complete on the disk, with the new inventory and its sidecar in it, outside of the object;
2. it is renamed into the object, and that is made durable;
3. the object's inventory is replaced, 4. then its sidecar (OCFL 1.1, E062, has it last), and both made durable.

So the inventory in the highest version directory is whole whenever that directory is there. Wherever a crash came
between 2 and 4, or whichever of 3 and 4 the disk has kept, it tells what the object is to become: recovery repeats 3
and 4 with it. Before 2, the object is untouched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress

from ibi.storage.machine import raise_if_exhausted
from ibi.storage.ocfl.durability import Batch
from ibi.storage.ocfl.layout import Broken
from ibi.storage.ocfl.object import (
    ID_SCHEME,
    NAME,
    SIDECAR,
    Inventory,
    ObjectDirectory,
    read_inventory,
    version_name,
)

STEPS = ("recovery: synced", "recovery: inventory replaced", "recovery: durable")


def is_between_versions(found: ObjectDirectory, inventory: Inventory) -> bool:
    """Whether a version was placed that the inventory does not have. Under the object's lock."""
    try:
        os.stat(version_name(inventory.head + 1), dir_fd=found.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def finish_version(
    found: ObjectDirectory, target: str, place: str, batch: Batch, on_step: Callable[[str], None]
) -> bool:
    """Make the highest version of the object at `target` the current one, if it is whole; whether anything was done.

    Under the object's lock. `place` is a staged directory.
    """
    inventory = _highest(found)
    if inventory is None or inventory.id != ID_SCHEME + found.name or _is_current(found, inventory):
        return False
    # The bytes as they lie in the version's directory: OCFL wants both to be the same (E064).
    folder = f"{target}/{version_name(inventory.head)}"
    for name in (NAME, SIDECAR):
        shutil.copyfile(f"{folder}/{name}", f"{place}/{name}")
        batch.add_file(os.open(f"{place}/{name}", os.O_RDWR | os.O_CLOEXEC), 0)
    batch.sync()
    on_step("recovery: synced")
    os.rename(f"{place}/{NAME}", f"{target}/{NAME}")
    on_step("recovery: inventory replaced")
    os.rename(f"{place}/{SIDECAR}", f"{target}/{SIDECAR}")
    batch.add_directory(target)
    batch.sync()
    on_step("recovery: durable")
    return True


def _highest(found: ObjectDirectory) -> Inventory | None:
    names = [name for name in os.listdir(found.descriptor) if name[:1] == "v" and name[1:].isdecimal()]
    number = max((int(name[1:]) for name in names), default=0)
    try:
        folder = os.open(version_name(number), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=found.descriptor)
        try:
            inventory = read_inventory(folder)
        finally:
            os.close(folder)
    except (Broken, OSError) as error:
        raise_if_exhausted(error)
        return None
    return inventory if inventory.head == number else None


def _is_current(found: ObjectDirectory, inventory: Inventory) -> bool:
    with suppress(Broken):
        return found.inventory() == inventory
    return False
