"""Claims between Archives: the errors, the gateway and the context that their services share, and the answers of
people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from ibi.accounts.rights import ItemAct
from ibi.archive.errors import ClaimAccepted, NoSuchClaim
from ibi.archive.life_cycle import Act, require
from ibi.archive.related_items import ClaimState, claim_state, decline, take_back_decline
from ibi.errors import ErrorKind, IbiError
from ibi.label import Label, RepositoryName, parse
from ibi.languages import LanguageTag
from ibi.messages.identification import LabelForms
from ibi.model.item import Draft, Item
from ibi.model.notification import (
    SIGNED,
    ClaimRelation,
    FoundItem,
    OutgoingKind,
    OutgoingNotification,
    ReceivedClaim,
    RelatedLink,
    RemoteClaimState,
    SenderCheck,
    SentClaim,
    Unreached,
)
from ibi.ports.catalog import Catalog, Link
from ibi.ports.federation import Notifications, Rows
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.services.items.stored_item import with_backlink_to
from ibi.services.limits import LimitExceeded
from ibi.vocabulary import State

# --- refusals ---------------------------------------------------------------------------------------------------------


class ItemNotClaimable(IbiError):
    """The notification is about {url}, which is not an item whose Original is kept here."""

    code = "item-not-claimable"
    kind = ErrorKind.NOT_FOUND
    request_field = "body"


class NotificationConflict(IbiError):
    """Another notification with the id {id} was received before: give each one an id of its own."""

    code = "notification-conflict"
    kind = ErrorKind.CONFLICT
    request_field = "id"


class InboxFull(LimitExceeded):
    """Too many notifications wait for an answer here: try again in {retry_after} seconds."""

    code = "inbox-full"
    kind = ErrorKind.TOO_MANY


class TooManyNotifications(LimitExceeded):
    """Too many notifications come: wait {retry_after} seconds and try again."""

    code = "too-many-notifications"
    kind = ErrorKind.TOO_MANY


class SandboxClaim(IbiError):
    """{url} is an item of a sandbox, whose names are for trying out: they stay on their machine."""

    code = "sandbox-claim"
    kind = ErrorKind.FORBIDDEN
    request_field = "body"


class LanguageNotKnown(IbiError):
    """The claim of {claimant} on {label} cannot be accepted yet: its language is not known, because its Archive could
    not be asked ({reason}). It is asked again."""

    code = "language-not-known"
    kind = ErrorKind.CONFLICT
    request_field = "claimant"


class ClaimWithdrawn(IbiError):
    """The claim of {claimant} on {label} was withdrawn, or its item does not say so: there is nothing to answer."""

    code = "claim-withdrawn"
    kind = ErrorKind.CONFLICT
    request_field = "claimant"


UNVERIFIED_FOR: Final = 3 * 86_400
"""Seconds after which an unverified claim of a stranger expires."""
ACTOR: Final = "notifications"
"""The author of versions that record another Archive's word."""


