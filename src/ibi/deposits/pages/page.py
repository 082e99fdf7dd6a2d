"""`/deposit` and `/deposit/<draft>`: the form for a deposit with its files, which stay a draft until publication.

The first form that is sent begins a draft. Opening the page alone leaves nothing. Every button sends the whole form, so
that typed text is never lost. Scripts send the same forms, and ask for JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.citation.pages import citations, shown_work
from ibi.deposits.model import ReviewState
from ibi.deposits.pages.field_choices import language_choices, licence_choices, terms_in_words, type_choices
from ibi.deposits.pages.form import RECORD, FormContent, Typed, told_errors
from ibi.deposits.pages.list import OwnItemsPage
from ibi.deposits.pages.state import (
    FormReader,
    FormState,
    SentForm,
    SignedInAnew,
    SignedOut,
    check_record,
    read_form_into,
    write_marks,
)
from ibi.deposits.rules.drafts import DraftBusy, DraftPublished, UnderReview, UnknownDraft
from ibi.deposits.service.ledger import Depositor, DraftView
from ibi.deposits.service.reviews import Submitted
from ibi.deposits.service.uploads import PartialState
from ibi.items.model.item import Description, Item
from ibi.items.rules.licences import find_licence
from ibi.items.rules.rights import Belonging, ItemAct, may
from ibi.minting.service.queue import MintQueue, QueuedLabels
from ibi.people.model.account import Role, person_account
from ibi.people.rules.errors import NotAllowed, NotYourItem
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.messages.identification import LabelForms
from ibi.web.reader import (
    PRIVATE,
    SESSIONS,
    Sessions,
    Visitor,
    find_visitor,
    local_target,
    page_language,
    see_other,
    translations,
)
from ibi.web.rendering import render
from ibi.web.request import values
from ibi.web.request_errors import PathNotFound, whole_number
from ibi.web.sites import ArchiveSite, ItemServices

DEPOSIT: Final = "/deposit"
FILES_SHOWN: Final = 100
"""Number of files on one page of the form."""
_UPLOAD_WORKS: Final = 2
"""Number of threads that hash and write pieces of files, as for uploads to the API."""
_PUBLISH_WORKS: Final = 2
_ATTEMPTS: Final = 5
"""Number of attempts to write a draft that other forms write too."""
_JSON: Final = "application/json"

Made = TypeVar("Made")


class UploadUnfinished(IbiError):
    """files: {path} has not come whole. Choose it again, and it goes on where it was; or remove it."""

    code = "upload-unfinished"
    kind = ErrorKind.CONFLICT
    request_field = "files"


class DepositPages:
    """The deposit pages of one Archive."""

    def __init__(self, site: ArchiveSite, services: ItemServices, queue: MintQueue) -> None:
        self._site, self._queue = site, queue
        self._services, self._drafts = services, services.drafts
        self._uploading = ThreadPoolExecutor(_UPLOAD_WORKS, thread_name_prefix="ibi-form-upload")
        self._publishing = ThreadPoolExecutor(_PUBLISH_WORKS, thread_name_prefix="ibi-form-deposit")

    def routes(self) -> list[Route]:
        return [
            Route(DEPOSIT, self.new, methods=["GET", "POST"]),
            Route(f"{DEPOSIT}/{{draft}}", self.draft, methods=["GET", "POST"]),
            Route(f"{DEPOSIT}/{{draft}}/files", self.files, methods=["GET"]),
            *OwnItemsPage(self._site, self._services).routes(),
        ]

    async def new(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return await self._answer_signed_out(request, visitor)
        if request.method == "POST":
            return await self._take(request, visitor, None)
        return self._show(request, visitor, FormState())

    async def draft(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return await self._answer_signed_out(request, visitor)
        draft = request.path_params["draft"]
        view = await asyncio.to_thread(self._drafts.find, visitor.depositor, draft)
        if view.record.publication is not None:
            return see_other(_page_of(view.record.publication.labels))
        if view.record.deletion is not None:
            return see_other(f"/account/drafts/{draft}/review")
        if request.method == "POST":
            return await self._take(request, visitor, view)
        state = FormState(view, unfinished=await self._list_unfinished(visitor, draft))
        state.errors = told_errors(state.content.read_again(self._site.now))
        return self._show(request, visitor, state, HTTPStatus.OK)

    async def files(self, request: Request) -> Response:
        """Return names and sizes of the files of a draft. The upload script sends the missing ones."""
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return await self._answer_signed_out(request, visitor)
        view = await asyncio.to_thread(self._drafts.find, visitor.depositor, request.path_params["draft"])
        return _json({"files": [[file.path, file.size] for file in view.files]})

    async def _take(self, request: Request, visitor: Visitor, view: DraftView | None) -> Response:
        draft = None if view is None else view.record.id

        async def begin() -> str:
            return await self._begin(visitor)

        sent = await self._reader(request, visitor.sessions, visitor, draft, begin).read()
        if not sent.is_proven:
            return self._show_unproven(request, visitor, view, sent)
        if sent.fields.get("act") == "discard":
            return await self._discard(visitor, draft)
        state = FormState.of(view, sent)
        if sent.draft is None and not check_record(sent.fields, state):
            return self._answer(request, visitor, state)  # an unreadable record begins no draft and uses no label
        try:
            await self._save(visitor, sent, state)
            if sent.fields.get("act") == "publish" and not state.errors and not state.refused:
                return await self._publish(request, visitor, state)
        except (UnknownDraft, DraftPublished):
            raise
        except _OvertakenError:
            state.note(DraftBusy(draft=str(sent.draft)))
        except IbiError as error:
            state.note(error)
        return self._answer(request, visitor, state)

    async def _answer_signed_out(self, request: Request, way: Response) -> Response:
        """Answer a browser that is not signed in: lead it to the sign-in page.

        A form is shown again instead, with its typed text and without any value of the draft.
        """
        sessions = request.scope.get(SESSIONS)
        if _wants_json(request):
            return _json(_problem(request, SignedOut()), SignedOut.kind.status)
        if request.method != "POST" or not isinstance(sessions, Sessions):
            return way

        async def begin() -> str:
            raise SignedOut()

        sent = await self._reader(request, sessions, None, None, begin).read()
        return self._show_unproven(request, None, None, sent)

    def _reader(
        self,
        request: Request,
        sessions: Sessions,
        visitor: Visitor | None,
        draft: str | None,
        begin: Callable[[], Awaitable[str]],
    ) -> FormReader:
        uploads, largest = self._drafts.uploads, self._drafts.rules.largest
        return FormReader(request, sessions, visitor, uploads, draft, begin, self._uploading, most_dropped=largest)

    def _show_unproven(
        self, request: Request, visitor: Visitor | None, view: DraftView | None, sent: SentForm
    ) -> Response:
        """Show a form again as it was sent, after none of it was saved. Scripts receive the CSRF token for the next
        one."""
        why = SignedOut() if visitor is None else SignedInAnew()
        if visitor is not None and _wants_json(request):
            return _json({**_problem(request, why), "csrf": visitor.csrf}, why.kind.status)
        state = FormState.of(view, sent)
        state.problem = why
        return self._show(request, visitor, state)

    async def _begin(self, visitor: Visitor) -> str:
        """Begin a draft and return its id. It has labels if the minter has any now, and otherwise gets them with the
        next form."""
        begun = await asyncio.to_thread(self._drafts.begin, visitor.depositor, Description())
        return begun.record.id

    async def _save(self, visitor: Visitor, sent: SentForm, state: FormState) -> None:
        """Save the typed text to the draft, as far as it can be read."""
        draft, labels = sent.draft or await self._begin(visitor), self._labels(visitor)
        if state.view is None:
            state.view = await asyncio.to_thread(self._drafts.find, visitor.depositor, draft)

        def save() -> DraftView:
            who, drafts = visitor.depositor, self._drafts
            if sent.fields.get("drop"):
                drafts.uploads.drop_partial(who, draft, sent.fields["drop"])
            if sent.fields.get("remove"):
                drafts.uploads.remove(who, draft, sent.fields["remove"])
            self._describe(who, draft, sent.fields, state)
            if sent.fields.get("remove"):
                self._release_target(who, draft, sent.fields["remove"], state)
            return drafts.reserve_labels(who, draft, labels)

        state.view = await asyncio.to_thread(save)
        state.unfinished = await self._list_unfinished(visitor, draft)

    def _describe(self, who: Depositor, draft: str, fields: Typed, state: FormState) -> None:
        """Apply a form to the present state of the draft, because another window may save at the same time."""
        for _ in range(_ATTEMPTS):
            before = FormContent.of(self._drafts.find(who, draft).record)
            content = read_form_into(before, fields, state, self._site.now)
            try:
                if content != before:
                    content = self._write_allowed(who, draft, before, content, state)
            except _OvertakenError:
                continue
            state.settle(content)
            return
        raise DraftBusy(draft=draft)

    def _write_allowed(
        self, who: Depositor, draft: str, before: FormContent, content: FormContent, state: FormState
    ) -> FormContent:
        """Write the content of a form.

        If the depositor may not set the access, the typed access settings stay as refused texts. The rest is written.
        """
        try:
            self._write(who, draft, before, content)
        except (NotAllowed, NotYourItem) as error:
            if content.description.visibility == before.description.visibility:
                raise
            held = content.hold_access(before, error)
            self._write(who, draft, before, held)
            state.errors |= dict.fromkeys(held.refused.keys() - content.refused.keys(), error)
            return held
        return content

    def _write(self, who: Depositor, draft: str, before: FormContent, content: FormContent) -> None:
        check = partial(_check_same, before)
        self._drafts.describe(who, draft, content.description, check, content.refused)

    def _release_target(self, who: Depositor, draft: str, removed: str, state: FormState) -> None:
        """Unset the main file if it was removed. If only one file is left, it becomes the main file."""
        view = self._drafts.find(who, draft)
        before, left = view.record.description, [file.path for file in view.files]
        if before.target != removed or removed in left:
            return
        target = left[0] if len(left) == 1 else None
        content = FormContent(replace(before, target=target), view.record.refused)
        self._write(who, draft, FormContent.of(view.record), content)
        state.typed.pop("target", None)
        state.newer["target"] = target or ""
        state.settle(content)

    async def _publish(self, request: Request, visitor: Visitor, state: FormState) -> Response:
        assert state.view is not None  # it was saved
        if state.unfinished:
            raise UploadUnfinished(path=repr(state.unfinished[0].partial.path))
        draft, labels = state.view.record.id, self._labels(visitor)
        made = await self._run(
            self._publishing, lambda: self._drafts.publish_or_submit(visitor.depositor, draft, labels)
        )
        place = f"{DEPOSIT}/{draft}" if isinstance(made, Submitted) else _page_of(made.item.labels)
        return _json({"place": place}) if _wants_json(request) else see_other(place)

    async def _list_unfinished(self, visitor: Visitor, draft: str) -> tuple[PartialState, ...]:
        """Return the files with an unfinished upload, if the draft still takes files."""
        try:
            return await asyncio.to_thread(self._drafts.uploads.list_partials, visitor.depositor, draft)
        except (DraftPublished, UnderReview):
            return ()

    async def _discard(self, visitor: Visitor, draft: str | None) -> Response:
        if draft is not None:
            await asyncio.to_thread(self._drafts.discard, visitor.depositor, draft)
        return see_other("/account/items")

    def _labels(self, visitor: Visitor) -> QueuedLabels:
        return QueuedLabels(self._queue, asyncio.get_running_loop(), person_account(visitor.name))

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    def _answer(self, request: Request, visitor: Visitor, state: FormState) -> Response:
        if _wants_json(request):
            return _json(self._document(request, state))
        if state.view is not None and not state.lacks_parts and not _kept_record(state):
            place = f"{DEPOSIT}/{state.view.record.id}"
            if state.status == HTTPStatus.OK:
                return see_other(f"{place}?saved=1")
            if "draft" not in request.path_params and state.is_saved:
                # The draft shows the refused values. A reload of this page would begin another draft.
                return see_other(place)
        return self._show(request, visitor, state)

    def _document(self, request: Request, state: FormState) -> dict[str, Any]:
        language = page_language(request.scope)
        labels = _labels_of(state.view)
        return {
            "marks": write_marks(state.shown_marks),
            "newer": state.newer,
            "clash": state.is_clash,
            "terms": "" if state.view is None else _terms(state.view.record.description, language),
            "draft": None if state.view is None else state.view.record.id,
            "place": None if state.view is None else f"{DEPOSIT}/{state.view.record.id}",
            "url": self._persistent_url(state.view),
            "label": None if labels is None else (labels.ibip or labels.labels[0]).spelling,
            **_told(request, state),
            "citations": [
                {"style": each.style, "runs": [[run.text, run.italic] for run in each.runs]}
                for each in self._citations(state.view)
            ],
        }

    def _show(self, request: Request, visitor: Visitor | None, state: FormState, status: int | None = None) -> Response:
        """Render the page. Its status follows from its errors unless another is given."""
        language, view = page_language(request.scope), state.view
        said, files = state.content.fill(), () if view is None else view.files
        number = _page_number(request.query_params.get("files", "1"), len(files))
        return render(
            request.scope,
            "deposit.html",
            status=status or state.status,
            headers=PRIVATE,
            csrf="" if visitor is None else visitor.csrf,
            is_signed_out=visitor is None,
            is_typed=isinstance(state.problem, SignedOut | SignedInAnew),
            has_dropped=state.has_dropped,
            marks=write_marks(state.shown_marks),
            is_clash=state.is_clash,
            place=local_target(request.url.path) if view is None else f"{DEPOSIT}/{view.record.id}",
            values={name: state.typed.get(name, text) for name, text in said.items()},
            is_refused=(status or state.status) != HTTPStatus.OK,
            more_refused=state.more_refused,
            is_saved="saved" in request.query_params or state.lacks_parts,
            files=files[(number - 1) * FILES_SHOWN : number * FILES_SHOWN],
            all_files=files,
            unfinished=state.unfinished,
            pages=range(1, -(-len(files) // FILES_SHOWN) + 1),
            number=number,
            types=type_choices(language),
            licences=licence_choices(language),
            languages=language_choices(language),
            terms=_terms(state.content.description, language),
            record=_kept_record(state),
            **self._draft_facts(visitor, view),
            **_told(request, state),
        )

    def _draft_facts(self, visitor: Visitor | None, view: DraftView | None) -> dict[str, Any]:
        """Return the facts about the draft, and about its review, that the page shows."""
        is_waiting, may_publish = view is not None and view.is_waiting, self._may_publish(visitor, view)
        return {
            "draft": None if view is None else view.record,
            "is_waiting": is_waiting,
            "is_returned": view is not None and view.review is ReviewState.RETURNED,
            "is_locked": is_waiting and not may_publish,
            "is_reviewed": self._drafts.is_reviewed and not may_publish,
            "labels": _labels_of(view),
            "persistent_url": self._persistent_url(view),
            "citations": self._citations(view),
        }

    def _may_publish(self, visitor: Visitor | None, view: DraftView | None) -> bool:
        """Return whether the visitor may publish the draft without a librarian."""
        if visitor is None:
            return False
        owner = visitor.depositor.owner if view is None else view.record.owner
        return may(visitor.actor, ItemAct.PUBLISH, Belonging("a draft", owner))

    def _citations(self, view: DraftView | None) -> tuple[Any, ...]:
        """Return the citations of the future item, once it has labels and a title."""
        labels = _labels_of(view)
        if view is None or labels is None or not view.record.description.metadata.title:
            return ()
        description, now = view.record.description, self._site.now
        shown = Description(metadata=description.metadata, language=description.language)
        item = Item(labels=labels, created=now, updated=now, description=shown)
        return citations(shown_work(item, self._site.persistent_url(labels)), now)

    def _persistent_url(self, view: DraftView | None) -> str | None:
        labels = _labels_of(view)
        return None if labels is None else self._site.persistent_url(labels)


def _page_of(labels: LabelForms) -> str:
    if labels.rep is None:
        raise PathNotFound()
    return f"/col/{labels.rep.spelling}/metadata"


def _kept_record(state: FormState) -> str:
    """Return the pasted text, until all of it is taken over."""
    is_imported = state.typed.get("act") == "import"
    if RECORD not in state.typed:
        return state.content.refused[RECORD].text if RECORD in state.content.refused else ""
    is_kept = not is_imported or RECORD in state.errors or state.problem is not None or state.lacks_parts
    return state.typed[RECORD] if is_kept else ""


def _told(request: Request, state: FormState) -> dict[str, Any]:
    """Return what the page and its script say about a form: its errors, and the parts of a record that are left out."""
    gettext = translations(page_language(request.scope)).gettext
    return {
        "errors": {name: error.message(gettext) for name, error in state.errors.items()},
        "attention": _attention(request, state),
        "refused": [(name, error.message(gettext)) for name, error in state.refused],
        "problem": None if state.problem is None else state.problem.message(gettext),
        "left_out": state.left_out,
        "other_records": state.other_records,
    }


def _attention(request: Request, state: FormState) -> str:
    """Return a sentence with the number of saved fields that need a correction.

    It is empty if there are none, or if not everything is saved.
    """
    if not state.unread or not state.is_saved:
        return ""
    ngettext = translations(page_language(request.scope)).ngettext
    words = ngettext(
        "The draft is saved. %(num)s field needs attention before it can be published.",
        "The draft is saved. %(num)s fields need attention before it can be published.",
        state.unread,
    )
    return words % {"num": state.unread}


class _OvertakenError(Exception):
    """Another window has saved between the reading of a draft and its writing."""


def _check_same(before: FormContent, view: DraftView) -> None:
    if FormContent.of(view.record) != before:
        raise _OvertakenError


def _terms(description: Description, language: str) -> str:
    """Return the terms of the licence in words, or an empty text if the licence is unknown."""
    licence = description.metadata.licence
    known = None if licence is None else find_licence(licence.text)
    return "" if known is None else terms_in_words(known, language)


def _labels_of(view: DraftView | None) -> LabelForms | None:
    return None if view is None else view.record.labels or view.record.reserved


def _wants_json(request: Request) -> bool:
    return ", ".join(values(request.scope["headers"], b"accept")).startswith(_JSON)


def _json(document: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(document), status, PRIVATE, _JSON)


def _problem(request: Request, error: IbiError) -> dict[str, Any]:
    gettext = translations(page_language(request.scope)).gettext
    return {"code": error.code, "detail": error.message(gettext)}


def _page_number(text: str, files: int) -> int:
    last = max(1, -(-files // FILES_SHOWN))
    return min(last, whole_number(text, 5) or 1)
