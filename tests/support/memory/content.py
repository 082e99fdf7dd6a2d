"""Content in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha512
from pathlib import Path
from threading import Lock
from types import TracebackType
from zlib import crc32

from ibi.items.model.content import (
    BlockHasher,
    Bytes,
    Change,
    Copy,
    Damage,
    Derived,
    Keep,
    KeptObject,
    KeptVersion,
    Move,
    NewObject,
    Problem,
    Sent,
    Source,
    Stream,
    TakenFile,
    check_tree,
)
from ibi.items.ports.archive_store import (
    ContentChanged,
    ContentExists,
    ContentMissing,
    FileMissing,
    OnBytes,
    OnCrc,
    SourceRefused,
    UploadDamaged,
)
from ibi.items.store.ocfl.layout import checked_name

__all__ = ["MemoryContent"]

_CHUNK = 1 << 20


class MemoryContent:
    """The port `Content` without a disk."""

    def __init__(self) -> None:
        self._objects: dict[str, KeptObject] = {}
        self._content: dict[tuple[str, str], bytes] = {}
        self._lock = Lock()

    def create(
        self, name: str, files: Mapping[str, Source], change: Change, *, on_bytes: OnBytes | None = None
    ) -> KeptObject:
        check_tree(files)
        with self._lock:
            if checked_name(name) in self._objects:
                raise ContentExists(name=name)
            return self._add(KeptObject(name, ()), files, change, on_bytes)

    def create_all(self, objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        return [self._created(new) for new in objects]

    def _created(self, new: NewObject) -> KeptObject | Exception:
        try:
            return self.create(*new)
        except Exception as refusal:  # noqa: BLE001 - as the port says
            return refusal

    def update(
        self,
        name: str,
        files: Mapping[str, Source],
        change: Change,
        *,
        head: int | None = None,
        on_bytes: OnBytes | None = None,
    ) -> KeptObject:
        check_tree(files)
        with self._lock:
            return self._add(self._expected(name, head), files, change, on_bytes)

    def purge_to(
        self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None
    ) -> KeptObject:
        check_tree(files)
        with self._lock:
            added = self._add(self._expected(name, head), files, change)
            kept = KeptObject(name, (replace(added.head, number=1),))
            digests = set(kept.head.files.values())
            self._objects[name] = kept
            self._content = {key: value for key, value in self._content.items() if key[0] != name or key[1] in digests}
            return kept

    def remove(self, name: str) -> None:
        with self._lock:
            self.read(name)
            del self._objects[name]
            self._content = {key: value for key, value in self._content.items() if key[0] != name}

    def read(self, name: str) -> KeptObject:
        try:
            return self._objects[checked_name(name)]
        except KeyError:
            raise ContentMissing(name=name) from None

    def open(self, name: str, path: str, version: int | None = None) -> MemoryFile:
        with self._lock:
            kept = self.read(name)
            number = len(kept.versions) if version is None else version
            files = kept.versions[number - 1].files if 1 <= number <= len(kept.versions) else {}
            if path not in files:
                raise FileMissing(name=name, path=path, version=number)
            return MemoryFile(self._content[name, files[path]], files[path])

    def iterate(self) -> Iterator[str]:
        return iter(sorted(self._objects, key=lambda name: name.split("/")))

    def verify(self, name: str, on_bytes: OnBytes | None = None, on_crc: OnCrc | None = None) -> Iterator[Problem]:
        self.read(name)
        for (owner, digest), content in list(self._content.items()):
            if owner != name:
                continue
            if on_bytes is not None:
                on_bytes(len(content))
            if sha512(content).hexdigest() != digest:
                yield Problem(Damage.DAMAGED, "E092", digest, "its content is not what was deposited")
            elif on_crc is not None:
                on_crc(digest, f"{crc32(content):08x}")

    def sweep(self) -> tuple[str, ...]:
        """A crash leaves nothing."""
        return ()

    def close(self) -> None:
        """Nothing to let go of."""

    def _expected(self, name: str, head: int | None) -> KeptObject:
        kept = self.read(name)
        if head not in (None, len(kept.versions)):
            raise ContentChanged(name=name, expected=head, found=len(kept.versions))
        return kept

    def _add(
        self, kept: KeptObject, files: Mapping[str, Source], change: Change, on_bytes: OnBytes | None = None
    ) -> KeptObject:
        contents = {path: _content(source) for path, source in files.items() if not isinstance(source, Keep | Derived)}
        taken = {path: _taken(content) for path, content in contents.items()}
        if on_bytes is not None:
            on_bytes(sum(each.size for each in taken.values()))
        contents |= {path: source.make(taken) for path, source in files.items() if isinstance(source, Derived)}
        digests = {path: _taken(content).digest for path, content in contents.items()}
        state = {path: digests.get(path) or _kept(kept, source) for path, source in files.items()}
        self._content |= {(kept.name, digests[path]): content for path, content in contents.items()}
        version = KeptVersion(len(kept.versions) + 1, change, state)
        self._objects[kept.name] = KeptObject(kept.name, (*kept.versions, version))
        for source in files.values():
            if isinstance(source, Move):
                Path(source.path).unlink()
        return self._objects[kept.name]


class MemoryFile:
    """The port's `OpenFile` on bytes."""

    def __init__(self, content: bytes, digest: str) -> None:
        self._content = content
        self.size = len(content)
        self.digest = digest

    def read(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]

    def close(self) -> None:
        """Nothing to let go of."""

    def __enter__(self) -> MemoryFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


def _taken(content: bytes) -> TakenFile:
    return TakenFile(len(content), sha512(content).hexdigest(), f"{crc32(content):08x}")


def _kept(kept: KeptObject, source: Source) -> str:
    assert isinstance(source, Keep)
    number = len(kept.versions) if source.version is None else source.version
    files = kept.versions[number - 1].files if 1 <= number <= len(kept.versions) else {}
    if source.path not in files:
        raise FileMissing(name=kept.name, path=source.path, version=number)
    return files[source.path]


def _is_as_sent(content: bytes, sent: Sent) -> bool:
    hasher = BlockHasher()
    hasher.update(content)
    return hasher.digest() == sent.digest and sent.seal in (None, hasher.seal())


def _plain_file(path: str) -> bytes:
    if not Path(path).is_file() or Path(path).is_symlink():
        raise SourceRefused(path=path, reason="it is not a plain file")
    return Path(path).read_bytes()


def _content(source: Source) -> bytes:
    match source:
        case Bytes(content):
            return content
        case Stream(read):
            return b"".join(iter(lambda: read(_CHUNK), b""))
        case Copy(path):
            return _plain_file(path)
        case Move(path, sent):
            moved = _plain_file(path)
            if sent is not None and not _is_as_sent(moved, sent):
                raise UploadDamaged(path=repr(sent.name))
            return moved
        case Keep() | Derived():
            raise TypeError(source)
