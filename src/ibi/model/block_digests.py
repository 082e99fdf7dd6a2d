"""Digests of the blocks of a file, by which a part of it can be checked without reading the rest.

Each block of 1 MiB has its SHA-256. The digest that OCFL keeps of a whole file is SHA-512; for the blocks SHA-256 is
taken because processors compute it in hardware, twice as fast, and no other program reads them. They are made in the
same pass as the SHA-512 of the whole, so that they are digests of bytes that were right; or, of an upload that is
published, in a second one, whose bytes a seal (`seal_of`) shows to be those of the first.
"""

from __future__ import annotations

from hashlib import sha256, sha512
from typing import Final

BLOCK: Final = 1 << 20
_DIGEST: Final = 32
_SMALL: Final = 80 * 1024


def has_blocks(size: int) -> bool:
    """Whether a file of that size has more than one block; otherwise the digest of the whole serves as well, if more
    slowly."""
    return size > BLOCK


def has_kept_digests(size: int) -> bool:
    """Whether the digests of blocks are kept for a file of that size, though it be one block. Of a smaller file the
    SHA-512 takes no longer than to look for another digest."""
    return size > _SMALL


def block_count(size: int) -> int:
    return -(-size // BLOCK)


def block_digest(blocks: bytes, number: int) -> bytes:
    """The digest of the block with that number, from the digests of all blocks one after the other."""
    return blocks[number * _DIGEST : (number + 1) * _DIGEST]


def fits(blocks: bytes, size: int) -> bool:
    """Whether these can be the digests of all blocks of a file of that size."""
    return len(blocks) == block_count(size) * _DIGEST


def seal_of(digest: str, blocks: bytes) -> str:
    """One SHA-256, in hexadecimal digits, over the SHA-512 of a file and the digests of its blocks.

    Bytes whose blocks agree with it are those that had this SHA-512: it need not be computed again.
    """
    return sha256(bytes.fromhex(digest) + blocks).hexdigest()


class BlockDigester:
    """Hashes the blocks of a file that comes in pieces of any size."""

    def __init__(self) -> None:
        self.size = 0
        self._block = sha256()
        self._blocks = bytearray()

    def update(self, piece: bytes | memoryview) -> None:
        view, start = memoryview(piece), 0
        while start < len(view):
            end = min(len(view), start + BLOCK - self.size % BLOCK)
            self._block.update(view[start:end])
            self.size += end - start
            start = end
            if self.size % BLOCK == 0:
                self._blocks += self._block.digest()
                self._block = sha256()

    def blocks(self) -> bytes:
        """The digests of all blocks so far, one after the other."""
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
        """SHA-512 of the whole, in hexadecimal digits."""
        return self._whole.hexdigest()

    def seal(self) -> str:
        """See `seal_of`."""
        return seal_of(self.digest(), self.blocks())
