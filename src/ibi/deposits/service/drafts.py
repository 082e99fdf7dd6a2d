"""Drafts of items: made, filled over days and restarts, and published once.

A draft belongs to the depositor who began it; librarians see all. A draft only collects its input:
`ibi.items.service.deposits` publishes it.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from ibi.deposits.model import DraftRecord, Publication, Refused, RequestedDeletion, ReviewState, still_refused
from ibi.deposits.ports import DraftStore, ReviewStore
from ibi.deposits.rules.drafts import (
    DraftPublished,
    DraftRules,
    Holding,
    NotUnderReview,
    RelationsOfItem,
    ReviewNeeded,
    UnderReview,
    check_readable,
    check_terms,
    deletion_id,
    reason_as_comment,
)
from ibi.deposits.service.ledger import Depositor, DraftLedger, DraftSummary, DraftView
from ibi.deposits.service.publishing import DraftPublishing, Published, WholeDeposits
from ibi.deposits.service.reviews import ReviewNews, Reviews, Submitted
from ibi.deposits.service.uploads import DraftUploads, DraftViews
from ibi.items.model.item import Description, Item
from ibi.items.model.metadata import check_dates
from ibi.items.model.visibility import Visibility
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.life_cycle import Act, require
from ibi.items.rules.rights import Belonging, ItemAct, may
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import name_of
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job
from ibi.minting.ports import LabelMinter
from ibi.people.model.account import Scope
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import State

_BETWEEN_SWEEPS: Final = 3600.0
_MOST_OWN: Final = 1000
"""Drafts of one depositor that are read for a list; a quota allows far fewer."""


Check = Callable[[DraftView], None]
"""Raises an error if the draft does not meet the caller's conditions."""


def new_draft_id() -> str:
    """Return a random id: nobody can guess the id of another's draft."""
    return f"draft-{b32encode(secrets.token_bytes(10)).decode('ascii').lower()}"


def _no_conditions(_: object) -> None:
    """Do nothing: by default the draft may have changed."""


