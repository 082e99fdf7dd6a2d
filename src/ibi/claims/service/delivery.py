"""Delivers notifications: finds the inbox, writes the notification, and notes the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import msgspec
import structlog

from ibi.claims.model import (
    DeliveryState,
    FoundItem,
    OutgoingKind,
    OutgoingNotification,
    ReceivedClaim,
    RemoteClaimState,
    SentClaim,
    Unreached,
)
from ibi.claims.rules import RELATIONS, Party, Relationship, Sender, offer_document, reply_document
from ibi.claims.service.checking import PATIENCE, ClaimChecker, wait_after
from ibi.claims.service.claim_context import ClaimContext, NotificationGateway
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import InvalidOrigin, Origin

_DELETED = "the item was deleted there"
_NO_INBOX = "its page announces no inbox"
_ANNOUNCED = "its inbox takes no offers: the claim was announced, and no answer is expected"


class NotificationDelivery:
    def __init__(
        self,
        context: ClaimContext,
        gateway: NotificationGateway,
        checker: ClaimChecker,
        sender: Sender,
        persistent_url: Callable[[LabelForms], str],
    ) -> None:
        self._context, self._store, self._gateway = context, context.store, gateway
        self._checker, self._sender, self._persistent_url = checker, sender, persistent_url
        self._log = structlog.get_logger("ibi.claims")

    async def deliver(self, note: OutgoingNotification) -> None:
        if note.kind.is_answer:
            claim = await asyncio.to_thread(self._store.received.find, note.about)
            failed = Unreached("the claim is gone", is_final=True) if claim is None else await self._answer(note, claim)
            await asyncio.to_thread(self._note_outcome, note, failed, None)
            return
        made = await asyncio.to_thread(self._store.sent.find, note.about)
        if made is None:
            gone = Unreached("the claim is gone", is_final=True)
            await asyncio.to_thread(self._note_outcome, note, gone, None)
        elif note.kind is OutgoingKind.UNDO:
            failed = await self._undo(note, made)
            await asyncio.to_thread(self._note_outcome, note, failed, made.inbox)
        else:
            await self._make(note, made)

    async def _make(self, note: OutgoingNotification, claim: SentClaim) -> None:
        """Offer or announce a claim of an item here. The page of the other item has to be found for it, so its record
        is read too."""
        if claim.state is not RemoteClaimState.PENDING:
            done = Unreached(f"it was {claim.state.value} before", is_final=True)
            await asyncio.to_thread(self._note_outcome, note, done, None)
            return
        found = await self._gateway.find_item(claim.forms.labels[0])
        failed, inbox = await self._offer(note, claim, found)
        await asyncio.to_thread(self._note_outcome, note, failed, inbox)
        if isinstance(found, FoundItem) and not found.is_deleted:
            await asyncio.to_thread(self._checker.learn, claim, found)

    async def _offer(
        self, note: OutgoingNotification, claim: SentClaim, found: FoundItem | Unreached
    ) -> tuple[Unreached | None, str | None]:
        if isinstance(found, Unreached):
            return found, None
        if found.is_deleted:
            return Unreached(_DELETED, is_final=True), None
        if found.inbox is None:
            return Unreached(_NO_INBOX), None
        target = _party(found.inbox)
        document = offer_document(
            self._sender,
            target,
            note.id,
            self._relationship(claim, found.url),
            announces=note.kind is OutgoingKind.ANNOUNCE,
        )
        return await self._gateway.deliver(target.inbox, msgspec.json.encode(document)), target.inbox

    async def _undo(self, note: OutgoingNotification, claim: SentClaim) -> Unreached | None:
        if claim.inbox is None:
            return Unreached("the claim was never delivered", is_final=True)
        target = _party(await self._find_inbox(claim.forms.labels[0], claim.inbox))
        offer = offer_document(self._sender, target, claim.id, self._relationship(claim))
        document = reply_document(self._sender, target, note.id, "Undo", _nest_offer(offer))
        return await self._gateway.deliver(target.inbox, msgspec.json.encode(document))

    async def _answer(self, note: OutgoingNotification, claim: ReceivedClaim) -> Unreached | None:
        """Send the answer to the inbox that the page of the claimant announces: it belongs to its Archive. The inbox in
        the notification is only used while that one is not known."""
        inbox = claim.inbox or claim.origin_inbox
        if claim.forms is not None:
            inbox = await self._find_inbox(claim.forms.labels[0], inbox)
        target = Party(claim.origin, inbox)
        relationship = Relationship(claim.url, claim.iri or RELATIONS[claim.relation], claim.object)
        theirs = Sender(claim.origin, claim.origin_inbox, claim.name or claim.origin)
        ours = Party(self._sender.url, self._sender.inbox)
        offer = _nest_offer(offer_document(theirs, ours, claim.id, relationship))
        activity = "Accept" if note.kind is OutgoingKind.ACCEPT else "Reject"
        document = reply_document(self._sender, target, note.id, activity, offer)
        return await self._gateway.deliver(inbox, msgspec.json.encode(document))

    async def _find_inbox(self, label: Label, known: str) -> str:
        """Return the inbox of an item elsewhere, as its page announces it now: its Archive may have moved since."""
        found = await self._gateway.find_item(label)
        return known if isinstance(found, Unreached) or found.inbox is None else found.inbox

    def _relationship(self, claim: SentClaim, page: str | None = None) -> Relationship:
        item = self._context.catalog.find(RepositoryName.parse(claim.claimant))
        labels = LabelForms.of(RepositoryName.parse(claim.claimant)) if item is None else item.labels
        iri = RELATIONS[claim.relation]
        return Relationship(self._persistent_url(labels), iri, self._persistent_url(claim.forms), page)

    def _note_outcome(self, note: OutgoingNotification, failed: Unreached | None, inbox: str | None) -> None:
        now = self._context.now()
        after = _note_attempt(note, failed, now)
        if after.state is DeliveryState.FAILED or (failed is not None and failed.is_final):
            self._log.warning("a notification was not taken", kind=note.kind.value, inbox=inbox, reason=after.reason)
        with self._store.together():
            self._store.outgoing.change(note.number, lambda _: after)
            if note.kind in {OutgoingKind.OFFER, OutgoingKind.ANNOUNCE}:
                self._note_claim(after, inbox)
            if note.kind is OutgoingKind.OFFER and after.state is DeliveryState.REFUSED and inbox is not None:
                self._context.queue(OutgoingKind.ANNOUNCE, note.about)

    def _note_claim(self, note: OutgoingNotification, inbox: str | None) -> None:
        now = self._context.now()

        def noted(row: SentClaim) -> SentClaim:
            if row.delivery is DeliveryState.DELIVERED:
                return row
            if note.reason == _DELETED:
                row = replace(row, state=RemoteClaimState.DECLINED, summary=_DELETED, changed=now)
            announced = note.kind is OutgoingKind.ANNOUNCE and note.state is DeliveryState.DELIVERED
            reason = _ANNOUNCED if announced else note.reason
            return replace(row, delivery=note.state, reason=reason, inbox=inbox or row.inbox)

        self._store.sent.change(note.about, noted)


def _note_attempt(note: OutgoingNotification, failed: Unreached | None, now: int) -> OutgoingNotification:
    attempts = note.attempts + 1
    if failed is None:
        return replace(note, state=DeliveryState.DELIVERED, reason=None, attempts=attempts, due=None)
    if failed.is_final:
        return replace(note, state=DeliveryState.REFUSED, reason=failed.reason, attempts=attempts, due=None)
    if now - note.made > PATIENCE:
        return replace(note, state=DeliveryState.FAILED, reason=failed.reason, attempts=attempts, due=None)
    due = now + wait_after(note.attempts, failed.retry_after)
    return replace(note, reason=failed.reason, attempts=attempts, due=due)


def _party(inbox: str) -> Party:
    """Return the system behind an inbox, of which nothing else is known."""
    try:
        return Party(str(Origin.of_url(inbox)), inbox)
    except InvalidOrigin:
        return Party(inbox, inbox)


def _nest_offer(offer: dict[str, object]) -> dict[str, object]:
    """Return an offer for use inside another notification, which has the context already."""
    return {name: value for name, value in offer.items() if name != "@context"}
