"""Kept files as readers get them: nothing is given out to its end unless its digest is right.

Bytes are hashed while they are read for a reader, and those that were read are those that are given out. The last piece
of each block of 1 MiB is held back until the digest of that block is right, so that a reader of damaged content gets
no answer that looks whole, and at most one piece is in memory. Files of one block are checked by the digest of the
whole. Of longer ones the digests of blocks are known from when they were taken in or verified; where they are not, a
whole file is hashed as a whole, and a part waits until the file was read through once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256, sha512
from typing import TYPE_CHECKING, Final

from ibi.model.block_digests import BLOCK, BlockHasher, block_digest, fits, has_blocks
from ibi.model.content import Damage, Problem
from ibi.ports.content import ContentDamaged, OpenFile
from ibi.ports.integrity import BlockDigests

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["PIECE", "VerifiedFile"]

PIECE: Final = 256 * 1024
"""Bytes read at a time: all that a download has in memory, whatever the size of the file."""

_E092: Final = "E092"
"""The code of OCFL 1.1 for content that has another digest than its manifest says."""

_CHANGED: Final = "its content is not what was deposited"

OnDamage = Callable[[Problem], None]


def _ignore(_: Problem) -> None:
    """No one keeps account of damage."""


class VerifiedFile:
    """An open file of the object `name`, whose `path` is told where it is damaged. Its calls block.

    `on_damage` is told what was found before `ContentDamaged` is raised.
    """

    def __init__(
        self, file: OpenFile, name: str, path: str, digests: BlockDigests | None, on_damage: OnDamage = _ignore
    ) -> None:
        self._file, self._name, self._path, self._digests = file, name, path, digests
        self._on_damage = on_damage
        self.size, self.digest = file.size, file.digest
        self._blocks: bytes | None = None
        self._first_is_right = False
        self._small: bytes | None = None
        """All of a file that fits into one piece, once it was checked."""

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> VerifiedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def knows_blocks(self) -> bool:
        """Whether a part of it can be checked without reading all of it."""
        return not has_blocks(self.size) or self._known_blocks() is not None

    def learn_blocks(self, on_bytes: Callable[[int], None] | None = None) -> None:
        """Read the whole file through once and keep the digests of its blocks. `ContentDamaged` if it is not right.

        `on_bytes` is told how many bytes were read, and may raise to end it.
        """
        hasher = BlockHasher()
        for offset in range(0, self.size, PIECE):
            hasher.update(self._read(offset, min(PIECE, self.size - offset)))
            if on_bytes is not None:
                on_bytes(min(PIECE, self.size - offset))
        self._accept(hasher)

    def read_all(self) -> bytes:
        """The whole content, in memory: for records and other small files."""
        if self._small is not None:
            return self._small
        content = self._read(0, self.size)
        if sha512(content).hexdigest() != self.digest:
            raise self._damage()
        if self.size <= PIECE:
            self._small = content
        return content

    def beginning(self, length: int) -> bytes | None:
        """The first bytes, at most `length`; None if they cannot be checked without reading all of the file."""
        if self.size <= PIECE:
            return self.read_all()[:length]
        if not self.knows_blocks():
            return None
        begun = self._read(0, length)
        self._check_block(0, begun)
        self._first_is_right = True
        return begun

    def pieces(self, offset: int, length: int) -> Iterator[bytes]:
        """That part of the file, in pieces. Nothing of a first block that is damaged is given out; of a later one its
        last piece is not."""
        if self.size <= PIECE:
            yield from filter(None, [self.read_all()[offset : offset + length]])
        elif self.knows_blocks():
            yield from self._by_blocks(offset, offset + length)
        elif length == self.size:
            yield from self._whole()
        else:
            self.learn_blocks()
            yield from self._by_blocks(offset, offset + length)

    def _by_blocks(self, offset: int, end: int) -> Iterator[bytes]:
        first = offset // BLOCK
        if min(end, (first + 1) * BLOCK) - offset > PIECE and not (first == 0 and self._first_is_right):
            self._check_block(first)
        for number in range(first, -(-end // BLOCK)):
            yield from self._block(number, max(offset, number * BLOCK), min(end, (number + 1) * BLOCK))

    def _block(self, number: int, offset: int, end: int) -> Iterator[bytes]:
        """The part of one block from `offset` to `end`; what lies around it in the block is hashed as well."""
        start, stop = self._bounds(number)
        hasher = self._hasher()
        for position in range(start, offset, PIECE):
            hasher.update(self._read(position, min(PIECE, offset - position)))
        while end - offset > PIECE:
            piece = self._read(offset, PIECE)
            hasher.update(piece)
            yield piece
            offset += PIECE
        held = self._read(offset, end - offset)
        hasher.update(held)
        for position in range(end, stop, PIECE):
            hasher.update(self._read(position, min(PIECE, stop - position)))
        self._judge(number, hasher.digest())
        yield held

    def _check_block(self, number: int, begun: bytes = b"") -> None:
        start, stop = self._bounds(number)
        hasher = self._hasher()
        hasher.update(begun)
        for position in range(start + len(begun), stop, PIECE):
            hasher.update(self._read(position, min(PIECE, stop - position)))
        self._judge(number, hasher.digest())

    def _whole(self) -> Iterator[bytes]:
        """For content whose blocks are not known: they are, once it was read to its end."""
        hasher, last = BlockHasher(), (self.size - 1) // PIECE * PIECE
        for offset in range(0, last, PIECE):
            piece = self._read(offset, PIECE)
            hasher.update(piece)
            yield piece
        held = self._read(last, self.size - last)
        hasher.update(held)
        self._accept(hasher)
        yield held

    def _judge(self, number: int, found: bytes) -> None:
        """The digests of blocks are kept apart from the store and may be what is damaged: the digest of the whole file
        decides."""
        if found == self._expected(number):
            return
        if has_blocks(self.size):
            self.learn_blocks()
            if found == self._expected(number):
                return
        raise self._damage()

    def _accept(self, hasher: BlockHasher) -> None:
        if hasher.digest() != self.digest:
            raise self._damage()
        self._blocks = hasher.blocks()
        if self._digests is not None and has_blocks(self.size):
            self._digests.keep_blocks(self.digest, self._blocks)

    def _bounds(self, number: int) -> tuple[int, int]:
        return number * BLOCK, min(self.size, (number + 1) * BLOCK)

    def _hasher(self) -> _Hash:
        return sha256() if has_blocks(self.size) else sha512()

    def _expected(self, number: int) -> bytes:
        if not has_blocks(self.size):
            return bytes.fromhex(self.digest)
        blocks = self._known_blocks()
        return b"" if blocks is None else block_digest(blocks, number)

    def _known_blocks(self) -> bytes | None:
        if self._blocks is None and self._digests is not None:
            found = self._digests.find_blocks(self.digest)
            self._blocks = found if found is not None and fits(found, self.size) else None
        return self._blocks

    def _read(self, offset: int, length: int) -> bytes:
        """Exactly so many bytes: a disk may give less at a time."""
        try:
            content = self._file.read(offset, length)
            while len(content) < length:
                more = self._file.read(offset + len(content), length - len(content))
                if not more:
                    raise self._damage("it is shorter than it was")
                content += more
        except OSError as error:
            raise self._damage(error.strerror or str(error), Damage.UNREADABLE) from error
        return content

    def _damage(self, reason: str = _CHANGED, kind: str = Damage.DAMAGED) -> ContentDamaged:
        self._on_damage(Problem(kind, _E092, self._path, reason, self.digest))
        return ContentDamaged(name=self._name, problem=_E092, reason=f"{self._path}: {reason}")
