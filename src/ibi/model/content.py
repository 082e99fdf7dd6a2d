"""What an Archive keeps for a name: files in numbered versions, and where the bytes of a new version come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ibi.errors import InvalidInput
from ibi.instant import Instant

_NOT_ALLOWED = re.compile(r"[\x00-\x1f\\\x7f\ud800-\udfff]")
_LONGEST_PART = 255
_LONGEST_PATH = 2048


class InvalidFilePath(InvalidInput):
    """{quoted} cannot be the path of a file: {reason}."""

    code = "invalid-file-path"


def check_file_path(path: str) -> None:
    """`InvalidFilePath` unless it is parts joined by "/" that lead downwards and can be written on every disk."""
    found = _NOT_ALLOWED.search(path)
    if found is not None:
        raise InvalidFilePath(path, found.start(), "{sign} is not allowed", sign=ascii(found[0]))
    if len(path.encode()) > _LONGEST_PATH:
        raise InvalidFilePath(path, 0, "it is longer than {longest} bytes", longest=_LONGEST_PATH)
    offset = 0
    for part in path.split("/"):
        _check_part(path, offset, part)
        offset += len(part) + 1


def _check_part(path: str, offset: int, part: str) -> None:
    if not part:
        raise InvalidFilePath(path, offset, "a part of it is empty")
    if part in {".", ".."}:
        raise InvalidFilePath(path, offset, "{part} leads elsewhere", part=part)
    if len(part.encode()) > _LONGEST_PART:
        raise InvalidFilePath(path, offset, "a part of it is longer than {longest} bytes", longest=_LONGEST_PART)


def check_tree(paths: Iterable[str]) -> None:
    """`InvalidFilePath` unless all can be files of one tree, on disks too that do not tell upper from lower case."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        check_file_path(path)
        key = _folded(path)
        if key in files or key in folders:
            raise _collision(path, files.get(key) or folders[key])
        files[key] = path
        while "/" in key:
            key = key.rpartition("/")[0]
            if key in files:
                raise _collision(path, files[key])
            if folders.setdefault(key, path) is not path:
                break


def _collision(path: str, other: str) -> InvalidFilePath:
    return InvalidFilePath(path, 0, "it cannot be told from {other}", other=repr(other))


def _folded(path: str) -> str:
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", path).casefold())


@dataclass(frozen=True, slots=True)
class Bytes:
    """These bytes."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """What the plain file at this place of the disk holds; it stays there."""

    path: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What a file was when it was received: what a disk has made of it since is not taken in."""

    name: str
    """What its sender calls it."""
    digest: str
    """SHA-512 of what was sent, lower-case hexadecimal."""
    seal: str | None = None
    """That of `ibi.model.block_digests`, by which a store sees that the file is the same without computing its SHA-512
    again; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Move:
    """The plain file at this place, which is not written to any more. It is gone from there once the change is made; if
    the change is refused, it is still there. `UploadDamaged` if it is not what was `sent`."""

    path: str
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """What `read(length)` gives until it gives nothing."""

    read: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Keep:
    """The file that the current version has at `path`: under the same path it stays, under another it is renamed."""

    path: str


class TakenFile(NamedTuple):
    """What a file was found to be when its bytes were taken in; the digest is SHA-512, lower-case hexadecimal."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Derived:
    """Bytes that tell of the other files of the version: a record with their sizes and digests.

    `make` is called once, after every file that is not `Derived` was taken in, with what each of those is by its path.
    Files that are kept bring no bytes, and are not among them.
    """

    make: Callable[[Mapping[str, TakenFile]], bytes]


Source = Bytes | Copy | Move | Stream | Keep | Derived


@dataclass(frozen=True, slots=True)
class Change:
    """Who makes a version, why and when."""

    user: str
    message: str
    at: Instant
    address: str | None = None
    """A URI of the user: `mailto:…` or an ORCID."""


class NewObject(NamedTuple):
    """The first version of an object, that is to be kept under a name."""

    name: str
    files: Mapping[str, Source]
    change: Change


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """One version: its change, and the digest (SHA-512, lower-case hexadecimal) of the file at each path."""

    number: int
    change: Change
    files: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True)
class KeptObject:
    """All versions kept for a name, from the first on."""

    name: str
    versions: tuple[KeptVersion, ...]

    @property
    def head(self) -> KeptVersion:
        return self.versions[-1]


class Damage:
    """What may be wrong with something kept."""

    MISSING = "missing"
    EXTRA = "extra"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    STRUCTURE = "structure"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something found wrong: its kind (of `Damage`), the code OCFL 1.1 has for it, where, and in words."""

    kind: str
    code: str
    path: str
    reason: str
    digest: str | None = None
    """Of the content that is damaged, where it is known which it is."""


def is_damage(problem: Problem) -> bool:
    """Whether something that was deposited is lost or wrong. What lies there in addition, and a catalogue that can be
    made anew, make no item damaged."""
    return problem.kind != Damage.EXTRA and problem.code != "catalogue"


@dataclass(frozen=True, slots=True)
class Verification:
    """The last verification of one item. Times are seconds since 1970."""

    name: str
    verified: int | None
    """None if the damage was found by a reader, and the item was never verified."""
    damaged_since: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def digests(self) -> frozenset[str]:
        """Those of the files that are damaged, as far as that is known."""
        return frozenset(problem.digest for problem in self.problems if problem.digest is not None)


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """The verifications of all items, in short."""

    items: int = 0
    """Known to the schedule."""
    verified: int = 0
    """Of those, verified at least once."""
    damaged: int = 0
    oldest: int | None = None
    """When the item was verified that has waited longest, of those that ever were."""
    newest: int | None = None
    """When an item was verified last."""
