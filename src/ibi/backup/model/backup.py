"""The content of a backup of a data directory, as keys of a target: a folder, or a bucket.

    manifests/000007-<digest>.json       the newest describes the backup; written last
    items/<name>/v1-<digest>.tar         a version of an item's object; the digest is that of its inventory
    chunks/<aa>/<digest>                 a piece of another file, or of the list of items
    twins/<key>                          a second copy of everything that a restore needs in any case
    damaged.json                         parts that a check found damaged, for the next backup to write again

A version, once written, never changes, and has its own name: a backup only adds missing versions. Parts that no
manifest names any more are removed after the next one is complete, so that there is a complete backup at any moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from ibi.items.model.content import check_file_path
from ibi.standard.errors import ErrorKind, InvalidInput, InvalidInstant, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label.label import RepositoryName

SCHEMA: Final = 1
CHUNK: Final = 1 << 22
"""Bytes of a piece of a file. A file that only grows, such as a log, keeps all its pieces except the last."""
RESTORE_MARK: Final = "ibi-restore.json"
"""The file that a data directory has until its restore is complete."""
STORE_FILE: Final = "ibi-store.json"
"""The file that a data directory with a store of items has."""
LISTING: Final = "items"
"""The name of the list of items among the files."""
DAMAGE_MARK: Final = "damaged.json"
"""The key under which a check lists damaged parts."""
SHORT: Final = 32
"""Digits of the digest of an inventory that name a version."""

_TWINS: Final = "twins/"
_MANIFEST: Final = re.compile(r"manifests/(\d{6,12})-([0-9a-f]{16})\.json")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERSION_KEY: Final = re.compile(rf"items/(.+)/v(\d{{1,9}})-([0-9a-f]{{{SHORT}}})\.tar")
_VERSION: Final = re.compile(rf"[0-9a-f]{{{SHORT}}}")


class InvalidBackup(InvalidInput):
    """{quoted} is not what a backup has: {reason}."""

    code = "invalid-backup"
    kind = ErrorKind.INTERNAL


class KeptItem(NamedTuple):
    """The versions of an item's object, the first one first, each by the beginning of the SHA-512 of its inventory."""

    name: str
    versions: tuple[str, ...]

    def parts(self) -> Iterator[str]:
        return (version_key(self.name, number, digest) for number, digest in enumerate(self.versions, 1))

    def encode(self) -> bytes:
        return f"{self.name} {' '.join(self.versions)}\n".encode("ascii")

    @classmethod
    def decode(cls, line: bytes) -> KeptItem:
        text = line.decode("ascii", "replace").rstrip("\n")
        name, *versions = text.split(" ")
        try:
            is_canonical = str(RepositoryName.parse(name)) == name
        except InvalidLabel:
            is_canonical = False
        if not (is_canonical and versions and all(map(_VERSION.fullmatch, versions))):
            raise InvalidBackup(text[:200], 0, "it is not an item and its versions")
        return cls(name, tuple(versions))


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the data directory, in pieces."""

    path: str
    mode: int
    size: int
    digest: str
    """The SHA-256 of the whole file."""
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The description of one complete backup."""

    number: int
    begun: Instant
    """Everything acknowledged before this time is in the backup."""
    ended: Instant
    software: str
    owner: Mapping[str, str]
    """The identity of the data directory: the prefixes under which it mints, the label of its Archive."""
    items: int
    size: int
    """Bytes of the items in the backup."""
    issued: Instant | None
    """The latest date of its mint log."""
    instance: str
    """The minter instance, for the locks of the machine."""
    files: tuple[KeptFile, ...]
    listing: KeptFile
    """The list of items: a line each."""

    def encode(self) -> bytes:
        document = {
            "schema": SCHEMA,
            "number": self.number,
            "begun": str(self.begun),
            "ended": str(self.ended),
            "software": self.software,
            "owner": dict(self.owner),
            "items": self.items,
            "bytes": self.size,
            "issued": None if self.issued is None else str(self.issued),
            "instance": self.instance,
            "listing": _file_document(self.listing),
            "files": [_file_document(file) for file in self.files],
        }
        return json.dumps(document, indent=1).encode("ascii") + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> BackupManifest:
        try:
            document = json.loads(content)
            schema, issued = int(document["schema"]), document["issued"]
            if schema > SCHEMA:
                reason = "a newer version of this software made it ({schema}, {known} is known): install that"
                raise InvalidBackup("the manifest", 0, reason, schema=schema, known=SCHEMA)
            return cls(
                int(document["number"]),
                Instant.parse(str(document["begun"])),
                Instant.parse(str(document["ended"])),
                str(document["software"]),
                {str(name): str(value) for name, value in document["owner"].items()},
                int(document["items"]),
                int(document["bytes"]),
                None if issued is None else Instant.parse(str(issued)),
                str(document["instance"]),
                tuple(map(_file, document["files"])),
                _file(document["listing"]),
            )
        except InvalidBackup:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput, InvalidInstant) as error:
            raise InvalidBackup("the manifest", 0, "{error}", error=str(error) or type(error).__name__) from None

    @property
    def key(self) -> str:
        return manifest_key(self.number, self.encode())

    @property
    def has_store(self) -> bool:
        return self.items > 0 or any(file.path == STORE_FILE for file in self.files)


