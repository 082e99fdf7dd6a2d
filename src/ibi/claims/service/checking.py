"""Compares claims with the records of items elsewhere.

The sender of a notification proves nothing, so its item is found by its persistent URL, and its record is read. A claim
that the record makes too is verified. A claim that it does not make is dropped. If the record cannot be read, the claim
waits, and is shown as not verified. Reviews are pages: as with Webmention, a page that names the item is verified.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from ibi.claims.model import (
    DeliveryState,
    FoundItem,
    OutgoingKind,
    ReceivedClaim,
    RemoteClaimState,
    SenderCheck,
    SentClaim,
    Unreached,
)
from ibi.claims.service.answering import settled_state
from ibi.claims.service.claim_context import ACTOR, ClaimContext, NotificationGateway, forms_words
from ibi.copies.rules.remote_record import RemoteRecord, is_of_sandbox, read_record
from ibi.items.model.item import Item, name_one_item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.ports.catalog import ChangeFeed, Link
from ibi.items.rules.related_items import claims_of, find_forms, learn_texts
from ibi.items.service.relating import without_backlink
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import IbiError
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State

_FIRST_WAIT: Final = 5
_LONGEST_WAIT: Final = 6 * 3600
PATIENCE: Final = 30 * 86_400
"""Seconds after which an unreachable Archive is given up."""
_READ_AGAIN: Final = 86_400
"""Seconds after which the source of a translation is asked again for its texts."""
_NO_RECORD: Final = "its Archive gives no record that can be read here"
_SAYS_NO: Final = "its record says no such thing"


def wait_after(attempts: int, retry_after: int | None = None) -> int:
    """Return the seconds until the next attempt."""
    return min(max(_FIRST_WAIT << min(attempts, 16), retry_after or 0), _LONGEST_WAIT)


class ClaimChecker:
    """Reads records of items elsewhere, and draws the consequences here."""

    def __init__(
        self,
        context: ClaimContext,
        gateway: NotificationGateway,
        persistent_url: Callable[[LabelForms], str],
        page_url: Callable[[Item], str],
    ) -> None:
        self._context, self._store, self._gateway = context, context.store, gateway
        self._persistent_url, self._page_url = persistent_url, page_url
        self._log = structlog.get_logger("ibi.claims")

    async def check(self, claim: ReceivedClaim) -> None:
        """Read the item, or the page, that makes a received claim."""
        if claim.claimant:
            found = await self._gateway.find_item(parse(claim.claimant[0]))
            await asyncio.to_thread(self._judge, claim, found)
        else:
            text = await self._gateway.read_page(claim.url)
            await asyncio.to_thread(self._judge_page, claim, text)

    def _judge(self, claim: ReceivedClaim, found: FoundItem | Unreached) -> None:
        if isinstance(found, Unreached):
            self._postpone(claim, found)
            return
        item, record = self._context.find_original(claim.item), _read(found, claim.forms)
        if isinstance(record, Unreached):
            self._postpone(claim, record)
        elif item is None:
            self._change(claim, lambda row: replace(row, due=None))
        elif record is not None and record.claims(claim.relation, item.labels):
            self._verify(claim, item, record, found)
        elif record is not None and record.state is State.COPY and not claim.is_withdrawing:
            self._postpone(claim, Unreached("what was found is a Copy, which does not say so"))
        elif claim.is_withdrawing and claim.state is not RemoteClaimState.PENDING:
            self._remove_backlink(claim, item)
        else:
            self._change(claim, lambda row: _mark_contradicted(row, self._context.now()))

    def _verify(self, claim: ReceivedClaim, item: Item, record: RemoteRecord, found: FoundItem) -> None:
        verified = self._store.received.change(claim.number, lambda row: _mark_verified(row, record, found))
        if verified is not None and settled_state(item, verified) is not verified.state:
            self._context.settle(verified, settled_state(item, verified))  # answered before, to another offer

    def _remove_backlink(self, claim: ReceivedClaim, item: Item) -> None:
        """Remove the back-link of a claim that the claimant has withdrawn."""
        forms = claim.forms
        assert forms is not None  # checked by its record

        def withdrawn(now: Item) -> Item:
            return without_backlink(now, claim.relation.value, forms)

        try:
            self._context.deposits.change({item.rep: withdrawn}, ACTOR, f"Withdrawn: the claim of {claim.url}")
        except IbiError as error:
            self._log.warning("a claim that was withdrawn is still recorded", item=claim.item, reason=str(error))
            self._postpone(claim, Unreached(str(error)))
            return
        now = self._context.now()
        self._change(
            claim,
            lambda row: replace(row, state=RemoteClaimState.WITHDRAWN, changed=now, is_withdrawing=False, due=None),
        )

    def _judge_page(self, claim: ReceivedClaim, text: str | Unreached) -> None:
        item = self._context.find_original(claim.item)
        if item is None or isinstance(text, Unreached):
            self._postpone(claim, text if isinstance(text, Unreached) else Unreached("the item is gone", is_final=True))
            return
        names = [self._persistent_url(item.labels), self._page_url(item), *forms_words(item.labels)]
        if any(name in text for name in names):
            self._change(claim, lambda row: replace(row, check=SenderCheck.VERIFIED, reason=None, due=None))
        else:
            reason = "the page does not name the item"
            self._change(claim, lambda row: replace(row, check=SenderCheck.UNVERIFIED, reason=reason, due=None))

    def _postpone(self, claim: ReceivedClaim, why: Unreached) -> None:
        now = self._context.now()
        is_over = why.is_final or now - (claim.changed or claim.received) > PATIENCE
        due = None if is_over else now + wait_after(claim.attempts)

        def postponed(row: ReceivedClaim) -> ReceivedClaim:
            check = row.check if row.check is SenderCheck.VERIFIED else SenderCheck.UNVERIFIED
            return replace(row, check=check, reason=why.reason, attempts=row.attempts + 1, due=due)

        self._change(claim, postponed)

    def _change(self, claim: ReceivedClaim, into: Callable[[ReceivedClaim], ReceivedClaim]) -> None:
        self._store.received.change(claim.number, into)

    async def read_answer(self, claim: SentClaim) -> None:
        """Read the record of an item elsewhere on which an item here has a claim."""
        found = await self._gateway.find_item(claim.forms.labels[0])
        await asyncio.to_thread(self.learn, claim, found)

    def learn(self, claim: SentClaim, found: FoundItem | Unreached) -> None:
        """Learn from the record of the item elsewhere whether it names the claimant. From the source of a translation,
        learn its language and the other texts of its group too."""
        record = found if isinstance(found, Unreached) else _read(found, claim.forms)
        item = self._context.find_original(claim.claimant)
        if item is None or record is None or isinstance(record, Unreached):
            self._store.sent.change(claim.number, lambda row: self._asked_in_vain(row))
            return
        knows = True
        if claim.relation is ClaimRelation.TRANSLATION_OF:
            knows = self._learn_texts(item, record)
        is_named = record.names(claim.relation, item.labels)
        self._store.sent.change(claim.number, lambda row: self._mark_informed(row, is_named=is_named, knows=knows))

    def _learn_texts(self, item: Item, record: RemoteRecord) -> bool:
        """Learn the texts of the group. Return whether the language of the source is known now. Until the source
        has admitted the item, only the source's own text counts."""
        admitted = record.names(ClaimRelation.TRANSLATION_OF, item.labels)
        texts = record.texts() if admitted else tuple(each for each in record.texts() if each[1] == record.labels)
        if record.language is None:
            return False
        if learn_texts(item, texts) != item:
            message = f"Learned the texts of its group from {record.labels.labels[0]}"
            try:
                self._context.deposits.change({item.rep: lambda now: learn_texts(now, texts)}, ACTOR, message)
            except IbiError as error:
                self._log.warning("what a source says is not recorded", item=str(item.rep), reason=str(error))
                return False
        return True

    def _asked_in_vain(self, row: SentClaim) -> SentClaim:
        now = self._context.now()
        is_over = now - (row.changed or row.made) > PATIENCE
        return replace(row, attempts=row.attempts + 1, due=None if is_over else now + wait_after(row.attempts))

    def _mark_informed(self, row: SentClaim, *, is_named: bool, knows: bool) -> SentClaim:
        now = self._context.now()
        if row.state is RemoteClaimState.ACCEPTED:
            if not is_named and not row.is_confirmed:
                return self._asked_in_vain(row)  # the answer may be there before the record
            again = now + _READ_AGAIN if row.relation is ClaimRelation.TRANSLATION_OF else None
            return replace(row, is_confirmed=is_named, attempts=0, due=again)
        if row.state is RemoteClaimState.PENDING and is_named:
            # Recorded there without the answer having come, or before the claim was made.
            return replace(row, state=RemoteClaimState.ACCEPTED, is_confirmed=True, changed=now, attempts=0, due=None)
        return replace(row, attempts=0, due=None if knows else now + _READ_AGAIN)


