"""Make or update a backup of a data directory, also while a server works on it.

The order is crash-safe. First the missing parts are put into the target. When all of them are there for certain, the
new manifest is put. Then the parts that it does not name are removed. After a kill at any moment the previous manifest
is whole, and the next backup finds the parts that were put already.

The backup does not read again the parts in the target. Parts that a check found damaged count as missing, and are put
again. Parts that every restore needs (manifest, list of items, the Archive's own item, `is_vital` files) are stored
twice.

If an item is damaged here, or is gone although the catalogue lists it, the backup keeps its older version. The same
holds for a damaged database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from ibi.backup.model.backup import (
    CHUNK,
    DAMAGE_MARK,
    LISTING,
    BackupManifest,
    InvalidBackup,
    KeptFile,
    KeptItem,
    chunk_key,
    is_kept_twice,
    is_manifest,
    is_manifest_of,
    items_of_keys,
    newest_manifest,
    twin_key,
    version_key,
)
from ibi.backup.ports import (
    BackupIncomplete,
    BackupRefused,
    BackupSource,
    BackupTarget,
    FileGroup,
    ItemDamaged,
    OnStep,
    StateFile,
)
from ibi.items.ports.archive_store import ContentMissing, OnBytes
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StoreDamaged

MARKER: Final = "ibi-backup.md"
_MARKER_TEXT: Final = """\
# A backup of a data directory of ibi

`ibi restore PLACE --data DIRECTORY` puts it back, PLACE being where this file is. It holds keys and hashes of
passwords: only those who run the Archive may read it.

