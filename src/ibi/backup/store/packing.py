"""Pack versions of objects as tar archives for a backup.

The archive of a version has its directory, and its inventory once more as that of the object. If any tool unpacks the
archives of all versions in order, the result is the object. The name of an archive has the digest of its inventory,
which has the digests of everything else; so both packing and unpacking check every byte.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha512
from typing import IO, Final, NamedTuple, cast

from ibi.backup.model.backup import CHUNK, SHORT, DamagedPart, KeptItem, version_key
from ibi.backup.ports import BackupIncomplete, ItemDamaged, PackedVersion
from ibi.items.store.ocfl.layout import OBJECT_DECLARATION, Broken
from ibi.items.store.ocfl.object import (
    ID_SCHEME,
    NAME,
    SIDECAR,
    Inventory,
    ObjectDirectory,
    digest_in,
    is_sidecar_of,
    open_plain_file,
    sidecar_of,
    version_name,
)
from ibi.storage.machine import raise_if_exhausted

_BLOCK: Final = 512
_END: Final = bytes(2 * _BLOCK)
_MOST_INVENTORY: Final = 1 << 30
_BUFFER: Final = 1 << 17
_NOT_WHAT_WAS_PACKED: Final = (tarfile.TarError, Broken, ValueError, EOFError)
_NO_ARCHIVE: Final = "it is not a tar archive"


class _Member(NamedTuple):
    """A file of a packed version: its `content`, or its path and expected `digest`."""

    header: bytes
    size: int
    path: str
    content: bytes | None = None
    digest: str = ""


def newest_digest(root: int, name: str) -> str:
    """Return the digest that names the newest version of an object; empty if one read cannot tell."""
    try:
        with ObjectDirectory(root, name) as found, open(open_plain_file(found.descriptor, SIDECAR), "rb") as file:
            return digest_in(file.read(_BLOCK))[:SHORT]
    except (OSError, Broken) as error:
        raise_if_exhausted(error)
        return ""


def kept_item(root: int, name: str, head: int) -> KeptItem:
    """Return an object with `head` versions. Raise `ItemDamaged`, or `ContentMissing` if it is gone."""
    with ObjectDirectory(root, name) as found:
        try:
            digests = [digest_in(_read(found, f"{version_name(number)}/{SIDECAR}")) for number in range(1, head + 1)]
        except (Broken, OSError) as error:
            raise_if_exhausted(error)
            raise ItemDamaged(name=name, reason=str(error)) from error
    return KeptItem(name, tuple(digest[:SHORT] for digest in digests))


def pack_version(root: int, item: KeptItem, number: int) -> PackedVersion:
    """Return a packed version of an object. Raise `ItemDamaged`, even while it is read, or `ContentMissing` if it is
    gone."""
    with ObjectDirectory(root, item.name) as found:
        try:
            members = list(_members(found, number, item.versions[number - 1]))
        except (Broken, OSError) as error:
            raise_if_exhausted(error)
            raise ItemDamaged(name=item.name, reason=f"{version_name(number)}: {error}") from error
    size = sum(len(member.header) + _pad_size(member.size) for member in members) + len(_END)
    key = version_key(item.name, number, item.versions[number - 1])
    return PackedVersion(key, size, partial(_pieces, root, item.name, members))


def _members(found: ObjectDirectory, number: int, digest: str) -> Iterator[_Member]:
    folder = version_name(number)
    content, sidecar = _read(found, f"{folder}/{NAME}"), _read(found, f"{folder}/{SIDECAR}")
    if not sha512(content).hexdigest().startswith(digest):
        raise Broken("E060", f"{NAME} is not what its digest says")
    inventory = Inventory.decode(content)
    at = inventory.versions[-1].change.at.seconds
    yield _member(OBJECT_DECLARATION[0], at, OBJECT_DECLARATION[1])
    yield _member(f"{folder}/{NAME}", at, content)
    yield _member(f"{folder}/{SIDECAR}", at, sidecar)
    yield _member(NAME, at, content)  # not links: some tools write through them into the version before
    yield _member(SIDECAR, at, sidecar)
    for place, sha in _content_of(inventory, number).items():
        descriptor = found.open(place)
        try:
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        yield _Member(_header(place, at, size), size, place, None, sha)


def _content_of(inventory: Inventory, number: int) -> dict[str, str]:
    """Return the paths and digests of the content that came with a version."""
    folder = f"{version_name(number)}/"
    return {
        place: digest for digest, places in inventory.manifest.items() for place in places if place.startswith(folder)
    }


def _pieces(root: int, name: str, members: list[_Member]) -> Iterator[bytes]:
    with ObjectDirectory(root, name) as found:
        for member in members:
            yield member.header
            if member.content is not None:
                yield member.content
            else:
                yield from _checked_content(found, member)
            if member.size % _BLOCK:
                yield bytes(_pad_size(member.size) - member.size)
        yield _END


def _checked_content(found: ObjectDirectory, member: _Member) -> Iterator[bytes]:
    """Yield the content of a file; raise `ItemDamaged` if it is not the deposited content."""
    hasher, left = sha512(), member.size
    try:
        with open(found.open(member.path), "rb", buffering=0) as file:
            while left and (piece := file.read(min(left, CHUNK))):
                hasher.update(piece)
                left -= len(piece)
                yield piece
    except OSError as error:
        raise_if_exhausted(error)
        raise ItemDamaged(name=found.name, reason=f"{member.path}: {error.strerror}") from error
    if left or hasher.hexdigest() != member.digest:
        raise ItemDamaged(name=found.name, reason=f"{member.path}: its content is not what was deposited")


def _read(found: ObjectDirectory, path: str) -> bytes:
    with open(found.open(path), "rb") as file:
        return file.read(_MOST_INVENTORY)


def _member(path: str, at: int, content: bytes) -> _Member:
    return _Member(_header(path, at, len(content)), len(content), path, content)


def _header(path: str, at: int, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size, info.mtime, info.mode = size, at, 0o644
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _pad_size(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


Sink = Callable[[str, Iterator[bytes]], None]
"""Called with the path of a file below its object and its content, which it reads to the end."""


def unpack_item(item: KeptItem, read: Callable[[str], Iterator[bytes]], sink: Sink, place: str) -> int:
    """Pass the files of all versions to `sink`, each checked against its digest, and then the object's inventory.

    Return the number of bytes read. Raise `BackupIncomplete` with the `place` if anything is missing, damaged or extra.
    """
    total = 0
    inventory = b""
    for number, key in enumerate(item.parts(), 1):
        stream = _Stream(read(key))
        try:
            inventory = _unpack_version(item, number, stream, sink)
        except _NOT_WHAT_WAS_PACKED as error:
            raise BackupIncomplete(place=place, key=key, reason=str(error) or _NO_ARCHIVE) from error
        total += stream.read_bytes
    sink(OBJECT_DECLARATION[0], iter((OBJECT_DECLARATION[1],)))
    sink(NAME, iter((inventory,)))
    sink(SIDECAR, iter((sidecar_of(inventory),)))
    return total


def find_damage(item: KeptItem, read: Callable[[str], Iterator[bytes]]) -> tuple[int, list[DamagedPart]]:
    """Check all versions of an object against their digests. Return the number of bytes read, and the damaged parts."""
    total, damaged = 0, []
    for number, key in enumerate(item.parts(), 1):
        stream = _Stream(read(key))
        try:
            _unpack_version(item, number, stream, skip_content)
        except BackupIncomplete as error:
            damaged.append(DamagedPart(key, item.name, str(error.parameters["reason"])))
        except _NOT_WHAT_WAS_PACKED as error:
            damaged.append(DamagedPart(key, item.name, str(error) or _NO_ARCHIVE))
        total += stream.read_bytes
    return total, damaged


def skip_content(_: str, pieces: Iterator[bytes]) -> None:
    """Read the content and store nothing: a sink for checks alone."""
    for _piece in pieces:
        pass


def _unpack_version(item: KeptItem, number: int, stream: _Stream, sink: Sink) -> bytes:
    """Unpack one version and return its inventory, which precedes its content in the archive."""
    folder = version_name(number)
    content = b""
    wanted: dict[str, str] = {}
    said = dict((OBJECT_DECLARATION,))
    """Files outside the version's directory, with their expected content."""
    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", bufsize=_BUFFER) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() else None
            if file is None:
                raise Broken("E090", f"{member.name!r} is not a plain file")
            if member.name in said:
                if file.read(_MOST_INVENTORY) != said[member.name]:
                    raise Broken("E064", f"{member.name} is not that of the version")
            elif member.name == f"{folder}/{NAME}":
                content = file.read(_MOST_INVENTORY)
                wanted = _content_of(_checked_inventory(item, number, content), number)
                said |= {NAME: content, SIDECAR: sidecar_of(content)}
                sink(member.name, iter((content,)))
            elif member.name == f"{folder}/{SIDECAR}":
                sidecar = file.read(_BLOCK)
                if not is_sidecar_of(sidecar, content):
                    raise Broken("E060", "the sidecar has another digest than the inventory")
                sink(member.name, iter((sidecar,)))
            else:
                sink(member.name, _compare_member(file, member, wanted))
        stream.drain()
    if not content or wanted:
        raise Broken("E092", f"{next(iter(wanted), folder)} is missing")
    return content