def _read(found: FoundItem, expected: LabelForms | None) -> RemoteRecord | Unreached | None:
    """Return the record of an item that was found; None if it was deleted."""
    if found.is_deleted:
        return None
    if found.record is None:
        return Unreached(_NO_RECORD)
    try:
        record = read_record(found.record)
    except InvalidDocument:
        return Unreached(_NO_RECORD)
    if expected is not None and not name_one_item(record.labels, expected):
        return Unreached("its Archive answers with another item")
    return None if record.state is State.DELETED else record


def _mark_verified(row: ReceivedClaim, record: RemoteRecord, found: FoundItem) -> ReceivedClaim:
    """Return a claim that the record makes. It stands, even if it was taken back."""
    state = RemoteClaimState.PENDING if row.is_withdrawing and row.answered is None else row.state
    return replace(
        row,
        check=SenderCheck.VERIFIED,
        reason=None,
        claimant=forms_words(record.labels),
        language=None if record.language is None else str(record.language),
        title=record.title,
        inbox=found.inbox,
        state=state,
        is_withdrawing=False,
        due=None,
    )


def _mark_contradicted(row: ReceivedClaim, now: int) -> ReceivedClaim:
    if row.is_withdrawing:  # as its sender said
        return replace(row, state=RemoteClaimState.WITHDRAWN, is_withdrawing=False, due=None)
    return replace(
        row,
        check=SenderCheck.CONTRADICTED,
        reason=_SAYS_NO,
        state=RemoteClaimState.WITHDRAWN,
        changed=now,
        due=None,
    )


