"""Interfaces of the store of an Archive: the bytes of items, locks, and the checks that find disagreement with the
catalogue after a crash or a restored backup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ibi.items.model.content import Change, IntegritySummary, KeptObject, NewObject, Problem, Source, Verification
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Catalog, ChangeFeed, Search
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName

OnBytes = Callable[[int], None]
OnCrc = Callable[[str, str], None]
"""Callback with the SHA-512 of a file and its CRC-32."""


class ContentExists(IbiError):
    """{name} has content already."""

    code = "content-exists"
    kind = ErrorKind.CONFLICT


class ContentMissing(IbiError):
    """{name} has no content here."""

    code = "content-missing"
    kind = ErrorKind.INTERNAL


class ContentChanged(IbiError):
    """{name} was changed meanwhile: it is at version {found}, not {expected}. Look at it again, then repeat."""

    code = "content-changed"
    kind = ErrorKind.CONFLICT


class ContentDamaged(IbiError):
    """What is kept of {name} is damaged ({problem}): {reason}. It has to be restored from a backup or from another
    Archive, and then verified: `ibi verify {name}`."""

    code = "content-damaged"
    kind = ErrorKind.FAILED


class FileMissing(IbiError):
    """Version {version} of {name} has no file {path}."""

    code = "file-missing"
    kind = ErrorKind.INTERNAL


class SourceRefused(IbiError):
    """{path} cannot be taken in: {reason}."""

    code = "source-refused"
    kind = ErrorKind.UNREADABLE_FILE


class UploadDamaged(IbiError):
    """{path}: what is kept of this file is not what was sent. Send it again, then publish."""

    code = "upload-damaged"
    kind = ErrorKind.FAILED


class OpenFile(Protocol):
    """A file of a version, open for reading. It stays readable whatever changes meanwhile."""

    @property
    def size(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def read(self, offset: int, length: int) -> bytes:
        """Return at most `length` bytes from `offset`; nothing after the end. Thread-safe."""

    def close(self) -> None: ...
    def __enter__(self) -> OpenFile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Content(Protocol):
    """Objects by name, a canonical repository name. Calls block, from any thread and process.

    A change that has returned is complete on disk. A change that raises has changed nothing. `head`, if given, is the
    version number for which the change was made: raise `ContentChanged` if there is another by now. Each byte is read
    and hashed once, here. `Derived` files, which describe the others, are asked for last. `on_bytes` gets the number of
    bytes read of files that bring any, except `Derived` ones.
    """

    def create(
        self, name: str, files: Mapping[str, Source], change: Change, *, on_bytes: OnBytes | None = None
    ) -> KeptObject:
        """Write the first version. Raise `ContentExists` if there is one."""

    def create_all(self, objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        """Create several objects, faster than one after the other.

        A refusal, or an error from a source, is the result for that object only.
        """

    def update(
        self,
        name: str,
        files: Mapping[str, Source],
        change: Change,
        *,
        head: int | None = None,
        on_bytes: OnBytes | None = None,
    ) -> KeptObject:
        """Add a version that has exactly these files."""

    def purge_to(
        self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None
    ) -> KeptObject:
        """Replace all versions by a first one that has these files; all other bytes are deleted."""

    def remove(self, name: str) -> None:
        """Delete all versions. The bytes are gone, and the name can be created again. Works for damaged objects too.

        Raise `ContentMissing` if there is none.
        """

    def read(self, name: str) -> KeptObject:
        """Return the object. Raise `ContentMissing` if there is none, `ContentDamaged` if it cannot be understood."""

    def open(self, name: str, path: str, version: int | None = None) -> OpenFile:
        """Open a file of a version, by default the current one. Raise `FileMissing` if the version has no such file."""

    def iterate(self) -> Iterator[str]:
        """Yield every name, in the order of the parts between its slashes; they are not loaded at once."""

    def verify(self, name: str, on_bytes: OnBytes | None = None, on_crc: OnCrc | None = None) -> Iterator[Problem]:
        """Read everything stored for `name` again, and yield the problems.

        `on_bytes` gets the number of bytes read, and `on_crc` the CRC-32 of each correct file.
        """

    def sweep(self) -> tuple[str, ...]:
        """Finish or remove the leftovers of crashed processes. Return the names of objects that were finished."""

    def close(self) -> None: ...


class BlockDigests(Protocol):
    """Digests of blocks, by the SHA-512 of the whole file. Calls block, from any thread.

    They never raise for a damaged or full disk: missing digests are computed again.
    """

    def find_blocks(self, digest: str) -> bytes | None:
        """Return the digests of all blocks of the content with that digest, concatenated."""

    def keep_blocks(self, digest: str, blocks: bytes) -> None: ...

    def forget_blocks(self, digests: Iterable[str]) -> None: ...


class Verifications(Protocol):
    """The time of the last verification of each item, and the damaged items, by the names of their objects. Durable."""

    prompt: bool
    """True if `summary` is fast enough for a report.

    An event loop calls only `damaged_items`, which never waits, whatever this value says.
    """

    def record(self, name: str, problems: Sequence[Problem], at: int) -> None:
        """Record the problems that a verification at that second found. Without any, the item counts as intact
        again."""

    def record_all(self, results: Iterable[tuple[str, Sequence[Problem]]], at: int) -> None:
        """Record several results, faster than one after the other."""

    def note_damage(self, name: str, problem: Problem, at: int) -> bool:
        """Record damage found without a verification; return whether it is new."""

    def expect(self, names: Iterable[str]) -> None:
        """Record the existing items; new ones count as never verified."""

    def forget(self, name: str) -> None:
        """Delete the record of an item that exists no more."""

    def damaged_items(self) -> Mapping[str, Verification]:
        """Return every damaged item by its name, from memory. Changes by another process appear within a second."""

    def due(self, before: int | None = None) -> list[str]:
        """Return all items: the damaged, then those never verified, then the others, the least recently verified first.

        With `before`, the last group is limited to items that were verified before that second.
        """

    def next_due(self, before: int, damaged_before: int) -> str | None:
        """Return the item with the oldest verification, if that was before the second `before`.

        An item that was never verified counts as oldest. A damaged one is due if it was checked before
        `damaged_before`.
        """

    def latest(self, most: int) -> tuple[Verification, ...]:
        """Return the items that were verified last, the latest first, with the results."""

    def want(self, name: str, at: int) -> None:
        """Request the verification of an item before it is due.

        The request stays until a verification by any process is recorded. A repeated request changes nothing.
        """

    def wanted(self) -> tuple[tuple[str, int], ...]:
        """Return the requested items and the times of the requests, the oldest first."""

    def summary(self) -> IntegritySummary: ...

    def last_letter(self) -> int | None:
        """Return the second of the last e-mail to an administrator about damage."""

    def note_letter(self, at: int) -> None: ...


class ContentStore(Content, Protocol):
    """Content that can be scanned as a whole."""

    @property
    def place(self) -> object:
        """The name of the store in messages: a directory, or an address."""

    def holds(self, name: str) -> bool:
        """Return whether there is an object of that name, intact or damaged. Fast."""

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """Return a value that differs after every change of the object; None if there is no readable object. Fast."""

    def strays(self) -> Iterator[Problem]:
        """Yield the files in the store that belong to no object."""

    def check(self) -> None:
        """Raise `StorageError` if the store is not the one that was opened."""


class StoreCatalog(Catalog, Search, Protocol):
    """A catalogue that records which state of which store it lists, and can be rebuilt from that store.

    Both have a mark, which changes with each commit of the catalogue: first the mark of the store. A process that dies
    between the two leaves them in agreement all the same; a restored copy does not.
    """

    def names(self) -> Iterator[RepositoryName]:
        """Yield the names of all items, faster than the items."""

    def newest(self, prefixes: Iterable[str]) -> Instant | None:
        """Return the newest instant of a label with one of these prefixes, spelled as in labels; None without any."""

    def transfers(self) -> list[Transfer]:
        """Return all items that departed; they are few."""

    def forget_transfer(self, label: RepositoryName) -> None:
        """Delete a transfer that the store does not record any more."""

    def put_prepared(self, rows: Iterable[Any]) -> int:
        """Store items that were prepared for `put_all`, perhaps in another process. Return their number.

        The format of prepared items is internal to the adapter.
        """

    def check_search(self) -> None:
        """Raise `CatalogDamaged` if the data for `Search` is damaged. Takes seconds for a million items."""

    def agrees(self) -> bool:
        """Return whether this is the catalogue of the store in its present state, with all its items.

        The comparison uses the records of both.
        """

    def is_unmarked(self) -> bool:
        """Return whether neither store nor catalogue has a mark, as in earlier versions."""

    def check_store(self) -> None:
        """Raise `CatalogDamaged` if it is the catalogue of another store."""

    def expected_items(self) -> int | None:
        """Return how many items the store had after the last change; None if the store does not record it."""

    def settle_standing(self) -> None:
        """Record only the present state in the store, and no longer the one before the last change as well."""

    def begin_rebuild(self, *, always: bool) -> bool:
        """Record that this is not the catalogue of any store until `end_rebuild`.

        Return False if it agrees with its store, perhaps after a rebuild by another process, unless it is `always` to
        be done.
        """

    def end_rebuild(self) -> None:
        """Record that this is the catalogue of the store, with a new mark on both. The feed begins another epoch."""

    @property
    def changes(self) -> ChangeFeed:
        """The feed of its changes."""

    def renew_feed(self) -> None:
        """Begin another epoch of the feed, with the last entry of each item."""


class ReadItem(NamedTuple):
    """The name of an object to list, and the item as it was read ahead, if possible."""

    name: str
    stamp: tuple[int, ...] | None = None
    """The stamp of the content, before it was read."""
    prepared: Any = None
    """The value for `put_prepared`; None if the caller must read the item, for example because it is damaged."""


ReadAhead = Callable[[Iterable[str]], Iterator[Sequence[ReadItem]]]
"""Reads objects concurrently with the caller, some hundred at a time, and returns all in the order of their names."""

Job = TypeVar("Job")
Result = TypeVar("Result")

EVERYTHING: Final = "*"
"""Stands for all items in a journal, while the whole catalogue is read in."""


class ItemLocks(Protocol):
    """Locks on items by the names of their objects, among all threads and processes that change the same store.

    Calls block while another caller holds the item: never on an event loop. A lock ends with the process that holds it,
    however that ends.
    """

    def hold(self, *names: str) -> AbstractContextManager[None]:
        """Lock the items of these names within the `with`.

        They are locked in one fixed order, whatever the order of `names`, so that no two callers deadlock. A caller
        that holds some locks must take no more.
        """

    def hold_names(self, *names: str) -> AbstractContextManager[None]:
        """Lock other names that items may get within the `with`. A caller locks these names before items."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The items that a dead process was changing, or had changed recently."""

    names: tuple[str, ...]
    whole: bool
    """True if these are all; otherwise any item may be affected."""


