"""Reviews of drafts: submitted by their depositors; commented, sent back and published by librarians.

A draft, its files and its review change under the draft's lock, so that the judged content is the published content.
The item is published before the review notes it. If a process dies in between, the review has the state "submitted" and
the draft the state "published". `settle` repairs that at the next start, and before a review is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ibi.deposits.model import DraftRecord, Publication, Review, ReviewAct, ReviewEntry, ReviewState
from ibi.deposits.ports import ReviewStore
from ibi.deposits.rules.drafts import DraftBusy, DraftPublished, NotUnderReview, UnknownDraft
from ibi.deposits.rules.reviews import (
    InvalidComment,
    ReviewOutdated,
    advance,
    read_comment,
    seal_content,
    seal_deletion,
)
from ibi.deposits.service.ledger import Depositor, DraftView
from ibi.deposits.service.uploads import DraftViews
from ibi.items.rules.errors import KeyReused
from ibi.items.rules.rights import Belonging, ItemAct, may, require_right
from ibi.items.service.item_repository import ItemRepository
from ibi.people.model.account import AuditEntry
from ibi.standard.clock_reading import Clocks

MOST_ENTRIES: Final = 500
"""Maximum entries of one review, so that a conversation does not fill the disk."""
_LONGEST_TITLE: Final = 300
_PAGE: Final = 100
_ARCHIVE: Final = "Archive"

Check = Callable[[DraftView], None]


@dataclass(frozen=True, slots=True)
class Submitted:
    """A draft that waits for review instead of being published."""

    review: Review
    view: DraftView


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A review on a page: its entries, and the present draft, or None once it is gone."""

    review: Review
    entries: tuple[ReviewEntry, ...]
    view: DraftView | None

    @property
    def seal(self) -> str:
        """The seal of the shown draft. A decision carries the seal as a proof of the judged content."""
        return "" if self.view is None else seal_of(self.view)


class ReviewNews(Protocol):
    """A listener for the progress of reviews. Calls do not wait."""

    def tell(self, review: Review, entry: ReviewEntry) -> None: ...

    def tell_withheld(self, owner: str, depositor: str, title: str, label: str) -> None: ...


def seal_of(view: DraftView) -> str:
    record = view.record
    if record.deletion is not None:
        return seal_deletion(record.deletion, record.base)
    return seal_content(record.description, view.files)


def judged_by(seal: str) -> Check:
    """Return a check that refuses a draft whose content changed since it was judged."""

    def check(view: DraftView) -> None:
        if seal_of(view) != seal:
            raise ReviewOutdated(draft=view.record.id)

    return check


