"""Drafts as their depositors, and librarians, may see and change them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibi.accounts.rights import Belonging, ItemAct, may
from ibi.archive.drafts import DraftPublished, DraftRules, UnknownDraft, together
from ibi.archive.reviews import UnderReview
from ibi.instant import Instant
from ibi.messages.label_forms import LabelForms
from ibi.model.draft_record import DraftRecord
from ibi.model.item import name_one_item
from ibi.ports.clocks import Clocks
from ibi.ports.drafts import DraftStore
from ibi.ports.errors import DraftDamaged
from ibi.ports.reviews import ReviewStore
from ibi.services.drafts.ledger import Depositor, DraftSummary, DraftView


@dataclass(frozen=True, slots=True)
class DraftViews:
    """Reads drafts for a depositor. Calls block, from any thread. `service` is the Archive's own item; without
    `reviews` no draft waits for review."""

    files: DraftStore
    clocks: Clocks
    rules: DraftRules
    service: LabelForms | None = None
    reviews: ReviewStore | None = None

    def record(self, who: Depositor, draft: str) -> DraftRecord:
        """The record; `UnknownDraft` also for drafts of other depositors, so that their existence is not revealed."""
        record = self.files.read(draft)
        if record is None or self.is_stale(draft):
            raise UnknownDraft(draft=draft[:40])
        if not self._may_see(who, record):
            raise UnknownDraft(draft=draft[:40], is_denied=True)  # told to the audit log alone
        return record

    def open_record(self, who: Depositor, draft: str) -> DraftRecord:
        """The record of a draft that can still be changed; otherwise `DraftPublished`, or `UnderReview` unless a
        librarian corrects it."""
        record = self.record(who, draft)
        if record.publication is not None:
            raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
        if self.is_waiting(draft) and not self.may(who, ItemAct.PUBLISH, record):
            raise UnderReview(draft=draft)
        return record

    def open_records(self, who: Depositor, after: str = "") -> Iterator[DraftRecord]:
        """The records of unpublished drafts, in the order of their ids."""
        for draft in self.files.ids(after):
            try:
                record = self.files.read(draft)
            except DraftDamaged:
                continue
            if record is None or not self._may_see(who, record) or self.is_stale(draft):
                continue
            if record.publication is None:
                yield record

    def view(self, record: DraftRecord) -> DraftView:
        uploaded = [one.file for one in self.files.uploads(record.id).values()]
        changed = max(record.created.seconds, self.files.last_change(record.id))
        size = sum(file.size for file in uploaded)
        review = None if self.reviews is None else self.reviews.find(record.id)
        state = None if review is None else review.state
        return DraftView(record, together(record.kept, uploaded), Instant(changed), size, state)

    def summary(self, record: DraftRecord) -> DraftSummary:
        number, size = self.files.totals(record.id)
        changed = max(record.created.seconds, self.files.last_change(record.id))
        review = None if self.reviews is None else self.reviews.find(record.id)
        state = None if review is None else review.state
        return DraftSummary(record, number + len(record.kept), size, Instant(changed), state)

    def is_stale(self, draft: str) -> bool:
        """Whether it was left alone for too long. One that waits for review never is: not its depositor makes it
        wait."""
        changed, now = self.files.last_change(draft), self.clocks.read().wall
        if changed <= 0 or not self.rules.is_stale(changed, now, done=self.files.is_done(draft)):
            return False
        return not self.is_waiting(draft)

    def is_waiting(self, draft: str) -> bool:
        """Whether the draft waits for review."""
        return self.reviews is not None and self.reviews.is_waiting(draft)

    def may(self, who: Depositor, act: ItemAct, record: DraftRecord) -> bool:
        """Whether the caller may do that with a draft."""
        return may(who.actor, act, self.belonging(record))

    def belonging(self, record: DraftRecord) -> Belonging:
        """What the table of rights has to know of a draft."""
        changed = record.labels
        is_service = self.service is not None and changed is not None and name_one_item(changed, self.service)
        return Belonging(record.id, record.owner, is_service=is_service)

    def _may_see(self, who: Depositor, record: DraftRecord) -> bool:
        return self.may(who, ItemAct.EDIT_DRAFT, record)
