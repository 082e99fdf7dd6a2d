"""The description of a draft, read from JSON. A request with an unknown member is refused, and the member named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.requests import Request

from ibi.errors import InvalidInput
from ibi.label import parse
from ibi.languages import LanguageTag
from ibi.messages.label_forms import LabelForms
from ibi.model.document import decode_document
from ibi.model.draft_record import Description, read_description
from ibi.model.errors import InvalidDocument, InvalidFileName
from ibi.model.item_json import forms_document
from ibi.model.metadata import DC_ELEMENTS
from ibi.web.http.body import check_json, read_body
from ibi.web.http.request_errors import InvalidMember, MalformedBody

MOST_JSON: Final = 1024 * 1024
"""Bytes of a description; an abstract has some thousands."""

MOST_VALUES: Final = 20_000
"""Values of all elements together. The longest list of authors so far had some fifteen thousand."""

MOST_NETWORKS: Final = 1000
"""Networks from which an item can be seen: every request for it checks them all."""

_AGENTS: Final = frozenset({"contributor", "creator"})
_RELATIONS: Final = ("edition_of", "translation_of", "describes")
_PLACE: Final = "body"
_NAMES: Final[dict[type[InvalidInput], str]] = {InvalidFileName: "target"}
"""The member at fault, by the class of the error, where nothing else tells it."""
_OURS: Final = {"target_url": "url"}


async def json_object(request: Request, *, most: int = MOST_JSON) -> dict[str, Any] | None:
    """The JSON object that came with a request; None if it came without a body."""
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


def parse_description(document: dict[str, Any]) -> Description:
    """Read the description in a document. Where a text alone says enough, it may stand for the object."""
    written = {name: _expand(name, value) for name, value in document.items() if value is not None}
    with refusing_members("language"):
        language = written.get("language")
        if isinstance(language, str):
            LanguageTag.parse(language, registered=True)
    with refusing_members():
        return read_description(written, _PLACE)


def _expand(name: str, value: Any) -> Any:
    if name == "metadata" and isinstance(value, dict):
        if sum(len(values) for values in value.values() if isinstance(values, list)) > MOST_VALUES:
            raise InvalidMember(field=name, reason=f"it has at most {MOST_VALUES} values")
        return {element: _values(element, values) for element, values in value.items() if values is not None}
    if name == "visibility" and isinstance(value, dict):
        networks = value.get("networks")
        if isinstance(networks, list) and len(networks) > MOST_NETWORKS:
            raise InvalidMember(field="visibility.networks", reason=f"there are at most {MOST_NETWORKS}")
    if name in _RELATIONS and isinstance(value, str):
        with refusing_members(name):
            return forms_document(LabelForms.of(parse(value)))
    return value


def _values(element: str, values: Any) -> Any:
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
