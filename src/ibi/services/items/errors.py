"""What keeps an item from being changed or read, beside what content and catalogue refuse themselves.

Short, because there are few of them, and each has its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ibi.label import RepositoryName
from ibi.model.item import Item
from ibi.model.transfer import Transfer
from ibi.ports.content import ContentMissing
from ibi.ports.errors import StorageError


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