def _checked_inventory(item: KeptItem, number: int, content: bytes) -> Inventory:
    if not sha512(content).hexdigest().startswith(item.versions[number - 1]):
        raise Broken("E060", "the inventory is not what its name says")
    inventory = Inventory.decode(content)
    if inventory.id != ID_SCHEME + item.name or inventory.head != number:
        raise Broken("E083", "the inventory is of another object or version")
    return inventory


def _compare_member(file: IO[bytes], member: tarfile.TarInfo, wanted: dict[str, str]) -> Iterator[bytes]:
    digest = wanted.pop(member.name, None)
    if digest is None:
        raise Broken("E023", f"{member.name!r} is not in the inventory")
    return _compare(file, member.name, digest)


def _compare(file: IO[bytes], name: str, digest: str) -> Iterator[bytes]:
    hasher = sha512()
    while piece := file.read(CHUNK):
        hasher.update(piece)
        yield piece
    if hasher.hexdigest() != digest:
        raise Broken("E092", f"{name}: its content is not what was deposited")


class _Stream:
    """Presents an iterator of pieces as a file for one sequential read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._piece, self._offset = pieces, b"", 0
        self.read_bytes = 0

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            if self._offset == len(self._piece):
                self._piece, self._offset = next(self._pieces, b""), 0
                if not self._piece:
                    break
            part = self._piece[self._offset : self._offset + size]
            self._offset += len(part)
            parts.append(part)
            size -= len(part)
        found = b"".join(parts)
        self.read_bytes += len(found)
        return found

    def drain(self) -> None:
        """Read to the end, where a source may make its own checks."""
        while self.read(CHUNK):
            pass
