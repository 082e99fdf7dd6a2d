"""Verified reads of stored files: no file or block is sent to its end unless its digest is right.

The sent bytes are the bytes that were hashed. Where memory allows, a block of 1 MiB is read, checked and sent as one.
Otherwise it is sent in small pieces, and the last piece is held back until the digest of the block is right. So a
reader of damaged content never gets an answer that looks whole, and at most one piece is in memory.

The digests of blocks are known once a file was deposited or verified. Without them, a file of one block is checked by
the digest of the whole, which takes twice as long. A longer file is hashed as a whole, and a request for a part waits
until the file was read through once.

Content of an older store gets the digests of its blocks at its first verification, or here. When a part of a large file
is requested, the file is read through once for all waiting readers, a few files at a time.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256, sha512
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from ibi.items.model.content import (
    BLOCK,
    BlockHasher,
    Damage,
    Problem,
    block_digest,
    fits,
    has_blocks,
    has_kept_digests,
)
from ibi.items.ports.archive_store import BlockDigests, ContentDamaged, OpenFile
from ibi.standard.errors import ErrorKind, IbiError

if TYPE_CHECKING:
    import asyncio
    from hashlib import _Hash


PIECE: Final = 80 * 1024
"""Bytes of a small piece: the memory of a download, whatever the size of the file. A little more than a connection
buffers before the sender has to wait, so that a stalled reader has one piece in memory and not two."""
_READ: Final = 256 * 1024
"""Bytes read at a time where they are only hashed."""

_E092: Final = "E092"
"""The code of OCFL 1.1 for content whose digest differs from its manifest."""

_LOST: Final = frozenset({errno.EIO, errno.EBADMSG, errno.EUCLEAN, errno.ENODATA})
"""Errors of a disk that cannot read its content. Other errors say nothing about the content."""
_CHANGED: Final = "its content is not what was deposited"

OnDamage = Callable[[Problem], None]


def _ignore(_: Problem) -> None:
    """Do nothing: by default damage is not recorded."""


def _never() -> bool:
    return False


class VerifiedFile:
    """An open file of the object `name`; errors name its `path`. Its calls block.

    `on_damage` is called with the problem before `ContentDamaged` is raised.
    """

    def __init__(
        self, file: OpenFile, name: str, path: str, digests: BlockDigests | None, on_damage: OnDamage = _ignore
    ) -> None:
        self._file, self._name, self._path, self._digests = file, name, path, digests
        self._on_damage = on_damage
        self._reading, self._is_closed = Lock(), False
        self.size, self.digest = file.size, file.digest
        self._blocks: bytes | None = None
        self._first_is_right = False
        self._small: bytes | None = None
        """The whole content of a file that fits into one piece, once it was checked."""

    def close(self) -> None:
        """Close the file after any read in another thread: right afterwards its descriptor may belong to another
        file."""
        with self._reading:
            self._is_closed = True
            self._file.close()

    def __enter__(self) -> VerifiedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def knows_blocks(self) -> bool:
        """Return whether a part of the file can be checked without reading all of it."""
        return not has_blocks(self.size) or self._known_blocks() is not None

    def learn_blocks(self, on_bytes: Callable[[int], None] | None = None) -> None:
        """Read the whole file once and store the digests of its blocks. `ContentDamaged` if its digest is wrong.

        `on_bytes` is called with the number of bytes read, and may raise to stop.
        """
        hasher = BlockHasher()
        for offset in range(0, self.size, _READ):
            piece = self._read_exactly(offset, min(_READ, self.size - offset))
            hasher.update(piece)
            if on_bytes is not None:
                on_bytes(len(piece))
        self._accept(hasher)

    @property
    def is_at_hand(self) -> bool:
        """True if the whole file is in memory, checked, so that `pieces` does not read."""
        return self._small is not None

    def take_in_hand(self) -> None:
        """Read a small file into memory."""
        if self.size <= PIECE:
            self.read_all()

    def read_all(self) -> bytes:
        """Return the whole content, in memory: for records and other small files."""
        if self._small is not None:
            return self._small
        content = self._read_exactly(0, self.size)
        if sha512(content).hexdigest() != self.digest:
            raise self.damage()
        if self.size <= PIECE:
            self._small = content
        return content

    def read_beginning(self, length: int) -> bytes | None:
        """Return the first bytes, at most `length`. Return None if they cannot be checked without reading the whole
        file."""
        if self.size <= PIECE:
            return self.read_all()[:length]
        if not self.knows_blocks():
            return None
        begun = self._read_exactly(0, length)
        self._check_block(0, begun)
        self._first_is_right = True
        return begun

    def pieces(self, offset: int, length: int, by_block: Callable[[], bool] = _never) -> Iterator[bytes]:
        """Yield a part of the file, in pieces. A damaged first block gives no piece at all; a damaged later block lacks
        its last piece. `by_block` is called before each block, and returns whether it may be one piece."""
        if self.size <= PIECE:
            yield from filter(None, [self.read_all()[offset : offset + length]])
        elif self.knows_blocks():
            yield from self._by_blocks(offset, offset + length, by_block)
        elif length == self.size:
            yield from self._whole()
        else:
            self.learn_blocks()
            yield from self._by_blocks(offset, offset + length, by_block)

    def _by_blocks(self, offset: int, end: int, by_block: Callable[[], bool]) -> Iterator[bytes]:
        first = offset // BLOCK
        for number in range(first, -(-end // BLOCK)):
            bounds = max(offset, number * BLOCK), min(end, (number + 1) * BLOCK)
            if by_block():
                yield self._block_at_once(number, *bounds)
                continue
            if number == first and bounds[1] - bounds[0] > PIECE and not (first == 0 and self._first_is_right):
                self._check_block(first)
            yield from self._block(number, *bounds)

    def _block_at_once(self, number: int, offset: int, end: int) -> bytes:
        start, stop = self._bounds(number)
        content = self._read_exactly(start, stop - start)
        hasher = self._hasher()
        hasher.update(content)
        self._judge(number, hasher)
        return content if end - offset == len(content) else content[offset - start : end - start]

    def _block(self, number: int, offset: int, end: int) -> Iterator[bytes]:
        """Yield the part of one block from `offset` to `end`. The rest of the block is hashed as well."""
        start, stop = self._bounds(number)
        hasher = self._hasher()
        self._hash(hasher, start, offset)
        while end - offset > PIECE:
            piece = self._read_exactly(offset, PIECE)
            hasher.update(piece)
            yield piece
            offset += PIECE
        held = self._read_exactly(offset, end - offset)
        hasher.update(held)
        self._hash(hasher, end, stop)
        self._judge(number, hasher)
        yield held

    def _check_block(self, number: int, begun: bytes = b"") -> None:
        start, stop = self._bounds(number)
        hasher = self._hasher()
        hasher.update(begun)
        self._hash(hasher, start + len(begun), stop)
        self._judge(number, hasher)

    def _hash(self, hasher: _Hash | BlockHasher, start: int, end: int) -> None:
        for position in range(start, end, _READ):
            hasher.update(self._read_exactly(position, min(_READ, end - position)))

    def _whole(self) -> Iterator[bytes]:
        """Yield a whole file without known blocks. Store the digests of its blocks when its end was read."""
        hasher, last = BlockHasher(), (self.size - 1) // _READ * _READ
        for offset in range(0, last, _READ):
            piece = self._read_exactly(offset, _READ)
            hasher.update(piece)
            yield piece
        held = self._read_exactly(last, self.size - last)
        hasher.update(held)
        self._accept(hasher)
        yield held

    def _judge(self, number: int, hasher: _Hash | BlockHasher) -> None:
        if isinstance(hasher, BlockHasher):
            self._accept(hasher)
        elif hasher.digest() != self._expected_digest(number):
            raise self.damage()

    def _accept(self, hasher: BlockHasher) -> None:
        if hasher.digest() != self.digest:
            raise self.damage()
        self._blocks = hasher.blocks()
        if self._digests is not None and has_kept_digests(self.size):
            self._digests.keep_blocks(self.digest, self._blocks)

    def _bounds(self, number: int) -> tuple[int, int]:
        return number * BLOCK, min(self.size, (number + 1) * BLOCK)

    def _hasher(self) -> _Hash | BlockHasher:
        """Return a hasher for one block. In a file of one block it also computes the digest of the block, if that is
        unknown."""
        if self._known_blocks() is not None:
            return sha256()
        return sha512() if self._digests is None else BlockHasher()

    def _expected_digest(self, number: int) -> bytes:
        return bytes.fromhex(self.digest) if self._blocks is None else block_digest(self._blocks, number)

    def _known_blocks(self) -> bytes | None:
        if self._blocks is None and self._digests is not None and has_kept_digests(self.size):
            found = self._digests.find_blocks(self.digest)
            self._blocks = found if found is not None and fits(found, self.size) else None
        return self._blocks

    def _read_exactly(self, offset: int, length: int) -> bytes:
        """Read exactly so many bytes: a disk may give less at a time."""
        content = self._read_some(offset, length)
        while len(content) < length:
            more = self._read_some(offset + len(content), length - len(content))
            if not more:
                raise self.damage("it is shorter than it was")
            content += more
        return content

    def _read_some(self, offset: int, length: int) -> bytes:
        with self._reading:
            if self._is_closed:
                raise ValueError(f"{self._path} was closed while it was read")
            try:
                return self._file.read(offset, length)
            except OSError as error:
                if error.errno not in _LOST:
                    raise
                reason = error.strerror or str(error)
        raise self.damage(reason, Damage.UNREADABLE)

    def damage(self, reason: str = _CHANGED, kind: str = Damage.DAMAGED) -> ContentDamaged:
        """Report the damage to `on_damage`, and return the error to raise."""
        self._on_damage(Problem(kind, _E092, self._path, reason, self.digest))
        return ContentDamaged(name=self._name, problem=_E092, reason=f"{self._path}: {reason}")


_AT_A_TIME: Final = 2
_PATIENCE: Final = 20.0
"""Seconds that a reader waits: proxies give up after thirty."""
_RETRY_AFTER: Final = 30


class FirstReadingUnderWay(IbiError):
    """{path} of {name} is being checked before a part of it is given out: try again in {retry_after} seconds."""

    code = "first-reading-under-way"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, *, name: str, path: str) -> None:
        super().__init__(name=name, path=path, retry_after=_RETRY_AFTER)
        self.retry_after = _RETRY_AFTER


class FirstReading:
    """Reads files through once to learn the digests of their blocks. For one event loop.

    `asyncio` is imported where it is used: commands have no event loop, and imports are half the cost of some commands.
    """

    def __init__(self, *, patience: float = _PATIENCE) -> None:
        import asyncio

        self._patience = patience
        self._turn = asyncio.Semaphore(_AT_A_TIME)
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def learn(self, digest: str, open_file: Callable[[], VerifiedFile]) -> None:
        """Store the digests of the blocks of that content. `ContentDamaged` if its digest is wrong. `TimeoutError` if
        it takes too long: the reading then goes on without the reader."""
        import asyncio

        task = self._under_way.get(digest)
        if task is None:
            task = self._under_way[digest] = asyncio.create_task(self._learn(open_file))
            task.add_done_callback(lambda ended: self._end(digest, ended))
        await asyncio.wait_for(asyncio.shield(task), self._patience)

    def _end(self, digest: str, task: asyncio.Task[None]) -> None:
        self._under_way.pop(digest, None)
        if not task.cancelled():
            task.exception()  # raised where the task was awaited, if anywhere

    async def _learn(self, open_file: Callable[[], VerifiedFile]) -> None:
        def read() -> None:
            with open_file() as file:
                file.learn_blocks()

        async with self._turn:
            await _in_thread(read)


async def _in_thread(work: Callable[[], None]) -> None:
    """Run in a daemon thread, which does not delay the end of the process: it may read for minutes, and leaves nothing
    half done."""
    import asyncio

    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - any error is raised where the result is awaited
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, done, failure)

    Thread(target=run, daemon=True, name="first reading").start()
    await done


def _settle(done: asyncio.Future[None], failure: BaseException | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
