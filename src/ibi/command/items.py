"""Items as commands see them: those of a data directory, or of a server.

Each protocol here has an implementation in `local_items` and one in `remote_items`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ibi.claims.resources import ItemClaimResource, ReceivedClaimResource, SentClaimResource
    from ibi.command.item_output import Links, PublishedItem
    from ibi.items.model.file import File
    from ibi.items.model.item import Item
    from ibi.settings import Settings
    from ibi.standard.label import Label
    from ibi.standard.languages import LanguageTag

    AnyClaim = ItemClaimResource | ReceivedClaimResource | SentClaimResource


class LinkedItem(NamedTuple):
    item: Item
    links: Links
    is_unconfirmed: bool = False
    """True if its Archive may have given the Original away and does not know yet."""


class ItemFiles(NamedTuple):
    files: Sequence[File]
    read: Callable[[File, int], Iterable[bytes]]
    """Reads a file from an offset on."""


class Items(Protocol):
    """Items to read."""

    def find(self, label: Label, number: int | None) -> LinkedItem:
        """Return the item, or with a `number` that version of it."""

    def files(self, label: Label, number: int | None) -> ItemFiles:
        """Return the files of the item, or of that version of it."""

    def versions(self, label: Label) -> Iterator[dict[str, Any]]:
        """Yield the versions of the item as a server tells them, the newest first."""


@contextmanager
def opened_items(settings: Settings) -> Iterator[Items]:
    if settings.is_remote:
        from ibi.command.remote_items import RemoteItems

        yield RemoteItems(settings)
        return
    from ibi.command.archive_store import opened_store
    from ibi.command.local_items import LocalItems

    with opened_store(settings) as store:
        yield LocalItems(settings, store)


class SaidRelation(NamedTuple):
    kind: str
    """`next_edition`, `translation` or `metadata_item`; to withdraw a claim, `edition_of`, `translation_of` or
    `describes`."""
    other: Label
    language: LanguageTag | None
    """Of a translation."""


class SubmittedDeletion(NamedTuple):
    """A deletion that waits for a librarian."""

    draft: dict[str, Any]


class ItemChanges(Protocol):
    """Changes of items that need no files."""

    def relate(self, label: Label, said: SaidRelation, *, undo: bool) -> LinkedItem:
        """Record what is said of the item, or withdraw it."""

    def delete(
        self, label: Label, reason: str, replaced_by: Label | None, *, purge: bool
    ) -> LinkedItem | SubmittedDeletion:
        """Delete the item. To `purge` it also removes its earlier versions."""

    def restore(self, label: Label, number: int, message: str | None) -> PublishedItem:
        """Make an earlier version of the item the newest."""

    def claims(self, state: str) -> Iterator[AnyClaim]:
        """Yield claims within the Archive, claims of others on items here, and claims of items here on items
        elsewhere."""

    def answer_claim(self, label: Label, claimant: Label | str, word: str) -> LinkedItem:
        """Answer a claim on the item with `accept`, `decline` or `decline-network`, and return the item."""


def item_changes(settings: Settings) -> ItemChanges:
    if settings.is_remote:
        from ibi.command.remote_items import RemoteItemChanges

        return RemoteItemChanges(settings)
    from ibi.command.local_items import LocalItemChanges

    return LocalItemChanges(settings)