class Reviews:
    """The reviews of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        store: ReviewStore,
        views: DraftViews,
        kept: ItemRepository,
        clocks: Clocks,
        find_made: Callable[[DraftRecord], Publication | None],
        *,
        news: ReviewNews | None = None,
    ) -> None:
        """`find_made` returns the publication of a draft even if a process died before it recorded the publication."""
        self.store, self._views, self._kept, self._clocks = store, views, kept, clocks
        self._find_made, self._news = find_made, news
        self._files = views.files

    def submit(
        self,
        who: Depositor,
        draft: str,
        check_publishable: Callable[[DraftView], None],
        *,
        key: str | None = None,
        text: str = "",
        check: Check,
    ) -> Submitted:
        """Submit a draft for review. A repeated call changes nothing. With the `key` of an earlier submission, return
        the earlier review."""
        comment = read_comment(text, is_required=False)
        with self._files.alone_on(draft):
            view = self._views.view(self._views.record(who, draft))
            record = view.record
            if record.publication is not None:
                raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
            review = self.store.find(draft)
            if review is not None and review.state is ReviewState.SUBMITTED:
                return Submitted(review, view)
            check(view)
            check_publishable(view)
            seal = seal_of(view)
            first = None if key is None else self._first_of(record.owner, key, draft, seal)
            if first is not None:
                return Submitted(first, view)
            entry = self._entry(who, ReviewAct.SUBMITTED, comment)

            def into(before: Review | None) -> tuple[Review, ReviewEntry]:
                state = advance(draft, None if before is None else before.state, ReviewAct.SUBMITTED)
                made = Review(
                    draft=draft,
                    owner=record.owner,
                    depositor=who.name,
                    title=_title_of(record),
                    state=state,
                    submitted=entry.at,
                    changed=entry.at,
                    seal=seal,
                    key=key,
                    label=None if record.labels is None else str(record.labels.labels[0]),
                    deletes=record.deletion is not None,
                )
                return made, entry

            review = self._change(who, draft, into, entry)
        return Submitted(review, replace(view, review=ReviewState.SUBMITTED))

    def withdraw(self, who: Depositor, draft: str, text: str = "") -> Review:
        """Withdraw a draft from review, so that its depositor can work on it again."""
        return self._take_from_queue(who, draft, ReviewAct.WITHDRAWN, read_comment(text, is_required=False))

    def comment(self, who: Depositor, draft: str, text: str) -> Review:
        """Add a comment, by the depositor or a librarian."""
        comment = read_comment(text)
        self.look(who, draft)
        if len(self.store.entries(draft)) >= MOST_ENTRIES:
            raise InvalidComment(
                "text", "there are {most} entries already, which is all that is kept", most=MOST_ENTRIES
            )
        return self._advance(who, draft, ReviewAct.COMMENTED, comment)

    def send_back(self, who: Depositor, draft: str, text: str, check: Check | None = None) -> Review:
        """Send a draft back to its depositor, with a reason."""
        comment = read_comment(text)
        self._require_librarian(who, self._views.record(who, draft))
        return self._take_from_queue(who, draft, ReviewAct.RETURNED, comment, check)

    def waiting(
        self, who: Depositor, after: int = 0, most: int = _PAGE, state: ReviewState = ReviewState.SUBMITTED
    ) -> tuple[Review, ...]:
        """Return the queue for librarians, the oldest first."""
        require_right(who.actor, ItemAct.PUBLISH, Belonging("the queue of reviews", None))
        found = self.store.list(state, after, most)
        if state is not ReviewState.SUBMITTED:
            return found
        return tuple(review for review in map(self.settle, found) if review.state is ReviewState.SUBMITTED)

    def look(self, who: Depositor, draft: str) -> ReviewView:
        """Return the review to its depositor or to a librarian. Raise `UnknownDraft` for others, and if there is no
        such draft."""
        review, record = self.store.find(draft), self._files.read(draft)
        if review is None:
            self._views.record(who, draft)
            raise NotUnderReview(draft=draft[:40], state="not submitted")
        owned = Belonging(draft, review.owner) if record is None else self._views.belonging(record)
        if not may(who.actor, ItemAct.EDIT_DRAFT, owned):
            raise UnknownDraft(draft=draft[:40])
        review = self.settle(review)
        view = None if record is None or record.publication is not None else self._views.view(record)
        if view is not None:  # a librarian may have corrected the draft after its submission
            review = replace(review, title=_title_of(view.record))
        return ReviewView(review, self.store.entries(draft), view)

    def _require_librarian(self, who: Depositor, record: DraftRecord) -> None:
        require_right(who.actor, ItemAct.PUBLISH, self._views.belonging(record))

    def tell_withheld(self, who: Depositor, record: DraftRecord) -> None:
        """Tell librarians that a depositor restricted access to an item without review."""
        if self._news is not None and record.labels is not None:
            label = str(record.labels.labels[0])
            self._news.tell_withheld(who.owner, who.name, _title_of(record), label)

    def note_published(self, who: Depositor, draft: str, publication: Publication) -> None:
        """Note that the draft was published, if it was ever submitted. The caller holds the draft's lock."""
        review = self.store.find(draft)
        if review is not None and review.state is not ReviewState.PUBLISHED:
            self._note(who, review, publication)

    def settle(self, review: Review) -> Review:
        """Return a review with its true state. A process may have died after it published the draft and before it noted
        that here."""
        if not self._is_doubtful(review):
            return review
        try:
            with self._files.alone_on(review.draft):
                return self._settle_alone(review.draft)
        except DraftBusy:  # a publication is under way
            return review
        except (DraftPublished, UnknownDraft):
            return self._settle_alone(review.draft)

    def _is_doubtful(self, review: Review) -> bool:
        if review.state is not ReviewState.SUBMITTED:
            return False
        record = self._files.read(review.draft)
        return record is None or (record.publication or self._find_made(record)) is not None

    def _settle_alone(self, draft: str) -> Review:
        review, record = self.store.find(draft), self._files.read(draft)
        assert review is not None  # a waiting review is never deleted
        if not self._is_doubtful(review):
            return review
        publication = None if record is None else record.publication or self._find_made(record)
        if publication is not None:
            return self._note(None, review, publication)
        return self._advance(None, draft, ReviewAct.WITHDRAWN, "The draft is gone.")

    def settle_all(self) -> None:
        """Settle waiting reviews. Delete returned reviews of drafts that are gone. Runs at the start of a server, and
        from time to time."""
        for state in (ReviewState.SUBMITTED, ReviewState.RETURNED):
            after = 0
            while page := self.store.list(state, after, _PAGE):
                after = page[-1].turn
                for review in page:
                    self.settle(review)
                    if state is ReviewState.RETURNED and self._files.read(review.draft) is None:
                        self.store.forget(review.draft)

    def _note(self, who: Depositor | None, review: Review, publication: Publication) -> Review:
        label = str(publication.labels.labels[0])
        entry = self._entry(who, ReviewAct.PUBLISHED, "")
        return self._change(
            who, review.draft, _into(review.draft, entry, label, self._present_title(review.draft)), entry
        )

    def _first_of(self, owner: str, key: str, draft: str, seal: str) -> Review | None:
        first = self.store.find_key(owner, key)
        if first is None or first.draft == draft:
            return None
        if first.seal != seal:
            raise KeyReused(label=first.draft, differences="its description or its files")
        return first

    def _take_from_queue(
        self, who: Depositor, draft: str, act: ReviewAct, text: str, check: Check | None = None
    ) -> Review:
        self._views.record(who, draft)  # first: others must not learn that the draft is busy or published
        with self._files.alone_on(draft):
            record = self._views.record(who, draft)
            review = self.store.find(draft)
            if review is not None:
                review = self._settle_alone(draft)
            advance(draft, None if review is None else review.state, act)
            if check is not None:
                check(self._views.view(record))
            # This write restarts the age of the draft, before it could be removed as abandoned: it may have waited
            # long.
            self._files.write(record)
            return self._advance(who, draft, act, text)

    def _advance(self, who: Depositor | None, draft: str, act: ReviewAct, text: str) -> Review:
        entry = self._entry(who, act, text)
        return self._change(who, draft, _into(draft, entry, title=self._present_title(draft)), entry)

    def _change(
        self,
        who: Depositor | None,
        draft: str,
        into: Callable[[Review | None], tuple[Review, ReviewEntry]],
        entry: ReviewEntry,
    ) -> Review:
        review = self.store.change(draft, into)
        token, address = (None, "server") if who is None else (who.token, who.address)
        now, acts = self._clocks.read().wall, _DELETION_ACTS if review.deletes else _ACTS
        self._kept.note(AuditEntry(now, acts[entry.act], f"draft:{draft}", entry.account, token, address, entry.text))
        if self._news is not None:
            self._news.tell(review, entry)
        return review

    def _present_title(self, draft: str) -> str | None:
        record = self._files.read(draft)
        return None if record is None or record.publication is not None else _title_of(record)

    def _entry(self, who: Depositor | None, act: ReviewAct, text: str) -> ReviewEntry:
        account, name = (None, _ARCHIVE) if who is None else (who.owner, who.name)
        return ReviewEntry(act, self._clocks.seconds(), account, name, text)


