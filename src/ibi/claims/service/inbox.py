"""The inbox of an Archive: it accepts notifications, and records the claims and replies in them.

Any server may send there, so bounds hold for the size, the number in a minute and the number that waits, of one network
and in all. Registered Archives, which sign their notifications, have bounds of their own. The id identifies a
notification: a repeated one is accepted once. Being sent proves nothing; the `courier` checks whether the item says the
same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final

from ibi.claims.model import SIGNED, DeliveryState, ReceivedClaim, RemoteClaimState, SentClaim
from ibi.claims.rules import Notification, NotificationKind, read_notification
from ibi.claims.service.claim_context import (
    ClaimContext,
    InboxFull,
    ItemNotClaimable,
    NotificationConflict,
    SandboxClaim,
    TooManyNotifications,
)
from ibi.claims.service.registered_senders import RegisteredSenders
from ibi.copies.rules.remote_record import is_of_sandbox, label_in
from ibi.items.model.item import Item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.rules.errors import NoSuchClaim
from ibi.items.rules.related_items import find_labelled
from ibi.jobs.limits import LimitRows, LimitScope, RateLimiter
from ibi.standard.label import Label
from ibi.standard.vocabulary import State

MOST_BODY: Final = 64 * 1024
"""Bytes of a notification."""
MOST_WAITING: Final = 1000
MOST_OF_NETWORK: Final = 100
"""Claims that wait for an answer: in all, and of one network (/24, /48)."""
A_MINUTE: Final = 60
A_MINUTE_OF_NETWORK: Final = 20
"""Notifications that are accepted in a minute: in all, and of one network; as many may come at once."""
MOST_OF_ARCHIVE: Final = 1000
"""Claims that wait for an answer, of one registered Archive."""
A_MINUTE_OF_ALL_ARCHIVES: Final = 600
A_MINUTE_OF_ARCHIVE: Final = 60
"""Notifications of registered Archives that are accepted in a minute: in all, and of one."""
_FULL: Final = 3600
"""Seconds until a retry when an inbox is full of verified claims: people answer."""


class ArrivalRate(RateLimiter):
    """Bounds the notifications of each network, and of all. For one thread at a time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, rows: LimitRows | None = None) -> None:
        super().__init__(A_MINUTE, A_MINUTE_OF_NETWORK, TooManyNotifications, monotonic, rows)


