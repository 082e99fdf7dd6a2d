"""Kept files as readers get them, in memory: what is right comes whole, and what is not never to its end."""

from __future__ import annotations

import errno
from hashlib import sha512

import pytest

from ibi.items.model.content import BLOCK, BlockHasher, Problem, block_count, fits
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.service.integrity.verified_file import PIECE, VerifiedFile
from tests.support.memory.content import MemoryFile


class Digests:
    """The port `BlockDigests` in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def find_blocks(self, digest: str) -> bytes | None:
        return self.kept.get(digest)

    def keep_blocks(self, digest: str, blocks: bytes) -> None:
        self.kept[digest] = blocks

    def forget_blocks(self, digests: object) -> None:
        raise AssertionError


def content_of(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def flipped(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :]


def hashed(content: bytes) -> BlockHasher:
    hasher = BlockHasher()
    hasher.update(content)
    return hasher


def opened(
    content: bytes, deposited: bytes | None = None, digests: Digests | None = None
) -> tuple[VerifiedFile, list[Problem]]:
    found: list[Problem] = []
    file = MemoryFile(content, sha512(content if deposited is None else deposited).hexdigest())
    return VerifiedFile(file, "a/b", "doc.bin", digests, found.append), found


SIZES = [0, 1, PIECE, PIECE + 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + PIECE + 5]


@pytest.mark.parametrize("step", [1 << 16, 1_000_003, 3 << 20])
def test_blocks_do_not_depend_on_how_the_bytes_come(step: int) -> None:
    content, hasher = content_of(2 * BLOCK + 17), BlockHasher()
    for start in range(0, len(content), step):
        hasher.update(content[start : start + step])
    assert hasher.digest() == sha512(content).hexdigest()
    assert hasher.blocks() == hashed(content).blocks()
    assert fits(hashed(content).blocks(), len(content))
    assert block_count(len(content)) == 3


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_every_part_of_what_is_right(size: int, by_block: bool, known: bool) -> None:
    content, digests = content_of(size), Digests()
    if known:
        digests.keep_blocks(hashed(content).digest(), hashed(content).blocks())
    for offset, end in {
        (0, size),
        (0, min(size, 3)),
        (size // 2, size),
        (size // 3, 2 * size // 3 + 1),
        (size - 1, size),
    }:
        if 0 <= offset < end <= size:
            file, found = opened(content, digests=digests)
            assert b"".join(file.pieces(offset, end - offset, lambda: by_block)) == content[offset:end]
            assert not found


def test_pieces_are_small_unless_blocks_are_allowed() -> None:
    content, digests = content_of(3 * BLOCK), Digests()
    file, _ = opened(content, digests=digests)
    file.learn_blocks()
    assert max(len(piece) for piece in file.pieces(0, len(content))) == PIECE
    assert [len(piece) for piece in file.pieces(5, 2 * BLOCK, lambda: True)] == [BLOCK - 5, BLOCK, 5]


@pytest.mark.parametrize("size", [1, PIECE, PIECE + 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_nothing_damaged_comes_to_its_end(size: int, by_block: bool, known: bool) -> None:
    right, digests = content_of(size), Digests()
    if known:
        digests.keep_blocks(hashed(right).digest(), hashed(right).blocks())
    for offset in {0, size // 2, size - 1}:
        for begin, end in {(0, size), (offset, offset + 1), (offset, size)}:
            file, found = opened(flipped(right, offset), right, digests)
            received: list[bytes] = []
            with pytest.raises(ContentDamaged, match=r"doc\.bin"):
                received.extend(file.pieces(begin, end - begin, lambda: by_block))
            assert sum(map(len, received)) < end - begin
            assert {problem.digest for problem in found} == {sha512(right).hexdigest()}


def test_nothing_of_a_first_block_that_is_damaged_is_given_out() -> None:
    right, digests = content_of(2 * BLOCK), Digests()
    digests.keep_blocks(hashed(right).digest(), hashed(right).blocks())
    file, _ = opened(flipped(right, BLOCK - 1), right, digests)
    with pytest.raises(ContentDamaged):
        next(file.pieces(0, len(right)))


def test_a_part_beside_the_damage_is_given_out() -> None:
    right, digests = content_of(3 * BLOCK), Digests()
    digests.keep_blocks(hashed(right).digest(), hashed(right).blocks())
    file, found = opened(flipped(right, BLOCK + 7), right, digests)
    assert b"".join(file.pieces(10, 100)) == right[10:110]
    assert b"".join(file.pieces(2 * BLOCK, BLOCK)) == right[2 * BLOCK :]
    assert not found


def test_digests_of_another_number_of_blocks_are_not_believed() -> None:
    right, digests = content_of(3 * BLOCK), Digests()
    digests.keep_blocks(hashed(right).digest(), b"x" * 64)
    file, found = opened(right, digests=digests)
    assert b"".join(file.pieces(BLOCK, 10)) == right[BLOCK : BLOCK + 10]
    assert not found
    assert digests.kept == {hashed(right).digest(): hashed(right).blocks()}


def test_a_whole_download_teaches_the_blocks() -> None:
    right, digests = content_of(BLOCK + 1), Digests()
    file, _ = opened(right, digests=digests)
    assert not file.knows_blocks()
    assert b"".join(file.pieces(0, len(right))) == right
    assert digests.kept == {hashed(right).digest(): hashed(right).blocks()}


@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("size", [PIECE + 1, BLOCK])
def test_a_file_of_one_block_is_checked_by_the_quicker_digest_once_it_was_read(size: int, by_block: bool) -> None:
    right, digests = content_of(size), Digests()
    assert b"".join(opened(right, digests=digests)[0].pieces(7, size - 9, lambda: by_block)) == right[7:-2]
    assert digests.kept == {hashed(right).digest(): hashed(right).blocks()}
    # Only the digest of the block tells of a file whose digest of the whole was not computed.
    digests.kept = {hashed(right).digest(): hashed(flipped(right, 0)).blocks()}
    file, found = opened(right, digests=digests)
    with pytest.raises(ContentDamaged):
        next(file.pieces(0, size, lambda: by_block))
    assert len(found) == 1


def test_damage_teaches_nothing() -> None:
    right, digests = content_of(BLOCK), Digests()
    with pytest.raises(ContentDamaged):
        next(opened(flipped(right, 9), right, digests)[0].pieces(0, BLOCK))
    assert not digests.kept


def test_no_digests_are_kept_of_small_files() -> None:
    right, digests = content_of(PIECE), Digests()
    assert b"".join(opened(right, digests=digests)[0].pieces(0, PIECE)) == right
    assert not digests.kept


def test_the_beginning_is_checked() -> None:
    right, digests = content_of(BLOCK), Digests()
    assert opened(right, digests=digests)[0].read_beginning(10) == right[:10]
    for offset in (0, BLOCK - 1):
        with pytest.raises(ContentDamaged):
            opened(flipped(right, offset), right)[0].read_beginning(10)
    assert opened(content_of(BLOCK + 1))[0].read_beginning(10) is None  # not without reading all of it
    assert opened(b"")[0].read_beginning(10) == b""


def test_records_are_read_as_a_whole() -> None:
    assert opened(b"{}")[0].read_all() == b"{}"
    with pytest.raises(ContentDamaged):
        opened(b"[]", b"{}")[0].read_all()


def test_a_file_that_lost_bytes_while_it_is_read() -> None:
    right = content_of(BLOCK)
    file, found = opened(right)
    pieces = file.pieces(0, BLOCK)
    next(pieces)
    file._file._content = right[: PIECE + 7]  # type: ignore[attr-defined]
    with pytest.raises(ContentDamaged, match="shorter"):
        list(pieces)
    assert [problem.kind for problem in found] == ["damaged"]


@pytest.mark.parametrize(("code", "is_damage"), [(errno.EIO, True), (errno.EMFILE, False), (errno.EBADF, False)])
def test_a_disk_that_cannot_read_is_damage_and_nothing_else_is(
    code: int, is_damage: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(code, "no")

    monkeypatch.setattr(MemoryFile, "read", refuse)
    file, found = opened(b"x")
    with pytest.raises(ContentDamaged if is_damage else OSError):
        list(file.pieces(0, 1))
    assert bool(found) is is_damage


def test_a_file_that_is_closed_while_it_is_read_is_not_damaged() -> None:
    file, found = opened(content_of(BLOCK))
    pieces = file.pieces(0, BLOCK)
    next(pieces)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        next(pieces)
    assert not found
