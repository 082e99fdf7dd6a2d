"""Writing versions of an object: the first one, and later ones."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import BinaryIO

from ibi.items.model.content import Bytes, Change, Derived, NewObject, Source
from ibi.items.ports.archive_store import ContentDamaged, ContentExists, ContentMissing, OnBytes
from ibi.items.store.ocfl.durability import Batch
from ibi.items.store.ocfl.intake import CHUNK, Intake, write_file
from ibi.items.store.ocfl.layout import OBJECT_DECLARATION
from ibi.items.store.ocfl.object import (
    CONTENT,
    ID_SCHEME,
    NAME,
    SIDECAR,
    Inventory,
    ObjectDirectory,
    Version,
    sidecar_of,
    version_name,
)
from ibi.items.store.ocfl.store_context import TARGET, Staged, StoreContext, files_of, remove_moved
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals

CREATION_STEPS = (
    "content half written",
    "create: staged",
    "create: synced",
    "create: renamed",
    "create: durable",
)

_IN_MEMORY = (Bytes, Derived)


class _Creation:
    """An object on its way into the root: its progress, or its refusal."""

    def __init__(self, new: NewObject) -> None:
        self.new = new
        self.staged: Staged | None = None
        self.inventory: Inventory | None = None
        self.moved: Sequence[str] = ()
        self.refusal: Exception | None = None


def create(work: StoreContext, new: NewObject, on_bytes: OnBytes | None = None) -> Inventory:
    """Create an object. After a crash it is complete or absent: one rename decides."""
    (made,) = create_all(work, [new], on_bytes)
    if isinstance(made, Exception):
        raise made
    return made


def create_all(
    work: StoreContext, objects: Sequence[NewObject], on_bytes: OnBytes | None = None
) -> list[Inventory | Exception]:
    """Create each object as if it were alone, but with two syncs for all of them. The error of one object does not stop
    the others."""
    creations, batch = [_Creation(new) for new in objects], Batch(work.file_system)
    try:
        with work.turn if len(creations) > 1 else nullcontext():
            _each(work, creations, lambda creation: _stage(work, creation, batch, on_bytes))
        work.step("create: staged")
        _sync(work, creations, batch)
        work.step("create: synced")
        _each(work, creations, lambda creation: _bring_in(work, creation))
        work.step("create: renamed")
        _sync(work, creations, batch)
        for creation in creations:
            _settle(work, creation)
        work.step("create: durable")
    except BaseException:
        for creation in creations:
            _take_back(work, creation)
        raise
    finally:
        batch.close()
    return [_outcome(creation) for creation in creations]


def _each(work: StoreContext, creations: Iterable[_Creation], step: Callable[[_Creation], None]) -> None:
    for creation in creations:
        if creation.refusal is None:
            try:
                with refusals(DiskRefused, work.path):
                    step(creation)
            except Exception as refusal:  # noqa: BLE001 - whatever it is, its own caller is told
                creation.refusal = refusal
                _take_back(work, creation)


def _sync(work: StoreContext, creations: Sequence[_Creation], batch: Batch) -> None:
    """Sync all creations. A failure fails them all, because the system does not name the lost files.

    The failure also replaces the refusal of a second object of the same name: the first object is not stored either.
    """
    names = {creation.new.name for creation in creations if creation.refusal is None}
    if not names:
        return
    try:
        with refusals(DiskRefused, work.path):
            batch.sync()
    except DiskRefused as refusal:
        for creation in creations:
            if creation.refusal is None or (isinstance(creation.refusal, ContentExists) and creation.new.name in names):
                creation.refusal = refusal
            _take_back(work, creation)


def _stage(work: StoreContext, creation: _Creation, batch: Batch, on_bytes: OnBytes | None) -> None:
    new = creation.new
    # The rename would find the conflict as well, but only after all content was written.
    if not all(isinstance(each, _IN_MEMORY) for each in new.files.values()) and os.path.lexists(work.target(new.name)):
        raise ContentExists(name=new.name)
    creation.staged = staged = work.begin("create", batch)
    creation.inventory, intake = stage_object(work, staged, staged.place, new, on_bytes)
    creation.moved = intake.moved


def _bring_in(work: StoreContext, creation: _Creation) -> None:
    staged, name = creation.staged, creation.new.name
    assert staged is not None  # refused creations do not come here
    staged.undoing.append(lambda: work.parents.prune(name))
    with work.locks.hold(name):
        try:
            work.parents.bring_in(staged.place, name, staged.batch)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise ContentExists(name=name) from None
            raise
    staged.undoing.append(lambda: os.rename(work.target(name), staged.place))


def _settle(work: StoreContext, creation: _Creation) -> None:
    if creation.refusal is None and creation.staged is not None:
        creation.staged = None
        work.parents.note_durable(creation.new.name)
        remove_moved(creation.moved)


def _take_back(work: StoreContext, creation: _Creation) -> None:
    if creation.staged is not None:
        creation.staged.undo()
        work.staging.remove(creation.staged.place)
        creation.staged = None


def _outcome(creation: _Creation) -> Inventory | Exception:
    outcome = creation.refusal or creation.inventory
    assert outcome is not None  # it was either kept or refused
    return outcome


def stage_object(
    work: StoreContext, staged: Staged, place: str, new: NewObject, on_bytes: OnBytes | None = None
) -> tuple[Inventory, Intake]:
    """Stage a whole object with one version in the empty directory `place`."""
    name, files, change = new
    folder = f"{place}/{version_name(1)}"
    intake = work.take(files, folder, staged, on_bytes)
    empty = Inventory(ID_SCHEME + name, {}, ())
    places = {digest: f"{version_name(1)}/{CONTENT}/{path}" for digest, path in intake.places.items()}
    inventory = empty.with_version(Version(change, files_of(files, intake, empty)), places)
    content = inventory.encode()
    declaration, text = OBJECT_DECLARATION
    with work.turn:
        intake.write()
        write_file(f"{place}/{declaration}", text, staged.batch)
        _write_inventory(folder, content, staged.batch)
        _write_inventory(place, content, staged.batch)
    intake.finish(folder)
    staged.batch.add_directory(place)
    return inventory, intake


REVISION_STEPS = (
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
    """Write a new version. The content is written before the object is locked, so that a large file blocks no other
    change."""
    if not os.path.lexists(work.target(name)):
        raise ContentMissing(name=name)
    with work.change("update") as staged:
        write_file(f"{staged.place}/{TARGET}", name.encode("ascii"), staged.batch)
        intake = work.take(files, f"{staged.place}/next", staged, on_bytes)
        with work.turn:
            intake.write()
        work.step("update: content staged")
        with work.locks.hold(name):
            # Locked only after `turn` is free. With both at once, two threads could wait for each other for ever.
            try:
                before = work.current(name, head)
                inventory = _stage_version(
                    work, staged, intake, before, Version(change, files_of(files, intake, before))
                )
                _place(work, staged, inventory)
            except BaseException:
                staged.undo()  # still under the lock
                raise
    remove_moved(intake.moved)
    return inventory


def _stage_version(
    work: StoreContext, staged: Staged, intake: Intake, before: Inventory, version: Version
) -> Inventory:
    """Stage the directory of the version, the new inventory of the object, and a link to the old one."""
    for digest in [digest for digest in intake.places if digest in before.manifest]:
        _check_kept(work, before, digest, intake.place_of(digest))
        intake.drop(digest)
    number = version_name(before.head + 1)
    folder = f"{staged.place}/{number}"
    os.rename(f"{staged.place}/next", folder)
    places = {digest: f"{number}/{CONTENT}/{path}" for digest, path in intake.places.items()}
    inventory = before.with_version(version, places)
    content = inventory.encode()
    _write_inventory(folder, content, staged.batch)
    _write_inventory(staged.place, content, staged.batch)
    for name in (NAME, SIDECAR):
        os.link(f"{work.target(before.name)}/{name}", f"{staged.place}/before-{name}", follow_symlinks=False)
    intake.finish(folder)
    staged.batch.add_directory(staged.place)
    return inventory


def _check_kept(work: StoreContext, before: Inventory, digest: str, again: str) -> None:
    """Check that repeated content equals the stored one, so that the new copy can be dropped."""
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
    """Compare byte by byte: both files are local, and hashing takes longer."""
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
    # The old file has a second link, so that the undoing needs no disk space.
    staged.undoing.append(lambda: os.rename(f"{staged.place}/before-{name}", f"{target}/{name}"))


def _write_inventory(folder: str, content: bytes, batch: Batch) -> None:
    write_file(f"{folder}/{NAME}", content, batch)
    write_file(f"{folder}/{SIDECAR}", sidecar_of(content), batch)
