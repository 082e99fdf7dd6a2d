"""Versioned content: the files that an Archive stores under a name, and the sources of the bytes of a new version.

Each block of 1 MiB has its SHA-256. The digest of a whole file in OCFL is SHA-512. Blocks use SHA-256 because
processors compute it in hardware, twice as fast, and no other program reads these digests. They are computed in the
same pass as the SHA-512 of the whole file, so that they cover correct bytes. For a published upload, they are computed
in a second pass, and a seal (`seal_of`) shows that its bytes are those of the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256, sha512
from typing import Final, NamedTuple
from zlib import crc32

from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.translatable import message

_NOT_ALLOWED = re.compile(r"[\x00-\x1f\\\x7f\ud800-\udfff]")
_LONGEST_PART = 255
_LONGEST_PATH = 2048


class InvalidFilePath(InvalidInput):
    """{quoted} cannot be the path of a file: {reason}."""

    code = "invalid-file-path"


def check_file_path(path: str) -> None:
    """Raise `InvalidFilePath` unless the path has parts joined by "/", leads downwards and is valid on every disk."""
    found = _NOT_ALLOWED.search(path)
    if found is not None:
        raise InvalidFilePath(path, found.start(), message("{sign} is not allowed"), sign=ascii(found[0]))
    if len(path.encode()) > _LONGEST_PATH:
        raise InvalidFilePath(path, 0, message("it is longer than {longest} bytes"), longest=_LONGEST_PATH)
    offset = 0
    for part in path.split("/"):
        _check_part(path, offset, part)
        offset += len(part) + 1


def _check_part(path: str, offset: int, part: str) -> None:
    if not part:
        raise InvalidFilePath(path, offset, message("a part of it is empty"))
    if part in {".", ".."}:
        raise InvalidFilePath(path, offset, message("{part} leads elsewhere"), part=part)
    if len(part.encode()) > _LONGEST_PART:
        raise InvalidFilePath(
            path, offset, message("a part of it is longer than {longest} bytes"), longest=_LONGEST_PART
        )


def check_tree(paths: Iterable[str]) -> None:
    """Raise `InvalidFilePath` unless all can be files of one tree, also on disks that ignore case."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        check_file_path(path)
        key = _fold_path(path)
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
    return InvalidFilePath(path, 0, message("it cannot be told from {other}"), other=repr(other))


def _fold_path(path: str) -> str:
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", path).casefold())


@dataclass(frozen=True, slots=True)
class Bytes:
    """A source with these bytes."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """A source with the content of the plain file at this place of the disk; the file stays there."""

    path: str


class Received(NamedTuple):
    """The result of writing a file in this process: its size, the digests of its blocks, its CRC-32."""

    size: int
    blocks: bytes
    crc32: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The digests of a file when it was received: later changes by a disk are rejected."""

    name: str
    """The sender's name for it."""
    digest: str
    """SHA-512 of the received bytes, lower-case hexadecimal."""
    seal: str | None = None
    """The seal of `ibi.items.model.content`; None if it is not known.

    By the seal, a store sees that the file is the same without computing its SHA-512 again.
    """
    received: Received | None = None
    """Set if this process has just written and hashed the file: then it is not read again.

    The same holds for files that the store itself writes.
    """


@dataclass(frozen=True, slots=True)
class Move:
    """The plain file at this place, which is not written any more.

    It is gone from there once the change is made; if the change is refused, it stays. Raise `UploadDamaged` if it does
    not match `sent`.
    """

    path: str
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """A source with all bytes that `read(length)` returns until it returns none."""

    read: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Keep:
    """The file that a version has at `path`: under the same path it stays, under another it is renamed."""

    path: str
    version: int | None = None
    """An earlier version that has the file; None: the current one."""


class TakenFile(NamedTuple):
    """Size and digests of a file, measured as its bytes were read.

    The digest is SHA-512, lower-case hexadecimal. The CRC-32 is that of ZIP, eight such digits.
    """

    size: int
    digest: str
    crc32: str | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """Bytes that describe the other files of the version: a record with their sizes and digests.

    `make` is called once, after every file that is not `Derived` was read. It gets the result of each of those by its
    path. Kept files bring no bytes, and are not included.
    """

    make: Callable[[Mapping[str, TakenFile]], bytes]


Source = Bytes | Copy | Move | Stream | Keep | Derived


@dataclass(frozen=True, slots=True)
class Change:
    """The author, reason and time of a version."""

    user: str
    message: str
    at: Instant
    address: str | None = None
    """A URI of the user: `mailto:…` or an ORCID."""


