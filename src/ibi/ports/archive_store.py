"""What services ask of the store of an Archive: bytes, their text, and the care for both and the catalogue.

Where the bytes of items are kept.

The text of files, to be searched: what reads it out of them, and where it is kept under the names of items.

Content and catalogue as the care for both needs them: to find what a crash or a backup left in disagreement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ibi.errors import ErrorKind, IbiError
from ibi.instant import Instant
from ibi.label import RepositoryName
from ibi.model.content import Change, IntegritySummary, KeptObject, NewObject, Problem, Source, Verification
from ibi.model.preview import RenderedPreview
from ibi.model.search import ExtractedText
from ibi.model.transfer import Transfer
from ibi.ports.catalog import Catalog, ChangeFeed, Search

OnBytes = Callable[[int], None]
OnCrc = Callable[[str, str], None]
"""Takes the SHA-512 of a file and its CRC-32."""


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


# --- full text --------------------------------------------------------------------------------------------------------


class TextReader(Protocol):
    """Reads the text out of files of strangers, within bounds of time and memory, whatever they are. Blocks."""

    def can_read(self, media_type: str, size: int) -> bool:
        """Whether there may be text in such a file."""

    def read(self, file: OpenFile, media_type: str) -> ExtractedText:
        """As far as it can be read; a file never makes this fail."""

    def stop(self) -> None:
        """End what is under way, from any thread; what is read then does not count."""


class TextIndex(Protocol):
    """Words of items and of their files, and how far the feed of changes was followed. Calls block, from any thread.
    Durable, and made anew from the store if it is lost: what it has of a file stays while an item has that file."""

    def position(self) -> tuple[str, int]:
        """The epoch of the feed and the number of the entry up to which it was followed."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def find_text(self, digest: str) -> str | None:
        """The text of the file with that SHA-512, if it was read before."""

    def put(self, name: RepositoryName, description: str, texts: Mapping[str, str]) -> None:
        """Have the item found by the words of its description and of the texts of its files, by their SHA-512, and by
        nothing else. Of very many words some may be left out: of each file alike."""

    def remove(self, name: RepositoryName) -> None:
        """Forget the item, and the texts that no other item has."""

    def postpone(self, name: RepositoryName, until: int) -> None:
        """Note that the item is to be looked at again at that second."""

    def due(self, second: int) -> tuple[RepositoryName, ...]:
        """Some of the items that are to be looked at again; they stay so until they are put or removed."""

    def find(self, text: str, most: int) -> tuple[RepositoryName, ...]:
        """The newest items that have all words that a search wants, of which some are in their files alone. Fields and
        filters are left to the caller."""

    def digests(self, name: RepositoryName) -> tuple[str, ...]:
        """The SHA-512 of each file by whose text the item is found."""

    def texts(self, name: RepositoryName) -> Iterator[str]:
        """The texts of the files of an item, each read when it is asked for."""

    def close(self) -> None: ...


# --- previews ---------------------------------------------------------------------------------------------------------


class MarkdownRenderer(Protocol):
    """Renders Markdown of strangers, within bounds of time and memory, whatever it is. Blocks."""

    @property
    def is_on(self) -> bool:
        """Whether anything is rendered."""

    def render(self, text: str) -> ExtractedText:
        """The elements, whole if there is no reason why not; a text never makes this fail."""

    def stop(self) -> None:
        """End what is under way, from any thread; what is rendered then does not count."""


class PreviewStore(Protocol):
    """Rendered previews by the SHA-512 of their files, followed by a colon and the declared encoding if there is one.
    Calls block, from any thread. Durable, bounded in size, the oldest dropped first; it may be lost."""

    def find(self, digest: str) -> RenderedPreview | None:
        """What was rendered, or refused; None if neither was yet."""

    def claim(self, digest: str, name: RepositoryName, now: int) -> bool:
        """Whether the caller is to render it: nobody else has begun, or not ended long after."""

    def put(self, digest: str, rendered: str | None, now: int) -> None:
        """Keep what was rendered, None if it was refused; unless the claim is gone, with the file."""

    def release(self, digest: str) -> None:
        """Give the claim back: it was not rendered."""

    def keep_only(self, name: RepositoryName, digests: Collection[str]) -> None:
        """Drop what was rendered for the item, but for the files with these SHA-512."""

    def close(self) -> None: ...


# --- archive store ----------------------------------------------------------------------------------------------------


class ContentStore(Content, Protocol):
    """Content that can be looked through as a whole."""

    @property
    def place(self) -> object:
        """What messages call it: a directory, or an address."""

    def holds(self, name: str) -> bool:
        """Whether there is an object of that name, whole or damaged. Quick."""

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """Another one after every change of the object; None if there is none that can be read. Quick."""

    def strays(self) -> Iterator[Problem]:
        """What lies in the store and belongs to no object."""

    def check(self) -> None:
        """A `StorageError` if the store is not the one that was opened."""


