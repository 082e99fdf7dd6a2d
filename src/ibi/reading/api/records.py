"""`/api/items/<label>`: an item for programs, with its files, use, owner and relations.

A token with the scope read shows the whole item, unlisted files included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.deposits.api.drafts import DraftPages, draft_document
from ibi.deposits.rules.drafts import MOST_REASON
from ibi.deposits.service.reviews import Submitted
from ibi.items.model.item import Item
from ibi.items.model.item_json import item_document
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.rights import ItemAct
from ibi.items.service.relating import Claim, Relating
from ibi.people.model.account import Scope
from ibi.reading.delivery.metadata import item_files, item_record, record_links
from ibi.reading.pages.signposting import inbox_link
from ibi.standard.label import Label, parse_any
from ibi.standard.languages import LanguageTag
from ibi.standard.vocabulary import State
from ibi.usage.resources import DayUsage, RecordUsage
from ibi.web.authentication import Callers
from ibi.web.body import JSON, NO_STORE, json_answer, short_json
from ibi.web.record_requests import json_object, record_target, refusing_members
from ibi.web.request_errors import (
    InvalidMember,
    ListingNotPermitted,
    MemberMissing,
    PathNotFound,
    UnknownMember,
    check_given_once,
)
from ibi.web.sites import ArchiveSite

_NO_CACHE: Final = {"cache-control": "no-cache"}
_PRIVATE: Final = {"cache-control": "private, no-cache", "vary": "Authorization"}
_SMALL: Final = 64 * 1024
_DELETION_MEMBERS: Final = ("reason", "replaced_by", "purge")


class RecordPages:
    """Endpoints of items. Requests about a draft are passed to `drafts`."""

    def __init__(self, callers: Callers, drafts: DraftPages) -> None:
        self._callers, self._site, self._drafts = callers, callers.site, drafts

    async def get(self, request: Request) -> Response:
        target = record_target(request.scope, "")
        if target.draft is not None:
            return await self._drafts.get(request, target.draft)
        item, in_full = await self._item(target.required_label), await self._callers.is_known(request)
        answer = _answer(item_record(self._site, item, in_full=in_full), item, in_full=in_full)
        answer.headers.update(inbox_link(self._site))
        return answer

    async def files(self, request: Request) -> Response:
        target = record_target(request.scope, "/files")
        if target.draft is not None:
            return await self._drafts.files(request, target.draft)
        item, in_full = await self._item(target.required_label), await self._callers.is_known(request)
        if not (item.visibility.listing or in_full):
            raise ListingNotPermitted(label=str(item.rep))
        files = item_files(self._site, item, in_full=in_full)
        return _answer({"files": files, "target": item.target}, item, in_full=in_full)

    async def usage(self, request: Request) -> Response:
        item = await self._item(record_target(request.scope, "/usage").required_label)
        log = self._site.uses.log
        if log is None:
            raise PathNotFound()
        counted = await asyncio.to_thread(log.days, item.rep)
        days = [DayUsage.of(day.date, usage) for day, usage in counted]
        status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
        return short_json(RecordUsage(days=days, links=record_links(self._site, item)), status, _NO_CACHE)

    async def delete(self, request: Request) -> Response:
        """Delete an item, which leaves a tombstone, or a draft, which leaves nothing.

        Where deposits are reviewed, a depositor's deletion of an item waits for a librarian (202).
        """
        token = await self._callers.token(request, Scope.DEPOSIT)
        target = record_target(request.scope, "")
        if target.draft is not None:
            return await self._drafts.discard(request, target.draft)
        check_given_once(request.query_params)
        reason, replaced_by, purge = _deletion(dict(request.query_params))
        who = self._callers.depositor_of(token, request)
        label, services = target.required_label, self._callers.item_services
        if purge:
            deposits = services.deposits_of(who.actor)
            made: Item | Submitted = await self._callers.run_short(
                lambda: deposits.delete(label, reason, who.name, replaced_by=replaced_by, purge=True)
            )
        else:
            made = await self._callers.run_short(lambda: services.drafts.delete_or_ask(who, label, reason, replaced_by))
        if isinstance(made, Submitted):
            return short_json(draft_document(self._site, made.view), HTTPStatus.ACCEPTED)
        item = made
        body = item_record(self._site, item, in_full=True)
        return json_answer(body, HTTPStatus.OK, NO_STORE, JSON)

    async def give(self, request: Request) -> Response:
        """Give an item to another account, or to the Archive."""
        token, services = await self._callers.token(request, Scope.READ), self._callers.item_services
        label, who = record_target(request.scope, "/owner").required_label, self._callers.depositor_of(token, request)
        deposits = services.deposits_of(who.actor)
        # Before the account is looked up: a caller who may not give the item must not learn which accounts exist.
        await self._callers.run_short(lambda: deposits.require(ItemAct.GIVE, services.repository.find(label)))
        owner = await self._callers.account(_owner(await json_object(request, most=_SMALL) or {}))
        item = await self._callers.run_short(lambda: deposits.give(label, owner, who.name))
        return json_answer(item_record(self._site, item, in_full=True), HTTPStatus.OK, NO_STORE, JSON)

    async def _item(self, label: Label) -> Item:
        item = await self._site.find(label)
        if item is None:
            raise UnknownItem(label=label.spelling)
        return item


def _deletion(said: dict[str, str]) -> tuple[str, Label | None, bool]:
    unknown = next((name for name in said if name not in _DELETION_MEMBERS), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(_DELETION_MEMBERS))
    reason, purge = said.get("reason", ""), said.get("purge", "false")
    if not reason.strip():
        raise MemberMissing(field="reason")
    if len(reason) > MOST_REASON or "\x00" in reason:
        raise InvalidMember(field="reason", reason=f"it has at most {MOST_REASON} characters")
    if purge not in {"true", "false"}:
        raise InvalidMember(field="purge", reason="it is true or false")
    with refusing_members("replaced_by"):
        return reason, parse_any(said["replaced_by"]) if "replaced_by" in said else None, purge == "true"


def _owner(said: dict[str, Any]) -> str:
    """Return the name of the account in a request; empty for the Archive."""
    unknown = next((name for name in said if name != "owner"), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known="owner")
    if "owner" not in said:
        raise MemberMissing(field="owner")
    owner = said["owner"]
    if owner is not None and (not isinstance(owner, str) or not owner):
        raise InvalidMember(field="owner", reason="it is the name of an account, or null for the Archive")
    return owner or ""


def _answer(body: Mapping[str, Any], item: Item, *, in_full: bool = False) -> Response:
    """Return the record. That of a deleted item has status 410 (E24)."""
    status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
    return json_answer(body, status, _PRIVATE if in_full else _NO_CACHE, JSON)


RELATIONS: Final = ("edition_of", "next_edition", "translation_of", "translations", "metadata_item", "describes")
_KINDS: Final = ("next_edition", "translation", "metadata_item")
_RELATION_MEMBERS: Final = (*_KINDS, "language")

Change = Callable[[Relating, Label, str], Item]


class RelationPages:
    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site

    async def get(self, request: Request) -> Response:
        label = record_target(request.scope, "/relations").required_label
        item = await self._site.find(label)
        if item is None:
            raise UnknownItem(label=label.spelling)
        return _answer(_relations(self._site, item), item)

    async def record(self, request: Request) -> Response:
        return await self._change(request, _change_to_record(await self._read_body(request)))

    async def withdraw(self, request: Request) -> Response:
        """Withdraw a relation. The query names it, as in the other DELETE requests."""
        await self._callers.depositor(request)
        check_given_once(request.query_params)
        return await self._change(request, _change_to_withdraw(dict(request.query_params)))

    async def _read_body(self, request: Request) -> dict[str, Any]:
        await self._callers.depositor(request)
        return await json_object(request, most=_SMALL) or {}

    async def _change(self, request: Request, change: Change) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/relations").required_label
        item = await self._callers.run_short(lambda: change(services.relating_of(who.actor), label, who.name))
        return _json(item_record(self._site, item, in_full=True))


def _change_to_record(said: dict[str, Any]) -> Change:
    kind, new, language = _parse_relation(said)
    if language is None and kind == "metadata_item":
        return lambda relating, label, who: relating.record_metadata_item(label, new, who)
    if language is None:
        return lambda relating, label, who: relating.record_next_edition(label, new, who)
    return lambda relating, label, who: relating.record_translation(label, language, new, who)


_CLAIMS: Final[tuple[Claim, ...]] = ("edition_of", "translation_of", "describes")


def _change_to_withdraw(said: dict[str, Any]) -> Change:
    claim = next((name for name in _CLAIMS if name in said), None)
    if claim is not None:
        return _claim_to_withdraw(claim, said)
    kind, new, language = _parse_relation(said)
    if language is None and kind == "metadata_item":
        return lambda relating, label, who: relating.withdraw_metadata_item(label, new, who)
    if language is None:
        return lambda relating, label, who: relating.withdraw_next_edition(label, new, who)
    return lambda relating, label, who: relating.withdraw_translation(label, language, new, who)


def _claim_to_withdraw(claim: Claim, said: dict[str, Any]) -> Change:
    """Withdraw a claim of the item about another. A request may name one claim only."""
    unknown = next((name for name in said if name != claim), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=claim)
    with refusing_members(claim):
        named = parse_any(said[claim])
    return lambda relating, label, who: relating.withdraw_claim(label, claim, named, who)


def _parse_relation(said: dict[str, Any]) -> tuple[str, Label, LanguageTag | None]:
    """Return the kind of relation, the other item, and the language of a translation. Exactly one relation may be
    given."""
    unknown = next((name for name in said if name not in _RELATION_MEMBERS), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(_RELATION_MEMBERS))
    for name, value in said.items():
        if not isinstance(value, str):
            raise InvalidMember(field=name, reason="it is a text")
    kinds = [name for name in _KINDS if name in said]
    if len(kinds) != 1:
        raise MemberMissing(field="next_edition, translation or metadata_item")
    kind = kinds[0]
    language = _language(said) if kind == "translation" else None
    with refusing_members(kind):
        return kind, parse_any(said[kind]), language


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
