"""Read a deposit form with files while it arrives: the files go to the draft, and the fields stay in memory.

No file is held in memory. A refused file stops neither the other files nor the fields: the rest of it is read and
dropped. The form must prove that this site made it before its first file: `csrf` is its first field.

The session may have ended since the page was made, or another one may have begun. No file of such a form is stored. Its
fields are still read, so that a page can show the typed text again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.requests import Request

from ibi.deposits.model import Refused
from ibi.deposits.pages.form import (
    RECORD,
    FormContent,
    Typed,
    as_shown,
    fill_fields,
    fill_from,
    read_fields,
    read_record,
    refuse,
    told_errors,
)
from ibi.deposits.service.ledger import DraftView
from ibi.deposits.service.uploads import DraftUploads, PartialState, Upload
from ibi.importing.rules.reading import read_records
from ibi.items.model.item import Description
from ibi.people.rules.sign_in import check_csrf
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.instant import Instant
from ibi.web.body import LEAST_SPEED, PATIENCE, body_pieces, told_media_type
from ibi.web.forms import Event, MultipartParser, PartEnd, PartHead, boundary_of
from ibi.web.reader import Sessions, Visitor
from ibi.web.rendering import shown_text
from ibi.web.request_errors import BodyTooLarge, MalformedBody

MOST_TYPED: Final = 2 * 1024 * 1024
"""Largest size of all fields together, in bytes."""
MOST_FIELDS: Final = 100
MOST_REFUSED: Final = 20
"""Largest number of refused files that a page lists with a reason."""

Made = TypeVar("Made")


@dataclass(slots=True)
class SentForm:
    """The result of reading a form."""

    fields: dict[str, str] = field(default_factory=dict)
    draft: str | None = None
    """The draft that received the files; None if it was not begun, because no file came."""
    taken: int = 0
    """Number of files that are now in the draft."""
    refused: list[tuple[str, IbiError]] = field(default_factory=list)
    """Names of the refused files, each with its error."""
    more_refused: int = 0
    """Number of refused files that `refused` does not list."""
    is_proven: bool | None = None
    """True if the form was made for the session that sent it. None until its first file or its end."""
    has_dropped: bool = False
    """True if the form had files that were dropped because it was not proven."""


class FormReader:
    """Reads one form of a visitor, or of a browser that is no longer signed in.

    `begin` makes the draft, when the first file comes for a draft that is not begun.
    """

    def __init__(
        self,
        request: Request,
        sessions: Sessions,
        visitor: Visitor | None,
        uploads: DraftUploads,
        draft: str | None,
        begin: Callable[[], Awaitable[str]],
        threads: Executor,
        *,
        most_dropped: int,
    ) -> None:
        """`threads` hash and write the files.

        If the form turns out not to belong to this session, up to `most_dropped` bytes of files are read and dropped,
        to reach the fields after them. The bound is the largest size that a session may send: with less, typed text
        would be lost.
        """
        self._threads, self._most_dropped = threads, most_dropped
        self._request, self._sessions, self._visitor = request, sessions, visitor
        self._uploads, self._begin = uploads, begin
        self._form, self._size, self._dropped = SentForm(draft=draft), 0, 0
        self._name: str | None = None
        self._typed = bytearray()
        self._head: PartHead | None = None
        self._upload: Upload | None = None

    async def read(self) -> SentForm:
        """Read and return the whole form. Raise `ForeignForm` if a page of another site sent it."""
        parser = MultipartParser(boundary_of(self._request.scope["headers"]))
        try:
            async for piece in body_pieces(self._request.receive, PATIENCE, LEAST_SPEED):
                for event in parser.feed(piece):
                    await self._take(event)
            parser.finish()
        finally:
            if self._upload is not None:
                self._upload.abandon()
        self._prove()
        return self._form

    def _prove(self) -> Visitor | None:
        """Check once whether the form was made for the session that sends it. Return the visitor if so."""
        if self._form.is_proven is None:
            self._sessions.check_form(self._request.scope, self._form.fields, None)
            token = self._form.fields.get("csrf", "")
            self._form.is_proven = self._visitor is not None and check_csrf(self._visitor.signed.text, token)
        return self._visitor if self._form.is_proven else None

    async def _take(self, event: Event) -> None:
        if isinstance(event, PartHead):
            await self._take_head(event)
        elif isinstance(event, PartEnd):
            await self._take_end()
        elif self._name is not None:
            self._size += len(event)
            if self._size > MOST_TYPED:
                raise BodyTooLarge(most=MOST_TYPED)
            self._typed += event
        elif self._upload is not None:
            await self._or_refuse(partial(self._upload.write, event))
        elif not self._form.is_proven:
            self._dropped += len(event)
            if self._dropped > self._most_dropped:
                raise BodyTooLarge(most=self._most_dropped)

    async def _take_head(self, head: PartHead) -> None:
        if head.filename is None:
            if len(self._form.fields) >= MOST_FIELDS:
                raise MalformedBody(reason=f"it has more than {MOST_FIELDS} fields")
            self._name = head.name
            return
        visitor = self._prove()
        if not head.filename:  # a browser's way to say that no file was chosen
            return
        if visitor is None:
            self._form.has_dropped = True
            return
        self._head = head
        try:
            if self._form.draft is None:
                self._form.draft = await self._begin()
            told_media_type(head.headers)  # refused before its bytes come
        except IbiError as error:
            self._refuse(error)
            return
        begin = partial(self._uploads.begin, visitor.depositor, self._form.draft, head.filename, 0)
        self._upload = await self._or_refuse(begin)

    async def _take_end(self) -> None:
        if self._name is not None:
            try:
                self._form.fields[self._name] = self._typed.decode()
            except UnicodeDecodeError:
                raise MalformedBody(reason="a field is not UTF-8") from None
            self._name = None
            self._typed.clear()
        elif self._upload is not None and self._head is not None:
            finish = partial(self._upload.finish, told_media_type(self._head.headers))
            if await self._or_refuse(finish) is not None:
                self._form.taken += 1
            self._upload = self._head = None

    async def _or_refuse(self, work: Callable[[], Made]) -> Made | None:
        """Run the work in a thread and return its result. If it refuses the file, note the error and return None."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except IbiError as error:
            self._refuse(error)
            return None

    def _refuse(self, error: IbiError) -> None:
        if not error.kind.is_told:
            raise error
        upload, self._upload = self._upload, None
        if upload is not None:
            upload.abandon()
        name = "" if self._head is None else self._head.filename or ""
        if len(self._form.refused) < MOST_REFUSED:
            self._form.refused.append((name, error))
        else:
            self._form.more_refused += 1


