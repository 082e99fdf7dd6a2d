"""The first version of an object."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

from ibi.model.content import Bytes, Derived, NewObject
from ibi.ports.content import ContentExists, OnBytes
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals
from ibi.storage.ocfl.durability import Batch
from ibi.storage.ocfl.intake import Intake
from ibi.storage.ocfl.inventory import CONTENT, ID_SCHEME, Inventory, Version, version_name
from ibi.storage.ocfl.layout import OBJECT_DECLARATION
from ibi.storage.ocfl.recovery import write_file, write_inventory
from ibi.storage.ocfl.store_context import Staged, StoreContext, files_of, remove_moved

STEPS = (
    "content half written",
    "create: staged",
    "create: synced",
    "create: renamed",
    "create: durable",
)

_IN_MEMORY = (Bytes, Derived)


class _Creation:
    """An object on its way into the root: how far it has come, or why it does not."""

    def __init__(self, new: NewObject) -> None:
        self.new = new
        self.staged: Staged | None = None
        self.inventory: Inventory | None = None
        self.moved: Sequence[str] = ()
        self.refusal: Exception | None = None


def create(work: StoreContext, new: NewObject, on_bytes: OnBytes | None = None) -> Inventory:
    """Whole after a crash, or not there: one rename decides."""
    (made,) = create_all(work, [new], on_bytes)
    if isinstance(made, Exception):
        raise made
    return made


def create_all(
    work: StoreContext, objects: Sequence[NewObject], on_bytes: OnBytes | None = None
) -> list[Inventory | Exception]:
    """Each of them as if it were alone, and all with the same two syncs. What one raises does not stop the others."""
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
            except Exception as refusal:  # noqa: BLE001 - whatever it is, it is told to whom it belongs
                creation.refusal = refusal
                _take_back(work, creation)


def _sync(work: StoreContext, creations: Sequence[_Creation], batch: Batch) -> None:
    """If this fails, it fails for all: the system does not tell whose files were not written. It fails as well for an
    object refused because of another of its name, which is not there then."""
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
    # The rename would tell as well, but only after all content was taken in.
    if not all(isinstance(each, _IN_MEMORY) for each in new.files.values()) and os.path.lexists(work.target(new.name)):
        raise ContentExists(name=new.name)
    creation.staged = staged = work.begin("create", batch)
    creation.inventory, intake = stage_object(work, staged, staged.place, new, on_bytes)
    creation.moved = intake.moved


def _bring_in(work: StoreContext, creation: _Creation) -> None:
    staged, name = creation.staged, creation.new.name
    assert staged is not None  # what was refused before does not come here
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
    assert outcome is not None  # it was kept, or it was refused
    return outcome


def stage_object(
    work: StoreContext, staged: Staged, place: str, new: NewObject, on_bytes: OnBytes | None = None
) -> tuple[Inventory, Intake]:
    """A whole object with one version, in the empty directory `place`."""
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
        write_inventory(folder, content, staged.batch)
        write_inventory(place, content, staged.batch)
    intake.finish(folder)
    staged.batch.add_directory(place)
    return inventory, intake
