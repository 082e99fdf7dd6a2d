"""What one page of the deposit form shows, and what becomes of a form that was sent.

A form carries marks of what its fields said when it was made. A field that it did not change keeps what another form
of the same draft has saved meanwhile; one that both changed is not overwritten unless the depositor asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from http import HTTPStatus
from typing import Final

from ibi.archive.importing.reading import read_records
from ibi.errors import IbiError, InvalidInput
from ibi.instant import Instant
from ibi.model.draft_record import Description
from ibi.services.drafts.ledger import DraftView
from ibi.services.drafts.uploads import PartialState
from ibi.web.http.errors import answer_to
from ibi.web.pages.deposit_form import Typed, as_shown, fill_fields, fill_from, plain_text, read_fields

FIELDS: Final = frozenset(fill_fields(Description()))
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


class SignedOut(IbiError):
    """You are signed out. What you typed is still here and is not saved: sign in in another tab, then save again."""

    code = "signed-out"


class SignedInAnew(IbiError):
    """You have signed in again meanwhile. What you typed is still here and is not saved: save again."""

    code = "signed-in-anew"


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
    def status(self) -> int:
        error = self.problem or next(iter(self.errors.values()), None) or next((why for _, why in self.refused), None)
        return HTTPStatus.OK if error is None else answer_to(error).status

    @property
    def shown_marks(self) -> dict[str, str]:
        """Of what the fields of the form are made from."""
        description = Description() if self.view is None else self.view.record.description
        return self.marks or mark_fields(description)

    def settle(self, description: Description) -> None:
        """Mark what the draft says now, but for the fields that clash: they clash until the depositor chooses."""
        before = self.marks or {}
        clashing = {name for name, error in self.errors.items() if isinstance(error, ChangedElsewhere)}
        self.marks = mark_fields(description) | {name: before[name] for name in clashing}

    @property
    def is_clash(self) -> bool:
        """Whether another form has changed what this one changes."""
        return any(isinstance(error, ChangedElsewhere) for error in self.errors.values())

    def note(self, error: IbiError) -> None:
        """Note an error where it is shown. One that is for the log alone is raised again."""
        if not answer_to(error).told:
            raise error
        name = _FIELD_OF.get(error.code)
        if name is None and isinstance(error, InvalidInput):
            name = str(error.details.get("field", ""))
        if name in {*FIELDS, "files"}:
            self.errors.setdefault(str(name), error)
        else:
            self.problem = error


# --- two forms of one draft -------------------------------------------------------------------------------------------


def mark_fields(description: Description) -> dict[str, str]:
    """A short mark of what each field says."""
    return {name: _mark(text) for name, text in fill_fields(description).items()}


def _mark(text: str) -> str:
    return blake2b(plain_text(text).encode(), digest_size=6).hexdigest()


def write_marks(marks: Typed) -> str:
    return " ".join(f"{name}:{mark}" for name, mark in marks.items())


def read_marks(text: str) -> dict[str, str]:
    """The marks that a form carries; none if it carries none that are ours."""
    return {name: mark for name, _, mark in (each.partition(":") for each in text.split()) if name in FIELDS}


def find_clashes(now: Description, typed: Typed, marks: Typed) -> tuple[frozenset[str], frozenset[str]]:
    """The fields that a form did not change, of those that it has marks of; and those that it changed and that the
    draft does not say any more as it did then, unless both say the same."""
    untouched, clashing = set[str](), set[str]()
    for name, text in fill_fields(now).items():
        if name not in typed or name not in marks:
            continue
        if _mark(typed[name]) == marks[name] or _mark(as_shown(now, name, typed[name])) == marks[name]:
            untouched.add(name)
        elif marks[name] != _mark(text) and plain_text(typed[name]) != plain_text(text):
            clashing.add(name)
    return frozenset(untouched), frozenset(clashing)


# --- a form that was sent ---------------------------------------------------------------------------------------------


def read_form_into(before: Description, sent: Typed, state: FormState, now: Instant) -> Description:
    """What a draft says with what a form changes. What was typed in vain, what is wrong with it and what another form
    has saved meanwhile is noted in the state."""
    marks = read_marks(sent.get("marks", ""))
    untouched, clashing = find_clashes(before, sent, marks)
    if sent.get("overwrite"):
        clashing = frozenset()
    state.typed = {name: text for name, text in sent.items() if name not in untouched}
    shown, unread = fill_fields(before), untouched | clashing
    state.newer = {name: shown[name] for name in untouched if _mark(shown[name]) != marks[name]}
    changed = {name: text for name, text in sent.items() if name not in unread}
    description, errors = read_fields(before, changed, now)
    state.errors = {name: ChangedElsewhere() for name in clashing} | errors
    if sent.get("act") == "import":
        description = _take_record(description, sent.get("record", ""), state)
    return description


def _take_record(description: Description, text: str, state: FormState) -> Description:
    """The description with what the first record in a text says; what is wrong with the text, or was left out of it, is
    noted."""
    try:
        first, *others = read_records(text)
    except IbiError as error:
        state.errors["record"] = error
        return description
    state.left_out, state.other_records = first.passed_over, len(others)
    return fill_from(description, first)


def check_record(sent: Typed, state: FormState) -> bool:
    """Whether a form can be taken as far as its record is concerned; one that cannot be read is noted."""
    if sent.get("act") == "import":
        try:
            read_records(sent.get("record", ""))
        except IbiError as error:
            state.errors["record"] = error
    return "record" not in state.errors
