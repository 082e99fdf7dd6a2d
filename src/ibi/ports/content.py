"""Where the bytes of items are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from ibi.errors import IbiError
from ibi.model.content import Change, KeptObject, NewObject, Problem, Source

__all__ = [
    "Content",
    "ContentChanged",
    "ContentDamaged",
    "ContentExists",
    "ContentMissing",
    "FileMissing",
    "OpenFile",
    "SourceRefused",
]


class ContentExists(IbiError):
    """{name} has content already."""

    code = "content-exists"


class ContentMissing(IbiError):
    """{name} has no content here."""

    code = "content-missing"


class ContentChanged(IbiError):
    """{name} was changed meanwhile: it is at version {found}, not {expected}. Look at it again, then repeat."""

    code = "content-changed"


class ContentDamaged(IbiError):
    """What is kept of {name} is damaged ({problem}): {reason}. It has to be restored from a backup or from another
    Archive, and then verified: `ibi verify {name}`."""

    code = "content-damaged"


class FileMissing(IbiError):
    """Version {version} of {name} has no file {path}."""

    code = "file-missing"


class SourceRefused(IbiError):
    """{path} cannot be taken in: {reason}."""

    code = "source-refused"


class OpenFile(Protocol):
    """A file of a version, open for reading. It stays readable whatever is changed meanwhile."""

    @property
    def size(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def path(self) -> str | None:
        """Where it lies on the disk, if on one."""

    def fileno(self) -> int:
        """The descriptor of a plain file, for zero-copy; -1 if there is none. It belongs to this object."""

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on; nothing after the end. From any thread."""

    def close(self) -> None: ...
    def __enter__(self) -> OpenFile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Content(Protocol):
    """Objects by name, a canonical repository name. Calls block, from any thread and process.

    A change that has returned is on the disk, whole. One that raises has changed nothing. `head`, where given, is the
    number of the version that the change was made for: `ContentChanged` if there is another by now.
    """

    def create(self, name: str, files: Mapping[str, Source], change: Change) -> KeptObject:
        """Keep the first version. `ContentExists` if there is one."""

    def create_all(self, objects: Sequence[NewObject]) -> list[KeptObject | IbiError]:
        """The same of several, in less time than one after the other. What is refused of one keeps no other."""

    def update(self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None) -> KeptObject:
        """Add a version that has these files and no others."""

    def purge_to(
        self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None
    ) -> KeptObject:
        """Replace all versions by a first one that has these files; the bytes of everything else are gone."""

    def read(self, name: str) -> KeptObject:
        """`ContentMissing` if there is none, `ContentDamaged` if what is there makes no sense."""

    def open(self, name: str, path: str, version: int | None = None) -> OpenFile:
        """A file of a version, the current one unless told. `FileMissing` if it has no such file."""

    def iterate(self) -> Iterator[str]:
        """Every name, in the order of the parts between its slashes; not loaded at once."""

    def verify(self, name: str, on_bytes: Callable[[int], None] | None = None) -> Iterator[Problem]:
        """Read everything kept of `name` again and tell what is wrong; `on_bytes` is told how many bytes were read."""

    def sweep(self) -> tuple[str, ...]:
        """Finish or remove what crashed processes have left; the names of objects that were finished."""

    def close(self) -> None: ...
