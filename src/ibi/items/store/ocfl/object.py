"""Objects on disk, opened from the storage root one directory at a time and never through a link.

Data from the disk are never trusted: an `Inventory` keeps every rule of the specification that can be checked in the
inventory alone. The error codes are those of the specification's table of validation codes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha512
from threading import RLock
from types import TracebackType
from typing import Final, TypeVar, cast

import msgspec

from ibi.items.model.content import Change, KeptObject, KeptVersion
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing
from ibi.items.store.ocfl.layout import Broken
from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import Instant
from ibi.standard.lru_cache import SharedLruCache
from ibi.storage.machine import raise_if_exhausted

NAME = "inventory.json"
SIDECAR = "inventory.json.sha512"
ID_SCHEME = "ibi:"
TYPE = "https://ocfl.io/1.1/spec/#inventory"
CONTENT = "content"

_DIGEST = re.compile(r"[0-9a-f]{128}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOWHERE = frozenset({"", ".", ".."})
_VERSION = re.compile(r"v[1-9][0-9]{0,8}")
_SIDECAR = re.compile(rb"([0-9a-fA-F]{128})[ \t]+inventory\.json\n?")
_KEYS = {"id", "type", "digestAlgorithm", "head", "contentDirectory", "manifest", "versions", "fixity"}
_VERSION_KEYS = {"created", "state", "message", "user"}


def version_name(number: int) -> str:
    return f"v{number}"


def sidecar_of(inventory: bytes) -> bytes:
    """Return the sidecar (OCFL 1.1 §3.5.5): the digest of the inventory, and its name."""
    return f"{sha512(inventory).hexdigest()} {NAME}\n".encode("ascii")


def is_sidecar_of(sidecar: bytes, inventory: bytes) -> bool:
    return digest_in(sidecar) == sha512(inventory).hexdigest()


def digest_in(sidecar: bytes) -> str:
    match = _SIDECAR.fullmatch(sidecar)
    if match is None:
        raise Broken("E061", "the sidecar is not a digest and the name of the inventory")
    return match[1].decode("ascii").lower()


@dataclass(frozen=True, slots=True)
class Version:
    """One version: `files` maps logical paths to digests."""

    change: Change
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """`manifest` maps each digest to the content paths of files with that content, relative to the object."""

    id: str
    manifest: Mapping[str, tuple[str, ...]]
    versions: tuple[Version, ...]

    @property
    def head(self) -> int:
        return len(self.versions)

    @property
    def name(self) -> str:
        return self.id.removeprefix(ID_SCHEME)

    def to_kept_object(self) -> KeptObject:
        numbered = enumerate(self.versions, 1)
        return KeptObject(
            self.name, tuple(KeptVersion(number, version.change, version.files) for number, version in numbered)
        )

    def with_version(self, version: Version, places: Mapping[str, str]) -> Inventory:
        """Return the inventory with one more version; `places` has the paths of new content."""
        added = {digest: (place,) for digest, place in places.items() if digest not in self.manifest}
        return Inventory(self.id, {**self.manifest, **added}, (*self.versions, version))

    def encode(self) -> bytes:
        versions = {version_name(number): _version_fields(version) for number, version in enumerate(self.versions, 1)}
        fields = {
            "id": self.id,
            "type": TYPE,
            "digestAlgorithm": "sha512",
            "head": version_name(self.head),
            "manifest": self.manifest,
            "versions": versions,
        }
        return msgspec.json.format(msgspec.json.encode(fields), indent=1) + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> Inventory:
        """Decode an inventory. Raise `Broken`, with the code of the rule, unless it has the form that this software
        writes."""
        fields = _parse_fields(content)
        _check_head_fields(fields)
        manifest = _manifest(_of_kind(dict, fields.get("manifest"), "E041", "there is no manifest"))
        versions = _versions(_of_kind(dict, fields.get("versions"), "E043", "there are no versions"), manifest)
        if fields["head"] != version_name(len(versions)):
            raise Broken("E040", "the head is not the last version")
        _check_manifest_is_used(manifest, versions)
        return cls(fields["id"], manifest, versions)


def _version_fields(version: Version) -> dict[str, object]:
    state: dict[str, list[str]] = {}
    for path, digest in version.files.items():
        state.setdefault(digest, []).append(path)
    change = version.change
    user = {"name": change.user} | ({"address": change.address} if change.address else {})
    return {"created": str(change.at), "message": change.message, "state": state, "user": user}


Kind = TypeVar("Kind")


def _of_kind(kind: type[Kind], value: object, code: str, reason: str) -> Kind:
    if type(value) is not kind:
        raise Broken(code, reason)
    return value


def _parse_fields(content: bytes) -> dict[str, str]:
    try:
        fields = json.loads(content.decode("utf-8"), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise Broken("E034", f"it is not JSON: {error}") from None
    # Fields that should not be texts are checked before use.
    return cast("dict[str, str]", _of_kind(dict, fields, "E033", "it is not a JSON object"))


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Broken("E033", "a key is repeated")
    return fields


def _check_head_fields(fields: Mapping[str, object]) -> None:
    for key in ("id", "type", "digestAlgorithm", "head"):
        if not _of_kind(str, fields.get(key), "E036", f"{key} is not a text"):
            raise Broken("E036", f"{key} is empty")
    if fields["type"] != TYPE:
        raise Broken("E038", "it is not of OCFL 1.1")
    if fields["digestAlgorithm"] != "sha512":
        raise Broken("E025", "its digests are not SHA-512")
    if fields.get("contentDirectory", CONTENT) != CONTENT:
        raise Broken("E017", "its content is not in the directory `content`")
    if not fields.keys() <= _KEYS:
        raise Broken("E033", "it has keys that are not of OCFL 1.1")


def _manifest(blocks: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    manifest: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for key, value in blocks.items():
        places = _texts(value, "E092")
        for place in places:
            _check_place(place)
        digest = _digest(key, "E096", manifest)
        if len(set(places)) < len(places) or not seen.isdisjoint(places):
            raise Broken("E101", "a file is listed twice")
        seen.update(places)
        manifest[digest] = places
    return manifest


def _check_place(place: str) -> None:
    """Check a content path: `v<number>/content/<path>`, and nothing that leads out of there."""
    parts = place.split("/")
    _check_parts(parts, "E099", "E100", place)
    if len(parts) < 3 or not _VERSION.fullmatch(parts[0]) or parts[1] != CONTENT:
        raise Broken("E042", f"{place!r} is not in the content of a version")


def _check_parts(parts: list[str], code: str, edge: str, path: str) -> None:
    if not parts[0] or not parts[-1]:
        raise Broken(edge, f"{path!r} begins or ends with a slash")
    if not _NOWHERE.isdisjoint(parts) or "\0" in path:
        raise Broken(code, f"{path!r} leads elsewhere")
    if _SURROGATE.search(path):
        raise Broken(code, f"{path!r} is not Unicode")


def _versions(blocks: Mapping[str, object], manifest: Mapping[str, object]) -> tuple[Version, ...]:
    if not blocks:
        raise Broken("E008", "there is no version")
    names = [version_name(number) for number in range(1, len(blocks) + 1)]
    if blocks.keys() != set(names):
        raise Broken("E010", "the versions are not numbered from 1 on")
    return tuple(_version(blocks[name], manifest) for name in names)


def _version(value: object, manifest: Mapping[str, object]) -> Version:
    block = _of_kind(dict, value, "E047", "a version is not a JSON object")
    if not block.keys() <= _VERSION_KEYS:
        raise Broken("E033", "a version has keys that are not of OCFL 1.1")
    state = _of_kind(dict, block.get("state"), "E048", "a version has no state")
    return Version(_change(block), _files(state, manifest))


def _change(block: Mapping[str, object]) -> Change:
    user = _of_kind(dict, block.get("user", {"name": ""}), "E054", "a user is not a JSON object")
    name = _of_kind(str, user.get("name"), "E054", "a user has no name")
    address = _of_kind(str, user.get("address", ""), "E054", "an address is not a text")
    message = _of_kind(str, block.get("message", ""), "E094", "a message is not a text")
    created = _of_kind(str, block.get("created"), "E048", "a version has no date")
    try:
        return Change(name, message, Instant.parse(created), address or None)
    except InvalidInstant as error:
        raise Broken("E049", str(error)) from None


def _files(state: Mapping[str, object], manifest: Mapping[str, object]) -> dict[str, str]:
    files: dict[str, str] = {}
    seen: dict[str, object] = {}
    for key, value in state.items():
        digest = _digest(key, "E050", seen)
        seen[digest] = None
        if digest not in manifest:
            raise Broken("E050", "a version has content that is not in the manifest")
        for path in _texts(value, "E051"):
            _check_parts(path.split("/"), "E052", "E053", path)
            if path in files:
                raise Broken("E095", f"{path!r} is there twice")
            files[path] = digest
    _check_no_file_is_a_folder(files)
    return files


def _check_no_file_is_a_folder(files: Mapping[str, str]) -> None:
    for path in files:
        parent = path
        while "/" in parent:
            parent = parent.rpartition("/")[0]
            if parent in files:
                raise Broken("E095", f"{parent!r} is a file and a folder")


def _digest(key: str, code: str, seen: Mapping[str, object]) -> str:
    digest = key.lower()
    if not _DIGEST.fullmatch(digest):
        raise Broken(code, "a digest is not SHA-512 in hexadecimal")
    if digest in seen:
        raise Broken(code, "a digest is repeated")
    return digest


def _texts(value: object, code: str) -> tuple[str, ...]:
    texts = _of_kind(list, value, code, "paths are not in an array")
    if not texts or not all(type(text) is str for text in texts):
        raise Broken(code, "an array of paths is empty or has something else in it")
    return tuple(texts)


def _check_manifest_is_used(manifest: Mapping[str, object], versions: tuple[Version, ...]) -> None:
    used = {digest for version in versions for digest in version.files.values()}
    if not manifest.keys() <= used:
        raise Broken("E107", "the manifest has content that no version has")


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST_INVENTORY = 1 << 30


class ObjectDirectory:
    """The open directory of an object. Raises `ContentMissing` if there is none."""

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
        """Return the current inventory; raise `Broken` if it does not match its sidecar."""
        inventory = read_inventory(self.descriptor)
        if inventory.id != ID_SCHEME + self.name:
            raise Broken("E083", f"it is the object {inventory.id!r}")
        return inventory

    def inventory_status(self) -> tuple[int, ...]:
        """Return a value that changes with every new inventory."""
        return _stamp(os.stat(NAME, dir_fd=self.descriptor, follow_symlinks=False))

    def open(self, place: str) -> int:
        """Return a descriptor of the plain file at a content path."""
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
    """Implements the port's `OpenFile` on a plain file."""

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
    """Return the inventory in an open directory; raise `Broken` if it does not match its sidecar."""
    content, sidecar = read_whole(directory, NAME, "E063"), read_whole(directory, SIDECAR, "E058")
    if not is_sidecar_of(sidecar, content):
        raise Broken("E060", "the sidecar has another digest than the inventory")
    return Inventory.decode(content)