def _file_document(file: KeptFile) -> dict[str, object]:
    return {
        "path": file.path,
        "mode": f"{file.mode:04o}",
        "size": file.size,
        "sha256": file.digest,
        "chunks": list(file.chunks),
    }


def _file(document: Mapping[str, object]) -> KeptFile:
    path, size, chunks = str(document["path"]), document["size"], document["chunks"]
    check_file_path(path)
    if type(size) is not int or not isinstance(chunks, list):
        raise TypeError(f"{path}: its size or its pieces are missing")
    digests = tuple(map(str, chunks))
    if not all(map(_DIGEST.fullmatch, (str(document["sha256"]), *digests))):
        raise ValueError(f"{path}: a digest is not SHA-256")
    return KeptFile(path, int(str(document["mode"]), 8) & 0o777, size, str(document["sha256"]), digests)


def version_key(name: str, number: int, digest: str) -> str:
    return f"items/{name}/v{number}-{digest[:SHORT]}.tar"


def chunk_key(digest: str) -> str:
    return f"chunks/{digest[:2]}/{digest}"


def manifest_key(number: int, content: bytes) -> str:
    return f"manifests/{number:06}-{sha256(content).hexdigest()[:16]}.json"


def twin_key(key: str) -> str:
    return _TWINS + key


def is_manifest(key: str) -> bool:
    """Return whether it is the key of a manifest, or of its twin."""
    return _MANIFEST.fullmatch(key.removeprefix(_TWINS)) is not None


def newest_manifest(keys: Iterable[str]) -> tuple[int, str] | None:
    """Return the number and the key of the newest manifest, perhaps of its twin alone; None if there is none."""
    plain = (key.removeprefix(_TWINS) for key in keys)
    found = [(int(match[1]), key) for key in plain if (match := _MANIFEST.fullmatch(key))]
    return max(found, default=None)


def items_of_keys(keys: Iterable[str]) -> list[KeptItem]:
    """Return the items with complete versions under these keys, each number once, in the order of their names."""
    versions: dict[str, dict[int, str]] = {}
    for key in keys:
        if match := _VERSION_KEY.fullmatch(key):
            versions.setdefault(match[1], {})[int(match[2])] = match[3]
    return [
        KeptItem(name, tuple(found[number] for number in sorted(found)))
        for name, found in sorted(versions.items(), key=lambda each: each[0].split("/"))
        if max(found) == len(found)
    ]


def is_vital(path: str) -> bool:
    """Return whether a data directory without this file would be another Archive, or could issue a label twice."""
    return path in ("archive.json", "mint/mint.log") or path.startswith("keys/")


def is_kept_twice(path: str) -> bool:
    """Return whether the pieces of a file of a manifest have twins."""
    return path in (LISTING, "state.sqlite") or is_vital(path)


class DamagedPart(NamedTuple):
    """A damaged part of a backup."""

    key: str
    owner: str
    """The item, or the file of the data directory, to which it belongs."""
    reason: str

    def __str__(self) -> str:
        return f"{self.key}, a part of {self.owner}: {self.reason}"


def is_manifest_of(key: str, content: bytes) -> bool:
    match = _MANIFEST.fullmatch(key)
    return match is not None and sha256(content).hexdigest().startswith(match[2])
