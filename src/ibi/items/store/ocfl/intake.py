"""Take content in: bytes of any size are hashed while they are copied, in constant memory.

Small content is buffered in memory, and written at the end together with the inventory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from hashlib import sha512
from zlib import crc32

from ibi.items.model.content import (
    BlockDigester,
    BlockHasher,
    Bytes,
    Copy,
    Move,
    Sent,
    Source,
    Stream,
    TakenFile,
    has_kept_digests,
    seal_of,
)
from ibi.items.ports.archive_store import OnBytes, SourceRefused, UploadDamaged
from ibi.items.store.ocfl.durability import Batch, start_writing
from ibi.storage.machine import raise_if_exhausted

CHUNK = 1 << 20
_AHEAD = 1 << 24
"""Bytes after which the kernel is told to begin writing. To sync a gigabyte at the end would take seconds."""

Step = Callable[[str], None]
KeepBlocks = Callable[[str, bytes], None]
"""Called with the digest of content and the digests of its blocks."""


class Intake:
    """The content of a new version, in a staged directory. Duplicate content is stored once."""

    def __init__(
        self,
        folder: str,
        batch: Batch,
        on_step: Step,
        keep_blocks: KeepBlocks | None = None,
        on_bytes: OnBytes | None = None,
    ) -> None:
        self.files: dict[str, TakenFile] = {}
        """Each file taken in, by its logical path."""
        self.places: dict[str, str] = {}
        """The location of each digest below `content`."""
        self.moved: list[str] = []
        """Source files to remove once all is done."""
        self._held: dict[str, bytes] = {}
        self._held_size = 0
        self._content = f"{folder}/content"
        self._incoming = f"{folder}.incoming"
        self._folders: set[str] = set()
        self._length = len(folder)
        self._batch = batch
        self._on_step = on_step
        self._keep_blocks = keep_blocks
        self._on_bytes = on_bytes

    def take(self, path: str, source: Source) -> None:
        match source:
            case Bytes(content):
                if self._on_bytes is not None:
                    self._on_bytes(len(content))
                self.take_bytes(path, content)
            case Copy(origin):
                self._take_file(path, origin)
            case Move(origin, sent):
                self._take_moved(path, origin, sent)
            case Stream(read):
                self._take_chunks(path, read)
            case _:
                raise TypeError(source)

    def take_bytes(self, path: str, content: bytes, hasher: _Hasher | None = None) -> None:
        """Take in content from memory; `on_bytes` is not called."""
        if self._is_new(path, self._hash(content, hasher)):
            self._held[path] = content
            self._held_size += len(content)
            if self._held_size >= CHUNK:
                self.write()

    def place_of(self, digest: str) -> str:
        """Return the path of this content, once it is written."""
        return f"{self._content}/{self.places[digest]}"

    def drop(self, digest: str) -> None:
        """Drop content that is stored elsewhere already."""
        place = self.places.pop(digest, None)
        if place is not None and self._held.pop(place, None) is None:
            os.unlink(f"{self._content}/{place}")
            self._remove_empty_folders(place)

    def write(self) -> None:
        """Write the buffered content."""
        for path, content in self._held.items():
            self._write(self._place(path), content)
        self._held.clear()
        self._held_size = 0

    def finish(self, folder: str) -> None:
        """Add the directories to the sync batch. `folder` is the final name of the version's directory."""
        self._batch.add_directory(folder)
        for place in self._folders:
            self._batch.add_directory(f"{folder}{place[self._length :]}")

    def _hash(self, content: bytes, hasher: _Hasher | None) -> TakenFile:
        if hasher is None and (self._keep_blocks is None or not has_kept_digests(len(content))):
            return TakenFile(len(content), sha512(content).hexdigest(), f"{crc32(content):08x}")
        hasher = hasher or BlockHasher()
        hasher.update(content)
        return self._finish_hash(hasher)

    def _write(self, place: str, content: bytes) -> None:
        descriptor = os.open(place, _NEW, 0o644)
        try:
            self._on_step("content half written")
            write_all(descriptor, content)
        except BaseException:
            os.close(descriptor)
            raise
        self._batch.add_file(descriptor, len(content))

    def _take_file(self, path: str, origin: str) -> None:
        source = open_source(origin)
        try:
            self._take_chunks(path, lambda length: os.read(source, length), origin)
        finally:
            os.close(source)

    def _take_moved(self, path: str, origin: str, sent: Sent | None) -> None:
        """Take in a file through a second name for it. If the change is refused, the file stays in its old place."""
        source, hasher = open_source(origin), _hasher_of(sent)
        try:
            status = os.fstat(source)
            if status.st_nlink > 1 or status.st_dev != os.stat(os.path.dirname(self._content)).st_dev:
                self._take_chunks(path, lambda length: os.read(source, length), origin, hasher)
            else:
                self._link(path, origin, source, status, self._identify_file(origin, source, status, sent, hasher))
        finally:
            os.close(source)
        self.moved.append(origin)

    def _identify_file(
        self, origin: str, source: int, status: os.stat_result, sent: Sent | None, hasher: _Hasher
    ) -> TakenFile:
        """Return the digests of the file, from its writer in this process or by reading it again."""
        received = None if sent is None else sent.received
        if sent is None or received is None or received.size != status.st_size:
            return self._copy(lambda length: os.read(source, length), None, origin, hasher)
        if self._keep_blocks is not None and has_kept_digests(received.size):
            self._keep_blocks(sent.digest, received.blocks)
        if self._on_bytes is not None:
            self._on_bytes(received.size)
        return TakenFile(received.size, sent.digest, received.crc32)

    def _link(self, path: str, origin: str, source: int, status: os.stat_result, taken: TakenFile) -> None:
        if not self._is_new(path, taken):
            return
        place = self._place(path)
        os.link(origin, place, follow_symlinks=False)
        if not os.path.samestat(os.lstat(place), status):
            raise SourceRefused(path=origin, reason="it was replaced while it was read")
        # The file was private to its sender; from now on it has the access rights of its folder.
        os.fchmod(source, 0o644 & os.stat(os.path.dirname(place)).st_mode)
        self._batch.add_file(os.dup(source), taken.size)

    def _take_chunks(
        self, path: str, read: Callable[[int], bytes], origin: str = "", hasher: _Hasher | None = None
    ) -> None:
        head = bytearray()
        while chunk := self._read(read, origin or path):
            head += chunk
            if len(head) >= CHUNK:
                self._take_large(path, read, origin or path, hasher or BlockHasher(), bytes(head))
                return
        self.take_bytes(path, bytes(head), hasher)

    def _take_large(self, path: str, read: Callable[[int], bytes], origin: str, hasher: _Hasher, head: bytes) -> None:
        """Write content that is too large for memory as it comes, to a file that gets its name at the end."""
        descriptor = os.open(self._incoming, _NEW, 0o644)
        try:
            self._on_step("content half written")
            taken = self._copy(read, descriptor, origin, hasher, head)
        except BaseException:
            os.close(descriptor)
            os.unlink(self._incoming)
            raise
        if self._is_new(path, taken):
            os.rename(self._incoming, self._place(path))
            self._batch.add_file(descriptor, taken.size)
        else:
            os.close(descriptor)
            os.unlink(self._incoming)

    def _copy(
        self,
        read: Callable[[int], bytes],
        descriptor: int | None,
        origin: str,
        hasher: _Hasher,
        head: bytes = b"",
    ) -> TakenFile:
        """Hash `head` and the chunks read after it, and write them to `descriptor` on the way."""
        started = 0
        chunk = head or self._read(read, origin)
        while chunk:
            hasher.update(chunk)
            if descriptor is not None:
                write_all(descriptor, chunk)
                if hasher.size - started >= _AHEAD:
                    start_writing(descriptor, hasher.size)
                    started = hasher.size
            chunk = self._read(read, origin)
        return self._finish_hash(hasher)

    def _finish_hash(self, hasher: _Hasher) -> TakenFile:
        """Return the digests of the file. Block digests are stored at once: they are right even if the change is not
        made."""
        digest = hasher.digest()
        if self._keep_blocks is not None and has_kept_digests(hasher.size):
            self._keep_blocks(digest, hasher.blocks())
        return TakenFile(hasher.size, digest, hasher.crc32())

    def _read(self, read: Callable[[int], bytes], origin: str) -> bytes:
        try:
            chunk = read(CHUNK)
        except OSError as error:
            raise SourceRefused(path=origin, reason=error.strerror or str(error)) from error
        if self._on_bytes is not None:
            self._on_bytes(len(chunk))
        return chunk

    def _is_new(self, path: str, taken: TakenFile) -> bool:
        self.files[path] = taken
        return self.places.setdefault(taken.digest, path) is path

    def _place(self, path: str) -> str:
        place = f"{self._content}/{path}"
        self._make_folder(place.rpartition("/")[0])
        return place

    def _make_folder(self, folder: str) -> None:
        if folder in self._folders:
            return
        if folder != self._content:
            self._make_folder(folder.rpartition("/")[0])
        os.mkdir(folder)
        self._folders.add(folder)

    def _remove_empty_folders(self, place: str) -> None:
        folder = f"{self._content}/{place}".rpartition("/")[0]
        while folder in self._folders and not os.listdir(folder):
            os.rmdir(folder)
            self._folders.remove(folder)
            folder = folder.rpartition("/")[0]


