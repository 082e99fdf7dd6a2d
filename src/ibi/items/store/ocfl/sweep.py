"""Removal from the store: remains of dead processes, and purged or removed objects.

A purge swaps two directories atomically. After a crash one of the old and the new object is in place and the other in
staging, where the sweep removes it. Where the file system cannot swap, the old object is moved aside first. If a sweep
then finds no object in its place, it finishes the purge.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ibi.items.model.content import Change, Copy, Keep, NewObject, Source
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing
from ibi.items.store.ocfl.intake import write_file
from ibi.items.store.ocfl.layout import Broken, checked_name
from ibi.items.store.ocfl.object import NAME, Inventory
from ibi.items.store.ocfl.store_context import TARGET, Staged, StoreContext, kept_digest, remove_moved
from ibi.items.store.ocfl.versions import stage_object
from ibi.standard.errors import InvalidLabel
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import exchange, raise_if_exhausted, refusals, sync_directory

SWEEP_STEPS = ("sweep: finished", "sweep: removed")


def sweep(work: StoreContext) -> tuple[str, ...]:
    """Clean up staging, and return the names of the objects that were finished. Changes of living processes are left
    alone."""
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
    if kind in ("create", "remove"):
        work.parents.prune(name)
    return False


def _finish_purge(work: StoreContext, place: Path, name: str) -> bool:
    """Finish a purge that was interrupted between its two renames: see `purge`."""
    target = Path(work.target(name))
    if not (place / OLD).is_dir() or target.exists():
        return False
    os.rename(place / NEW if (place / NEW).is_dir() else place / OLD, target)
    sync_directory(target.parent)
    return True


def _target(place: Path) -> str | None:
    """Return the object of a staged change; None if the change had not yet touched one."""
    try:
        if (place / TARGET).is_file():
            return checked_name((place / TARGET).read_text(encoding="ascii"))
        return checked_name(Inventory.decode((place / NAME).read_bytes()).name)
    except (OSError, UnicodeDecodeError, InvalidLabel, Broken) as error:
        raise_if_exhausted(error)
        return None


NEW = "object"
OLD = "old"

PURGE_STEPS = (
    "purge: staged",
    "purge: synced",
    "purge: moved aside",
    "purge: replaced",
    "purge: durable",
    "purge: old removed",
)


def purge_to(work: StoreContext, name: str, files: Mapping[str, Source], change: Change, head: int | None) -> Inventory:
    """Replace the object by one with only these files. The object's lock is held throughout, because a purge is rare
    and brings little content."""
    if not os.path.lexists(work.target(name)):
        raise ContentMissing(name=name)
    with work.change("purge") as staged, work.locks.hold(name):
        try:
            before = work.current(name, head)
            place = f"{staged.place}/{NEW}"
            os.mkdir(place)
            write_file(f"{staged.place}/{TARGET}", name.encode("ascii"), staged.batch)
            sources = {path: _copy_source(work, source, before) for path, source in files.items()}
            inventory, intake = stage_object(work, staged, place, NewObject(name, sources, change))
            _check_kept(files, before, inventory)
            _replace(work, staged, name)
        except BaseException:
            staged.undo()
            raise
        shutil.rmtree(staged.place)
        if work.blocks is not None:
            work.blocks.forget_blocks(before.manifest.keys() - inventory.manifest.keys())
        work.step("purge: old removed")
    remove_moved(intake.moved)
    return inventory


def _copy_source(work: StoreContext, source: Source, before: Inventory) -> Source:
    """Return a source that copies kept content, because the old object with it is removed."""
    if not isinstance(source, Keep):
        return source
    digest = kept_digest(source, before)
    return Copy(f"{work.target(before.name)}/{before.manifest[digest][0]}")


def _check_kept(files: Mapping[str, Source], before: Inventory, inventory: Inventory) -> None:
    """Raise `ContentDamaged` if copied content has changed. Otherwise damaged content would get a digest that fits
    it."""
    new = inventory.versions[-1].files
    for path, source in files.items():
        if isinstance(source, Keep) and kept_digest(source, before) != new[path]:
            raise ContentDamaged(
                name=before.name, problem="E092", reason=f"{source.path}: its content is not what was deposited"
            )


def _replace(work: StoreContext, staged: Staged, name: str) -> None:
    target, new, old = work.target(name), f"{staged.place}/{NEW}", f"{staged.place}/{OLD}"
    staged.batch.add_directory(staged.place)
    work.step("purge: staged")
    staged.batch.sync()
    work.step("purge: synced")
    if exchange(new, target):
        staged.undoing.append(lambda: exchange(new, target))
    else:
        os.rename(target, old)
        staged.undoing.append(lambda: os.rename(old, target))
        work.step("purge: moved aside")
        os.rename(new, target)
        staged.undoing.append(lambda: os.rename(target, new))
    work.step("purge: replaced")
    staged.batch.add_directory(target.rpartition("/")[0])
    staged.batch.add_directory(staged.place)
    staged.batch.sync()
    work.step("purge: durable")
    staged.undoing.clear()


REMOVAL_STEPS = ("remove: moved aside", "remove: durable", "remove: removed")


def remove(work: StoreContext, name: str) -> None:
    """Remove the object. A single rename decides: after it the object lies in staging, where the sweep removes it after
    a crash."""
    target = work.target(name)
    with work.change("remove") as staged, work.locks.hold(name):
        digests = _digests_of(work, name)
        write_file(f"{staged.place}/{TARGET}", name.encode("ascii"), staged.batch)
        try:
            os.rename(target, f"{staged.place}/{OLD}")
        except FileNotFoundError:
            raise ContentMissing(name=name) from None
        staged.undoing.append(lambda: os.rename(f"{staged.place}/{OLD}", target))
        work.step("remove: moved aside")
        staged.batch.add_directory(target.rpartition("/")[0])
        staged.batch.add_directory(staged.place)
        staged.batch.sync()
        staged.undoing.clear()
        work.step("remove: durable")
        work.parents.prune(name)
        if work.blocks is not None:
            work.blocks.forget_blocks(digests)
    work.step("remove: removed")


def _digests_of(work: StoreContext, name: str) -> frozenset[str]:
    """Return the digests of the object's content, as far as it can be read."""
    with suppress(ContentDamaged):
        return frozenset(work.current(name).manifest)
    return frozenset()