class Drafts:
    """The drafts of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        files: DraftStore,
        kept: ItemRepository,
        clocks: Clocks,
        rules: DraftRules,
        *,
        service: LabelForms | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        reviews: ReviewStore | None = None,
        is_reviewed: bool = False,
        news: ReviewNews | None = None,
        hold: Callable[[], bool] = hold_alone,
    ) -> None:
        """If `is_reviewed`, publications of depositors wait for review in `reviews`, and `news` hears of each step.
        `hold` returns whether this process sweeps, of several on one data directory."""
        self.rules, self.is_reviewed = rules, is_reviewed and reviews is not None
        self._files, self._kept, self._clocks = files, kept, clocks
        self._views = DraftViews(files, clocks, rules, service, reviews)
        self._ledger = DraftLedger(files, rules, clocks, monotonic, self._views.is_waiting)
        self._publishing = DraftPublishing(files, kept, clocks, service)
        find_made = self._publishing.find_made
        self.reviews = None if reviews is None else Reviews(reviews, self._views, kept, clocks, find_made, news=news)
        self._hold = hold
        self.uploads: Final = DraftUploads(files, self._views, self._ledger)
        self.whole: Final = WholeDeposits(kept, clocks, rules, self._ledger, service, self.must_submit)

    def begin(self, who: Depositor, description: Description, like: Item | None = None) -> DraftView:
        """Begin a draft of a new item. It may keep the terms of the item that it is `like`."""
        check_dates(description.metadata)
        check_terms(
            description, () if like is None else (like.description.without_relations(),), self._clocks.read().wall
        )
        return self._add(self._new(who, description))

    def begin_update(self, who: Depositor, label: Label, description: Description | None = None) -> DraftView:
        """Begin a draft that changes a published item. It starts with the item's files, and with its description unless
        another is given."""
        item = self._kept.find(label)
        self._check_update(who, item, description)
        require(item, Act.UPDATE)
        if description is not None:
            _check_no_relations(description)
            check_dates(description.metadata, _dates_of(item))
            check_terms(description, (item.description.without_relations(),), self._clocks.read().wall)
        record = replace(
            self._new(who, description or item.description.without_relations()),
            labels=item.labels,
            base=item.version,
            kept=tuple(item.files),
        )
        return self._add(record)

    def find(self, who: Depositor, draft: str) -> DraftView:
        """Return the draft. `UnknownDraft` also for drafts of other depositors, so that their existence is not
        revealed."""
        return self._views.view(self._views.record(who, draft))

    def may_update(self, who: Depositor, label: Label) -> bool:
        """Return whether the caller may begin a draft of this item."""
        return may(who.actor, ItemAct.UPDATE, self._belonging_of(self._kept.find(label)))

    def _belonging_of(self, item: Item) -> Belonging:
        return Belonging.of(item, self._publishing.service, self._clocks.read().wall)

    def of_item(self, who: Depositor, label: Label) -> DraftView | None:
        """Return the draft of this item that was changed last, if there is one."""
        item = self._kept.find(label)
        found = [
            record
            for record in self._views.open_records(who)
            if record.labels is not None and item.is_called(record.labels.labels[0])
        ]
        return self._views.view(max(found, key=lambda record: self._files.last_change(record.id))) if found else None

    def compare_access(self, record: DraftRecord) -> tuple[Visibility | None, Visibility]:
        """Return the access to the item of the draft, as it is now and as it will be after publication. The former is
        None if the draft changes no item, or the item is gone."""
        if record.labels is None:
            return None, record.description.visibility
        try:
            item = self._kept.find(record.labels.labels[0])
        except UnknownItem:
            return None, record.description.visibility
        return item.visibility, self._publishing.rebase(record).description.visibility

    def list(self, who: Depositor, after: str = "", most: int = 100) -> tuple[DraftView, ...]:
        """Return unpublished drafts in the order of their ids, at most `most`."""
        return tuple(self._views.view(record) for record in islice(self._views.open_records(who, after), most))

    def list_own(self, who: Depositor, most: int = 100) -> tuple[DraftSummary, ...]:
        """Return the depositor's own unpublished drafts, even if they may see all. The drafts that were changed last
        come first."""
        own = replace(who, scope=Scope.DEPOSIT)
        found = (
            self._views.summary(record)
            for record in islice(self._views.open_records(own, with_deletions=True), _MOST_OWN)
        )
        return tuple(sorted(found, key=lambda each: each.changed, reverse=True)[:most])

    def holding(self, who: Depositor) -> Holding:
        """Return the depositor's use of their quota: their own drafts, even if they may see all."""
        return self._ledger.holding(who.owner)

    def total(self) -> Holding:
        """Return the sum over the unpublished drafts of all depositors. Reads no draft."""
        return self._ledger.total()

    def free_space(self) -> int:
        """Return the bytes that the disk has left."""
        return self._files.free()

    def check_space(self) -> None:
        """Raise `DiskNearlyFull` or `DiskFull` if there is no room for another draft."""
        self._ledger.check_space()

    def describe(
        self,
        who: Depositor,
        draft: str,
        description: Description,
        check: Check = _no_conditions,
        refused: Refused | None = None,
        keep: Collection[str] | None = None,
    ) -> DraftView:
        """Give the draft another description. `refused` are the values that the form could not read. Without it, old
        refused values are dropped where the field gets a new value or `keep` does not name it."""
        self._views.open_record(who, draft)
        with self._files.alone_on(draft):
            record = self._views.open_record(who, draft)
            check(self._views.view(record))
            item = None if record.labels is None else self._kept.find(record.labels.labels[0])
            if item is not None:
                self._check_update(who, item, description)
                _check_no_relations(description)
            check_dates(description.metadata, _dates_of(item))
            known = (record.description, *(() if item is None else (item.description.without_relations(),)))
            check_terms(description, known, self._clocks.read().wall)
            left = refused
            if left is None:
                kept = {name: each for name, each in record.refused.items() if keep is None or name in keep}
                left = still_refused(kept, record.description, description)
            self._files.write(replace(record, description=description, refused=left))
            return self.find(who, draft)

    def reserve_labels(self, who: Depositor, draft: str, labels: LabelMinter) -> DraftView:
        """Choose the labels of a new item before it is published: from then on it gets no others. A draft that changes
        an item has that item's labels."""
        self._views.open_record(who, draft)
        with self._files.alone_on(draft):
            record = self._views.open_record(who, draft)
            if record.labels is None and record.reserved is None:
                # Under the key of the draft: a crash before the record is written gives the same labels the next time.
                record = replace(record, reserved=labels.reserve(record.id))
                self._files.write(record)
            return self._views.view(record)

    def discard(self, who: Depositor, draft: str, check: Check = _no_conditions) -> None:
        if self._views.record(who, draft).publication is not None:
            self._remove(draft, self.find(who, draft), check)
            return
        with self._files.alone_on(draft):
            view = self.find(who, draft)
            if view.is_waiting:
                raise UnderReview(draft=draft)
            self._remove(draft, view, check)

    def _remove(self, draft: str, view: DraftView, check: Check) -> None:
        check(view)
        self._files.remove(draft)
        self._ledger.forget(draft)

    def publish(
        self,
        who: Depositor,
        draft: str,
        labels: LabelMinter,
        *,
        key: str | None = None,
        message: str | None = None,
        check: Check = _no_conditions,
    ) -> Published:
        """Publish the draft and return its item; the same item if it was published before. With a `key`, return the
        item of the draft that was first published with it. `ReviewNeeded` if a librarian has to look at it first."""
        record = self._views.record(who, draft)
        publication = record.publication
        if publication is None:
            try:
                with self._files.alone_on(draft):
                    publication = self._publish(who, draft, labels, key, message, check)
            except DraftPublished:  # by another call, since the record was read
                publication = self._views.record(who, draft).publication
                if publication is None:
                    raise
        return Published(
            self._kept.find(publication.labels.labels[0]), publication, is_deletion=record.deletion is not None
        )

    def _publish(
        self, who: Depositor, draft: str, labels: LabelMinter, key: str | None, message: str | None, check: Check
    ) -> Publication:
        view = self.find(who, draft)
        if view.record.publication is not None:
            return view.record.publication
        if view.record.deletion is not None and view.record.labels is not None:
            return self._delete(who, view, view.record.deletion, view.record.labels, check)
        # An earlier attempt may have broken off after it had published.
        if view.record.refused and self._publishing.find_made(view.record) is None:
            check_readable(view.record)
        # A change that only restricts access takes effect at once, without review: the files would be open meanwhile.
        if self.must_submit(who, view.record) and not self._publishing.only_withholds(view):
            raise ReviewNeeded(draft=draft)
        check(view)
        record = self._publishing.rebase(view.record)
        if record != view.record:
            self._files.write(record)  # before anything is published: a broken attempt is recognised by its base
            view = self._views.view(record)
        only_withholds = self.must_submit(who, view.record)
        publication = self._publishing.publish(
            view.record, view.files, who, labels, key, message, is_reviewed=view.is_waiting
        )
        if only_withholds and self.reviews is not None:
            self.reviews.tell_withheld(who, view.record)
        return self._conclude(who, view.record, publication)

    def _conclude(self, who: Depositor, record: DraftRecord, publication: Publication) -> Publication:
        if self.reviews is not None:
            with suppress(StorageError):  # a later look sees that it is published
                self.reviews.note_published(who, record.id, publication)
        with suppress(StorageError):  # the next attempt will find that it is published
            self._files.conclude(replace(record, publication=publication, kept=(), refused={}))
        self._ledger.forget(record.id)
        return publication

    def must_ask(self, who: Depositor, item: Item) -> bool:
        """Return whether a librarian has to agree before this item is deleted."""
        return self.is_reviewed and not may(who.actor, ItemAct.PUBLISH, self._belonging_of(item))

    def delete_or_ask(self, who: Depositor, label: Label, reason: str, replaced_by: Label | None) -> Item | Submitted:
        """Delete an item, or ask a librarian to. A repeated request changes nothing: it waits with the reason of the
        first."""
        item, changes = self._kept.find(label), self._publishing.changes_of(who)
        if self.reviews is None or not self.must_ask(who, item):
            return changes.delete(label, reason, who.name, replaced_by=replaced_by)
        self._publishing.check_deletion(item, who)
        successor = None if replaced_by is None else changes.forms(replaced_by)
        life_cycle.delete(
            item, self._clocks.read().wall, reason, replaced_by=successor
        )  # an invalid deletion is refused now
        draft = self._make_request(who, item, RequestedDeletion(reason, successor))
        text = reason_as_comment(reason)
        return self.reviews.submit(who, draft, self._publishing.check_publishable, text=text, check=_no_conditions)

    def _make_request(self, who: Depositor, item: Item, deletion: RequestedDeletion) -> str:
        """Return the id of the draft that requests the deletion: a new one, or the one that was declined or
        withdrawn."""
        draft = deletion_id(item, who.owner)
        record = replace(
            self._new(who, item.description.without_relations()),
            id=draft,
            labels=item.labels,
            base=item.version,
            deletion=deletion,
        )
        with self._kept.locks.hold(name_of(item)):
            if self._files.read(draft) is None:
                self._files.create(record)
                return draft
            with self._files.alone_on(draft):
                if not self._views.is_waiting(draft):
                    self._files.write(record)
        return draft

    def find_request(self, who: Depositor, item: Item) -> DraftView | None:
        """Return the depositor's own request for the deletion of this item, if it waits."""
        draft = deletion_id(item, who.owner)
        return self.find(who, draft) if self._views.is_waiting(draft) else None

    def _delete(
        self, who: Depositor, view: DraftView, deletion: RequestedDeletion, labels: LabelForms, check: Check
    ) -> Publication:
        """Delete the item of a waiting request. It may be deleted already."""
        record = view.record
        made = self._publishing.find_made(record)
        if made is not None:
            return self._conclude(who, record, made)
        if self.must_submit(who, record):
            raise ReviewNeeded(draft=record.id)
        if not view.is_waiting:
            state = "with the depositor" if view.review is ReviewState.RETURNED else "not submitted"
            raise NotUnderReview(draft=record.id, state=state)
        check(view)
        return self._conclude(who, record, self._publishing.delete(record, deletion, labels, who))

    def must_submit(self, who: Depositor, record: DraftRecord | None = None) -> bool:
        """Return whether a librarian has to look first, at the draft or at an item deposited in one request."""
        owned = Belonging("", who.owner) if record is None else self._views.belonging(record)
        return self.is_reviewed and not may(who.actor, ItemAct.PUBLISH, owned)

    def claim_holds(self, who: Depositor, record: DraftRecord, held: Item) -> bool | None:
        """Return whether a claim of the draft on this item holds as soon as `who` publishes it; otherwise it waits for
        an answer. Return None for a Copy: the Archive of its Original answers."""
        return None if held.state is State.COPY else self._publishing.claim_holds(record, who, held)

    def publish_or_submit(
        self,
        who: Depositor,
        draft: str,
        labels: LabelMinter,
        *,
        key: str | None = None,
        message: str | None = None,
        check: Check = _no_conditions,
    ) -> Published | Submitted:
        """Publish the draft, or submit it for review if a librarian has to look at it first."""
        try:
            return self.publish(who, draft, labels, key=key, message=message, check=check)
        except ReviewNeeded:
            assert self.reviews is not None  # only reviews raise `ReviewNeeded`
        submitted = self.reviews.submit(
            who, draft, self._publishing.check_publishable, key=key, text=message or "", check=check
        )
        review = submitted.review
        if review.draft == draft:
            return submitted
        self.discard(who, draft)  # the same was sent before, with this key
        if review.state is ReviewState.PUBLISHED and review.label is not None:
            item = self._kept.find(parse(review.label))
            return Published(item, Publication(item.labels, item.version))
        return Submitted(review, self.find(who, review.draft))

    def jobs(self) -> tuple[Job, ...]:
        return (Job("drafts", self._sweep_once, _BETWEEN_SWEEPS, hold=self._hold, first=_BETWEEN_SWEEPS),)

    def _sweep_once(self) -> None:
        self.sweep()

    def sweep(self) -> int:
        """Remove abandoned drafts and the remains of crashes. Return the number of drafts removed."""
        self._files.sweep_removed()
        if self.reviews is not None:
            with suppress(StorageError):
                self.reviews.settle_all()
        swept = sum(self._remove_stale(draft) for draft in chain(self._files.ids(), self._files.published_ids()))
        self._ledger.look()
        return swept

    def _remove_stale(self, draft: str) -> bool:
        """Remove a draft, and return whether it went. Failures of the disk, and damaged drafts, are left for later."""
        with suppress(StorageError):
            if self._views.is_stale(draft):
                self._files.remove(draft)
                return True
            self._files.sweep(draft)
        return False

    def _check_update(self, who: Depositor, item: Item, description: Description | None) -> None:
        """Refuse an update now, rather than at publication, so that its files need not be sent first."""
        visibility = item.visibility if description is None else description.visibility
        self._publishing.changes_of(who).require_update(item, visibility)

    def _new(self, who: Depositor, description: Description) -> DraftRecord:
        now = Instant(self._clocks.seconds())
        return DraftRecord(id=new_draft_id(), owner=who.owner, created=now, description=description)

    def _add(self, record: DraftRecord) -> DraftView:
        with self._ledger.admit(record.owner, record.id):
            self._files.create(record)
        return self._views.view(record)


def _dates_of(item: Item | None) -> frozenset[str]:
    """Return the dates of an item, which it may keep whatever they are."""
    return frozenset() if item is None else frozenset(date.value for date in item.metadata.date)


def _check_no_relations(description: Description) -> None:
    for field in ("edition_of", "translation_of", "describes"):
        if getattr(description, field) is not None:
            raise RelationsOfItem(field=field)