def read_whole(directory: int, name: str, missing: str) -> bytes:
    """Return the content of a plain file; raise `Broken` with the code `missing` if there is none."""
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
    """Open the directory below `start`. Each part is opened in the one before, and none may be a link."""
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
"""Maximum files in all cached inventories, earlier versions included: about thirty megabytes."""


def inventory_stamp(root: int, name: str) -> tuple[int, ...]:
    """Return `ObjectDirectory.inventory_status` of an object in the storage root, with one system call."""
    return _stamp(os.stat(f"{name}/{NAME}", dir_fd=root, follow_symlinks=False))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


class RememberedInventories:
    """Cache of inventories. An entry is valid while its file is unchanged. Safe in any thread."""

    def __init__(self) -> None:
        self._inventories: SharedLruCache[str, tuple[tuple[int, ...], Inventory]] = SharedLruCache(
            _MOST, _MOST_FILES, RLock()
        )

    def inventory(self, found: ObjectDirectory) -> Inventory:
        try:
            status = found.inventory_status()
        except OSError as error:
            raise Broken("E063", error.strerror or "there is no inventory") from error
        known = self._inventories.find(found.name)
        if known is not None and known[0] == status:
            return known[1]
        inventory = found.inventory()
        # Between two equal stamps, the content belongs to that stamp.
        if found.inventory_status() == status:
            self._inventories.keep(found.name, (status, inventory), _size(inventory))
        return inventory


def _size(inventory: Inventory) -> int:
    return len(inventory.manifest) + sum(len(version.files) for version in inventory.versions)