`manifests/` has the manifest, in JSON: which files belong to the backup, and the SHA-256 of each and of its pieces,
which lie in `chunks/`. One of the files is the list of items. `items/` has a tar archive for each version of each item:
those of one item, unpacked in the order of their numbers into one directory, are an OCFL object. `twins/` has second
copies of what everything else depends on.
"""
_TRIES: Final = 5


class BackupOfAnother(IbiError):
    """{place} has the backup of another data directory ({found}), not of this one ({own}): name another place."""

    code = "backup-of-another"


@dataclass(slots=True)
class BackupReport:
    """The result of a backup."""

    manifest: BackupManifest
    versions: int = 0
    """Versions of items that were not in the backup before."""
    written: int = 0
    """Bytes that were written to the target."""
    removed: int = 0
    """Parts that were removed from the target."""
    mended: int = 0
    """Parts that a check had found damaged, and that were written again."""
    damaged: list[tuple[str, str]] = field(default_factory=list)
    """Items and databases that could not be backed up as they are now, with the reason."""


def _pass(_: object) -> None:
    """Do nothing: the default watcher."""


class BackingUp:
    """One run of a backup."""

    def __init__(
        self,
        source: BackupSource,
        target: BackupTarget,
        now: Callable[[], Instant],
        *,
        software: str,
        on_step: OnStep = _pass,
        on_bytes: OnBytes = _pass,
    ) -> None:
        self._source, self._target, self._now, self._software = source, target, now, software
        self._step, self._on_bytes = on_step, on_bytes
        self._unused: dict[str, int] = {}
        """Parts in the target that are not yet known to belong to the new backup."""
        self._chunks: set[str] = set()
        """Keys of the chunks of the new backup."""
        self._suspects: frozenset[str] = frozenset()
        self._own_item: str | None = None
        """The name of the item that is the Archive itself."""
        self._versions = self._written = self._mended = self._items = self._bytes = 0
        self._damaged: list[tuple[str, str]] = []

    def run(self) -> BackupReport:
        begun = self._now()
        self._unused, self._own_item = dict(self._target.list()), self._source.owner().get("archive")
        number, previous = self._previous()
        self._mark()
        self._distrust()
        self._step("begun")
        files = [file for group in self._source.groups_before() for file in self._take_group(group, previous)]
        self._step("first files put")
        listing = self._put_file(StateFile(LISTING, 0o600, lambda: _join(self._item_lines(previous))))
        self._step("items put")
        files += [file for group in self._source.groups_after() for file in self._take_group(group, previous)]
        self._step("last files put")
        self._target.settle()
        self._step("all settled")
        issued, instance = self._source.minter()
        manifest = BackupManifest(
            number + 1,
            begun,
            self._now(),
            self._software,
            self._source.owner(),
            self._items,
            self._bytes,
            issued,
            instance,
            tuple(files),
            listing,
        )
        content = manifest.encode()
        for key in (manifest.key, twin_key(manifest.key)):
            self._target.put(key, len(content), iter((content,)))
        self._target.settle()
        self._step("manifest put")
        removed = self._remove_unused()
        return BackupReport(manifest, self._versions, self._written, removed, self._mended, self._damaged)

    def _previous(self) -> tuple[int, BackupManifest | None]:
        """Return the number of the newest manifest, and the manifest unless it is damaged."""
        found = newest_manifest(self._unused)
        if found is None:
            return 0, None
        number, key = found
        try:
            manifest = read_manifest(self._target, key)
        except (BackupIncomplete, InvalidBackup):
            return number, None  # its parts are found by their names all the same
        own = self._source.owner()
        if any(own.get(name, value) != value for name, value in manifest.owner.items()):
            shown = [" ".join(owner.values()) for owner in (manifest.owner, own)]
            raise BackupOfAnother(place=self._target.place, found=shown[0], own=shown[1])
        return number, manifest

    def _mark(self) -> None:
        """Refuse a place with other files, which would be removed."""
        if self._unused.pop(MARKER, None) is not None:
            return
        if self._unused:
            reason = f"it has other files ({next(iter(self._unused))}): name a new place, or an empty one"
            raise BackupRefused(place=self._target.place, reason=reason)
        content = _MARKER_TEXT.encode("ascii")
        self._target.put(MARKER, len(content), iter((content,)))
        self._target.settle()

    def _distrust(self) -> None:
        """Count damaged parts as missing, so that they are put again where the source has them."""
        if DAMAGE_MARK not in self._unused:
            return
        with suppress(ValueError, TypeError, BackupIncomplete):
            named = json.loads(b"".join(self._target.read(DAMAGE_MARK)))
            self._suspects = frozenset(key for key in map(str, named) if not is_manifest(key))
        for key in self._suspects:
            self._unused.pop(key, None)

    def _remove_unused(self) -> int:
        """Remove the unused parts, manifests first: no manifest may name a part that is gone."""
        unused = sorted(self._unused, key=lambda key: not is_manifest(key))
        manifests = [key for key in unused if is_manifest(key)]
        self._target.delete(manifests)
        self._step("old manifest removed")
        self._target.delete(unused[len(manifests) :])
        self._step("old parts removed")
        return len(unused)

    def _take_group(self, group: FileGroup, previous: BackupManifest | None) -> list[KeptFile]:
        """Put the files of a group as they were at one time. After some failed tries, put those that there are."""
        for _ in range(_TRIES):
            taken: list[KeptFile] = []
            try:
                for file in group():
                    taken += self._take_file(file, previous)
            except FileNotFoundError:
                continue
            return taken
        return taken

    def _take_file(self, file: StateFile, previous: BackupManifest | None) -> list[KeptFile]:
        """Put the file as it is. For a damaged database, keep the file of the previous backup."""
        try:
            return [self._put_file(file)]
        except StoreDamaged as damage:
            self._damaged.append((file.path, str(damage.parameters["reason"])))
        known = () if previous is None else previous.files
        return [self._keep_file(kept) for kept in known if kept.path == file.path]

    def _keep_file(self, file: KeptFile) -> KeptFile:
        for digest in file.chunks:
            self._chunks.add(chunk_key(digest))
            self._unused.pop(chunk_key(digest), None)
        return file

    def _put_file(self, file: StateFile) -> KeptFile:
        whole, size, digests = sha256(), 0, []
        for piece in file.pieces():
            digest = sha256(piece).hexdigest()
            self._put_chunk(chunk_key(digest), piece)
            if is_kept_twice(file.path):
                self._put_chunk(twin_key(chunk_key(digest)), piece)
            whole.update(piece)
            size += len(piece)
            digests.append(digest)
        self._step("file put")
        return KeptFile(file.path, file.mode, size, whole.hexdigest(), tuple(digests))

    def _put_chunk(self, key: str, piece: bytes) -> None:
        if key in self._chunks:
            return
        self._chunks.add(key)
        if self._unused.pop(key, -1) != len(piece):
            self._put(key, len(piece), iter((piece,)))
        self._on_bytes(len(piece))

    def _put(self, key: str, size: int, pieces: Iterator[bytes]) -> None:
        self._target.put(key, size, pieces)
        self._written += size
        self._mended += key in self._suspects

    def _item_lines(self, previous: BackupManifest | None) -> Iterator[bytes]:
        for item in self._kept_items(previous):
            self._items += 1
            yield item.encode()

    def _kept_items(self, previous: BackupManifest | None) -> Iterator[KeptItem]:
        """Yield the items of the new backup in the order of names, merged with those of the previous backup."""
        before = iter(()) if previous is None else self._items_before(previous)
        waiting = next(before, None)
        for name in self._source.names():
            while waiting is not None and _rank(waiting.name) < _rank(name):
                yield from self._drop_gone(waiting)
                waiting = next(before, None)
            known = None
            if waiting is not None and waiting.name == name:
                known, waiting = waiting, next(before, None)
            item = self._take_item(name, known)
            if item is not None:
                yield item
        while waiting is not None:
            yield from self._drop_gone(waiting)
            waiting = next(before, None)

    def _items_before(self, previous: BackupManifest) -> Iterator[KeptItem]:
        """Yield the items of the previous backup by its list, and by the names of their parts where the list is
        damaged."""
        last: list[str] = []
        try:
            for item in read_listing(self._target, previous):
                yield item
                last = _rank(item.name)
        except (BackupIncomplete, InvalidBackup):
            yield from (item for item in items_of_keys(self._unused) if _rank(item.name) > last)

    def _drop_gone(self, item: KeptItem) -> Iterator[KeptItem]:
        """Keep an item whose files were lost. An item that was dropped leaves the backup."""
        if self._source.is_listed(item.name):
            self._damaged.append((item.name, "it is listed, and its files are gone"))
            self._keep(item)
            yield item

    def _take_item(self, name: str, known: KeptItem | None) -> KeptItem | None:
        """Put the item as it is now. Return None if the backup has none of it."""
        if known is not None and self._source.head(name) == known.versions[-1] and self._has(known):
            self._keep(known)
            return known
        try:
            return self._put_item(name)
        except ContentMissing:
            return None  # dropped meanwhile
        except ItemDamaged as error:
            self._damaged.append((name, str(error.parameters["reason"])))
        if known is not None:
            self._keep(known)
        return known

    def _put_item(self, name: str) -> KeptItem:
        """Put the item, and try again if it changed meanwhile: a purge removes its earlier versions."""
        item = self._source.versions(name)
        for _ in range(_TRIES):
            try:
                self._put_versions(item)
            except ItemDamaged:
                again = self._source.versions(name)
                if again == item:
                    raise
                item = again
            else:
                break
        self._keep(item)
        return item

    def _put_versions(self, item: KeptItem) -> None:
        for number, digest in enumerate(item.versions, 1):
            key = version_key(item.name, number, digest)
            for each in self._copies_of(item, key):
                if each in self._unused:
                    continue
                packed = self._source.pack(item, number)
                self._put(each, packed.size, packed.pieces())
                self._unused[each] = packed.size  # until the item is kept
                self._versions += each == key
                self._step("version put")

    def _copies_of(self, item: KeptItem, key: str) -> tuple[str, ...]:
        """Return the keys under which a part of an item is stored."""
        return (key, twin_key(key)) if item.name == self._own_item else (key,)

    def _has(self, item: KeptItem) -> bool:
        return all(each in self._unused for key in item.parts() for each in self._copies_of(item, key))

    def _keep(self, item: KeptItem) -> None:
        for key in item.parts():
            for each in self._copies_of(item, key):
                size = self._unused.pop(each, 0)
                self._bytes += size
                self._on_bytes(size)


def _rank(name: str) -> list[str]:
    """Return the sort key of a name. Names come in the order of their parts."""
    return name.split("/")


def _join(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines in pieces of `CHUNK` bytes."""
    waiting = bytearray()
    for line in lines:
        waiting += line
        while len(waiting) >= CHUNK:
            yield bytes(waiting[:CHUNK])
            del waiting[:CHUNK]
    if waiting:
        yield bytes(waiting)


