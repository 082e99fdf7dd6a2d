"""What every change works with: the root, the staging beside it, the locks, and the names of its steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock

from ibi.model.content import Keep, Source
from ibi.ports.content import ContentChanged, ContentDamaged, FileMissing
from ibi.ports.integrity import BlockDigests
from ibi.storage.disk import refusals
from ibi.storage.errors import DiskRefused
from ibi.storage.ocfl.broken import Broken
from ibi.storage.ocfl.durability import Batch, FileSystem
from ibi.storage.ocfl.intake import Intake
from ibi.storage.ocfl.inventory import Inventory
from ibi.storage.ocfl.locks import ObjectLocks
from ibi.storage.ocfl.object import ObjectDirectory
from ibi.storage.ocfl.parents import Parents
from ibi.storage.ocfl.recovery import finish_version, is_between_versions
from ibi.storage.ocfl.staging import Staging

__all__ = ["Staged", "Workplace"]


@dataclass
class Staged:
    """A change being prepared: its directory, what is to be synced, and how to take back what is done."""

    place: str
    batch: Batch
    undoing: list[Callable[[], object]] = field(default_factory=list)

    def undo(self) -> None:
        """As far as the disk allows: a step that cannot be taken back does not keep the others."""
        while self.undoing:
            with suppress(OSError):
                self.undoing.pop()()


class Workplace:
    """One storage root, open."""

    def __init__(self, root: Path, on_step: Callable[[str], None], blocks: BlockDigests | None = None) -> None:
        """`blocks` keeps the digests of the blocks of content."""
        self.root = str(root)
        self.path = root
        self.descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.file_system = FileSystem(self.root)
        self.staging = Staging(root.with_name(f"{root.name}-staging"))
        self.locks = ObjectLocks(root.with_name(f"{root.name}-locks"))
        self.parents = Parents(self.root)
        self.step = on_step
        self.blocks = blocks
        # A file is written by a few short system calls, at each of which the interpreter's own lock changes hands if
        # others want it. Threads that do so side by side spend more on that than on the files.
        self.turn = RLock()

    def target(self, name: str) -> str:
        return f"{self.root}/{name}"

    @contextmanager
    def change(self, kind: str) -> Iterator[Staged]:
        """A staged change. If it fails, what it did is taken back; what the disk refuses is `DiskRefused`."""
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

    def take(self, files: Mapping[str, Source], folder: str, staged: Staged) -> Intake:
        """The files that bring content, staged in a version's directory; small ones when `Intake.write` is called."""
        os.mkdir(folder)
        intake = Intake(folder, staged.batch, self.step, None if self.blocks is None else self.blocks.keep_blocks)
        for path, source in files.items():
            if not isinstance(source, Keep):
                intake.take(path, source)
        return intake

    def current(self, name: str, head: int | None = None) -> Inventory:
        """The inventory of an object, brought to order if a crash has left it between versions. Under its lock.

        `ContentChanged` if it is not at the version `head`.
        """
        inventory = self._inventory(name)
        if head is not None and inventory.head != head:
            raise ContentChanged(name=name, expected=head, found=inventory.head)
        return inventory

    def finish(self, name: str) -> bool:
        """Bring an object to order. Under its lock."""
        with self.change("recovery") as staged, ObjectDirectory(self.descriptor, name) as found:
            return finish_version(found, self.target(name), staged.place, staged.batch, self.step)

    def close(self) -> None:
        self.staging.close()
        self.locks.close()
        self.file_system.close()
        os.close(self.descriptor)
        self.descriptor = -1

    def begin(self, kind: str, batch: Batch) -> Staged:
        """A change that whoever asks for it takes back, or brings to its end."""
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
    """The digest of each file that a version is to have."""
    return {path: intake.files.get(path) or _kept(source, inventory) for path, source in wanted.items()}


def _kept(source: Source, inventory: Inventory) -> str:
    assert isinstance(source, Keep)
    files = inventory.versions[-1].files if inventory.versions else {}
    if source.path not in files:
        raise FileMissing(name=inventory.name, path=source.path, version=inventory.head)
    return files[source.path]


def remove_moved(moved: Iterable[str]) -> None:
    """The change is made; a file that cannot be removed from where it came from is its owner's to look after."""
    for path in moved:
        with suppress(OSError):
            os.unlink(path)
