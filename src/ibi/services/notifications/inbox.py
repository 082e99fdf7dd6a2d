"""The inbox of an Archive: which notifications are taken, and what becomes of them.

Any server may send there. So what is taken is bounded: by its size, by how many come in a minute and by how many wait,
of one network and in all. Registered Archives, which sign what they send, have bounds of their own. A notification is
known by its id: sent twice, it is taken once. None is believed because it was sent; the `courier` looks whether its
item says the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final

from ibi.archive.errors import NoSuchClaim
from ibi.archive.related_items import find_labelled
from ibi.federation.notification import Notification, NotificationKind, read_notification
from ibi.federation.remote_record import is_of_sandbox, label_in
from ibi.label import Label
from ibi.model.item import Item
from ibi.model.notification import (
    SIGNED,
    ClaimRelation,
    DeliveryState,
    ReceivedClaim,
    RemoteClaimState,
    SentClaim,
)
from ibi.services.limits import LimitRows, LimitScope, RateLimiter
from ibi.services.notifications.answering import (
    ClaimContext,
    InboxFull,
    ItemNotClaimable,
    NotificationConflict,
    SandboxClaim,
    TooManyNotifications,
)
from ibi.services.notifications.registered_senders import RegisteredSenders
from ibi.vocabulary import State

MOST_BODY: Final = 64 * 1024
"""Bytes of a notification."""
MOST_WAITING: Final = 1000
MOST_OF_NETWORK: Final = 100
"""Claims that wait for an answer: in all, and of one network (/24, /48)."""
A_MINUTE: Final = 60
A_MINUTE_OF_NETWORK: Final = 20
"""Notifications that are taken in a minute: in all, and of one network; as many may come at once."""
MOST_OF_ARCHIVE: Final = 1000
"""Claims that wait for an answer, of one registered Archive."""
A_MINUTE_OF_ALL_ARCHIVES: Final = 600
A_MINUTE_OF_ARCHIVE: Final = 60
"""Notifications that are taken in a minute of registered Archives: in all, and of one."""
_FULL: Final = 3600
"""Seconds after which an inbox that is full of verified claims is worth another try: people answer."""


class ArrivalRate(RateLimiter):
    """How many notifications come from each network, and in all. For one thread at a time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, rows: LimitRows | None = None) -> None:
        super().__init__(A_MINUTE, A_MINUTE_OF_NETWORK, TooManyNotifications, monotonic, rows)


class RegisteredRate(RateLimiter):
    """The same for registered Archives."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, rows: LimitRows | None = None) -> None:
        super().__init__(A_MINUTE_OF_ALL_ARCHIVES, A_MINUTE_OF_ARCHIVE, TooManyNotifications, monotonic, rows)


class NotificationInbox:
    """Takes notifications. Calls block, from any thread, `receive` one at a time."""

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
        """Whether the signature names the key of a registered Archive: its body is worth reading before it is counted
        by its network."""
        return self._senders is not None and self._senders.knows(signature)

    def find_sender(self, signature: str, body: bytes) -> str | None:
        """The registered Archive that signed this body, as the network of its claims; None if none did."""
        return None if self._senders is None else self._senders.find(signature, body)

    def count(self, network: str) -> None:
        """One more notification of a network or of a registered Archive; `TooManyNotifications`. On one thread."""
        (self._registered_rate if network.startswith(SIGNED) else self.rate).count(network)

    def receive(self, body: bytes, network: str) -> ReceivedClaim | None:
        """Take a notification that came from that network; given is the claim that it makes, None if it is a reply.

        `InvalidNotification`, `ItemNotClaimable`, `SandboxClaim`, `NotificationConflict`, `NoSuchClaim`, `InboxFull`.
        """
        note = read_notification(body)
        if note.kind is NotificationKind.UNDO:
            return self._withdraw(note)
        if note.kind.is_reply:
            self._note_reply(note)
            return None
        return self._keep(self._claim(note, network))

    # --- claims ---

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
        """The item that is claimed, and as the sender names it."""
        for url in note.objects:
            label = label_in(url)
            item = None if label is None else find_labelled(self._context.catalog, label)
            if item is not None and item.state is State.ORIGINAL:
                return item, url
        raise ItemNotClaimable(url=note.objects[0] if note.objects else "nothing")

    def _find_claimant(self, note: Notification, item: Item) -> Label | None:
        """The label of what makes the claim. Items of this Archive make theirs here."""
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
        """Drop what has expired, if there is no room for another claim of that network; the refusal if there is none
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

    # --- replies ---

    def _withdraw(self, note: Notification) -> ReceivedClaim:
        """A claim that its sender takes back. One that waits is gone at once; what was accepted stays until the record
        of the claimant was looked at."""
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
        """What another Archive says to a claim that an item here has made."""
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
            # What was accepted shows in the record of the item, which is read for it.
            due = now if accepted else None
            said = replace(row, state=state, summary=note.summary, changed=now, is_confirmed=False, attempts=0, due=due)
            return replace(said, delivery=DeliveryState.DELIVERED, reason=None)

        with self._store.together():
            known = self._store.sent.find_id(note.in_reply_to or "")
            if known is None or self._store.sent.change(known.number, replied) is None:
                raise NoSuchClaim(label="an item elsewhere", claimant=note.in_reply_to)
