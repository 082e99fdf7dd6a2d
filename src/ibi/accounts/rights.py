"""Who may do what with an item: one table, for the API, the pages and the commands.

Every item has an owner, which is an account; what was deposited without one belongs to the Archive. A token acts for
its account. `TABLE` says which scopes allow an act: on an item of one's own, on another's, and on the Archive's own
item, by which resolvers find it. Of the scopes `read < deposit < edit < admin` each includes those before it; `copy`
stands apart. `SITE_TABLE` says the same of what concerns no item, but the Archive as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ibi.accounts.errors import BelongsToAnother, NotAllowed, NotYourItem, RoleTooSmall
from ibi.instant import Instant
from ibi.languages import message
from ibi.messages.identification import LabelForms
from ibi.model.account import ROLE_SCOPES, Actor, Role, Scope, person_account, shown_account
from ibi.model.item import Item, name_one_item


class ItemAct(Enum):
    """What is to be done with an item; the value stands in messages."""

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
    """To whom an item belongs, seen from the account that asks."""

    OWN = "own"
    ANOTHERS = "another's"
    SERVICE = "the Archive's own item"


@dataclass(frozen=True, slots=True)
class Belonging:
    """What the table has to know of an item, or of a draft."""

    label: str
    owner: str | None
    """None: it belongs to the Archive."""
    is_restricted: bool = False
    """Whether there are readers who do not get its files now."""
    is_service: bool = False
    """Whether it is the Archive's own item."""

    @classmethod
    def of(cls, item: Item, service: LabelForms | None, now: Instant) -> Belonging:
        """`service` is the Archive's own item."""
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
    # Of restricted items; those of others are for all readers, with a token or without.
    (ItemAct.READ_FILES, _OWN): _DEPOSIT | _COPY,
    (ItemAct.READ_FILES, _ANOTHERS): _EDIT | _COPY,
    (ItemAct.READ_FILES, _SERVICE): _EDIT | _COPY,
    # A new item belongs to the account that deposits it.
    **{(ItemAct.DEPOSIT, whose): _DEPOSIT for whose in Whose},
    (ItemAct.EDIT_DRAFT, _OWN): _DEPOSIT,
    (ItemAct.EDIT_DRAFT, _ANOTHERS): _EDIT,
    (ItemAct.EDIT_DRAFT, _SERVICE): _ADMIN,
    # Where deposits are reviewed: others submit drafts and ask for deletions. A librarian's own deposits are not held
    # back: there may be one librarian.
    (ItemAct.PUBLISH, _OWN): _EDIT,
    (ItemAct.PUBLISH, _ANOTHERS): _EDIT,
    (ItemAct.PUBLISH, _SERVICE): _ADMIN,
    **{
        (act, whose): scopes
        for act in (ItemAct.UPDATE, ItemAct.RELATE, ItemAct.ANSWER, ItemAct.REPLY, ItemAct.DELETE)
        for whose, scopes in ((_OWN, _DEPOSIT), (_ANOTHERS, _EDIT), (_SERVICE, _ADMIN))
    },
    # An editor corrects and narrows; to show what its owner withholds is for them or for an administrator.
    (ItemAct.OPEN, _OWN): _DEPOSIT,
    (ItemAct.OPEN, _ANOTHERS): _ADMIN,
    (ItemAct.OPEN, _SERVICE): _ADMIN,
    # Collections belong to their curators. They change what is shown together, and nothing of the items.
    **{(ItemAct.COLLECT, whose): _EDIT for whose in Whose},
    (ItemAct.CURATE, _OWN): _DEPOSIT,
    (ItemAct.CURATE, _ANOTHERS): _EDIT,
    (ItemAct.CURATE, _SERVICE): _EDIT,
    # Earlier versions go for good; and an account does not choose what it has to answer for.
    **{(act, whose): _ADMIN for act in (ItemAct.PURGE, ItemAct.GIVE) for whose in Whose},
}


def may(who: Actor, act: ItemAct, item: Belonging) -> bool:
    """Whether `who` may do that with the item."""
    if act is ItemAct.READ_FILES and not item.is_restricted:
        return True
    return who.scope in TABLE[act, item.whose(who)]


def require_right(who: Actor, act: ItemAct, item: Belonging) -> None:
    """Refuse what the table does not allow: `NotAllowed` if the scope is too small for one's own item as well,
    `NotYourItem` if it would do for that."""
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
    """Whether it is a person on a page, who has a role, rather than a program with a token."""
    return who.token is None and (who.account or "").startswith(person_account(""))


def _role_of(scope: Scope) -> Role:
    """The least role that acts with the scope."""
    return next(role for role, scopes in ROLE_SCOPES.items() if scope in scopes)


def least_scope(act: ItemAct, whose: Whose) -> Scope:
    """The smallest scope that allows the act, `copy` left aside."""
    return next(scope for scope in Scope if scope in TABLE[act, whose])


# --- the Archive as a whole -------------------------------------------------------------------------------------------


class SiteAct(Enum):
    """What is to be done with the Archive or the resolver as a whole, on the pages under `/admin`; the value stands in
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
    # Librarians answer for the items: what is kept, whether it is whole, and who reads it.
    **dict.fromkeys((SiteAct.OVERSEE, SiteAct.READ_USAGE, SiteAct.VERIFY), _EDIT),
    # Addresses of people, of other Archives and of this machine.
    **dict.fromkeys(
        (SiteAct.ADMIT, SiteAct.SUBSCRIBE, SiteAct.READ_STORAGE, SiteAct.READ_SETTINGS, SiteAct.READ_AUDIT), _ADMIN
    ),
}


def may_administer(who: Actor, act: SiteAct) -> bool:
    """Whether `who` may do that with the Archive as a whole."""
    return who.scope in SITE_TABLE[act]


def require_site_right(who: Actor, act: SiteAct) -> None:
    """Refuse what `SITE_TABLE` does not allow: `NotAllowed`."""
    if not may_administer(who, act):
        raise _too_small(who, next(scope for scope in Scope if scope in SITE_TABLE[act]))
