"""Reviews in a browser: `/review`, the queue for librarians; `/review/<draft>`, one draft with its files and comments;
`/account/drafts/<draft>/review`, the same conversation for its depositor.

Files of drafts are offered for saving. A few harmless types are shown, in a sandbox.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ibi.archive.rules.profile import encoded_path
from ibi.deposits.model import LONGEST_COMMENT, DraftRecord, Review, ReviewAct, ReviewState
from ibi.deposits.pages.field_choices import RELATION_WORDS, ActRefused
from ibi.deposits.pages.item_actions import NOT_CONFIRMED
from ibi.deposits.rules.reviews import InvalidComment, read_comment
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.reviews import Reviews, ReviewView, judged_by
from ibi.items.model.file import File
from ibi.items.model.visibility import Visibility
from ibi.items.pages.related_items import Relative
from ibi.items.rules.related_items import find_forms
from ibi.minting.service.queue import MintQueue, QueuedLabels
from ibi.people.model.account import Role
from ibi.reading.pages.file_pages import file_tree
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.web.headers import attachment_headers, is_to_run, safety_headers
from ibi.web.reader import PRIVATE, ForeignForm, Sessions, Visitor, find_visitor, message, page_language, see_other
from ibi.web.reader import translations as translations_into
from ibi.web.rendering import render
from ibi.web.request_errors import PathNotFound, whole_number
from ibi.web.sites import ArchiveSite
from ibi.web.words import ELEMENTS, KINDS

SHOWN: Final = 50
"""Number of reviews on one page of the queue."""
MOST_FILES: Final = 500
"""Largest number of files of a draft on its page."""
MOST_OPEN: Final = 20
"""Up to this number of files, all are shown. Beyond it, folders and the rest of the list are folded."""
_PUBLICATIONS: Final = 2
"""Number of publications that run at the same time."""
_VIEWED: Final = re.compile(r"image/(?:avif|gif|jpeg|png|webp)|text/(?:plain|csv|markdown)|application/pdf")
"""Types that are shown. All others are for saving."""

STATES: Final = {
    ReviewState.SUBMITTED: message("waiting for review"),
    ReviewState.RETURNED: message("with the depositor"),
    ReviewState.PUBLISHED: message("published"),
}
ACTS: Final = {
    ReviewAct.SUBMITTED: message("submitted it for review"),
    ReviewAct.COMMENTED: message("commented"),
    ReviewAct.RETURNED: message("returned it"),
    ReviewAct.WITHDRAWN: message("withdrew it"),
    ReviewAct.PUBLISHED: message("published it"),
}
DELETION_ACTS: Final = {
    ReviewAct.SUBMITTED: message("asked for the deletion of the item"),
    ReviewAct.COMMENTED: message("commented"),
    ReviewAct.RETURNED: message("declined the deletion"),
    ReviewAct.WITHDRAWN: message("withdrew the request"),
    ReviewAct.PUBLISHED: message("deleted the item"),
}
DELETION_STATES: Final = {
    ReviewState.SUBMITTED: message("waiting for a librarian"),
    ReviewState.RETURNED: message("not deleted"),
    ReviewState.PUBLISHED: message("deleted"),
}
_LISTS: Final = {
    ReviewState.SUBMITTED: message("Pending"),
    ReviewState.RETURNED: message("Returned"),
    ReviewState.PUBLISHED: message("Published"),
}
# Errors of the rules, for translation.
_ERRORS: Final = (
    message("enter a message: it is read by the people who work on the draft"),
    message("it has {number} characters, and at most {most} are kept"),
    message("it has a character that cannot be shown"),
    message("there are {most} entries already, which is all that is kept"),
    message("not submitted"),
    message("submitted already"),
)


_CLAIMS: Final = {
    "edition_of": message("Newer edition of"),
    "translation_of": message("Translation of"),
    "describes": message("Metadata of"),
}


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A claim of a draft about another item, and its effect at publication."""

    words: str
    item: Relative
    holds: bool | None = None
    """True if the claim holds at once, False if it waits for an answer, None if another Archive answers it."""
    has_owner: bool = True
    """True if the item belongs to an account, False if it belongs to the Archive."""


def review_facts(found: ReviewView | None) -> dict[str, Any]:
    """Return the facts that `_review_state.html` needs to show the state of a review."""
    deletes = found is not None and found.review.deletes
    return {
        "review": found,
        "review_states": DELETION_STATES if deletes else STATES,
        "review_acts": DELETION_ACTS if deletes else ACTS,
        "instant": Instant,
    }


