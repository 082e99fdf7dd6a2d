"""The rule for the files of an item: the readers who get them while they are withheld from others.

| Reader | Gets the files |
|---|---|
| at an address inside the item's networks, or at any address if it has none, without an embargo | yes |
| at another address, or before the end of an embargo | only as one of the readers below |
| with an account or token that `READ_FILES` of `rights.TABLE` allows: owner, librarian, administrator, copier | yes |
| with a granted link that is not revoked and not over, unless the item is deleted | yes |
| of an earlier version | as of an item that has the restrictions of both |
| of an earlier version of a deleted item | only by a right |

The list of files is open to all readers, unless the item hides it: then only to readers with a right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from ibi.items.model.item import Item
from ibi.items.rules.rights import Belonging, ItemAct, may, require_right
from ibi.people.model.account import Actor
from ibi.people.rules.errors import NotAuthenticated
from ibi.requests.model import ReaderInquiry
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import IpAddress
from ibi.standard.vocabulary import State


class FileAccess(Enum):
    """The access of a reader to the files of an item, with its reason."""

    WITHHELD = "withheld"
    OPEN = "open"
    """Open to the client's address, as to all readers there."""
    BY_RIGHT = "by right"
    """Open to the account: owner, librarian or administrator. No cache may store it."""
    BY_LINK = "by link"
    """Open to the holder of a granted link. No cache may store it."""

    def __bool__(self) -> bool:
        return self is not FileAccess.WITHHELD


def access_by_address(item: Item, addresses: Iterable[IpAddress], now: Instant) -> FileAccess:
    """Return the access of a reader at these addresses. No address: the access of all readers, wherever they are."""
    return FileAccess.OPEN if item.visibility.is_open_to(addresses, now) else FileAccess.WITHHELD


def version_access_by_address(item: Item, addresses: Iterable[IpAddress], now: Instant) -> FileAccess:
    """Return the access to an earlier version. `item` has the restrictions of both versions."""
    return FileAccess.WITHHELD if item.state is State.DELETED else access_by_address(item, addresses, now)


def list_access_of_all(item: Item) -> FileAccess:
    """Return the access of all readers to the list of files."""
    return FileAccess.OPEN if item.visibility.listing else FileAccess.WITHHELD


def access_by_right(item: Item, service: LabelForms | None, who: Actor, now: Instant) -> FileAccess:
    """Return the access of an account to files that are withheld from its address. `service` names the Archive's own
    item."""
    is_allowed = may(who, ItemAct.READ_FILES, _withheld(item, service, now))
    return FileAccess.BY_RIGHT if is_allowed else FileAccess.WITHHELD


def require_access_by_right(item: Item, service: LabelForms | None, who: Actor, now: Instant) -> None:
    """Raise `NotAllowed` or `NotYourItem` unless the account may read files that are withheld from its address."""
    require_right(who, ItemAct.READ_FILES, _withheld(item, service, now))


def require_access_of_program(item: Item, service: LabelForms | None, who: Actor | None, now: Instant) -> None:
    """Refuse the files of an item that a program may not read. `who` is None without a token.

    Programs get a file by a token, wherever they are. Files that are open to all readers need no token.
    """
    if access_by_address(item, (), now):
        return
    if who is None:
        raise NotAuthenticated()
    require_access_by_right(item, service, who, now)


def access_by_link(item: Item | None, request: ReaderInquiry, now: int) -> FileAccess:
    """Return the access by the link that was granted for a request. `item` is None if it is no longer here."""
    is_there = item is not None and item.state is not State.DELETED
    return FileAccess.BY_LINK if is_there and request.is_open(now) else FileAccess.WITHHELD


def is_withheld_from_some(item: Item, now: Instant) -> bool:
    """Return whether the item has files that some readers do not get."""
    return bool(item.files) and not access_by_address(item, (), now)


def _withheld(item: Item, service: LabelForms | None, now: Instant) -> Belonging:
    # A file that is not open to all readers is judged as if the whole item were restricted.
    return replace(Belonging.of(item, service, now), is_restricted=True)
