"""The object that holds an item: its logical files, which are the item's own below `doc/` and its records; and why an
item cannot be changed or read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ibi.label import RepositoryName
from ibi.model.content import Bytes, Derived, KeptObject, Source, TakenFile
from ibi.model.item import Item
from ibi.model.item_json import encode_item, encode_local
from ibi.model.transfer import Transfer
from ibi.ports.content import ContentMissing
from ibi.ports.errors import StorageError

ITEM: Final = "item.json"
LOCAL: Final = "local.json"
TRANSFERRED: Final = "transferred.json"
"""All that a version has in which the item is not here any more, since its Original was given to another Archive."""
DOC: Final = "doc/"


MakeItem = Callable[[Mapping[str, TakenFile]], Item]
"""Makes an item of what its files are, by their paths below `doc/`; those that it keeps are not among them."""


def object_of(item: Item, files: Mapping[str, Source]) -> dict[str, Source]:
    """The logical files of a version."""
    return {**_documents(files), ITEM: Bytes(encode_item(item)), LOCAL: Bytes(encode_local(item))}


def _documents(files: Mapping[str, Source]) -> dict[str, Source]:
    return {DOC + path: source for path, source in files.items()}


class LateItem:
    """An item that is made when the store has taken its files in: what its records tell of them is known only then."""

    def __init__(self, make: MakeItem, record: bytes | None = None) -> None:
        """`record` is its `item.json` as it is at another Archive, which is kept byte for byte."""
        self._make, self._record = make, record
        self._item: Item | None = None

    @property
    def item(self) -> Item:
        """To be asked when the object is kept."""
        assert self._item is not None  # a store asks for every file before it keeps an object
        return self._item

    def object_of(self, files: Mapping[str, Source]) -> dict[str, Source]:
        """The logical files of a version; the records come last."""
        return {
            **_documents(files),
            ITEM: Derived(self._encode_once),
            LOCAL: Derived(lambda taken: encode_local(self._make_once(taken))),
        }

    def _encode_once(self, taken: Mapping[str, TakenFile]) -> bytes:
        item = self._make_once(taken)
        return encode_item(item) if self._record is None else self._record

    def _make_once(self, taken: Mapping[str, TakenFile]) -> Item:
        if self._item is None:
            self._item = self._make({path.removeprefix(DOC): each for path, each in taken.items()})
        return self._item


def is_other(path: str) -> bool:
    """Whether a logical file is neither a record nor one of the item's files."""
    return path not in (ITEM, LOCAL, TRANSFERRED) and not path.startswith(DOC)


def is_transferred(kept: KeptObject) -> bool:
    """Whether the object tells no more than where the item went."""
    return TRANSFERRED in kept.head.files


# --- refusals ---------------------------------------------------------------------------------------------------------

# What keeps an item from being changed or read, beside what content and catalogue refuse themselves.


class ChangeUnfinished(StorageError):
    """{label} is kept as it was asked for, but not everything that speaks of it could be written ({reason}). That is
    made good with the next change or at the next start: do not repeat the request."""

    code = "change-unfinished"


class ItemTransferred(ContentMissing):
    """{name} has no content here: its Original was given to another Archive."""

    def __init__(self, transfer: Transfer) -> None:
        super().__init__(name=str(transfer.rep))
        self.transfer = transfer


@contextmanager
def unfinished_if_refused(item: Item | RepositoryName) -> Iterator[None]:
    """The item is kept by now: a refusal of the disk must not say that nothing was done."""
    try:
        yield
    except ChangeUnfinished:
        raise
    except StorageError as error:
        raise unfinished(item, error) from error


def unfinished(item: Item | RepositoryName, error: StorageError) -> ChangeUnfinished:
    """In its own words the refusal would say that nothing was done."""
    known = error.parameters
    reason = f"{known['path']}: {known['reason']}" if known.keys() >= {"path", "reason"} else str(error)
    return ChangeUnfinished(label=str(item.rep if isinstance(item, Item) else item), reason=reason)
