"""Paths below `/api/records/`: they name an item by its label or a draft by its id, and a part of it.

Labels hold slashes: the path is read as it came, `%2F` or not, in either form and any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from starlette.types import Scope

from ibi.archive.drafts import NotADraft
from ibi.label import Label, match_label, parse
from ibi.model.errors import InvalidFileName
from ibi.web.http.raw_target import percent_decode, raw_path
from ibi.web.http.request_errors import PathNotFound

PREFIX = b"/api/records/"
_DRAFT = re.compile(rb"(draft-[a-z2-7]{16})(/.*|)", re.DOTALL)
_FILES = b"/files/"


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """What a path names. Either `label` or `draft` is set."""

    label: Label | None = None
    draft: str | None = None
    file: str | None = None
    """The name of one of its files, decoded."""

    @property
    def required_label(self) -> Label:
        if self.label is None:
            raise PathNotFound()
        return self.label

    @property
    def required_draft(self) -> str:
        if self.draft is None:
            assert self.label is not None
            raise NotADraft(label=str(self.label))
        return self.draft


def record_target(scope: Scope, rest: str, *, names_file: bool = False) -> RecordTarget:
    """Parse a path that ends with `rest` after the label or id, or with the name of a file. Otherwise raise
    `PathNotFound`, or the error in the label."""
    path = raw_path(scope)
    if not path.startswith(PREFIX):
        raise PathNotFound()
    path = path[len(PREFIX) :]
    draft = _DRAFT.fullmatch(path)
    if draft is not None:
        return _of_draft(draft[1].decode("ascii"), draft[2], rest, names_file=names_file)
    return _of_item(percent_decode(path), rest, names_file=names_file)


def _of_draft(draft: str, after: bytes, rest: str, *, names_file: bool) -> RecordTarget:
    if names_file:
        if not after.startswith(_FILES) or len(after) == len(_FILES):
            raise PathNotFound()
        return RecordTarget(draft=draft, file=_file_name(after[len(_FILES) :]))
    if percent_decode(after) != rest:
        raise PathNotFound()
    return RecordTarget(draft=draft)


def _of_item(text: str, rest: str, *, names_file: bool) -> RecordTarget:
    found = match_label(text)
    if found is None:
        parse(text.removesuffix(rest))  # says what is wrong with it
        raise PathNotFound()
    label, after = found[0], text[found[1] :]
    if names_file and after.startswith("/files/") and after != "/files/":
        return RecordTarget(label, file=after.removeprefix("/files/"))
    if names_file or after != rest:
        raise PathNotFound()
    return RecordTarget(label)


def _file_name(raw: bytes) -> str:
    """Decode the name of a file. Stored names are UTF-8; one asked for that is kept elsewhere need not be (E33)."""
    name = unquote_to_bytes(raw)
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise InvalidFileName(name.decode("latin-1"), error.start, "it is no text: its bytes are not UTF-8") from None
