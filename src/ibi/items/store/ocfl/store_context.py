"""The shared parts of an open store: the staging directory, locks, the file system, and current inventories.

Each process has a directory of its own in staging, and holds a lock on it while it lives. If the lock of a directory is
free, a crash left its content. Each change has one subdirectory, named after its kind.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock, RLock

from ibi.items.model.content import Derived, Keep, Source
from ibi.items.ports.archive_store import BlockDigests, ContentChanged, ContentDamaged, FileMissing, OnBytes
from ibi.items.store.ocfl.durability import Batch, FileSystem, Parents
from ibi.items.store.ocfl.intake import Intake
from ibi.items.store.ocfl.layout import Broken
from ibi.items.store.ocfl.object import (
    ID_SCHEME,
    NAME,
    SIDECAR,
    Inventory,
    ObjectDirectory,
    read_inventory,
    version_name,
)
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import ObjectLocks, alone, open_lock, try_lock
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals

STEPS = ("recovery: synced", "recovery: inventory replaced", "recovery: durable")


def is_between_versions(found: ObjectDirectory, inventory: Inventory) -> bool:
    """Return whether a version directory exists that the inventory does not list. Called under the object's lock."""
    try:
        os.stat(version_name(inventory.head + 1), dir_fd=found.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def finish_version(
    found: ObjectDirectory, target: str, place: str, batch: Batch, on_step: Callable[[str], None]
) -> bool:
    """Make the highest version of the object at `target` the current one, if it is complete; return whether anything
    was done. Called under the object's lock. `place` is a staged directory.

    A new version is placed in this order, each step durable before the next but one:

    1. The directory `v<n>` is complete on disk, with the new inventory and its sidecar, outside of the object.
    2. It is renamed into the object, and the object's directory is made durable.
    3. The object's inventory is replaced.
    4. Its sidecar is replaced (OCFL 1.1, E062, has it last), and both are made durable.

    So whenever the highest version directory exists, its inventory is complete. After a crash between 2 and 4,
    whichever of 3 and 4 the disk has kept, that inventory describes the result: recovery repeats 3 and 4 with it.
    Before 2, the object is untouched.
    """
    inventory = _highest(found)
    if inventory is None or inventory.id != ID_SCHEME + found.name or _is_current(found, inventory):
        return False
    # Copy the bytes from the version's directory: OCFL requires both to be the same (E064).
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


TARGET = "target"
"""The file of a staged change that names its object."""

_LOCK = "lock"


class Staging:
    """The staged changes of this process, and those left by others."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._numbers = count(1)
        self._own: Path | None = None
        self._descriptor = -1
        self._opening = Lock()

    def begin(self, kind: str) -> str:
        """Create an empty directory for a change."""
        place = f"{self._own_directory()}/{next(self._numbers)}-{kind}"
        os.mkdir(place)
        return place

    def remove(self, place: str) -> None:
        """Remove a change. If that fails now, the sweep does it later."""
        shutil.rmtree(place, ignore_errors=True)

    def abandoned(self) -> Iterator[Path]:
        """Yield the changes of dead processes, the oldest of each process first. The caller has to settle and remove
        each before it asks for the next."""
        if not self.directory.is_dir():
            return
        for place in sorted(self.directory.iterdir()):
            if place.is_dir() and place != self._own:
                yield from self._abandoned_in(place)

    def close(self) -> None:
        with self._opening:
            if self._own is None:
                return
            # Changes in threads that still run keep the directory.
            with suppress(OSError):
                self._own.joinpath(_LOCK).unlink()
                self._own.rmdir()
            os.close(self._descriptor)
            self._own = None

    def _own_directory(self) -> Path:
        if self._own is not None:
            return self._own
        with self._opening, refusals(DiskRefused, self.directory):
            if self._own is None:
                make_directory(self.directory)
                # Under this lock, no process takes the new directory for abandoned before it is locked.
                with alone(self.directory / _LOCK):
                    self._own = self._locked_directory()
            return self._own

    def _locked_directory(self) -> Path:
        own = self.directory / secrets.token_hex(8)
        own.mkdir()
        self._descriptor = open_lock(own / _LOCK)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return own

    def _abandoned_in(self, place: Path) -> Iterator[Path]:
        with alone(self.directory / _LOCK):
            descriptor = _lock_abandoned(place)
        if descriptor is None:
            return
        try:
            yield from sorted((child for child in place.iterdir() if child.name != _LOCK), key=_number)
            shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(descriptor)


def _lock_abandoned(place: Path) -> int | None:
    """Lock the directory of a dead process; return None if its process lives."""
    try:
        return try_lock(open_lock(place / _LOCK))
    except FileNotFoundError:
        return None  # swept by another process


def _number(place: Path) -> int:
    number = place.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0


@dataclass
class Staged:
    """A change in preparation: its directory, its sync batch, and the steps that undo it."""

    place: str
    batch: Batch
    undoing: list[Callable[[], object]] = field(default_factory=list)

    def undo(self) -> None:
        """Undo the steps as far as the disk allows. A step that fails does not stop the others."""
        while self.undoing:
            with suppress(OSError):
                self.undoing.pop()()


class StoreContext:
    """One open storage root."""

    def __init__(self, root: Path, on_step: Callable[[str], None], blocks: BlockDigests | None = None) -> None:
        """`blocks` stores the block digests of content."""
        self.root = str(root)
        self.path = root
        self.descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.file_system = FileSystem(self.root)
        self.staging = Staging(root.with_name(f"{root.name}-staging"))
        self.locks = ObjectLocks(root.with_name(f"{root.name}-locks"))
        self.parents = Parents(self.root)
        self.step = on_step
        self.blocks = blocks
        # A file is written by a few short system calls, and at each the interpreter's lock may change hands. Threads
        # that write side by side spend more time on that than on the files.
        self.turn = RLock()

    def target(self, name: str) -> str:
        return f"{self.root}/{name}"

    @contextmanager
    def change(self, kind: str) -> Iterator[Staged]:
        """Open a staged change. If it fails, its steps are undone. Disk errors are raised as `DiskRefused`."""
        with refusals(DiskRefused, self.path):
            staged = self.begin(kind, Batch(self.file_system))
            try:
                yield staged
            except BaseException:
                staged.undo()
                raise
            finally:
                staged.batch.close()
                self.staging.remove(staged.place)

    def take(self, files: Mapping[str, Source], folder: str, staged: Staged, on_bytes: OnBytes | None = None) -> Intake:
        """Stage the files with new content in a version's directory; small ones are written by `Intake.write`."""
        os.mkdir(folder)
        keep_blocks = None if self.blocks is None else self.blocks.keep_blocks
        intake = Intake(folder, staged.batch, self.step, keep_blocks, on_bytes)
        late: list[tuple[str, Derived]] = []
        for path, source in files.items():
            if isinstance(source, Derived):
                late.append((path, source))
            elif not isinstance(source, Keep):
                intake.take(path, source)
        taken = dict(intake.files)
        for path, derived in late:
            intake.take_bytes(path, derived.make(taken))
        return intake

    def current(self, name: str, head: int | None = None) -> Inventory:
        """Return the inventory of an object, repaired if a crash left it between versions. Called under its lock.

        Raise `ContentChanged` if the object is not at the version `head`.
        """
        inventory = self._inventory(name)
        if head is not None and inventory.head != head:
            raise ContentChanged(name=name, expected=head, found=inventory.head)
        return inventory

    def finish(self, name: str) -> bool:
        """Repair an object after a crash. Called under its lock."""
        with self.change("recovery") as staged, ObjectDirectory(self.descriptor, name) as found:
            return finish_version(found, self.target(name), staged.place, staged.batch, self.step)

    def close(self) -> None:
        self.staging.close()
        self.locks.close()
        self.file_system.close()
        os.close(self.descriptor)
        self.descriptor = -1

    def begin(self, kind: str, batch: Batch) -> Staged:
        """Begin a change that the caller undoes or completes."""
        return Staged(self.staging.begin(kind), batch)

    def _inventory(self, name: str) -> Inventory:
        with ObjectDirectory(self.descriptor, name) as found:
            with suppress(Broken):
                inventory = found.inventory()
                if not is_between_versions(found, inventory):
                    return inventory
            self.finish(name)
            try:
                return found.inventory()
            except Broken as broken:
                raise ContentDamaged(name=name, problem=broken.code, reason=broken.reason) from broken


def files_of(wanted: Mapping[str, Source], intake: Intake, inventory: Inventory) -> dict[str, str]:
    """Return the digest of each file of the new version."""
    return {
        path: kept_digest(source, inventory) if isinstance(source, Keep) else intake.files[path].digest
        for path, source in wanted.items()
    }


def kept_digest(source: Keep, inventory: Inventory) -> str:
    number = inventory.head if source.version is None else source.version
    files = inventory.versions[number - 1].files if 1 <= number <= len(inventory.versions) else {}
    if source.path not in files:
        raise FileMissing(name=inventory.name, path=source.path, version=number)
    return files[source.path]


def remove_moved(moved: Iterable[str]) -> None:
    """Remove moved source files, now that the change is made. A file that cannot be removed is left to its owner."""
    for path in moved:
        with suppress(OSError):
            os.unlink(path)
