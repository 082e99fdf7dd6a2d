"""`/api/records/<label>/relations`: relations of an item to others, recorded and withdrawn as `ibi relate` does."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.errors import UnknownItem
from ibi.label import Label, parse
from ibi.languages import LanguageTag
from ibi.model.item import Item
from ibi.model.item_json import item_document
from ibi.services.archive_site import ArchiveSite
from ibi.services.items.relating import Relating
from ibi.web.api.callers import Callers
from ibi.web.api.descriptions import json_object, refusing_members
from ibi.web.api.record_target import record_target
from ibi.web.archive.item_record import item_record, record_links
from ibi.web.http.long_json import json_answer
from ibi.web.http.request_errors import InvalidMember, MemberMissing, UnknownMember

RELATIONS: Final = ("edition_of", "next_edition", "translation_of", "translations", "metadata_item", "describes")
_SMALL: Final = 64 * 1024
_KINDS: Final = ("next_edition", "translation", "metadata_item")
_MEMBERS: Final = (*_KINDS, "language")

Change = Callable[[Relating, Label, str], Item]


class RelationPages:
    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site

    async def get(self, request: Request) -> Response:
        label = record_target(request.scope, "/relations").required_label
        item = await self._site.find(label)
        if item is None:
            raise UnknownItem(label=label.spelling)
        return _json(_relations(self._site, item))

    async def record(self, request: Request) -> Response:
        return await self._change(request, _change_to_record(await self._read_body(request)))

    async def withdraw(self, request: Request) -> Response:
        """Withdraw a relation, which is named in the query as in the other DELETE requests."""
        await self._callers.depositor(request)
        return await self._change(request, _change_to_withdraw(dict(request.query_params)))

    async def _read_body(self, request: Request) -> dict[str, Any]:
        await self._callers.depositor(request)
        return await json_object(request, most=_SMALL) or {}

    async def _change(self, request: Request, change: Change) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/relations").required_label
        item = await self._callers.run_short(lambda: change(services.relating, label, who.name))
        return _json(item_record(self._site, item, in_full=True))


def _change_to_record(said: dict[str, Any]) -> Change:
    kind, new, language = _parse_relation(said)
    if language is None and kind == "metadata_item":
        return lambda relating, label, who: relating.record_metadata_item(label, new, who)
    if language is None:
        return lambda relating, label, who: relating.record_next_edition(label, new, who)
    return lambda relating, label, who: relating.record_translation(label, language, new, who)


def _change_to_withdraw(said: dict[str, Any]) -> Change:
    kind, new, language = _parse_relation(said)
    if language is None and kind == "metadata_item":
        return lambda relating, label, who: relating.withdraw_metadata_item(label, new, who)
    if language is None:
        return lambda relating, label, who: relating.withdraw_next_edition(label, new, who)
    return lambda relating, label, who: relating.withdraw_translation(label, language, new, who)


def _parse_relation(said: dict[str, Any]) -> tuple[str, Label, LanguageTag | None]:
    """Return the kind of relation, the other item, and the language of a translation. Exactly one relation may be
    given."""
    unknown = next((name for name in said if name not in _MEMBERS), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(_MEMBERS))
    for name, value in said.items():
        if not isinstance(value, str):
            raise InvalidMember(field=name, reason="it is a text")
    kinds = [name for name in _KINDS if name in said]
    if len(kinds) != 1:
        raise MemberMissing(field="next_edition, translation or metadata_item")
    kind = kinds[0]
    language = _language(said) if kind == "translation" else None
    with refusing_members(kind):
        return kind, parse(said[kind]), language


def _language(said: dict[str, Any]) -> LanguageTag:
    if "language" not in said:
        raise MemberMissing(field="language")
    with refusing_members("language"):
        return LanguageTag.parse(said["language"], registered=True)


def _relations(site: ArchiveSite, item: Item) -> dict[str, Any]:
    said = item_document(item)
    return {**{name: said[name] for name in RELATIONS if name in said}, "links": record_links(site, item)}


def _json(body: dict[str, Any]) -> Response:
    return json_answer(body, HTTPStatus.OK, {"cache-control": "no-cache"}, "application/json")
