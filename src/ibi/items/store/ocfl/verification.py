"""Verify a whole object, and return the problems as values.

Its structure is checked under the object's lock, which takes moments. Content is then hashed without the lock, because
content files never change. If one is missing because the object was purged meanwhile, the new object is verified
instead.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from ibi.items.model.content import BlockHasher, Damage, Problem, has_kept_digests
from ibi.items.ports.archive_store import BlockDigests, OnCrc
from ibi.items.store.ocfl.layout import OBJECT_DECLARATION, Broken
from ibi.items.store.ocfl.object import (
    CONTENT,
    ID_SCHEME,
    NAME,
    SIDECAR,
    Inventory,
    ObjectDirectory,
    is_sidecar_of,
    read_inventory,
    read_whole,
    version_name,
)
from ibi.items.store.ocfl.store_context import StoreContext
from ibi.storage.machine import raise_if_exhausted

_CHUNK = 1 << 20
_OUR_OWN_FAULTS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Resource limits of this process, which say nothing about the content."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def verify(
    work: StoreContext, name: str, on_bytes: Callable[[int], None] | None, on_crc: OnCrc | None = None
) -> Iterator[Problem]:
    """Yield every problem. Raise `ContentMissing` if there is no object of that name."""
    while True:
        with work.locks.hold(name), ObjectDirectory(work.descriptor, name) as found:
            survey = _Survey(found)
            problems, inventory = list(survey.problems()), survey.inventory
        with ObjectDirectory(work.descriptor, name) as found:
            hashed = list(_content_problems(found, inventory, work.blocks, on_bytes, on_crc)) if inventory else []
        if not hashed or _sidecar(work, name) == survey.sidecar:
            yield from (*problems, *hashed)
            return


def _sidecar(work: StoreContext, name: str) -> bytes | None:
    with work.locks.hold(name), ObjectDirectory(work.descriptor, name) as found:
        return _sidecar_in(found)


def _sidecar_in(found: ObjectDirectory) -> bytes | None:
    try:
        return read_whole(found.descriptor, SIDECAR, "E058")
    except Broken:
        return None


def extra_entries(found: ObjectDirectory, inventory: Inventory) -> Iterator[Problem]:
    """Yield the files and folders in an object that no inventory names. No content is read."""
    return _Survey(found).extra_entries(inventory)


class _Survey:
    """The structure of an object, without the content of its files."""

    def __init__(self, found: ObjectDirectory) -> None:
        self._found = found
        self.inventory: Inventory | None = None
        self.sidecar = _sidecar_in(found)

    def problems(self) -> Iterator[Problem]:
        yield from self._declaration()
        try:
            self.inventory = self._found.inventory()
        except Broken as broken:
            yield _structure(broken.code, NAME, broken.reason)
            # The last version's own inventory, if it is sound, tells the expected files.
            self.inventory = self._last_whole()
        if self.inventory is None:
            return
        yield from self._root_entries(self.inventory)
        for number in range(1, self.inventory.head + 1):
            yield from self._version(version_name(number), number, self.inventory)

    def extra_entries(self, inventory: Inventory) -> Iterator[Problem]:
        yield from self._root_entries(inventory)
        for number in range(1, inventory.head + 1):
            version = version_name(number)
            with suppress(FileNotFoundError, NotADirectoryError):  # other problems, reported with the content
                folder = os.open(version, _DIRECTORY, dir_fd=self._found.descriptor)
                try:
                    yield from self._version_entries(version, folder, inventory)
                finally:
                    os.close(folder)

    def _declaration(self) -> Iterator[Problem]:
        name, text = OBJECT_DECLARATION
        try:
            if read_whole(self._found.descriptor, name, "E003") != text:
                yield _structure("E007", name, "it does not say what its name says")
        except Broken as broken:
            yield Problem(Damage.MISSING, broken.code, name, broken.reason)

    def _last_whole(self) -> Inventory | None:
        entries = os.listdir(self._found.descriptor)
        numbers = sorted((int(name[1:]) for name in entries if name[:1] == "v" and name[1:].isdecimal()), reverse=True)
        for number in numbers:
            try:
                inventory = self._version_inventory(version_name(number))
            except Broken:
                continue
            except OSError as error:
                raise_if_exhausted(error)
                continue
            if inventory.id == ID_SCHEME + self._found.name and inventory.head == number:
                return inventory
        return None

    def _version_inventory(self, version: str) -> Inventory:
        folder = os.open(version, _DIRECTORY, dir_fd=self._found.descriptor)
        try:
            return read_inventory(folder)
        finally:
            os.close(folder)

    def _root_entries(self, inventory: Inventory) -> Iterator[Problem]:
        versions = {version_name(number) for number in range(1, inventory.head + 1)}
        plain = {OBJECT_DECLARATION[0], NAME, SIDECAR}
        for name, mode in _entries(self._found.descriptor):
            if stat.S_ISLNK(mode):
                yield Problem(Damage.EXTRA, "E090", name, "it is a symbolic link")
            elif name.startswith("0=") and name not in plain:
                yield Problem(Damage.EXTRA, "E003", name, "there is more than one declaration")
            elif name in plain if stat.S_ISREG(mode) else name in versions and stat.S_ISDIR(mode):
                continue
            elif name[:1] == "v" and name[1:].isdecimal():
                yield Problem(Damage.EXTRA, "E046", name, "it is no version of the inventory")
            else:
                yield Problem(Damage.EXTRA, "E001", name, "it does not belong there")

    def _version(self, version: str, number: int, inventory: Inventory) -> Iterator[Problem]:
        try:
            folder = os.open(version, _DIRECTORY, dir_fd=self._found.descriptor)
        except OSError as error:
            raise_if_exhausted(error)
            yield Problem(Damage.MISSING, "E010", version, error.strerror or "it cannot be opened")
            return
        try:
            yield from self._version_entries(version, folder, inventory)
            yield from self._inventory_of_version(version, folder, number, inventory)
        finally:
            os.close(folder)

    def _version_entries(self, version: str, folder: int, inventory: Inventory) -> Iterator[Problem]:
        listed = {place for places in inventory.manifest.values() for place in places}
        for name, mode in _entries(folder):
            path = f"{version}/{name}"
            if name == CONTENT and stat.S_ISDIR(mode):
                yield from _content_entries(folder, version, name, listed)
            elif stat.S_ISLNK(mode):
                yield Problem(Damage.EXTRA, "E090", path, "it is a symbolic link")
            elif stat.S_ISDIR(mode):
                yield Problem(Damage.EXTRA, "W002", path, "it does not belong there")
            elif name not in (NAME, SIDECAR) or not stat.S_ISREG(mode):
                yield Problem(Damage.EXTRA, "E015", path, "it does not belong there")

    def _inventory_of_version(self, version: str, folder: int, number: int, inventory: Inventory) -> Iterator[Problem]:
        path = f"{version}/{NAME}"
        try:
            content, sidecar = read_whole(folder, NAME, "W010"), read_whole(folder, SIDECAR, "E058")
            if not is_sidecar_of(sidecar, content):
                raise Broken("E060", "the sidecar has another digest than the inventory")
            found = Inventory.decode(content)
        except Broken as broken:
            kind = Damage.MISSING if broken.code in ("W010", "E058") else Damage.STRUCTURE
            yield Problem(kind, broken.code, path, broken.reason)
            return
        if found.id != inventory.id or found.head != number:
            yield _structure("E037" if found.head == number else "E040", path, "it is of another object or version")
        elif number == inventory.head and not self._is_root_inventory(content):
            yield _structure("E064", path, "it is not the same as the object's")
        elif found.versions != inventory.versions[:number]:
            yield _structure("E066", path, "it tells another history than the object's")

    def _is_root_inventory(self, content: bytes) -> bool:
        try:
            return read_whole(self._found.descriptor, NAME, "E063") == content
        except Broken:
            return True  # that it is missing was reported


def _structure(code: str, path: str, reason: str) -> Problem:
    return Problem(Damage.STRUCTURE, code, path, reason)


def _entries(directory: int) -> list[tuple[str, int]]:
    with os.scandir(directory) as entries:
        return sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries)


def _content_entries(folder: int, above: str, name: str, listed: set[str]) -> Iterator[Problem]:
    """Yield the entries of a content directory that are not in the manifest. One descriptor is open per level."""
    path = f"{above}/{name}"
    descriptor = os.open(name, _DIRECTORY, dir_fd=folder)
    try:
        entries = _entries(descriptor)
        if not entries:
            yield Problem(Damage.EXTRA, "E024", path, "it is an empty folder")
        for child, mode in entries:
            if stat.S_ISDIR(mode):
                yield from _content_entries(descriptor, path, child, listed)
            elif stat.S_ISLNK(mode):
                yield Problem(Damage.EXTRA, "E090", f"{path}/{child}", "it is a symbolic link")
            elif f"{path}/{child}" not in listed or not stat.S_ISREG(mode):
                yield Problem(Damage.EXTRA, "E023", f"{path}/{child}", "it is not in the manifest")
    finally:
        os.close(descriptor)


def _content_problems(
    found: ObjectDirectory,
    inventory: Inventory,
    blocks: BlockDigests | None,
    on_bytes: Callable[[int], None] | None,
    on_crc: OnCrc | None,
) -> Iterator[Problem]:
    for digest, places in inventory.manifest.items():
        for place in places:
            try:
                hasher = _hash_file(found.open(place), on_bytes)
            except FileNotFoundError:
                yield Problem(Damage.MISSING, "E092", place, "it is missing", digest)
            except OSError as error:
                raise_if_exhausted(error)
                if error.errno in _OUR_OWN_FAULTS:
                    raise
                yield Problem(Damage.UNREADABLE, "E092", place, error.strerror or str(error), digest)
            else:
                if hasher.digest() != digest:
                    yield Problem(Damage.DAMAGED, "E092", place, "its content is not what was deposited", digest)
                    continue
                if on_crc is not None:
                    on_crc(digest, hasher.crc32())
                if blocks is not None and has_kept_digests(hasher.size):
                    blocks.keep_blocks(digest, hasher.blocks())


def _hash_file(descriptor: int, on_bytes: Callable[[int], None] | None) -> BlockHasher:
    hasher, buffer = BlockHasher(), memoryview(bytearray(_CHUNK))
    with open(descriptor, "rb", buffering=0) as file:
        while length := file.readinto(buffer):
            hasher.update(buffer[:length])
            if on_bytes is not None:
                on_bytes(length)
    return hasher
