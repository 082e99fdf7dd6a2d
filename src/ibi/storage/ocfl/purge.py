"""All versions of an object replaced by a single one: what was deleted is gone from the disk.

Two directories change names in one step: a crash leaves the old object or the new one, and the other in staging, where
the sweep removes it. Where the file system cannot do that, the old object is moved aside first; a sweep that finds none
in its place finishes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from ibi.model.content import Change, Copy, Keep, NewObject, Source
from ibi.ports.content import ContentDamaged, ContentMissing, FileMissing
from ibi.storage.machine import exchange
from ibi.storage.ocfl.creation import stage_object
from ibi.storage.ocfl.inventory import Inventory
from ibi.storage.ocfl.recovery import write_file
from ibi.storage.ocfl.store_context import TARGET, Staged, StoreContext, remove_moved

NEW = "object"
OLD = "old"

STEPS = (
    "purge: staged",
    "purge: synced",
    "purge: moved aside",
    "purge: replaced",
    "purge: durable",
    "purge: old removed",
)


def purge_to(work: StoreContext, name: str, files: Mapping[str, Source], change: Change, head: int | None) -> Inventory:
    """Under the object's lock throughout: it is rare, and brings little content."""
    if not os.path.lexists(work.target(name)):
        raise ContentMissing(name=name)
    with work.change("purge") as staged, work.locks.hold(name):
        try:
            before = work.current(name, head)
            place = f"{staged.place}/{NEW}"
            os.mkdir(place)
            write_file(f"{staged.place}/{TARGET}", name.encode("ascii"), staged.batch)
            sources = {path: _copied(work, source, before) for path, source in files.items()}
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


def _copied(work: StoreContext, source: Source, before: Inventory) -> Source:
    """What is kept has to be copied: it lies in an object that goes away."""
    if not isinstance(source, Keep):
        return source
    digest = before.versions[-1].files.get(source.path)
    if digest is None:
        raise FileMissing(name=before.name, path=source.path, version=before.head)
    return Copy(f"{work.target(before.name)}/{before.manifest[digest][0]}")


def _check_kept(files: Mapping[str, Source], before: Inventory, inventory: Inventory) -> None:
    """Content that was copied has to be what it was: damaged, it would get a digest that says it is right."""
    old, new = before.versions[-1].files, inventory.versions[-1].files
    for path, source in files.items():
        if isinstance(source, Keep) and old[source.path] != new[path]:
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