class Journal(Protocol):
    """The items that this process is changing, and those that dead processes were changing.

    Calls block, from any thread. Entries survive the death of the process. They may not survive a crash of the machine:
    then the result is not `whole`.
    """

    def begin(self, names: Iterable[str]) -> None:
        """Record that these items are about to change. Raise `StorageError` on failure: then nothing may be changed."""

    def end(self, names: Iterable[str]) -> None:
        """Record that catalogue and content agree on these items. An item that was begun twice ends twice.

        The next process that opens the store finds items that never ended.
        """

    def under_way(self) -> tuple[str, ...]:
        """Return the items that this process is changing."""

    def take_abandoned(self) -> AbstractContextManager[tuple[Abandoned, ...]]:
        """Return the entries of dead processes, without those of living ones.

        They are deleted at the end of the `with`, unless it fails.
        """

    def close(self) -> None:
        """Close the journal. After a clean end nothing is left; unfinished entries stay, to be found."""


class Batching(Protocol):
    """Runs jobs of many threads in groups: an engine is called once for all waiting jobs."""

    def __call__(self, work: Callable[[Sequence[Job]], Sequence[Result | Exception]], /) -> Callable[[Job], Result]:
        """Return a function that returns the result of one job once it is done. It may be called from any thread.

        `work` returns the results of jobs in their order. An exception among them is raised to the caller of that job.
        An exception that `work` raises is raised to all callers of the group.
        """
