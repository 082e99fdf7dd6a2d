"""An object on the disk, reached from the storage root one directory at a time and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from types import TracebackType
from typing import Final

from ibi.ports.content import ContentDamaged, ContentMissing
from ibi.storage.descriptors import raise_if_exhausted
from ibi.storage.ocfl.inventory import ID_SCHEME, NAME, SIDECAR, Inventory, is_sidecar_of
from ibi.storage.ocfl.layout import Broken
from ibi.storage.shared_cache import SharedLruCache

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST_INVENTORY = 1 << 30


class ObjectDirectory:
    """The open directory of an object. `ContentMissing` if there is none."""

    def __init__(self, root: int, name: str) -> None:
        self.name = name
        try:
            self.descriptor = _descend(root, name.split("/"))
        except (FileNotFoundError, NotADirectoryError):
            raise ContentMissing(name=name) from None
        except OSError as error:
            raise_if_exhausted(error)
            raise ContentDamaged(name=name, problem="E090", reason=error.strerror) from error

    def inventory(self) -> Inventory:
        """The current one, which its sidecar confirms; `Broken` otherwise."""
        inventory = read_inventory(self.descriptor)
        if inventory.id != ID_SCHEME + self.name:
            raise Broken("E083", f"it is the object {inventory.id!r}")
        return inventory

    def inventory_status(self) -> tuple[int, ...]:
        """Changes with every new inventory."""
        status = os.stat(NAME, dir_fd=self.descriptor, follow_symlinks=False)
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size

    def open(self, place: str) -> int:
        """A descriptor of the plain file at a content path."""
        *folders, last = place.split("/")
        folder = _descend(self.descriptor, folders)
        try:
            return open_plain_file(folder, last)
        finally:
            os.close(folder)

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> ObjectDirectory:
        return self

    def __exit__(self, kind: object, error: object, trace: object, /) -> None:
        self.close()


class OpenContent:
    """The port's `OpenFile` on a plain file."""

    def __init__(self, descriptor: int, digest: str) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self.digest = digest

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> OpenContent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


def read_inventory(directory: int) -> Inventory:
    """The inventory in an open directory, which its sidecar confirms; `Broken` otherwise."""
    content, sidecar = read_whole(directory, NAME, "E063"), read_whole(directory, SIDECAR, "E058")
    if not is_sidecar_of(sidecar, content):
        raise Broken("E060", "the sidecar has another digest than the inventory")
    return Inventory.decode(content)


def read_whole(directory: int, name: str, missing: str) -> bytes:
    """The content of a plain file; `Broken` with the code `missing` if there is none."""
    try:
        descriptor = open_plain_file(directory, name)
    except OSError as error:
        raise_if_exhausted(error)
        raise Broken(missing, f"{name}: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        try:
            content = file.read(_LARGEST_INVENTORY)
        except OSError as error:
            raise Broken(missing, f"{name}: {error.strerror}") from error
    return content


def open_plain_file(directory: int, name: str) -> int:
    descriptor = os.open(name, _FILE, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(0, "it is not a plain file")


def _descend(start: int, parts: Iterable[str]) -> int:
    """The directory below `start`: each part is opened in the one before, and none may be a link."""
    current = os.open(".", _DIRECTORY, dir_fd=start)
    for part in parts:
        try:
            below = os.open(part, _DIRECTORY, dir_fd=current)
        finally:
            os.close(current)
        current = below
    return current


_MOST: Final = 256
_MOST_FILES: Final = 100_000
"""In all of them, those of earlier versions included: some thirty megabytes."""


class RememberedInventories:
    """Each is given only while the file it was read from is still in its place. From any thread."""

    def __init__(self) -> None:
        self._inventories: SharedLruCache[str, tuple[tuple[int, ...], Inventory]] = SharedLruCache(_MOST, _MOST_FILES)

    def inventory(self, found: ObjectDirectory) -> Inventory:
        try:
            status = found.inventory_status()
        except OSError as error:
            raise Broken("E063", error.strerror or "there is no inventory") from error
        known = self._inventories.find(found.name)
        if known is not None and known[0] == status:
            return known[1]
        inventory = found.inventory()
        # Read between two looks at the same file, it is that file's.
        if found.inventory_status() == status:
            self._inventories.keep(found.name, (status, inventory), _size(inventory))
        return inventory


def _size(inventory: Inventory) -> int:
    return len(inventory.manifest) + sum(len(version.files) for version in inventory.versions)
