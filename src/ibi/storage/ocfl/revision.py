"""One more version of an object; `recovery` says why the steps have this order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import BinaryIO

from ibi.model.content import Change, Source
from ibi.ports.content import ContentDamaged, ContentMissing, OnBytes
from ibi.storage.ocfl.intake import CHUNK, Intake
from ibi.storage.ocfl.inventory import CONTENT, NAME, SIDECAR, Inventory, Version, version_name
from ibi.storage.ocfl.object import ObjectDirectory
from ibi.storage.ocfl.recovery import write_file, write_inventory
from ibi.storage.ocfl.store_context import TARGET, Staged, StoreContext, files_of, remove_moved

STEPS = (
    "update: content staged",
    "update: staged",
    "update: synced",
    "update: version placed",
    "update: version durable",
    "update: inventory replaced",
    "update: sidecar replaced",
    "update: durable",
)


def update(
    work: StoreContext,
    name: str,
    files: Mapping[str, Source],
    change: Change,
    head: int | None,
    on_bytes: OnBytes | None = None,
) -> Inventory:
    """Content is taken in before the object is locked: a large file keeps no other change waiting."""
    if not os.path.lexists(work.target(name)):
        raise ContentMissing(name=name)
    with work.change("update") as staged:
        write_file(f"{staged.place}/{TARGET}", name.encode("ascii"), staged.batch)
        intake = work.take(files, f"{staged.place}/next", staged, on_bytes)
        with work.turn:
            intake.write()
        work.step("update: content staged")
        with work.locks.hold(name):
            # Not before: the holder of the lock would wait for a thread that waits for the lock.
            try:
                before = work.current(name, head)
                inventory = _stage_version(
                    work, staged, intake, before, Version(change, files_of(files, intake, before))
                )
                _place(work, staged, inventory)
            except BaseException:
                staged.undo()  # under the lock still
                raise
    remove_moved(intake.moved)
    return inventory


def _stage_version(
    work: StoreContext, staged: Staged, intake: Intake, before: Inventory, version: Version
) -> Inventory:
    """The directory of the version, the inventory for the object, and the one it replaces."""
    for digest in [digest for digest in intake.places if digest in before.manifest]:
        _check_kept(work, before, digest, intake.place_of(digest))
        intake.drop(digest)
    number = version_name(before.head + 1)
    folder = f"{staged.place}/{number}"
    os.rename(f"{staged.place}/next", folder)
    places = {digest: f"{number}/{CONTENT}/{path}" for digest, path in intake.places.items()}
    inventory = before.with_version(version, places)
    content = inventory.encode()
    write_inventory(folder, content, staged.batch)
    write_inventory(staged.place, content, staged.batch)
    for name in (NAME, SIDECAR):
        os.link(f"{work.target(before.name)}/{name}", f"{staged.place}/before-{name}", follow_symlinks=False)
    intake.finish(folder)
    staged.batch.add_directory(staged.place)
    return inventory


def _check_kept(work: StoreContext, before: Inventory, digest: str, again: str) -> None:
    """Content that comes again is dropped in favour of what is kept, if that is still the same."""
    place = before.manifest[digest][0]
    with ObjectDirectory(work.descriptor, before.name) as found, open(again, "rb") as staged:
        try:
            with open(found.open(place), "rb") as kept:
                is_right = _are_equal(kept, staged)
        except FileNotFoundError:
            is_right = False
    if not is_right:
        reason = f"{place}: its content is not what was deposited"
        raise ContentDamaged(name=before.name, problem="E092", reason=reason)


def _are_equal(one: BinaryIO, other: BinaryIO) -> bool:
    """Byte by byte: both are at hand, and to hash them takes longer."""
    while True:
        chunk = one.read(CHUNK)
        if chunk != other.read(CHUNK):
            return False
        if not chunk:
            return True


def _place(work: StoreContext, staged: Staged, inventory: Inventory) -> None:
    target, number = work.target(inventory.name), version_name(inventory.head)
    work.step("update: staged")
    staged.batch.sync()
    work.step("update: synced")
    os.rename(f"{staged.place}/{number}", f"{target}/{number}")
    staged.undoing.append(lambda: os.rename(f"{target}/{number}", f"{staged.place}/{number}"))
    work.step("update: version placed")
    staged.batch.add_directory(target)
    staged.batch.sync()
    work.step("update: version durable")
    _replace(staged, target, NAME)
    work.step("update: inventory replaced")
    _replace(staged, target, SIDECAR)
    work.step("update: sidecar replaced")
    staged.batch.add_directory(target)
    staged.batch.sync()
    work.step("update: durable")
    staged.undoing.clear()


def _replace(staged: Staged, target: str, name: str) -> None:
    os.rename(f"{staged.place}/{name}", f"{target}/{name}")
    # The name of the old file was kept: going back needs no space.
    staged.undoing.append(lambda: os.rename(f"{staged.place}/before-{name}", f"{target}/{name}"))
