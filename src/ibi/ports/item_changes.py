"""What a change of items is made with: locks on them, a journal for the case of a crash, and work in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

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
