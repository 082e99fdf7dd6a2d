"""The first version of an object."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from ibi.model.content import Change, Source
from ibi.ports.content import ContentExists
from ibi.storage.ocfl.intake import Intake
from ibi.storage.ocfl.inventory import CONTENT, ID_SCHEME, Inventory, Version, version_name
from ibi.storage.ocfl.layout import OBJECT_DECLARATION
from ibi.storage.ocfl.recovery import write_file, write_inventory
from ibi.storage.ocfl.workplace import Staged, Workplace, files_of, remove_moved

__all__ = ["STEPS", "create", "stage_object"]

STEPS = (
    "content half written",
    "create: staged",
    "create: synced",
    "create: renamed",
    "create: durable",
)


def create(work: Workplace, name: str, files: Mapping[str, Source], change: Change) -> Inventory:
    """Whole after a crash, or not there: one rename decides."""
    # The rename would tell as well, but only after all content was taken in.
    if os.path.lexists(work.target(name)):
        raise ContentExists(name=name)
    with work.change("create") as staged:
        inventory, intake = stage_object(work, staged, staged.place, name, files, change)
        work.step("create: staged")
        staged.batch.sync()
        work.step("create: synced")
        with work.locks.held(name):
            _bring_in(work, staged, name)
        work.step("create: renamed")
        staged.batch.sync()
        staged.is_gone = True
        work.parents.note_durable(name)
        work.step("create: durable")
    remove_moved(intake)
    return inventory


def stage_object(
    work: Workplace, staged: Staged, place: str, name: str, files: Mapping[str, Source], change: Change
) -> tuple[Inventory, Intake]:
    """A whole object with one version, in the empty directory `place`."""
    folder = f"{place}/{version_name(1)}"
    intake = work.take(files, folder, staged)
    empty = Inventory(ID_SCHEME + name, {}, ())
    places = {digest: f"{version_name(1)}/{CONTENT}/{path}" for digest, path in intake.places.items()}
    inventory = empty.with_version(Version(change, files_of(files, intake, empty)), places)
    content = inventory.encode()
    declaration, text = OBJECT_DECLARATION
    staged.batch.announce()
    with work.turn:
        intake.write()
        write_file(f"{place}/{declaration}", text, staged.batch)
        write_inventory(folder, content, staged.batch)
        write_inventory(place, content, staged.batch)
    intake.finish(folder)
    staged.batch.add_directory(place)
    return inventory, intake


def _bring_in(work: Workplace, staged: Staged, name: str) -> None:
    staged.undoing.append(lambda: work.parents.prune(name))
    try:
        work.parents.bring_in(staged.place, name, staged.batch)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise ContentExists(name=name) from None
        raise
    staged.undoing.append(lambda: os.rename(work.target(name), staged.place))
