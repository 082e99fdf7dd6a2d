"""Requests about records: the item or draft in the path, and the description in the body.

Labels contain slashes: the path is read as it came, `%2F` or not, in either form and any case. A label from before 2008
names the item of this Archive that has it as another name (E72).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.deposits.model import read_description
from ibi.deposits.rules.drafts import NotADraft, UnknownDraft
from ibi.items.model.description_values import (
    MOST_ALTERNATES,
    RelatedIdentifier,
    RelationKind,
    make_alternate,
    parse_alternate,
)
from ibi.items.model.item import Description
from ibi.items.model.item_json import alternate_document, forms_document
from ibi.items.model.metadata import DC_ELEMENTS, MOST_VALUES
from ibi.items.model.visibility import MOST_NETWORKS
from ibi.items.rules.errors import LEGACY_UNKNOWN
from ibi.standard.document_errors import InvalidDocument, InvalidFileName
from ibi.standard.errors import InvalidInput
from ibi.standard.json_fields import decode_document
from ibi.standard.label import Label, match_any, parse, parse_any
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.safe_text import printable
from ibi.web.body import check_json, read_body
from ibi.web.forms import is_form
from ibi.web.request import Handler, percent_decode, raw_path
from ibi.web.request_errors import InvalidMember, MalformedBody, PathNotFound
from ibi.web.sites import ArchiveSite

PREFIX = b"/api/items/"
_DRAFT = re.compile(rb"(draft-[a-z2-7]{16})(/.*|)", re.DOTALL)
_FILES = b"/files/"


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """The target of a path. Either `label` or `draft` is set."""

    label: Label | None = None
    draft: str | None = None
    file: str | None = None
    """The decoded name of one of its files."""

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
    """Parse a path that ends with `rest` after the label or id, or with the name of a file.

    Raise `PathNotFound`, or the error in the label, if the path is another one.
    """
    path = raw_path(scope)
    if not path.startswith(PREFIX):
        raise PathNotFound()
    path = path[len(PREFIX) :]
    draft = _DRAFT.fullmatch(path)
    if draft is not None:
        return _of_draft(draft[1].decode("ascii"), draft[2], rest, names_file=names_file)
    if path.startswith(b"draft-"):
        raise UnknownDraft(draft=printable(percent_decode(path).partition("/")[0][:40]))
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
    found = match_any(text)
    if found is None:
        parse(text.removesuffix(rest))  # raises the error in the label
        raise PathNotFound()
    label, after = found[0], text[found[1] :]
    if names_file and after.startswith("/files/") and after != "/files/":
        return RecordTarget(label, file=after.removeprefix("/files/"))
    if names_file or after != rest:
        raise PathNotFound()
    return RecordTarget(label)


def _file_name(raw: bytes) -> str:
    """Decode the name of a file. Stored names are UTF-8. The name of a file in another Archive may be anything
    (E33)."""
    name = unquote_to_bytes(raw)
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise InvalidFileName(name.decode("latin-1"), error.start, "it is no text: its bytes are not UTF-8") from None


MOST_JSON: Final = 1024 * 1024
"""Largest size of a description in bytes. An abstract has some thousands."""

_AGENTS: Final = frozenset({"contributor", "creator"})
_RELATIONS: Final = ("edition_of", "translation_of", "describes")
_PLACE: Final = "body"
_NAMES: Final[dict[type[InvalidInput], str]] = {InvalidFileName: "target"}
"""The member at fault by class of error, if the error itself does not name it."""
_OURS: Final = {"target_url": "url"}


async def json_object(request: Request, *, most: int = MOST_JSON) -> dict[str, Any] | None:
    """Return the JSON object in the body of a request; None if there is no body."""
    headers = request.scope["headers"]
    body = await read_body(headers, request.receive, most)
    if not body:
        return None
    check_json(headers)
    try:
        found = decode_document(body)
    except InvalidDocument as error:
        raise MalformedBody(reason=error.reason.format(**error.details)) from None
    if not isinstance(found, dict):
        raise MalformedBody(reason="it is not a JSON object")
    return found


async def parse_description_here(site: ArchiveSite, document: dict[str, Any]) -> Description:
    """Parse a description as `parse_description` does. It may name items of this Archive by labels from before 2008."""
    for name in _RELATIONS:
        label = _legacy_label(document.get(name))
        if label is not None:
            item = await site.find(label)
            if item is None:
                raise InvalidMember(field=name, reason=LEGACY_UNKNOWN)
            document = {**document, name: item.rep.spelling}
    return parse_description(document)


def _legacy_label(value: object) -> Label | None:
    try:
        label = parse_any(value) if isinstance(value, str) else None
    except InvalidInput:
        return None  # `parse_description` reports the fault
    return None if label is None or label.is_dated else label


def parse_description(document: dict[str, Any]) -> Description:
    """Read the description in a document. A text may stand for an object if the text alone is enough."""
    written = {name: _expand(name, value) for name, value in document.items() if value is not None}
    with refusing_members("language"):
        language = written.get("language")
        if isinstance(language, str):
            LanguageTag.parse(language, registered=True)
    with refusing_members():
        description = read_description(written, _PLACE)
    return replace(description, metadata=description.metadata.with_kind())


def _expand(name: str, value: Any) -> Any:
    """Return the value of a member in the form that `read_description` reads. It refuses values of a wrong type."""
    expand = _EXPANSIONS.get(name)
    return value if expand is None else expand(value)


def _expand_metadata(elements: Any) -> Any:
    if not isinstance(elements, dict):
        return elements
    if sum(len(values) for values in elements.values() if isinstance(values, list)) > MOST_VALUES:
        raise InvalidMember(field="metadata", reason=f"it has at most {MOST_VALUES} values")
    return {element: _values(element, values) for element, values in elements.items() if values is not None}


def _check_networks(visibility: Any) -> Any:
    networks = visibility.get("networks") if isinstance(visibility, dict) else None
    if isinstance(networks, list) and len(networks) > MOST_NETWORKS:
        raise InvalidMember(field="visibility.networks", reason=f"there are at most {MOST_NETWORKS}")
    return visibility


def _expand_alternates(values: Any) -> Any:
    """Return other names in their recorded spelling."""
    if not isinstance(values, list):
        return values
    if len(values) > MOST_ALTERNATES:
        raise InvalidMember(field="alternates", reason=f"there are at most {MOST_ALTERNATES}")
    return [_alternate(value, f"alternates[{number}]") for number, value in enumerate(values)]


def _expand_relation(name: str, label: Any) -> Any:
    if not isinstance(label, str):
        return label
    with refusing_members(name):
        return forms_document(LabelForms.of(parse(label)))


_EXPANSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "metadata": _expand_metadata,
    "visibility": _check_networks,
    "alternates": _expand_alternates,
    **{name: partial(_expand_relation, name) for name in _RELATIONS},
}
"""The reader of each member that a client may write in a shorter form, or whose length is bounded."""


def _alternate(value: Any, member: str) -> Any:
    with refusing_members(member):
        if isinstance(value, str):
            return alternate_document(parse_alternate(value))
        if isinstance(value, dict) and isinstance(value.get("scheme"), str) and isinstance(value.get("value"), str):
            return {**value, **alternate_document(make_alternate(value["scheme"], value["value"]))}
    return value  # `read_description` refuses it


def _normalise_related(value: Any, member: str) -> Any:
    """Return a related work with its name in the recorded spelling of its scheme."""
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in ("scheme", "value")):
        return value  # `read_description` refuses it
    with refusing_members(member):  # the relation is read with the rest
        found = RelatedIdentifier.parse(RelationKind.REFERENCES, value["scheme"], value["value"])
        return {**value, "scheme": found.scheme, "value": found.value}


def _values(element: str, values: Any) -> Any:
    if element == "related_identifiers" and isinstance(values, list):
        return [_normalise_related(each, f"metadata.{element}[{number}]") for number, each in enumerate(values)]
    if element not in DC_ELEMENTS:
        return values
    member = "name" if element in _AGENTS else "value"
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, list):
        return listed
    return [{member: each} if isinstance(each, str) else each for each in listed]


@contextmanager
def refusing_members(member: str | None = None) -> Iterator[None]:
    """Name the member in errors about its value."""
    try:
        yield
    except InvalidDocument as error:
        reason = error.reason.format(**error.details).rstrip(".")
        place = error.text.partition(".")[0] == _PLACE
        field = member or (error.text.removeprefix(f"{_PLACE}.")[:200] if place else _PLACE)
        raise InvalidMember(field=field, reason=reason if place else f"{error.text[:80]!a}: {reason}") from error
    except InvalidInput as error:
        named = member or _NAMES.get(type(error)) or str(error.details.get("field", _PLACE))
        raise InvalidMember(field=_OURS.get(named, named), reason=str(error).rstrip(".")) from error


def by_body(form: Handler, other: Handler) -> Handler:
    """Return a handler that passes a request on by its body: a form of parts to `form`, anything else to `other`."""

    async def handle(request: Request) -> Response:
        return await (form if is_form(request.scope["headers"]) else other)(request)

    return handle