_PAGE: Final = 200
_FROM_SANDBOX: Final = "this Archive is a sandbox, and tells none that keeps items for others"
_TO_SANDBOX: Final = "its label is one of a sandbox, which names another item on every machine"
_RELATIONS: Final = {
    Link.EDITION_OF: ClaimRelation.EDITION_OF,
    Link.TRANSLATION_OF: ClaimRelation.TRANSLATION_OF,
    Link.DESCRIBES: ClaimRelation.DESCRIBES,
}


class ClaimReconciler:
    """Compares the claims of items here on items elsewhere, and the answers of items here to claims of others, with the
    records. It follows the feed of one Archive. Calls block, from one thread at a time.

    Both follow from the records. An item is compared when the feed reports it, whichever process changed it. The
    position in the feed is stored together with the results. So nothing is missed or done twice, however a process
    ends.
    """

    def __init__(self, context: ClaimContext, feed: ChangeFeed) -> None:
        self._context, self._store, self._feed = context, context.store, feed

    def look(self) -> bool:
        """Look at the changes since the last time, or at everything after a rebuild of the catalogue. Return whether
        there are more."""
        epoch, number = self._store.position()
        page = self._feed.since(number if epoch else 0, _PAGE if epoch else 1)
        if page.epoch != epoch or page.end < number:
            self._look_at_all(page.epoch)
            return True
        with self._store.together():
            for change in page.changes:
                # An item without relations claims nothing: most deposits end here, and their records are not read.
                if change.related or self._store.received.about(change.label):
                    self._look_at(change.rep)
            if page.changes:
                self._store.note_position(epoch, page.changes[-1].number)
        return len(page.changes) == _PAGE

    def _look_at_all(self, epoch: str) -> None:
        """Look at all items with claims. A change meanwhile has a later number, and is looked at afterwards."""
        end = self._feed.position().end
        names = {str(item.rep) for item in self._context.catalog.claimants()}
        states = tuple(RemoteClaimState)
        after = 0
        while rows := self._store.sent.list(states, after):
            names |= {row.claimant for row in rows}
            after = rows[-1].number
        after = 0
        while claims := self._store.received.list(states, after):
            names |= {claim.item for claim in claims}
            after = claims[-1].number
        with self._store.together():
            for name in sorted(names):
                self._look_at(RepositoryName.parse(name))
            self._store.note_position(epoch, end)

    def _look_at(self, rep: RepositoryName) -> None:
        try:
            item = self._context.catalog.find(rep)
        except ContentDamaged:
            return  # its claims are unknown; its restoration will be a change
        self._compare_sent(rep, item)
        for claim in self._store.received.about(str(rep)):
            self._compare_received(item, claim)

    def _compare_sent(self, rep: RepositoryName, item: Item | None) -> None:
        if item is None or item.state is State.COPY:
            return  # its claims have gone with the Original, or were never made from here
        standing = [row for row in self._store.sent.about(str(rep)) if row.state is not RemoteClaimState.WITHDRAWN]
        wanted = self._claims_elsewhere(item)
        for row in standing:
            if not any(_is_claim(row, relation, forms) for relation, forms in wanted):
                self._withdraw(row)
        for relation, forms in wanted:
            if not any(_is_claim(row, relation, forms) for row in standing):
                self._make(item, relation, forms)

    def _claims_elsewhere(self, item: Item) -> list[tuple[ClaimRelation, LabelForms]]:
        """Return the claims of an Original on items of which no Original is, or was, here."""
        if item.state is not State.ORIGINAL:
            return []
        found = []
        for link, forms in claims_of(item):
            try:
                held = find_forms(self._context.catalog, forms)
            except ContentDamaged:  # it is here, and cannot be read
                continue
            if held is None or held.state is State.COPY:
                found.append((_RELATIONS[link], forms))
        return found

    def _make(self, item: Item, relation: ClaimRelation, forms: LabelForms) -> None:
        now, identifier = self._context.now(), self._context.new_id()
        claim = SentClaim(id=identifier, claimant=str(item.rep), relation=relation, item=forms_words(forms), made=now)
        reason = self._why_unsent(forms)
        if reason is None:
            self._context.queue(OutgoingKind.OFFER, self._store.sent.add(claim).number, identifier)
        else:
            self._store.sent.add(replace(claim, delivery=DeliveryState.REFUSED, reason=reason))

    def _why_unsent(self, forms: LabelForms) -> str | None:
        """Return the reason why a claim is not sent; None if it is. Names of a sandbox are for trying out, among
        sandboxes."""
        if is_of_sandbox(forms.labels[0]) == self._context.is_sandbox:
            return None
        return _FROM_SANDBOX if self._context.is_sandbox else _TO_SANDBOX

    def _withdraw(self, claim: SentClaim) -> None:
        now = self._context.now()

        def withdrawn(row: SentClaim) -> SentClaim:
            return replace(row, state=RemoteClaimState.WITHDRAWN, changed=now, due=None)

        self._store.sent.change(claim.number, withdrawn)
        offer = self._store.outgoing.find_id(claim.id)
        if offer is not None and offer.state is DeliveryState.QUEUED and not offer.attempts:
            self._store.outgoing.remove(offer.number)  # no other Archive has heard of it
        elif claim.reason not in (_FROM_SANDBOX, _TO_SANDBOX):
            self._context.queue(OutgoingKind.UNDO, claim.number)

    def _compare_received(self, item: Item | None, claim: ReceivedClaim) -> None:
        if item is None or item.state is State.COPY:
            return  # its Original was given away, and its new Archive answers
        deleted = item.state is State.DELETED and claim.state is not RemoteClaimState.WITHDRAWN
        state = RemoteClaimState.DECLINED if deleted else settled_state(item, claim)
        if state is not claim.state or (state is not RemoteClaimState.PENDING and claim.answered is not state):
            self._context.settle(claim, state)


def _is_claim(row: SentClaim, relation: ClaimRelation, forms: LabelForms) -> bool:
    """Return whether the row claims this relation to the item with these labels."""
    return row.relation is relation and name_one_item(row.forms, forms)
