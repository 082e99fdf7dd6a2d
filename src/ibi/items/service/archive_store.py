"""The open items of an Archive: their store and catalogue, with recovery, agreement and verification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack

from ibi.items.ports.archive_store import Batching, ContentStore, ItemLocks, Journal, ReadAhead, StoreCatalog
from ibi.items.ports.catalog import ChangeFeed, Search
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.store_listing import ListingResult, StoreListing, ignore_item, ignore_rebuild
from ibi.items.service.store_verification import StoreVerification, Verified, VerifyAll, lists_name
from ibi.items.service.stored_item import name_of
from ibi.people.ports import AuditLog
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName


def _pass(step: str) -> None:
    """Do nothing: by default steps are not watched."""


class ArchiveStore(ItemRepository):
    """The open items of one Archive. Each process opens its own; many may at a time."""

    def __init__(
        self,
        content: ContentStore,
        catalog: StoreCatalog,
        *,
        journal: Journal,
        locks: ItemLocks,
        batching: Batching,
        integrity: Integrity,
        audit: AuditLog | None = None,
        on_step: Callable[[str], None] = _pass,
    ) -> None:
        """`agree` has to follow before any other use."""
        super().__init__(
            content,
            catalog,
            journal=journal,
            locks=locks,
            batching=batching,
            on_step=on_step,
            integrity=integrity,
            audit=audit,
        )
        self._objects, self._store_catalog, self._opened = content, catalog, ExitStack()
        self._listing = StoreListing(self, content, catalog, journal)
        self._verification = StoreVerification(self, content, self._listing.unkept_names)
        self.swept = ListingResult()
        """The result of the recovery when the store was opened."""

    def agree(
        self,
        forget_given_out: Callable[[], None],
        *,
        on_item: Callable[[], None] = ignore_item,
        on_rebuild: Callable[[int | None], None] = ignore_rebuild,
        give_up_missing: bool = False,
        read_ahead: ReadAhead | None = None,
    ) -> None:
        """Finish the changes of crashed processes. A catalogue that lists another state of the store is made to agree
        with the store, item by item.

        `on_item` is called for each item that this has to read. `on_rebuild` is called before all items have to be
        read, with their number as far as it is known. `forget_given_out` records that the knowledge of labels given out
        may be incomplete. `read_ahead` reads items ahead when all of them are needed.

        `CatalogDamaged` if the catalogue is that of another store. `StoreIncomplete` if items are missing from the
        store, unless `give_up_missing`.
        """
        self._listing.read_ahead = read_ahead
        self.swept = self._listing.sweep(on_item, on_rebuild, forget_given_out, give_up_missing=give_up_missing)

    @property
    def is_rebuilt(self) -> bool:
        """True if all items were read to make the catalogue agree with the store."""
        return self._listing.is_rebuilt

    def take_over(self, opened: ExitStack) -> None:
        """Close these with the store, before anything that it took over earlier."""
        self._opened.push(opened.pop_all())

    def close(self) -> None:
        self._opened.close()

    @property
    def changes(self) -> ChangeFeed:
        """The feed of changes."""
        return self._store_catalog.changes

    @property
    def search(self) -> Search:
        """The search over the items."""
        return self._store_catalog

    def newest(self, identity: Identity) -> Instant | None:
        """Return the newest date of a stored label under the prefixes of an identity."""
        return self._store_catalog.newest(identity.prefixes)

    def holds(self, name: RepositoryName) -> bool:
        """Return whether the store has an item of that name, whole or damaged."""
        return self._objects.holds(name_of(name))

    def check(self) -> None:
        """Raise an error if the store or the catalogue was exchanged since it was opened. For the check of
        readiness."""
        self._objects.check()
        self._store_catalog.check()

    def __enter__(self) -> ArchiveStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_listed(self, name: str) -> bool:
        """Return whether the catalogue has an item of that name."""
        return lists_name(self.catalog, name)

    def rebuild(self, on_item: Callable[[], None] = ignore_item) -> ListingResult:
        """Rebuild the catalogue from the store. See `StoreListing.rebuild`."""
        return self._listing.rebuild(on_item)

    def verify(
        self,
        labels: Iterable[Label] = (),
        on_bytes: Callable[[int], None] | None = None,
        *,
        before: int | None = None,
        verify_all: VerifyAll | None = None,
    ) -> Iterator[Verified]:
        """Verify items. See `StoreVerification.verify`."""
        return self._verification.verify(labels, on_bytes, before=before, verify_all=verify_all)

    def verify_item(self, name: str, on_bytes: Callable[[int], None] | None = None) -> Verified:
        """Verify one item, record the result, and list the item if it can be read again."""
        (verified,) = self.verify_items((name,), on_bytes)
        return verified

    def verify_items(self, names: Sequence[str], on_bytes: Callable[[int], None] | None = None) -> list[Verified]:
        """Verify several items, and record all results at once."""
        return self._verification.verify_items(names, on_bytes)