FIELDS: Final = frozenset(fill_fields(Description()))
_ONE_LINE: Final = frozenset(
    {"title", "publisher", "date", "language", "licence", "target", "embargo", "embargo_reason"}
)
"""Fields of one line. A test compares them with the page."""
_FIELD_OF: Final = {
    "title-missing": "title",
    "nothing-to-publish": "files",
    "upload-unfinished": "files",
    "translation-language-missing": "language",
}
"""The field that shows an error of the publication, by the error's code."""


class ChangedElsewhere(IbiError):
    """Another window has saved something else here meanwhile: what stands here now is not saved."""

    code = "changed-elsewhere"
    kind = ErrorKind.CONFLICT


class SignedOut(IbiError):
    """You are signed out. What you typed is still here and is not saved: sign in in another tab, then save again."""

    code = "signed-out"
    kind = ErrorKind.FORBIDDEN


class SignedInAnew(IbiError):
    """You have signed in again meanwhile. What you typed is still here and is not saved: save again."""

    code = "signed-in-anew"
    kind = ErrorKind.FORBIDDEN


@dataclass(slots=True)
class FormState:
    """The state that one page of the deposit form shows.

    A form carries marks: hashes of its fields at the time when it was made. If the form did not change a field, that
    field keeps any value that another form of the same draft has saved since. If both forms changed it, it is
    overwritten only when the depositor asks for that.
    """

    view: DraftView | None = None
    """None before the draft is begun."""
    typed: dict[str, str] = field(default_factory=dict)
    """Texts shown in the fields in place of the draft's values."""
    errors: dict[str, IbiError] = field(default_factory=dict)
    """Errors by field name."""
    refused: list[tuple[str, IbiError]] = field(default_factory=list)
    """Names of the refused files, each with its error."""
    more_refused: int = 0
    """Number of refused files that `refused` does not list."""
    problem: IbiError | None = None
    """An error that belongs to no field."""
    unfinished: tuple[PartialState, ...] = ()
    """Files with an unfinished upload."""
    marks: dict[str, str] | None = None
    """Marks of the values from which the form was made, if the draft's values have changed since."""
    newer: dict[str, str] = field(default_factory=dict)
    """Values that another form has saved since, for the fields that this form did not change."""
    has_dropped: bool = False
    """True if files were sent and dropped because the session had ended."""
    left_out: tuple[str, ...] = ()
    """Members of a pasted record that the description did not take over."""
    other_records: int = 0
    """Number of pasted records after the first. They are ignored."""

    @classmethod
    def of(cls, view: DraftView | None, sent: SentForm) -> FormState:
        """Return the state of a form as it was sent, before it is saved."""
        return cls(
            view,
            sent.fields,
            refused=sent.refused,
            more_refused=sent.more_refused,
            marks=read_marks(sent.fields.get("marks", "")) or None,
            has_dropped=sent.has_dropped,
        )

    @property
    def lacks_parts(self) -> bool:
        """True if the description lacks a part of the pasted text."""
        return bool(self.left_out or self.other_records)

    @property
    def content(self) -> FormContent:
        """The draft's description, with the typed texts that could not be read."""
        return FormContent() if self.view is None else FormContent.of(self.view.record)

    @property
    def unread(self) -> int:
        """Number of fields that are saved as typed and need a correction."""
        return len(self.errors.keys() & self.content.refused.keys())

    @property
    def is_saved(self) -> bool:
        """True if the draft has everything that was typed, valid or not."""
        is_whole = not self.refused and self.problem is None and self.view is not None
        return is_whole and not self.is_clash and self.errors.keys() <= self.content.refused.keys()

    @property
    def status(self) -> int:
        error = self.problem or next(iter(self.errors.values()), None) or next((why for _, why in self.refused), None)
        return HTTPStatus.OK if error is None else error.kind.status

    @property
    def shown_marks(self) -> dict[str, str]:
        """Marks of the values from which the form is made."""
        return self.marks or mark_fields(self.content)

    def settle(self, content: FormContent) -> None:
        """Mark the draft's present values. Fields that clash keep their old marks until the depositor chooses."""
        before = self.marks or {}
        clashing = {name for name, error in self.errors.items() if isinstance(error, ChangedElsewhere)}
        self.marks = mark_fields(content) | {name: before[name] for name in clashing}

    @property
    def is_clash(self) -> bool:
        """True if another form has changed a field that this form changes too."""
        return any(isinstance(error, ChangedElsewhere) for error in self.errors.values())

    def note(self, error: IbiError) -> None:
        """Note an error for the place where the page shows it. Raise it again if it is for the log alone."""
        if not error.kind.is_told:
            raise error
        name = _FIELD_OF.get(error.code)
        if name is None and isinstance(error, InvalidInput):
            name = str(error.details.get("field", ""))
        if name in {*FIELDS, "files"}:
            self.errors.setdefault(str(name), error)
        else:
            self.problem = error