class NewObject(NamedTuple):
    """The first version of an object, to be stored under a name."""

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
    """All versions stored for a name, from the first on."""

    name: str
    versions: tuple[KeptVersion, ...]

    @property
    def head(self) -> KeptVersion:
        return self.versions[-1]


class Damage:
    """The kinds of damage to stored content."""

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
    """The digest of the damaged content, if it is known."""


def is_damage(problem: Problem) -> bool:
    """Return whether deposited content is lost or wrong.

    Extra files, and a catalogue that can be rebuilt, make no item damaged.
    """
    return problem.kind != Damage.EXTRA and problem.code != "catalogue"


@dataclass(frozen=True, slots=True)
class Verification:
    """The last verification of one item. Times are seconds since 1970."""

    name: str
    verified: int | None
    """None if a reader found the damage, and the item was never verified."""
    damaged_since: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the damaged files, as far as they are known."""
        return frozenset(problem.digest for problem in self.problems if problem.digest is not None)


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """A summary of the verifications of all items."""

    items: int = 0
    """Items known to the schedule."""
    verified: int = 0
    """Items of the schedule that were verified at least once."""
    damaged: int = 0
    oldest: int | None = None
    """The time of the oldest verification, among items that were ever verified."""
    newest: int | None = None
    """The time of the latest verification."""

    @property
    def never_verified(self) -> int:
        return self.items - self.verified

    def among(self, kept: Iterable[HeldTotal]) -> IntegritySummary:
        """Return the summary with all stored items counted.

        The schedule learns of a deposit up to a day later, and an unknown deposit was not verified either.
        """
        return replace(self, items=max(self.items, sum(each.items for each in kept)))


@dataclass(frozen=True, slots=True)
class HeldTotal:
    """Totals of the items of one state."""

    items: int = 0
    files: int = 0
    """Files of the present version of each item."""
    size: int = 0
    """Bytes of these files."""


BLOCK: Final = 1 << 20
_DIGEST: Final = 32
_SMALL: Final = 80 * 1024


def has_blocks(size: int) -> bool:
    """Return whether a file of that size has more than one block.

    Otherwise the digest of the whole file serves as well, if more slowly.
    """
    return size > BLOCK


def has_kept_digests(size: int) -> bool:
    """Return whether block digests are stored for a file of that size, even for one block.

    For a smaller file, SHA-512 takes no longer than the look-up of another digest.
    """
    return size > _SMALL


def block_count(size: int) -> int:
    return -(-size // BLOCK)


def block_digest(blocks: bytes, number: int) -> bytes:
    """Return the digest of the block with that number, from the concatenated digests of all blocks."""
    return blocks[number * _DIGEST : (number + 1) * _DIGEST]


def fits(blocks: bytes, size: int) -> bool:
    """Return whether these can be the digests of all blocks of a file of that size."""
    return len(blocks) == block_count(size) * _DIGEST


def seal_of(digest: str, blocks: bytes) -> str:
    """Return one SHA-256, in hexadecimal digits, over the SHA-512 of a file and the digests of its blocks.

    Bytes with blocks that agree with it are those that had this SHA-512: it need not be computed again.
    """
    return sha256(bytes.fromhex(digest) + blocks).hexdigest()


class BlockDigester:
    """Hashes the blocks of a file that arrives in pieces of any size."""

    def __init__(self) -> None:
        self.size = 0
        self._crc = 0
        self._block = sha256()
        self._blocks = bytearray()

    def update(self, piece: bytes | memoryview) -> None:
        view, start = memoryview(piece), 0
        self._crc = crc32(view, self._crc)
        while start < len(view):
            end = min(len(view), start + BLOCK - self.size % BLOCK)
            self._block.update(view[start:end])
            self.size += end - start
            start = end
            if self.size % BLOCK == 0:
                self._blocks += self._block.digest()
                self._block = sha256()

    def crc32(self) -> str:
        """Return the CRC-32 of the whole, in eight hexadecimal digits."""
        return f"{self._crc:08x}"

    def blocks(self) -> bytes:
        """Return the concatenated digests of all blocks so far."""
        begun = self._block.digest() if self.size % BLOCK else b""
        return bytes(self._blocks) + begun


class BlockHasher(BlockDigester):
    """Hashes the same file as a whole too."""

    def __init__(self) -> None:
        super().__init__()
        self._whole = sha512()

    def update(self, piece: bytes | memoryview) -> None:
        self._whole.update(piece)
        super().update(piece)

    def digest(self) -> str:
        """Return the SHA-512 of the whole, in hexadecimal digits."""
        return self._whole.hexdigest()

    def seal(self) -> str:
        """Return the seal of the file: see `seal_of`."""
        return seal_of(self.digest(), self.blocks())
