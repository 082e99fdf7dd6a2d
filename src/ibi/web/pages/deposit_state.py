"""A deposit form that was sent: how it is read, and what becomes of it.

A form with files, taken as it comes: the files go to the draft while they arrive, the fields are small and kept.

No file is held in memory, and one that is refused does not keep the others out, nor what was typed: the rest of it is
read and dropped. The form has to prove that it is ours before its first file: `csrf` is its first field.

The session may have ended since the page was made, or another one begun. Nothing is taken of such a form, and its
fields are read all the same, so that a page can show what was typed again.

What one page of the deposit form shows, and what becomes of a form that was sent.

A form carries marks of what its fields said when it was made. A field that it did not change keeps what another form
of the same draft has saved meanwhile; one that both changed is not overwritten unless the depositor asks for it.
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

from ibi.accounts.sign_in import check_csrf
from ibi.archive.importing.reading import read_records
from ibi.errors import ErrorKind, IbiError, InvalidInput
from ibi.instant import Instant
from ibi.model.draft import Description, Refused
from ibi.services.drafts.ledger import DraftView
from ibi.services.drafts.uploads import DraftUploads, PartialState, Upload
from ibi.web.http.body import (
    LEAST_SPEED,
    PATIENCE,
    Event,
    MultipartParser,
    PartEnd,
    PartHead,
    body_pieces,
    boundary_of,
    told_media_type,
)
from ibi.web.http.request_errors import BodyTooLarge, MalformedBody
from ibi.web.pages.deposit_form import (
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
from ibi.web.pages.reader import Sessions, Visitor
from ibi.web.pages.rendering import shown_text

MOST_TYPED: Final = 2 * 1024 * 1024
"""Bytes of all fields together."""
MOST_FIELDS: Final = 100
MOST_REFUSED: Final = 20
"""Files of which it is told why they were refused."""

Made = TypeVar("Made")


@dataclass(slots=True)
class SentForm:
    """What has come of a form."""

    fields: dict[str, str] = field(default_factory=dict)
    draft: str | None = None
    """The draft that its files went to; None while there were none and it is not begun."""
    taken: int = 0
    """Files that are in the draft now."""
    refused: list[tuple[str, IbiError]] = field(default_factory=list)
    """Names of files, and why they are not."""
    more_refused: int = 0
    """Files that were refused beyond those."""
    is_proven: bool | None = None
    """Whether the session that sent it is the one that it was made for. Not known before its first file, or its
    end."""
    has_dropped: bool = False
    """Whether it had files that were not taken because it is not proven."""


class FormReader:
    """Reads one form of a visitor, or of a browser that is not signed in any more. `begin` makes the draft, when the
    first file comes for one that is not begun."""

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
        """`threads` hash and write what comes. Of a form that proves not to be of this session, `most_dropped` bytes
        of files are read, to get to the fields after them: as many as a session may send, or what was typed would be
        lost."""
        self._threads, self._most_dropped = threads, most_dropped
        self._request, self._sessions, self._visitor = request, sessions, visitor
        self._uploads, self._begin = uploads, begin
        self._form, self._size, self._dropped = SentForm(draft=draft), 0, 0
        self._name: str | None = None
        self._typed = bytearray()
        self._head: PartHead | None = None
        self._upload: Upload | None = None

    async def read(self) -> SentForm:
        """The whole form. `ForeignForm` if a page of another site sent it."""
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
        """Find out once whether the form was made for the session that sends it; the visitor if so."""
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
        """What the work gives, in a thread; None if it refuses the file, which is noted then."""
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


# --- deposit state ----------------------------------------------------------------------------------------------------


FIELDS: Final = frozenset(fill_fields(Description()))
_ONE_LINE: Final = frozenset(
    {"title", "publisher", "date", "language", "licence", "target", "embargo", "embargo_reason"}
)
"""Fields of one line; a test compares them with the page."""
_FIELD_OF: Final = {
    "title-missing": "title",
    "nothing-to-publish": "files",
    "upload-unfinished": "files",
    "translation-language-missing": "language",
}
"""Beside which field an error of the publication is shown, by its code."""


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
    """What one page of the form shows."""

    view: DraftView | None = None
    """None before the draft is begun."""
    typed: dict[str, str] = field(default_factory=dict)
    """What stands in the fields instead of what the draft says."""
    errors: dict[str, IbiError] = field(default_factory=dict)
    """By the name of the field."""
    refused: list[tuple[str, IbiError]] = field(default_factory=list)
    """Names of files that were not taken, and why."""
    more_refused: int = 0
    """Files that were not taken beyond those."""
    problem: IbiError | None = None
    """What concerns no field."""
    unfinished: tuple[PartialState, ...] = ()
    """Files that have not come whole."""
    marks: dict[str, str] | None = None
    """Of what the fields of the form are made from, if that is not what the draft says now."""
    newer: dict[str, str] = field(default_factory=dict)
    """What another form has saved meanwhile in fields that this one did not change."""
    has_dropped: bool = False
    """Whether files were sent and not taken, since the session had ended."""
    left_out: tuple[str, ...] = ()
    """Members of a pasted record that are not in the description."""
    other_records: int = 0
    """Pasted records beyond the first, of which nothing is taken."""

    @property
    def lacks_parts(self) -> bool:
        """Whether not all of what was pasted is in the description."""
        return bool(self.left_out or self.other_records)

    @property
    def content(self) -> FormContent:
        """What the draft says, with what could not be read."""
        return FormContent() if self.view is None else FormContent.of(self.view.record)

    @property
    def unread(self) -> int:
        """How many fields are saved as they were typed and have to be corrected."""
        return len(self.errors.keys() & self.content.refused.keys())

    @property
    def is_saved(self) -> bool:
        """Whether the draft has everything that was typed, right or wrong."""
        is_whole = not self.refused and self.problem is None and self.view is not None
        return is_whole and not self.is_clash and self.errors.keys() <= self.content.refused.keys()

    @property
    def status(self) -> int:
        error = self.problem or next(iter(self.errors.values()), None) or next((why for _, why in self.refused), None)
        return HTTPStatus.OK if error is None else error.kind.status

    @property
    def shown_marks(self) -> dict[str, str]:
        """Of what the fields of the form are made from."""
        return self.marks or mark_fields(self.content)

    def settle(self, content: FormContent) -> None:
        """Mark what the draft says now, but for the fields that clash: they clash until the depositor chooses."""
        before = self.marks or {}
        clashing = {name for name, error in self.errors.items() if isinstance(error, ChangedElsewhere)}
        self.marks = mark_fields(content) | {name: before[name] for name in clashing}

    @property
    def is_clash(self) -> bool:
        """Whether another form has changed what this one changes."""
        return any(isinstance(error, ChangedElsewhere) for error in self.errors.values())

    def note(self, error: IbiError) -> None:
        """Note an error where it is shown. One that is for the log alone is raised again."""
        if not error.kind.is_told:
            raise error
        name = _FIELD_OF.get(error.code)
        if name is None and isinstance(error, InvalidInput):
            name = str(error.details.get("field", ""))
        if name in {*FIELDS, "files"}:
            self.errors.setdefault(str(name), error)
        else:
            self.problem = error


# --- two forms of one draft -------------------------------------------------------------------------------------------


def mark_fields(content: FormContent) -> dict[str, str]:
    """A short mark of what each field says."""
    return {name: _mark(name, text) for name, text in content.fill().items()}


def _mark(name: str, text: str) -> str:
    """Mark the text as the page shows it, so that a form that did not change the field has the same mark.

    A page cannot show control characters, and a browser takes the line ends out of a field of one line.
    """
    shown = shown_text(text)
    return blake2b(
        (shown.replace("\n", "") if name in _ONE_LINE else shown).strip().encode(), digest_size=6
    ).hexdigest()


def write_marks(marks: Typed) -> str:
    return " ".join(f"{name}:{mark}" for name, mark in marks.items())


def read_marks(text: str) -> dict[str, str]:
    """The marks that a form carries; none if it carries none that are ours."""
    return {name: mark for name, _, mark in (each.partition(":") for each in text.split()) if name in FIELDS}


def find_clashes(now: FormContent, typed: Typed, marks: Typed) -> tuple[frozenset[str], frozenset[str]]:
    """The fields that a form did not change, of those that it has marks of; and those that it changed and that the
    draft does not say any more as it did then, unless both say the same."""
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


# --- a form that was sent ---------------------------------------------------------------------------------------------


def read_form_into(before: FormContent, sent: Typed, state: FormState, now: Instant) -> FormContent:
    """What a draft says with what a form changes. What is wrong with it and what another form has saved meanwhile is
    noted in the state. What could not be read before is read again: the fault may have been in another field."""
    marks = read_marks(sent.get("marks", ""))
    untouched, clashing = find_clashes(before, sent, marks)
    if sent.get("overwrite"):
        clashing = frozenset()
    state.typed = {name: text for name, text in sent.items() if name not in untouched}
    shown, unread = before.fill(), untouched | clashing
    state.newer = {name: shown[name] for name in untouched if _mark(name, shown[name]) != marks[name]}
    if (kept := before.refused.get(RECORD)) is not None and _is_same(sent.get(RECORD, ""), kept.text):
        unread |= {RECORD}
    changed = {name: each.text for name, each in before.refused.items()}
    changed |= {name: text for name, text in sent.items() if name not in unread}
    description, errors = read_fields(before.description, changed, now)
    if sent.get("act") == "import":
        description = _take_record(description, changed.get(RECORD, ""), state, errors)
    elif RECORD in before.refused and changed[RECORD].strip() and (error := read_record(changed[RECORD])) is not None:
        errors[RECORD] = error
    refused = {name: refuse(changed.get(name, shown.get(name, "")), error) for name, error in errors.items()}
    _check_size(refused)
    state.errors = told_errors(errors) | {name: ChangedElsewhere() for name in clashing}
    return FormContent(description, refused)


def _is_same(sent: str, kept: str) -> bool:
    """Whether a record that was sent is the one that the page has shown."""
    return _mark(RECORD, sent) == _mark(RECORD, kept)


def _check_size(refused: Refused) -> None:
    """A form may come field by field: what all of them leave with the draft is bounded as one form is."""
    if sum(len(each.text.encode()) for each in refused.values()) > MOST_TYPED:
        raise BodyTooLarge(most=MOST_TYPED)


def _take_record(description: Description, text: str, state: FormState, errors: dict[str, IbiError]) -> Description:
    """The description with what the first record in a text says; what is wrong with the text, or was left out of it, is
    noted."""
    try:
        first, *others = read_records(text)
    except IbiError as error:
        errors[RECORD] = error
        return description
    state.left_out, state.other_records = first.passed_over, len(others)
    return fill_from(description, first)


def check_record(sent: Typed, state: FormState) -> bool:
    """Whether a form can be taken as far as its record is concerned; one that cannot be read is noted."""
    error = read_record(sent.get(RECORD, "")) if sent.get("act") == "import" else None
    if error is not None:
        state.errors[RECORD] = error
    return error is None