def mark_fields(content: FormContent) -> dict[str, str]:
    """Return a short mark of the value of each field."""
    return {name: _mark(name, text) for name, text in content.fill().items()}


def _mark(name: str, text: str) -> str:
    """Mark the text as the page shows it, so that a form that did not change the field has the same mark.

    A page cannot show control characters, and a browser removes line ends from a field of one line.
    """
    shown = shown_text(text)
    return blake2b(
        (shown.replace("\n", "") if name in _ONE_LINE else shown).strip().encode(), digest_size=6
    ).hexdigest()


def write_marks(marks: Typed) -> str:
    return " ".join(f"{name}:{mark}" for name, mark in marks.items())


def read_marks(text: str) -> dict[str, str]:
    """Return the marks that a form carries; none if they are missing or foreign."""
    return {name: mark for name, _, mark in (each.partition(":") for each in text.split()) if name in FIELDS}


def find_clashes(now: FormContent, typed: Typed, marks: Typed) -> tuple[frozenset[str], frozenset[str]]:
    """Compare the fields of a form that have marks with the draft.

    Return two sets: the fields that the form did not change, and the fields that clash. A field clashes if both the
    form and the draft have changed it since the form was made, to different values.
    """
    untouched, clashing = set[str](), set[str]()
    for name, text in now.fill().items():
        if name not in typed or name not in marks:
            continue
        mark, mark_now = _mark(name, typed[name]), _mark(name, text)
        if marks[name] in (mark, _mark(name, as_shown(now.description, name, typed[name]))):
            untouched.add(name)
        elif mark_now not in (marks[name], mark):
            clashing.add(name)
    return frozenset(untouched), frozenset(clashing)