class _SentHasher(BlockDigester):
    """Hashes a received file by blocks alone, and checks them against the seal of its receipt.

    The SHA-512 was computed on receipt; to compute it again would take more than twice as long.
    """

    def __init__(self, sent: Sent) -> None:
        super().__init__()
        self._sent = sent

    def digest(self) -> str:
        """Return the SHA-512 from the receipt; raise `UploadDamaged` if the content differs."""
        if seal_of(self._sent.digest, self.blocks()) != self._sent.seal:
            raise UploadDamaged(path=repr(self._sent.name))
        return self._sent.digest


class _UnsealedHasher(BlockHasher):
    """Hashes a received file without a seal, and checks its SHA-512."""

    def __init__(self, sent: Sent) -> None:
        super().__init__()
        self._sent = sent

    def digest(self) -> str:
        if super().digest() != self._sent.digest:
            raise UploadDamaged(path=repr(self._sent.name))
        return self._sent.digest


_Hasher = BlockHasher | _SentHasher


def _hasher_of(sent: Sent | None) -> _Hasher:
    if sent is None:
        return BlockHasher()
    return _UnsealedHasher(sent) if sent.seal is None else _SentHasher(sent)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def open_source(origin: str) -> int:
    """Open the plain file at `origin`; links, devices, pipes and folders are refused."""
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would block.
        descriptor = os.open(origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise_if_exhausted(error)
        reason = "it is a symbolic link" if os.path.islink(origin) else getattr(error, "strerror", None) or str(error)
        raise SourceRefused(path=origin, reason=reason) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceRefused(path=origin, reason="it is not a plain file")
    return descriptor


def write_all(descriptor: int, content: bytes | memoryview) -> None:
    """Write all content. The system may write less than it is given, and says how much."""
    written = os.write(descriptor, content) if content else 0
    while written < len(content):
        written += os.write(descriptor, memoryview(content)[written:])


def write_file(path: str, content: bytes, batch: Batch) -> None:
    """Write a new file, to be synced with the batch."""
    descriptor = os.open(path, _NEW, 0o644)
    try:
        write_all(descriptor, content)
    except BaseException:
        os.close(descriptor)
        raise
    batch.add_file(descriptor, len(content))
