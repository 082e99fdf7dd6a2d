"""Where the bytes of items are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from ibi.errors import IbiError
from ibi.model.content import Change, IntegritySummary, KeptObject, NewObject, Problem, Source, Verification

OnBytes = Callable[[int], None]
OnCrc = Callable[[str, str], None]
"""Takes the SHA-512 of a file and its CRC-32."""


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


class UploadDamaged(IbiError):
    """{path}: what is kept of this file is not what was sent. Send it again, then publish."""

    code = "upload-damaged"


class OpenFile(Protocol):
    """A file of a version, open for reading. It stays readable whatever is changed meanwhile."""

    @property
    def size(self) -> int: ...
    @property
    def digest(self) -> str: ...
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
    number of the version that the change was made for: `ContentChanged` if there is another by now. Each byte is read
    and hashed once, here; `Derived` files, which tell of the others, are asked for last. `on_bytes` is told how many
    bytes were read of files that bring any, `Derived` ones apart.
    """

    def create(
        self, name: str, files: Mapping[str, Source], change: Change, *, on_bytes: OnBytes | None = None
    ) -> KeptObject:
        """Keep the first version. `ContentExists` if there is one."""

    def create_all(self, objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        """The same of several, in less time than one after the other. What is refused of one, or raised by a source of
        it, is its own outcome and does not stop the others."""

    def update(
        self,
        name: str,
        files: Mapping[str, Source],
        change: Change,
        *,
        head: int | None = None,
        on_bytes: OnBytes | None = None,
    ) -> KeptObject:
        """Add a version that has these files and no others."""

    def purge_to(
        self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None
    ) -> KeptObject:
        """Replace all versions by a first one that has these files; the bytes of everything else are gone."""

    def remove(self, name: str) -> None:
        """Forget all versions: the bytes are gone, and the name can be created anew. Damage is no reason to refuse it.
        `ContentMissing` if there is none."""

    def read(self, name: str) -> KeptObject:
        """`ContentMissing` if there is none, `ContentDamaged` if what is there makes no sense."""

    def open(self, name: str, path: str, version: int | None = None) -> OpenFile:
        """A file of a version, the current one unless told. `FileMissing` if it has no such file."""

    def iterate(self) -> Iterator[str]:
        """Every name, in the order of the parts between its slashes; not loaded at once."""

    def verify(self, name: str, on_bytes: OnBytes | None = None, on_crc: OnCrc | None = None) -> Iterator[Problem]:
        """Read everything kept of `name` again and tell what is wrong; `on_bytes` is told how many bytes were read,
        and `on_crc` the CRC-32 of each file that is right."""

    def sweep(self) -> tuple[str, ...]:
        """Finish or remove what crashed processes have left; the names of objects that were finished."""

    def close(self) -> None: ...


class BlockDigests(Protocol):
    """Digests of blocks by the SHA-512 of the whole file. Calls block, from any thread; they never raise for a damaged
    or full disk: what cannot be remembered is computed again."""

    def find_blocks(self, digest: str) -> bytes | None:
        """The digests of all blocks of the content with that digest, one after the other."""

    def keep_blocks(self, digest: str, blocks: bytes) -> None: ...

    def forget_blocks(self, digests: Iterable[str]) -> None: ...


class Verifications(Protocol):
    """When each item was verified, and which are damaged, by the names of their objects. Durable."""

    prompt: bool
    """Whether `summary` takes little enough time for a report to wait for it. An event loop calls `damaged_items`
    alone, which never waits, whatever this says."""

    def record(self, name: str, problems: Sequence[Problem], at: int) -> None:
        """Record the problems that a verification at that second found; without any, the item is whole again."""

    def record_all(self, results: Iterable[tuple[str, Sequence[Problem]]], at: int) -> None:
        """The same of several, in less time than one after the other."""

    def note_damage(self, name: str, problem: Problem, at: int) -> bool:
        """Record damage found without a verification; return whether it is new."""

    def expect(self, names: Iterable[str]) -> None:
        """Record which items exist; those that are not known yet count as never verified."""

    def forget(self, name: str) -> None:
        """Forget an item that exists no more."""

    def damaged_items(self) -> Mapping[str, Verification]:
        """Every damaged item by its name. From memory; a change by another process is seen within a second."""

    def due(self, before: int | None = None) -> list[str]:
        """Every item that there is: the damaged ones first, then those never verified, then those that were, the least
        recently verified first; with `before`, of the last only those that were verified before that second."""

    def next_due(self, before: int, damaged_before: int) -> str | None:
        """The item that was verified longest ago, never being longest, if that was before the second `before`; a
        damaged one is due if it was looked at before `damaged_before`."""

    def latest(self, most: int) -> tuple[Verification, ...]:
        """The items that were verified last, the latest first, with what was found."""

    def want(self, name: str, at: int) -> None:
        """Have an item verified before it is due. It is wanted until a verification of it is recorded, whichever
        process makes it; to want it twice changes nothing."""

    def wanted(self) -> tuple[tuple[str, int], ...]:
        """The items that are wanted, and since when; the first one first."""

    def summary(self) -> IntegritySummary: ...

    def last_letter(self) -> int | None:
        """The second at which an administrator was last told of damage by mail."""

    def note_letter(self, at: int) -> None: ...