def read_form_into(before: FormContent, sent: Typed, state: FormState, now: Instant) -> FormContent:
    """Return the draft's content with the changes of a form.

    The state receives the errors, and the values that another form has saved since. Texts that could not be read before
    are read again: the fault may have been in another field.
    """
    marks = read_marks(sent.get("marks", ""))
    untouched, clashing = find_clashes(before, sent, marks)
    if sent.get("overwrite"):
        clashing = frozenset()
    state.typed = {name: text for name, text in sent.items() if name not in untouched}
    shown = before.fill()
    state.newer = {name: shown[name] for name in untouched if _mark(name, shown[name]) != marks[name]}
    texts = _texts_to_read(before, sent, untouched | clashing)
    description, errors = read_fields(before.description, texts, now)
    if sent.get("act") == "import":
        description = _take_record(description, texts.get(RECORD, ""), state, errors)
    elif (error := _reread_record(before, texts)) is not None:
        errors[RECORD] = error
    refused = {name: refuse(texts.get(name, shown.get(name, "")), error) for name, error in errors.items()}
    _check_size(refused)
    state.errors = told_errors(errors) | {name: ChangedElsewhere() for name in clashing}
    return FormContent(description, refused)


def _texts_to_read(before: FormContent, sent: Typed, unread: frozenset[str]) -> dict[str, str]:
    """Return the refused texts of the draft, and the texts of the form that replace them or change other fields."""
    kept = before.refused.get(RECORD)
    if kept is not None and _is_same(sent.get(RECORD, ""), kept.text):
        unread |= {RECORD}
    refused = {name: each.text for name, each in before.refused.items()}
    return refused | {name: text for name, text in sent.items() if name not in unread}


def _reread_record(before: FormContent, texts: Typed) -> IbiError | None:
    """Return the error in a record that could not be read before, and is still there."""
    is_there = RECORD in before.refused and texts[RECORD].strip()
    return read_record(texts[RECORD]) if is_there else None


def _is_same(sent: str, kept: str) -> bool:
    """Return whether the record in the form equals the record that the page showed."""
    return _mark(RECORD, sent) == _mark(RECORD, kept)


def _check_size(refused: Refused) -> None:
    """Raise `BodyTooLarge` if the unread texts of a draft are larger than one form may be. Forms may come field by
    field."""
    if sum(len(each.text.encode()) for each in refused.values()) > MOST_TYPED:
        raise BodyTooLarge(most=MOST_TYPED)


def _take_record(description: Description, text: str, state: FormState, errors: dict[str, IbiError]) -> Description:
    """Return the description filled from the first record in a text. Note errors and omissions in the state."""
    try:
        first, *others = read_records(text)
    except IbiError as error:
        errors[RECORD] = error
        return description
    state.left_out, state.other_records = first.passed_over, len(others)
    return fill_from(description, first)


def check_record(sent: Typed, state: FormState) -> bool:
    """Return whether the record of a form can be read, if it has to be. Note the error otherwise."""
    error = read_record(sent.get(RECORD, "")) if sent.get("act") == "import" else None
    if error is not None:
        state.errors[RECORD] = error
    return error is None
