"""The rights of accounts on items and on the Archive: tables for the API, the pages and the commands.

Every item has an owner, which is an account. An item deposited without an account belongs to the Archive. A token acts
for its account. `TABLE` lists the scopes that allow an act on one's own item, on another's item, and on the Archive's
own item, by which resolvers find it. Each of the scopes `read < deposit < edit < admin` includes those before it;
`copy` stands apart. `SITE_TABLE` lists the scopes for acts on the Archive as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ibi.items.model.item import Item, name_one_item
from ibi.people.model.account import ROLE_SCOPES, Actor, Role, Scope, person_account, shown_account
from ibi.people.rules.errors import BelongsToAnother, NotAllowed, NotYourItem, RoleTooSmall
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.standard.translatable import message


class ItemAct(Enum):
    """An act on an item. The value appears in messages."""

    READ = "reading all of its record"
    READ_FILES = message("reading its files")
    EDIT_DRAFT = message("working on the draft")
    PUBLISH = "publishing without review, and reviewing"
    DEPOSIT = "depositing"
    UPDATE = message("changing it")
    OPEN = message("making it more visible")
    RELATE = message("recording or withdrawing its relations")
    ANSWER = message("answering a claim on it")
    REPLY = message("answering readers who ask for its files, or write about it")
    DELETE = message("deleting it")
    PURGE = "purging it"
    GIVE = "giving it to another account"
    COLLECT = "making a collection, and naming its curator"
    CURATE = message("changing a collection, and removing it")


class Whose(Enum):
    """The owner of an item, seen from the account that asks."""

    OWN = "own"
    ANOTHERS = "another's"
    SERVICE = "the Archive's own item"


@dataclass(frozen=True, slots=True)
class Belonging:
    """The properties of an item or a draft that the table needs."""

    label: str
    owner: str | None
    """None: the item belongs to the Archive."""
    is_restricted: bool = False
    """True if some readers do not get its files now."""
    is_service: bool = False
    """True if it is the Archive's own item."""

    @classmethod
    def of(cls, item: Item, service: LabelForms | None, now: Instant) -> Belonging:
        """Return the properties of `item`. `service` names the Archive's own item."""
        is_service = service is not None and name_one_item(item.labels, service)
        return cls(str(item.rep), item.owner, not item.visibility.is_open_to((), now), is_service)

    def whose(self, who: Actor) -> Whose:
        if self.is_service:
            return Whose.SERVICE
        return Whose.OWN if self.owner is not None and self.owner == who.account else Whose.ANOTHERS


def _at_least(least: Scope) -> frozenset[Scope]:
    return frozenset(scope for scope in Scope if scope.includes(least))


_READ, _DEPOSIT, _EDIT, _ADMIN = map(_at_least, (Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN))
_COPY: Final = frozenset({Scope.COPY})
_OWN, _ANOTHERS, _SERVICE = Whose

TABLE: Final[Mapping[tuple[ItemAct, Whose], frozenset[Scope]]] = {
    **{(ItemAct.READ, whose): _READ for whose in Whose},
    # These rows are for restricted items. Files of other items are open to all readers, without a token too.
    (ItemAct.READ_FILES, _OWN): _DEPOSIT | _COPY,
    (ItemAct.READ_FILES, _ANOTHERS): _EDIT | _COPY,
    (ItemAct.READ_FILES, _SERVICE): _EDIT | _COPY,
    # A new item belongs to the account that deposits it.
    **{(ItemAct.DEPOSIT, whose): _DEPOSIT for whose in Whose},
    (ItemAct.EDIT_DRAFT, _OWN): _DEPOSIT,
    (ItemAct.EDIT_DRAFT, _ANOTHERS): _EDIT,
    (ItemAct.EDIT_DRAFT, _SERVICE): _ADMIN,
    # With review switched on, others submit drafts and ask for deletions. Librarians publish their own deposits without
    # review, because there may be only one librarian.
    (ItemAct.PUBLISH, _OWN): _EDIT,
    (ItemAct.PUBLISH, _ANOTHERS): _EDIT,
    (ItemAct.PUBLISH, _SERVICE): _ADMIN,
    **{
        (act, whose): scopes
        for act in (ItemAct.UPDATE, ItemAct.RELATE, ItemAct.ANSWER, ItemAct.REPLY, ItemAct.DELETE)
        for whose, scopes in ((_OWN, _DEPOSIT), (_ANOTHERS, _EDIT), (_SERVICE, _ADMIN))
    },
    # An editor corrects and restricts. Only the owner or an administrator shows what the owner withholds.
    (ItemAct.OPEN, _OWN): _DEPOSIT,
    (ItemAct.OPEN, _ANOTHERS): _ADMIN,
    (ItemAct.OPEN, _SERVICE): _ADMIN,
    # Collections belong to their curators. Changing a collection changes none of its items.
    **{(ItemAct.COLLECT, whose): _EDIT for whose in Whose},
    (ItemAct.CURATE, _OWN): _DEPOSIT,
    (ItemAct.CURATE, _ANOTHERS): _EDIT,
    (ItemAct.CURATE, _SERVICE): _EDIT,
    # Purging removes earlier versions for good, and no account chooses the items that it answers for.
    **{(act, whose): _ADMIN for act in (ItemAct.PURGE, ItemAct.GIVE) for whose in Whose},
}