class RegisteredRate(RateLimiter):
    """Bounds the notifications of each registered Archive, and of all. For one thread at a time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, rows: LimitRows | None = None) -> None:
        super().__init__(A_MINUTE_OF_ALL_ARCHIVES, A_MINUTE_OF_ARCHIVE, TooManyNotifications, monotonic, rows)


class NotificationInbox:
    """Accepts notifications. Calls block, from any thread, `receive` one at a time."""

    def __init__(
        self,
        context: ClaimContext,
        rate: ArrivalRate | None = None,
        *,
        senders: RegisteredSenders | None = None,
        registered_rate: RegisteredRate | None = None,
    ) -> None:
        """Without `senders` all notifications are those of strangers."""
        self._context, self._store, self._senders = context, context.store, senders
        self.rate, self._registered_rate = rate or ArrivalRate(), registered_rate or RegisteredRate()

    def seems_registered(self, signature: str) -> bool:
        """Return whether the signature names the key of a registered Archive. Then its body is read before it counts
        for its network."""
        return self._senders is not None and self._senders.knows(signature)

    def find_sender(self, signature: str, body: bytes) -> str | None:
        """Return the registered Archive that signed this body, as the network of its claims; None if none did."""
        return None if self._senders is None else self._senders.find(signature, body)

    def count(self, network: str) -> None:
        """Count a notification of a network or of a registered Archive; `TooManyNotifications`. On one thread."""
        (self._registered_rate if network.startswith(SIGNED) else self.rate).count(network)

    def receive(self, body: bytes, network: str) -> ReceivedClaim | None:
        """Accept a notification from that network. Return the claim that it makes, None if it is a reply.

        `InvalidNotification`, `ItemNotClaimable`, `SandboxClaim`, `NotificationConflict`, `NoSuchClaim`, `InboxFull`.
        """
        note = read_notification(body)
        if note.kind is NotificationKind.UNDO:
            return self._withdraw(note)
        if note.kind.is_reply:
            self._note_reply(note)
            return None
        return self._keep(self._claim(note, network))

    def _claim(self, note: Notification, network: str) -> ReceivedClaim:
        assert note.subject is not None  # it is no reply
        assert note.relation is not None
        item, named = self._find_item(note)
        label = self._find_claimant(note, item)
        relation = note.relation if label is not None or not note.relation.is_backlink else ClaimRelation.RELATED
        now = self._context.now()
        return ReceivedClaim(
            id=note.id,
            digest=sha256(repr(note).encode()).hexdigest(),
            item=str(item.rep),
            object=named,
            relation=relation,
            iri=note.iri,
            url=note.subject,
            claimant=() if label is None or not relation.is_backlink else (label.spelling,),
            is_offer=note.kind is NotificationKind.OFFER,
            origin=note.origin.id,
            origin_inbox=note.origin.inbox,
            name=note.name,
            network=network,
            received=now,
            due=now,
        )

    def _find_item(self, note: Notification) -> tuple[Item, str]:
        """Return the item that is claimed, and its URL in the notification."""
        for url in note.objects:
            label = label_in(url)
            item = None if label is None else find_labelled(self._context.catalog, label)
            if item is not None and item.state is State.ORIGINAL:
                return item, url
        raise ItemNotClaimable(url=note.objects[0] if note.objects else "nothing")

    def _find_claimant(self, note: Notification, item: Item) -> Label | None:
        """Return the label of the claimant, if it has one. Items of this Archive make their claims here, not by
        notification."""
        label = label_in(note.subject or "")
        if label is None or not label.is_dated:
            return None
        held = self._context.catalog.find(label)
        if item.is_called(label) or (held is not None and held.state is not State.COPY):
            raise ItemNotClaimable(url=note.subject)
        if is_of_sandbox(label) and not self._context.is_sandbox:
            raise SandboxClaim(url=note.subject)
        return label

    def _keep(self, claim: ReceivedClaim) -> ReceivedClaim:
        with self._store.together():
            known = self._store.received.find_id(claim.id)
            if known is not None:
                if known.digest != claim.digest:
                    raise NotificationConflict(id=claim.id)
                return known
            self._make_room(claim.network)
            return self._store.received.add(claim)

    def _make_room(self, network: str) -> None:
        """Drop expired claims if there is no room for another claim of that network. Raise the refusal if there is none
        even then."""
        is_signed = network.startswith(SIGNED)
        most_of_one = MOST_OF_ARCHIVE if is_signed else MOST_OF_NETWORK
        in_all, of_one = self._store.waiting(network)
        if of_one >= most_of_one and not self._context.expire(network):
            raise InboxFull(bound=LimitScope.NETWORK, retry_after=self._time_to_room(network))
        if in_all >= MOST_WAITING and not is_signed and not self._context.expire():
            raise InboxFull(bound=LimitScope.SERVER, retry_after=self._time_to_room(None))

    def _time_to_room(self, network: str | None) -> int:
        left = self._context.time_to_expiry(network)
        return _FULL if left is None else max(1, left)

    def _withdraw(self, note: Notification) -> ReceivedClaim:
        """Withdraw a claim for its sender. A waiting claim is gone at once. An accepted claim stays until the record of
        the claimant was read."""
        now = self._context.now()

        def withdrawn(row: ReceivedClaim) -> ReceivedClaim:
            if row.state is RemoteClaimState.WITHDRAWN:
                return row
            state = RemoteClaimState.WITHDRAWN if row.state is RemoteClaimState.PENDING else row.state
            return replace(row, state=state, changed=now, is_withdrawing=True, attempts=0, due=now)

        with self._store.together():
            known = self._store.received.find_id(note.in_reply_to or "")
            changed = None if known is None else self._store.received.change(known.number, withdrawn)
        if changed is None:
            raise NoSuchClaim(label="an item here", claimant=note.in_reply_to)
        return changed

    def _note_reply(self, note: Notification) -> None:
        """Record another Archive's reply to a claim that an item here has made."""
        now = self._context.now()

        def replied(row: SentClaim) -> SentClaim:
            if row.state is RemoteClaimState.WITHDRAWN:
                return row
            if note.kind is NotificationKind.UNPROCESSABLE:
                return replace(row, delivery=DeliveryState.REFUSED, reason=note.summary or "it cannot be processed")
            accepted = note.kind is NotificationKind.ACCEPT
            state = RemoteClaimState.ACCEPTED if accepted else RemoteClaimState.DECLINED
            if row.state is state:
                return row
            # The record of the item shows an acceptance, so it is read.
            due = now if accepted else None
            said = replace(row, state=state, summary=note.summary, changed=now, is_confirmed=False, attempts=0, due=due)
            return replace(said, delivery=DeliveryState.DELIVERED, reason=None)

        with self._store.together():
            known = self._store.sent.find_id(note.in_reply_to or "")
            if known is None or self._store.sent.change(known.number, replied) is None:
                raise NoSuchClaim(label="an item elsewhere", claimant=note.in_reply_to)
