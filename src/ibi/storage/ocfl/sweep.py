"""What crashed processes have left in staging: finished where an object had begun to change, removed otherwise."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from ibi.errors import InvalidLabel
from ibi.ports.content import ContentMissing
from ibi.storage.descriptors import raise_if_exhausted
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals, sync_directory
from ibi.storage.ocfl.inventory import NAME, Inventory
from ibi.storage.ocfl.layout import Broken, checked_name
from ibi.storage.ocfl.purge import NEW, OLD
from ibi.storage.ocfl.store_context import TARGET, StoreContext

STEPS = ("sweep: finished", "sweep: removed")


def sweep(work: StoreContext) -> tuple[str, ...]:
    """The names of the objects that were finished. What living processes prepare is left alone."""
    finished = []
    with refusals(DiskRefused, work.staging.directory):
        for place in work.staging.abandoned():
            name = _target(place)
            if name is not None:
                with work.locks.hold(name):
                    if _finish(work, place, name):
                        finished.append(name)
            work.step("sweep: finished")
            shutil.rmtree(place)
            work.step("sweep: removed")
    return tuple(finished)


def _finish(work: StoreContext, place: Path, name: str) -> bool:
    kind = place.name.rpartition("-")[2]
    if kind == "purge":
        return _finish_purge(work, place, name)
    with suppress(ContentMissing):
        if kind == "update":
            return work.finish(name)
    if kind == "create":
        work.parents.prune(name)
    return False


def _finish_purge(work: StoreContext, place: Path, name: str) -> bool:
    """Only what was interrupted between two renames: see `purge`."""
    target = Path(work.target(name))
    if not (place / OLD).is_dir() or target.exists():
        return False
    os.rename(place / NEW if (place / NEW).is_dir() else place / OLD, target)
    sync_directory(target.parent)
    return True


def _target(place: Path) -> str | None:
    """The object that a staged change was made for; None if it had not come far enough to touch one."""
    try:
        if (place / TARGET).is_file():
            return checked_name((place / TARGET).read_text(encoding="ascii"))
        return checked_name(Inventory.decode((place / NAME).read_bytes()).name)
    except (OSError, UnicodeDecodeError, InvalidLabel, Broken) as error:
        raise_if_exhausted(error)
        return None