_ACTS: Final = {
    ReviewAct.SUBMITTED: "submit for review",
    ReviewAct.COMMENTED: "comment on review",
    ReviewAct.RETURNED: "send back",
    ReviewAct.WITHDRAWN: "withdraw from review",
    ReviewAct.PUBLISHED: "publish after review",
}
"""The names of these acts in the audit log."""
_DELETION_ACTS: Final = {
    **_ACTS,
    ReviewAct.SUBMITTED: "ask for deletion",
    ReviewAct.RETURNED: "decline deletion",
    ReviewAct.WITHDRAWN: "withdraw deletion request",
    ReviewAct.PUBLISHED: "delete after review",
}


def _title_of(record: DraftRecord) -> str:
    return "; ".join(record.description.metadata.titles())[:_LONGEST_TITLE]


def _into(
    draft: str, entry: ReviewEntry, label: str | None = None, title: str | None = None
) -> Callable[[Review | None], tuple[Review, ReviewEntry]]:
    def change(before: Review | None) -> tuple[Review, ReviewEntry]:
        state = advance(draft, None if before is None else before.state, entry.act)
        assert before is not None  # only a submission begins a review
        changed = before.changed if state is before.state else entry.at
        told = before.title if title is None else title
        return replace(before, state=state, changed=changed, label=label or before.label, title=told), entry

    return change