class NotificationGateway(Protocol):
    """Reaches other Archives and services at the addresses in notifications. Never raises for their errors, and dials
    no address that the address guard forbids."""

    async def find_item(self, label: Label) -> FoundItem | Unreached:
        """Return the page of an item elsewhere, found by its persistent URL: its record, and its inbox."""

    async def read_page(self, url: str) -> str | Unreached:
        """Return the content of a Web page: its links for programs and its text, within a bound."""

    async def deliver(self, inbox: str, body: bytes) -> Unreached | None:
        """Send a notification. Return None once it was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimContext:
    """The Archive of the claims, with its stores. Calls block, from any thread."""

    store: Notifications
    repository: ItemRepository
    deposits: Deposits
    """With the rights of the Archive itself."""
    now: Callable[[], int]
    new_id: Callable[[], str]
    """Returns an unused URI for a notification."""
    is_sandbox: bool = False

    @property
    def catalog(self) -> Catalog:
        return self.repository.catalog

    def find_original(self, name: str) -> Item | None:
        """Return the item of that repository name, if its Original is here."""
        item = self.catalog.find(RepositoryName.parse(name))
        return item if item is not None and item.state is State.ORIGINAL else None

    def queue(self, kind: OutgoingKind, about: int, identifier: str | None = None) -> None:
        """Queue a notification. The courier sends it at its next look."""
        now = self.now()
        self.store.outgoing.add(
            OutgoingNotification(id=identifier or self.new_id(), kind=kind, about=about, made=now, due=now)
        )

    def expire(self, network: str | None = None) -> int:
        """Drop claims that waited for `UNVERIFIED_FOR` seconds without verification, and return their number. Take the
        claims of that network, or without one those of all but registered Archives."""
        before = self.now() - UNVERIFIED_FOR
        with self.store.together():
            gone = [each for each in self._unverified(network) if each.received <= before]
            for claim in gone:
                self.store.received.remove(claim.number)
        return len(gone)

    def time_to_expiry(self, network: str | None = None) -> int | None:
        """Return the seconds until the next of these claims expires; None if none does."""
        first = next(self._unverified(network), None)
        return None if first is None else first.received + UNVERIFIED_FOR - self.now()

    def _unverified(self, network: str | None) -> Iterator[ReceivedClaim]:
        waiting = self.store.pending(network)
        return (
            each for each in waiting if each.check is not SenderCheck.VERIFIED and not each.network.startswith(SIGNED)
        )

    def settle(self, claim: ReceivedClaim, state: RemoteClaimState) -> None:
        """Note the state of a received claim, and tell its sender if that is new to it."""

        def settled(row: ReceivedClaim) -> ReceivedClaim:
            return _with_state(row, state, self.now())

        with self.store.together():
            before = self.store.received.find(claim.number)
            after = self.store.received.change(claim.number, settled)
            if before is None or after is None or not after.is_offer or before.answered == after.answered:
                return
            accepted = after.answered is RemoteClaimState.ACCEPTED
            self.queue(OutgoingKind.ACCEPT if accepted else OutgoingKind.REJECT, after.number)


def _with_state(row: ReceivedClaim, state: RemoteClaimState, now: int) -> ReceivedClaim:
    told = state if state in {RemoteClaimState.ACCEPTED, RemoteClaimState.DECLINED} else row.answered
    changed = row.changed if row.state is state else now
    due = row.due if state is RemoteClaimState.PENDING or row.is_withdrawing else None
    return replace(row, state=state, answered=told, changed=changed, due=due)


def forms_words(forms: LabelForms) -> tuple[str, ...]:
    return tuple(label.spelling for label in forms.labels)


# --- answering --------------------------------------------------------------------------------------------------------


Row = TypeVar("Row", ReceivedClaim, SentClaim)
_PAGE = 500
PENDING = frozenset({RemoteClaimState.PENDING})
ANSWERS: Final = ("accept", "decline", "decline-network")
"""The last one declines all other claims of the same network, too."""
_ANSWERS = {ClaimState.ACCEPTED: RemoteClaimState.ACCEPTED, ClaimState.DECLINED: RemoteClaimState.DECLINED}


@dataclass(frozen=True, slots=True)
class RemoteClaims:
    """Claims between this Archive and others, as far as they concern an actor. Calls block, from any thread.

    An answer is written into the record of the item, as for claims within one Archive. The record then settles the
    claim. So a crash between the two only delays the answer.
    """

    context: ClaimContext
    deposits: Deposits
    """With the rights of the actor."""

    def received(
        self, states: Collection[RemoteClaimState] = PENDING, after: int = 0
    ) -> Iterator[tuple[ReceivedClaim, Item]]:
        """Yield the claims on items here that the actor may answer, in the order in which they came, each with its
        item."""
        for claim in _every(self.context.store.received, states, after):
            item = self._find_permitted(claim.item, ItemAct.ANSWER)
            if item is not None:
                yield claim, item

    def find(self, number: int) -> ReceivedClaim | None:
        """Return the claim of that number, if the actor may answer it."""
        claim = self.context.store.received.find(number)
        return None if claim is None or self._find_permitted(claim.item, ItemAct.ANSWER) is None else claim

    def sent(self, states: Collection[RemoteClaimState] = PENDING, after: int = 0) -> Iterator[tuple[SentClaim, Item]]:
        """Yield the claims of items here with relations that the actor may change, in the order in which they were
        made."""
        for claim in _every(self.context.store.sent, states, after):
            item = self._find_permitted(claim.claimant, ItemAct.RELATE)
            if item is not None:
                yield claim, item

    def _find_permitted(self, name: str, act: ItemAct) -> Item | None:
        item = self.context.catalog.find(RepositoryName.parse(name))
        return item if item is not None and self.deposits.may(act, item) else None

    def answer(self, word: str, label: Label, claimant: Label | str, who: str) -> Item:
        """Give one of `ANSWERS`, and return the item claimed."""
        match word:
            case "accept":
                return self.accept(label, claimant, who)
            case "decline":
                return self.decline(label, claimant, who)
        return self.decline_network(label, claimant, who)

    def accept(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Accept a claim, and return the item claimed, which names the claimant from now on, by its label or its URL.
        Raises the error that prevents this."""
        item, claims = self._find(label, claimant)
        claim = claims[0]

        def accepted(now: Item) -> Item:
            return self._accept(now, claim)

        changed = self.deposits.change({item.rep: accepted}, who, f"Accepted the claim of {claim.url}", act="accept")
        for each in claims:
            self.context.settle(each, RemoteClaimState.ACCEPTED)
        return changed[item.rep]

    def decline(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Decline a claim, and return the item claimed. The claim can still be accepted later. A review that was
        accepted is no longer shown."""
        item, claims = self._find(label, claimant)
        claim = claims[0]
        if claim.relation.is_backlink and _said_to(item, claim) is ClaimState.ACCEPTED:
            raise ClaimAccepted(label=str(item.rep), claimant=str(claimant))
        message = f"Declined the claim of {claim.url}"
        changed = self.deposits.change({item.rep: lambda now: _decline(now, claim)}, who, message, act="decline")
        for each in claims:
            self.context.settle(each, RemoteClaimState.DECLINED)
        return changed[item.rep]

    def decline_network(self, label: Label, claimant: Label | str, who: str) -> Item:
        """Decline a claim, and all other waiting claims of its network, or of its registered Archive, that the actor
        may answer. Return the item of the first one."""
        network = self._find(label, claimant)[1][0].network
        changed = self.decline(label, claimant, who)
        for claim in self.context.store.pending(network):
            item = self._find_permitted(claim.item, ItemAct.ANSWER)
            if item is None:
                continue
            with suppress(NoSuchClaim, ClaimWithdrawn, ClaimAccepted):  # answered or withdrawn meanwhile
                self.decline(item.rep, parse(claim.claimant[0]) if claim.claimant else claim.url, who)
        return changed

    def _find(self, label: Label, claimant: Label | str) -> tuple[Item, list[ReceivedClaim]]:
        """Return the item, and all notifications of the one claim, verified ones first."""
        item = self.context.repository.find(label)
        self.deposits.require(ItemAct.ANSWER, item)
        found = [each for each in self.context.store.received.about(str(item.rep)) if _is_made_by(each, claimant)]
        if not found:
            raise NoSuchClaim(label=str(item.rep), claimant=str(claimant))
        standing = [each for each in found if each.state is not RemoteClaimState.WITHDRAWN]
        if not standing:
            raise ClaimWithdrawn(label=str(item.rep), claimant=str(claimant))
        first = min(standing, key=lambda each: (each.inbox is None, -each.number))
        return item, [first, *(each for each in standing if each != first and each.relation is first.relation)]

    def _accept(self, item: Item, claim: ReceivedClaim) -> Item:
        forms = claim.forms
        if forms is None:
            return with_related_link(item, claim)
        said = _as_draft(item, claim)
        return with_backlink_to(self.context.catalog, take_back_decline(item, forms), said, forms)


def _every(rows: Rows[Row], states: Collection[RemoteClaimState], after: int) -> Iterator[Row]:
    while found := rows.list(states, after, _PAGE):
        yield from found
        after = found[-1].number


def settled_state(item: Item, claim: ReceivedClaim) -> RemoteClaimState:
    """Return the state of a claim, by the item's record. If the record says nothing, the answer that the sender got
    decides."""
    if claim.state is RemoteClaimState.WITHDRAWN or not claim.relation.is_backlink:
        return claim.state
    said = _said_to(item, claim)
    if said is not ClaimState.PENDING:
        return _ANSWERS[said]
    # It named the claimant once: that was taken back here.
    return RemoteClaimState.DECLINED if claim.answered is RemoteClaimState.ACCEPTED else RemoteClaimState.PENDING


def with_related_link(item: Item, claim: ReceivedClaim) -> Item:
    require(item, Act.RELATE)
    link = RelatedLink(
        claim.relation, claim.url, claim.name, claim.iri if claim.relation is ClaimRelation.RELATED else None
    )
    return replace(item, related=(*_without_link(item, claim), link))


def _without_link(item: Item, claim: ReceivedClaim) -> tuple[RelatedLink, ...]:
    return tuple(each for each in item.related if (each.kind, each.url) != (claim.relation, claim.url))


def _decline(item: Item, claim: ReceivedClaim) -> Item:
    forms = claim.forms
    if forms is not None:
        return decline(item, forms)
    return replace(item, related=_without_link(item, claim))


def _said_to(item: Item, claim: ReceivedClaim) -> ClaimState:
    forms = claim.forms
    assert forms is not None  # a claim of an item has its label
    return claim_state(item, Link(claim.relation.value), forms)


def _as_draft(item: Item, claim: ReceivedClaim) -> Draft:
    """Return the claimant's statement about the item, as a draft that could be here."""
    match claim.relation:
        case ClaimRelation.EDITION_OF:
            return Draft(edition_of=item.labels)
        case ClaimRelation.DESCRIBES:
            return Draft(describes=item.labels)
    if claim.language is None:
        raise LanguageNotKnown(
            label=str(item.rep), claimant=claim.claimant[0], reason=claim.reason or "it is asked at this moment"
        )
    return Draft(translation_of=item.labels, language=LanguageTag.parse(claim.language, registered=False))


def _is_made_by(claim: ReceivedClaim, claimant: Label | str) -> bool:
    return claim.url == claimant if isinstance(claimant, str) else claim.is_made_by(claimant)