def read_manifest(target: BackupTarget, key: str) -> BackupManifest:
    """Read a manifest. `BackupIncomplete` if its bytes changed, `InvalidBackup` if this software did not write it."""
    content = read_part(target, key, lambda content: is_manifest_of(key, content), "it is not what was written")
    return BackupManifest.decode(content)


def read_part(target: BackupTarget, key: str, is_right: Callable[[bytes], bool], reason: str) -> bytes:
    """Return a part that fits into memory, or its twin if it is damaged. `BackupIncomplete` with that `reason` if both
    are."""
    failure = BackupIncomplete(place=target.place, key=key, reason=reason)
    for each in (key, twin_key(key)):
        try:
            content = b"".join(target.read(each))
        except BackupIncomplete as error:
            failure = error if each == key else failure
            continue
        if is_right(content):
            return content
    raise failure


def read_file(target: BackupTarget, file: KeptFile) -> Iterator[bytes]:
    """Yield the pieces of a file. Each is compared with its digest, and the whole with the digest of the file."""
    whole, size = sha256(), 0
    for digest in file.chunks:
        piece = read_part(target, chunk_key(digest), partial(_has_digest, digest), f"it is damaged, of {file.path}")
        whole.update(piece)
        size += len(piece)
        yield piece
    if (whole.hexdigest(), size) != (file.digest, file.size):
        raise BackupIncomplete(place=target.place, key=file.path, reason="its pieces do not make the whole of it")


def _has_digest(digest: str, content: bytes) -> bool:
    return sha256(content).hexdigest() == digest


def read_listing(target: BackupTarget, manifest: BackupManifest) -> Iterator[KeptItem]:
    """Yield the items of a backup, in the order of their names."""
    rest = b""
    for piece in read_file(target, manifest.listing):
        *lines, rest = (rest + piece).split(b"\n")
        yield from map(KeptItem.decode, lines)