def may(who: Actor, act: ItemAct, item: Belonging) -> bool:
    """Return whether the actor may do the act on the item."""
    if act is ItemAct.READ_FILES and not item.is_restricted:
        return True
    return who.scope in TABLE[act, item.whose(who)]


def require_right(who: Actor, act: ItemAct, item: Belonging) -> None:
    """Raise an error unless the table allows the act. `NotAllowed`: the scope is too small even for one's own item.
    `NotYourItem`: the scope would allow the act on one's own item."""
    if may(who, act, item):
        return
    needed = least_scope(act, item.whose(who))
    if who.scope not in TABLE[act, Whose.OWN]:
        raise _too_small(who, needed)
    if _is_signed_in(who):
        owner = None if item.is_service or item.owner is None else shown_account(item.owner)
        raise BelongsToAnother(
            label=item.label, owner=owner, act=act.value, role=_role_of(who.scope), needed=_role_of(needed)
        )
    raise NotYourItem(
        label=item.label,
        owner="the Archive itself" if item.is_service else shown_account(item.owner),
        act=act.value,
        needed=str(needed),
        account=shown_account(who.account),
        scope=str(who.scope),
    )


def _too_small(who: Actor, needed: Scope) -> NotAllowed:
    if _is_signed_in(who):
        return RoleTooSmall(role=_role_of(who.scope), needed=_role_of(needed))
    return NotAllowed(scope=str(who.scope), needed=str(needed))


def _is_signed_in(who: Actor) -> bool:
    """Return whether the actor is a signed-in person with a role, and not a program with a token."""
    return who.token is None and (who.account or "").startswith(person_account(""))


def _role_of(scope: Scope) -> Role:
    """Return the least role that acts with the scope."""
    return next(role for role, scopes in ROLE_SCOPES.items() if scope in scopes)


def least_scope(act: ItemAct, whose: Whose) -> Scope:
    """Return the smallest scope that allows the act, apart from `copy`."""
    return next(scope for scope in Scope if scope in TABLE[act, whose])


class SiteAct(Enum):
    """An act on the Archive or the resolver as a whole, on the pages under `/admin`. The value appears in the
    documentation."""

    OVERSEE = "seeing how the Archive stands"
    READ_USAGE = "seeing how much items are used"
    VERIFY = "seeing what verifications found, and having an item verified"
    ADMIT = "seeing and changing the register of Archives, and settling disputes"
    SUBSCRIBE = "ending follows and webhooks, and naming holders of Copies"
    READ_STORAGE = "seeing what takes how much of the disk"
    READ_SETTINGS = "seeing the settings"
    READ_AUDIT = "reading the audit log, and having it verified"


SITE_TABLE: Final[Mapping[SiteAct, frozenset[Scope]]] = {
    # Librarians answer for the items: storage, integrity and use.
    **dict.fromkeys((SiteAct.OVERSEE, SiteAct.READ_USAGE, SiteAct.VERIFY), _EDIT),
    # These show addresses of people, of other Archives and of this machine.
    **dict.fromkeys(
        (SiteAct.ADMIT, SiteAct.SUBSCRIBE, SiteAct.READ_STORAGE, SiteAct.READ_SETTINGS, SiteAct.READ_AUDIT), _ADMIN
    ),
}


def may_administer(who: Actor, act: SiteAct) -> bool:
    """Return whether the actor may do the act on the Archive as a whole."""
    return who.scope in SITE_TABLE[act]


def require_site_right(who: Actor, act: SiteAct) -> None:
    """Raise `NotAllowed` unless `SITE_TABLE` allows the act."""
    if not may_administer(who, act):
        raise _too_small(who, next(scope for scope in Scope if scope in SITE_TABLE[act]))