class ReviewDesk:
    """The review pages of one Archive. Everything that waits for the disk runs in threads."""

    def __init__(self, site: ArchiveSite, drafts: Drafts, reviews: Reviews, queue: MintQueue) -> None:
        self._site, self._drafts, self._reviews, self._queue = site, drafts, reviews, queue
        self._publishing = ThreadPoolExecutor(_PUBLICATIONS, thread_name_prefix="ibi-review")

    def routes(self) -> list[Route]:
        own = "/account/drafts/{draft}/review"
        return [
            Route("/review", self.list, methods=["GET"]),
            Route("/review/{draft}", self.judge, methods=["GET", "POST"]),
            Route("/review/{draft}/files/{path:path}", self.file, methods=["GET"]),
            Route(own, self.own, methods=["GET", "POST"]),
        ]

    async def list(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.LIBRARIAN)
        if isinstance(visitor, Response):
            return visitor
        query = request.query_params
        named = query.get("state", ReviewState.SUBMITTED)
        state = ReviewState(named) if named in set(ReviewState) else ReviewState.SUBMITTED
        number = whole_number(query.get("after", "0"), 12) or 0
        found = await asyncio.to_thread(self._waiting, visitor, number, state)
        return render(
            request.scope,
            "review_queue.html",
            headers=PRIVATE,
            reviews=found[:SHOWN],
            following=found[SHOWN - 1].turn if len(found) > SHOWN else None,
            state=state,
            is_first=number == 0,
            lists=_LISTS,
            is_on=self._drafts.is_reviewed,
            instant=Instant,
        )

    def _waiting(self, visitor: Visitor, after: int, state: ReviewState) -> tuple[Review, ...]:
        found = self._reviews.waiting(visitor.depositor, after, SHOWN + 1, state)
        return tuple(_with_full_name(each, visitor.sessions) for each in found)

    def _look(self, visitor: Visitor, draft: str) -> ReviewView:
        found, sessions = self._reviews.look(visitor.depositor, draft), visitor.sessions
        entries = (replace(each, name=sessions.full_name(each.account, each.name)) for each in found.entries)
        return replace(found, review=_with_full_name(found.review, sessions), entries=tuple(entries))

    async def judge(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.LIBRARIAN)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor, "review.html")
        return await self._answer(request, visitor, "review.html", self._judge)

    async def own(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor, "review_own.html")
        return await self._answer(request, visitor, "review_own.html", self._converse)

    async def _answer(
        self,
        request: Request,
        visitor: Visitor,
        template: str,
        act: Callable[[Visitor, str, dict[str, str], QueuedLabels], object],
    ) -> Response:
        draft, fields = request.path_params["draft"], await visitor.read_form(request)
        labels = QueuedLabels(self._queue, asyncio.get_running_loop(), f"person:{visitor.name}")
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._publishing, act, visitor, draft, fields, labels)
        except ForeignForm:
            raise
        except IbiError as error:
            if not error.kind.is_told or error.kind in {ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND}:
                raise
            return await self._show(request, visitor, template, error, fields)
        return see_other(request.url.path)

    def _judge(self, visitor: Visitor, draft: str, fields: dict[str, str], labels: QueuedLabels) -> None:
        act, seen = fields.get("act"), judged_by(fields.get("seal", ""))
        if act == "publish":
            if fields.get("deletes") and fields.get("confirm") != "yes":
                raise ActRefused(reason=NOT_CONFIRMED)
            text = read_comment(fields.get("text", ""), is_required=False)
            self._drafts.publish(visitor.depositor, draft, labels, check=seen)
            if text:
                self._reviews.comment(visitor.depositor, draft, text)
        elif act == "return":
            self._reviews.send_back(visitor.depositor, draft, fields.get("text", ""), seen)
        else:
            self._converse(visitor, draft, fields, labels)

    def _converse(self, visitor: Visitor, draft: str, fields: dict[str, str], _: QueuedLabels) -> None:
        act, text = fields.get("act"), fields.get("text", "")
        if act == "comment":
            self._reviews.comment(visitor.depositor, draft, text)
        elif act == "withdraw":
            self._reviews.withdraw(visitor.depositor, draft, text)
        else:
            raise PathNotFound()

    def _claims(self, visitor: Visitor, found: ReviewView) -> tuple[ShownClaim, ...]:
        """Return the draft's claims about other items. This call blocks."""
        record = None if found.view is None else found.view.record
        if record is None:
            return ()
        named = {words: getattr(record.description, name) for name, words in _CLAIMS.items()}
        return tuple(self._claim(visitor, record, words, forms) for words, forms in named.items() if forms)

    def _claim(self, visitor: Visitor, record: DraftRecord, words: str, forms: LabelForms) -> ShownClaim:
        shown, held = Relative.of(self._site, forms), find_forms(self._site.shown_catalog, forms)
        if held is None:
            return ShownClaim(words, shown)
        holds = self._drafts.claim_holds(visitor.depositor, record, held)
        return ShownClaim(words, shown, holds, held.owner is not None)

    async def _show(
        self,
        request: Request,
        visitor: Visitor,
        template: str,
        error: IbiError | None = None,
        fields: dict[str, str] | None = None,
    ) -> Response:
        found = await asyncio.to_thread(self._look, visitor, request.path_params["draft"])
        claims = await asyncio.to_thread(self._claims, visitor, found)
        record = None if found.view is None else found.view.record
        access = (
            {} if record is None or record.deletion is not None else await asyncio.to_thread(self._access_facts, record)
        )
        return render(
            request.scope,
            template,
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=PRIVATE,
            csrf=visitor.csrf,
            text=(fields or {}).get("text", "")[: 2 * LONGEST_COMMENT],
            longest=LONGEST_COMMENT,
            record=record,
            claims=claims,
            most_open=MOST_OPEN,
            place=encoded_path,
            element_names=ELEMENTS,
            relation_words=RELATION_WORDS,
            kinds=KINDS,
            is_waiting=found.review.state is ReviewState.SUBMITTED,
            is_withdrawn=_is_withdrawn(found),
            deletion=None if record is None else record.deletion,
            is_newer=await asyncio.to_thread(self._is_newer, record),
            item_url=None if found.review.label is None else f"/col/{found.review.label}/metadata",
            **_problem_facts(request, error),
            **_file_facts(found),
            **access,
            **review_facts(found),
        )

    def _is_newer(self, record: DraftRecord | None) -> bool:
        """Return whether the item has changed since the request for its deletion. This call blocks."""
        if record is None or record.deletion is None or record.labels is None:
            return False
        item = find_forms(self._site.shown_catalog, record.labels)
        return item is not None and item.version != record.base

    def _access_facts(self, record: DraftRecord) -> dict[str, Any]:
        """Return the changes of access, and whether the draft opens more than its item does now; None if it changes
        nothing."""
        before, after = self._drafts.compare_access(record)
        rows = access_rows(before, after)
        is_changed = before is not None and any(row.before is not None for row in rows)
        shows_more = after.shows_more_than(before, self._site.now) if before is not None and is_changed else None
        return {"access_rows": rows, "shows_more": shows_more}

    async def file(self, request: Request) -> Response:
        """Deliver a file that was uploaded to a draft, to librarians and its depositor.

        Files of the published item are delivered by the item's own pages.
        """
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        if is_to_run(request.scope["headers"]):
            raise PathNotFound()
        draft, path = request.path_params["draft"], request.path_params["path"]
        await asyncio.to_thread(self._reviews.look, visitor.depositor, draft)
        uploaded = await asyncio.to_thread(self._drafts.uploads.files.find_upload, draft, path)
        if uploaded is None or uploaded.file.path != path:
            raise PathNotFound()
        file = uploaded.file
        is_shown = "view" in request.query_params and _is_viewed(file)
        safe = safety_headers if is_shown else None
        headers = (
            attachment_headers(file.media_type, path)
            if safe is None
            else safe(file.media_type, path, pages=self._site.origin)
        )
        return FileResponse(uploaded.place, headers={**headers, **PRIVATE})


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One part of the access settings: `embargo`, `networks` or `listing`.

    `before` is the access that the draft changes. It is None if this part does not change, or for a new item.
    """

    part: str
    before: Visibility | None
    after: Visibility


_ACCESS_PARTS: Final[dict[str, Callable[[Visibility], object]]] = {
    "embargo": lambda each: (each.embargo, each.embargo_reason),
    "networks": lambda each: frozenset(each.networks),
    "listing": lambda each: each.listing,
}
"""The value to compare for each part."""


def access_rows(before: Visibility | None, after: Visibility) -> tuple[AccessRow, ...]:
    """Return the parts of the access that a draft changes, and those that are not open to all."""
    rows = []
    for part, value in _ACCESS_PARTS.items():
        is_changed = before is not None and value(before) != value(after)
        if is_changed or value(after) != value(Visibility.PUBLIC):
            rows.append(AccessRow(part, before if is_changed else None, after))
    return tuple(rows)


def _problem_facts(request: Request, error: IbiError | None) -> dict[str, str]:
    """Return an error in words, for the field of the message or for the whole page."""
    gettext = translations_into(page_language(request.scope)).gettext
    if isinstance(error, InvalidComment):
        return {"problem": "", "text_problem": error.explain(gettext)}
    return {"problem": "" if error is None else error.message(gettext), "text_problem": ""}


def _file_facts(found: ReviewView) -> dict[str, Any]:
    """Return the facts about the files of a draft. A draft that is gone has none."""
    files = () if found.view is None else found.view.files
    return {
        "tree": file_tree(files[:MOST_FILES], files),
        "shown_count": min(len(files), MOST_FILES),
        "file_count": len(files),
        "viewed": {file.path for file in files[:MOST_FILES] if _is_viewed(file)},
        "kept": frozenset() if found.view is None else {file.path for file in found.view.record.kept},
    }


def _with_full_name(review: Review, sessions: Sessions) -> Review:
    return replace(review, depositor=sessions.full_name(review.owner, review.depositor))


def _is_viewed(file: File) -> bool:
    return _VIEWED.fullmatch(file.media_type.partition(";")[0].strip().lower()) is not None


def _is_withdrawn(found: ReviewView) -> bool:
    """Return whether the draft is back with its depositor because the depositor withdrew it, and no librarian returned
    it."""
    ends = (each.act for each in reversed(found.entries) if each.act in {ReviewAct.RETURNED, ReviewAct.WITHDRAWN})
    return next(ends, None) is ReviewAct.WITHDRAWN
