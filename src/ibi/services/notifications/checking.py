"""Looks whether items elsewhere say what notifications say of them.

Who sends a notification proves nothing, so its item is found by its persistent URL and its record is read. A claim that
the record makes too is verified; one that it does not make is dropped; one whose record cannot be read waits, and is
shown as not verified. Reviews are pages: as with Webmention, one that names the item is verified.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from ibi.archive.related_items import learn_texts
from ibi.errors import IbiError
from ibi.federation.remote_record import RemoteRecord, read_record
from ibi.label import parse
from ibi.messages.label_forms import LabelForms
from ibi.model.errors import InvalidDocument
from ibi.model.item import Item, name_one_item
from ibi.model.notification import (
    ClaimRelation,
    FoundItem,
    ReceivedClaim,
    RemoteClaimState,
    SenderCheck,
    SentClaim,
    Unreached,
)
from ibi.services.items.relating import without_backlink
from ibi.services.notifications.answering import settled_state
from ibi.services.notifications.context import ACTOR, ClaimContext, NotificationGateway, forms_words
from ibi.vocabulary import State

_FIRST_WAIT: Final = 5
_LONGEST_WAIT: Final = 6 * 3600
PATIENCE: Final = 30 * 86_400
"""Seconds after which what cannot be reached is given up."""
_READ_AGAIN: Final = 86_400
"""Seconds after which the source of a translation is asked again which texts there are."""
_NO_RECORD: Final = "its Archive gives no record that can be read here"
_SAYS_NO: Final = "its record says no such thing"


def wait_after(attempts: int, retry_after: int | None = None) -> int:
    """Seconds until the next attempt."""
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

    # --- claims of others ---

    async def check(self, claim: ReceivedClaim) -> None:
        """Look at the item, or the page, that makes a received claim."""
        if claim.claimant:
            found = await self._gateway.find_item(parse(claim.claimant[0]))
            await asyncio.to_thread(self._judge, claim, found)
        else:
            text = await self._gateway.read_page(claim.url)
            await asyncio.to_thread(self._judge_page, claim, text)

    def _judge(self, claim: ReceivedClaim, found: FoundItem | Unreached) -> None:
        item = self._context.find_original(claim.item)
        record = found if isinstance(found, Unreached) else _read(found, claim.forms)
        if isinstance(found, Unreached) or isinstance(record, Unreached):
            self._postpone(claim, record if isinstance(record, Unreached) else Unreached(_NO_RECORD))
        elif item is None:
            self._change(claim, lambda row: replace(row, due=None))
        elif record is not None and record.claims(claim.relation, item.labels):
            verified = self._store.received.change(claim.number, lambda row: _mark_verified(row, record, found))
            if verified is not None and settled_state(item, verified) is not verified.state:
                self._context.settle(verified, settled_state(item, verified))  # answered before, to another offer
        elif record is not None and record.state is State.COPY and not claim.is_withdrawing:
            self._postpone(claim, Unreached("what was found is a Copy, which does not say so"))
        elif claim.is_withdrawing and claim.state is not RemoteClaimState.PENDING:
            self._remove_backlink(claim, item)
        else:
            self._change(claim, lambda row: _mark_contradicted(row, self._context.now()))

    def _remove_backlink(self, claim: ReceivedClaim, item: Item) -> None:
        """What the claimant does not say any more is not said of it here either."""
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

    # --- claims of items here ---

    async def read_answer(self, claim: SentClaim) -> None:
        """Read the record of an item elsewhere on which an item here has a claim."""
        found = await self._gateway.find_item(claim.forms.labels[0])
        await asyncio.to_thread(self.learn, claim, found)

    def learn(self, claim: SentClaim, found: FoundItem | Unreached) -> None:
        """Take from the record of the item elsewhere whether it names the claimant; and, of the source of a
        translation, its language and the other texts of its group."""
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
        """Whether the language of the source is known now. All of the group is told once it has admitted the item."""
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
    """The record of an item that was found; None if it was deleted."""
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
    """A claim that was taken back, and is still made by the record, stands."""
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
