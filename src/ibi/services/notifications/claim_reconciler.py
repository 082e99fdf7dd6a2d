"""Which claims the items here make on items elsewhere, and what the items here say to claims of others.

Both follow from the records. They are looked at when the feed of changes tells of an item, whichever process has
changed it; the place in the feed is kept together with what was found. So nothing is missed, however a process ends,
and nothing is done twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.archive.related_items import claims_of, find_forms
from ibi.federation.remote_record import is_of_sandbox
from ibi.label import RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, name_one_item
from ibi.model.notification import (
    ClaimRelation,
    DeliveryState,
    OutgoingKind,
    ReceivedClaim,
    RemoteClaimState,
    SentClaim,
)
from ibi.ports.catalog import ChangeFeed, Link
from ibi.ports.content import ContentDamaged
from ibi.services.notifications.answering import settled_state
from ibi.services.notifications.context import ClaimContext, forms_words
from ibi.vocabulary import State

_PAGE: Final = 200
_FROM_SANDBOX: Final = "this Archive is a sandbox, and tells none that keeps items for others"
_TO_SANDBOX: Final = "its label is one of a sandbox, which names another item on every machine"
_RELATIONS: Final = {
    Link.EDITION_OF: ClaimRelation.EDITION_OF,
    Link.TRANSLATION_OF: ClaimRelation.TRANSLATION_OF,
    Link.DESCRIBES: ClaimRelation.DESCRIBES,
}


class ClaimReconciler:
    """Follows the feed of one Archive. Calls block, from one thread at a time."""

    def __init__(self, context: ClaimContext, feed: ChangeFeed) -> None:
        self._context, self._store, self._feed = context, context.store, feed

    def look(self) -> bool:
        """Look at what has changed since the last time, or at everything after a rebuild of the catalogue. Return
        whether there is more."""
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
        """What changes meanwhile has a later number, and is looked at afterwards."""
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
            return  # what it says is not known; once it is restored, that is a change
        self._compare_sent(rep, item)
        for claim in self._store.received.about(str(rep)):
            self._compare_received(item, claim)

    # --- claims of items here ---

    def _compare_sent(self, rep: RepositoryName, item: Item | None) -> None:
        if item is None or item.state is State.COPY:
            return  # its claims have gone with the Original, or were never made from here
        standing = [row for row in self._store.sent.about(str(rep)) if row.state is not RemoteClaimState.WITHDRAWN]
        wanted = self._claims_elsewhere(item)
        for row in standing:
            if not any(row.relation is relation and name_one_item(row.forms, forms) for relation, forms in wanted):
                self._withdraw(row)
        for relation, forms in wanted:
            if not any(row.relation is relation and name_one_item(row.forms, forms) for row in standing):
                self._make(item, relation, forms)

    def _claims_elsewhere(self, item: Item) -> list[tuple[ClaimRelation, LabelForms]]:
        """The claims of an Original on items of which no Original is, or was, here."""
        if item.state is not State.ORIGINAL:
            return []
        found = []
        for link, forms in claims_of(item):
            held = find_forms(self._context.catalog, forms)
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
        """Why a claim is not sent; None if it is. Names of a sandbox are for trying out, among sandboxes."""
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

    # --- claims on items here ---

    def _compare_received(self, item: Item | None, claim: ReceivedClaim) -> None:
        if item is None or item.state is State.COPY:
            return  # its Original was given away, and who has it answers
        deleted = item.state is State.DELETED and claim.state is not RemoteClaimState.WITHDRAWN
        state = RemoteClaimState.DECLINED if deleted else settled_state(item, claim)
        if state is not claim.state or (state is not RemoteClaimState.PENDING and claim.answered is not state):
            self._context.settle(claim, state)