class StoreCatalog(Catalog, Search, Protocol):
    """A catalogue that says which state of which store it lists, and can be made anew from that store.

    Both have a mark, which changes with each commit of the catalogue: the store's first. A process that dies between
    the two leaves them in agreement all the same; a copy that was put back does not.
    """

    def names(self) -> Iterator[RepositoryName]:
        """The names of all items, in less time than the items."""

    def newest(self, prefixes: Iterable[str]) -> Instant | None:
        """The newest instant of a label with one of these prefixes, spelled as labels have them; None without any."""

    def transfers(self) -> list[Transfer]:
        """All items that departed; they are few."""

    def forget_transfer(self, label: RepositoryName) -> None:
        """The store does not say so any more."""

    def put_prepared(self, rows: Iterable[Any]) -> int:
        """`put_all` of items that were prepared for it, in another process perhaps; how that is done is the adapter's
        own."""

    def check_search(self) -> None:
        """`CatalogDamaged` if what `Search` relies on is damaged. Takes seconds for a million items."""

    # --- agreement ---

    def agrees(self) -> bool:
        """Whether this is the catalogue of the store as the store is now, as far as both say so, and has all its
        items."""

    def is_unmarked(self) -> bool:
        """Whether neither store nor catalogue has a mark, as those of earlier versions."""

    def check_store(self) -> None:
        """`CatalogDamaged` if it is the catalogue of another store."""

    def expected_items(self) -> int | None:
        """How many items the store had after the last change; None if the store does not say."""

    def settle_standing(self) -> None:
        """Have the store know the present state alone, and not the one before the last change as well."""

    def begin_rebuild(self, *, always: bool) -> bool:
        """Say that this is not the catalogue of any store until `end_rebuild`; false if it agrees with its store, as
        another process may have had it do meanwhile, and it is not `always` to be done."""

    def end_rebuild(self) -> None:
        """Say that this is the catalogue of the store, with a new mark on both. The feed begins another epoch."""

    @property
    def changes(self) -> ChangeFeed:
        """The feed of its changes."""

    def renew_feed(self) -> None:
        """Begin another epoch of the feed, with the last entry of each item."""


class ReadItem(NamedTuple):
    """The name of an object that is to be listed, and the item as it was read ahead, if it could be."""

    name: str
    stamp: tuple[int, ...] | None = None
    """That of the content, before it was read."""
    prepared: Any = None
    """For `put_prepared`; None if it has to be read by the caller, because it is damaged or elsewhere perhaps."""


ReadAhead = Callable[[Iterable[str]], Iterator[Sequence[ReadItem]]]
"""Reads objects beside the caller, some hundred at a time, and gives all of them in the order of their names."""

Job = TypeVar("Job")
Result = TypeVar("Result")

EVERYTHING: Final = "*"
"""Stands for all items in a journal: begun when the catalogue is read in as a whole."""


class ItemLocks(Protocol):
    """Locks on items by the names of their objects, among all threads and processes that change the same store. Calls
    block, for as long as another holds the item: never on an event loop.

    A lock ends with the process that holds it, however that ends.
    """

    def hold(self, *names: str) -> AbstractContextManager[None]:
        """Alone on the items of these names, within the `with`. Several are taken in one order, whatever the order of
        `names`, so that no two callers wait for each other; who holds some takes no more."""

    def hold_names(self, *names: str) -> AbstractContextManager[None]:
        """Alone on other names that items may get, within the `with`. Who wants items too takes these first."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The items that a dead process was changing, or had changed lately."""

    names: tuple[str, ...]
    whole: bool
    """Whether these are all; if not, it may have been any."""


class Journal(Protocol):
    """Which items are being changed by this process, and which were when others died. Calls block, from any thread.

    What was begun is there after the death of the process. After that of the machine it need not be: what is found is
    then not `whole`.
    """

    def begin(self, names: Iterable[str]) -> None:
        """These items are about to change. A `StorageError` if that cannot be noted: then nothing may be changed."""

    def end(self, names: Iterable[str]) -> None:
        """Catalogue and content agree on these items. One that was begun twice ends twice. Items never ended are found
        by the next process that opens the store."""

    def under_way(self) -> tuple[str, ...]:
        """The items that this process is changing."""

    def take_abandoned(self) -> AbstractContextManager[tuple[Abandoned, ...]]:
        """What dead processes left, forgotten at the end of the `with` unless that fails. What living ones have under
        way is not among it."""

    def close(self) -> None:
        """After a clean end nothing is left; what is still under way, is left to be found."""


class Batching(Protocol):
    """How jobs of many threads are done in groups: an engine is asked once for as many as wait."""

    def __call__(self, work: Callable[[Sequence[Job]], Sequence[Result | Exception]], /) -> Callable[[Job], Result]:
        """A function that gives what becomes of one job, once it is done, and may be called from any thread.

        `work` gives the results of jobs in their order; an exception among them is raised to the caller of that job,
        one that `work` itself raises to all callers of the group.
        """
