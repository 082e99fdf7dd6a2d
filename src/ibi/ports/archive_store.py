"""Content and catalogue as the care for both needs them: to find what a crash or a backup left in disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ibi.instant import Instant
from ibi.label import RepositoryName
from ibi.model.content import Problem
from ibi.model.transfer import Transfer
from ibi.ports.catalog import Catalog, ChangeFeed, Search
from ibi.ports.content import Content


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
