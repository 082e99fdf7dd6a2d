"""`/api/records` and `/api/records/<draft>`: drafts begun, described, listed, discarded and published."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.drafts import UnknownDraft
from ibi.model.account import Scope
from ibi.model.draft_record import DRAFT_ID
from ibi.services.drafts.drafts import Check
from ibi.services.drafts.ledger import DraftView
from ibi.services.minting.mint_queue import MintQueue, QueuedLabels
from ibi.web.api.authentication import name_of
from ibi.web.api.callers import Callers, depositor
from ibi.web.api.descriptions import json_object, parse_description
from ibi.web.api.draft_documents import (
    draft_document,
    draft_url,
    draft_validators,
    publication_document,
    quota_document,
)
from ibi.web.api.record_target import record_target
from ibi.web.http.headers import idempotency_key
from ibi.web.http.request_errors import InvalidMember, InvalidParameter, UnknownMember

JSON: Final = "application/json"
MOST_LISTED: Final = 1000
"""Drafts in one answer."""
MOST_MESSAGE: Final = 1000
"""Characters of the message about a change."""

_LISTED: Final = 100
_SMALL: Final = 64 * 1024
_NO_STORE: Final = {"cache-control": "no-store"}


class DraftPages:
    """Endpoints of drafts. A token of the scope deposit opens the depositor's own drafts, one of the scope admin all
    drafts."""

    def __init__(self, callers: Callers, queue: MintQueue) -> None:
        self._callers, self._queue = callers, queue
        self._site = callers.site

    async def begin(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        description = parse_description(await json_object(request) or {})
        return self._answer(
            await self._callers.run_short(lambda: services.drafts.begin(who, description)), HTTPStatus.CREATED
        )

    async def list(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        after, most = _page(request)
        found = await self._callers.run_short(lambda: services.drafts.list(who, after, most + 1))
        held = await self._callers.run_short(lambda: services.drafts.holding(who))
        links = {"self": f"{self._site.public_url}/api/records?state=draft"}
        if len(found) > most:
            links["next"] = f"{links['self']}&limit={most}&after={found[most - 1].record.id}"
        drafts = [draft_document(self._site, view) for view in found[:most]]
        quota = quota_document(services.drafts.rules.quota, held)
        return _json({"drafts": drafts, "quota": quota, "links": links}, HTTPStatus.OK)

    # --- /api/records/<draft> ---

    async def get(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        return self._answer(await self._callers.run_short(lambda: services.drafts.find(who, draft)), HTTPStatus.OK)

    async def files(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        view = await self._callers.run_short(lambda: services.drafts.find(who, draft))
        document = draft_document(self._site, view)
        return _json({"files": document["files"], "target": document.get("target")}, HTTPStatus.OK)

    async def describe(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        draft = record_target(request.scope, "").required_draft
        description = parse_description(await json_object(request) or {})
        check = _conditions(request)
        return self._answer(
            await self._callers.run_short(lambda: services.drafts.describe(who, draft, description, check)),
            HTTPStatus.OK,
        )

    async def discard(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        await self._callers.run_short(lambda: services.drafts.discard(who, draft, _conditions(request)))
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=_NO_STORE)

    # --- /api/records/<label>/draft ---

    async def of_item(self, request: Request) -> Response:
        return self._answer(await self._find_draft(request), HTTPStatus.OK)

    async def begin_update(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/draft").required_label
        document = await json_object(request)
        description = None if document is None else parse_description(document)
        begun = await self._callers.run_short(lambda: services.drafts.begin_update(who, label, description))
        return self._answer(begun, HTTPStatus.CREATED)

    async def describe_update(self, request: Request) -> Response:
        """Describe the existing draft of an item, or else a new one."""
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/draft").required_label
        description, check = parse_description(await json_object(request) or {}), _conditions(request)

        def change() -> tuple[DraftView, HTTPStatus]:
            found = services.drafts.of_item(who, label)
            if found is None:
                return services.drafts.begin_update(who, label, description), HTTPStatus.CREATED
            return services.drafts.describe(who, found.record.id, description, check), HTTPStatus.OK

        return self._answer(*await self._callers.run_short(change))

    async def discard_update(self, request: Request) -> Response:
        found = await self._find_draft(request)
        return await self.discard(request, found.record.id)

    async def _find_draft(self, request: Request) -> DraftView:
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/draft").required_label
        found = await self._callers.run_short(lambda: services.drafts.of_item(who, label))
        if found is None:
            raise UnknownDraft(draft=f"of {label}")
        return found

    # --- publication ---

    async def publish(self, request: Request) -> Response:
        """Answers when everything is on the disk. A client that gets no answer may repeat the request: it becomes one
        item."""
        token, services = await self._callers.token(request, Scope.DEPOSIT), self._callers.item_services
        who, draft = depositor(token), record_target(request.scope, "/publish").required_draft
        key, check = idempotency_key(request.scope["headers"]), _conditions(request)
        message = _message(await json_object(request, most=_SMALL) or {})
        labels = QueuedLabels(self._queue, asyncio.get_running_loop(), name_of(token))
        published = await self._callers.run_long(
            lambda: services.drafts.publish(
                who, draft, labels, key=None if key is None else _own_key(key), message=message, check=check
            )
        )
        document = publication_document(self._site, published)
        return _json(document, HTTPStatus.CREATED, location=document["links"]["self"])

    def _answer(self, view: DraftView, status: HTTPStatus) -> Response:
        headers = {"etag": draft_validators(view).etag}
        if status is HTTPStatus.CREATED:
            headers["location"] = draft_url(self._site, view.record.id)
        return _json(draft_document(self._site, view), status, **headers)


def _conditions(request: Request) -> Check:
    headers = request.scope["headers"]
    return lambda view: draft_validators(view).check(headers)


def _own_key(key: str) -> str:
    """An idempotency key apart from those of `POST /api/labels`, which the minter remembers too."""
    return f"publish:{sha256(key.encode('ascii')).hexdigest()}"


def _message(document: dict[str, Any]) -> str | None:
    unknown = next((name for name in document if name != "message"), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known="message")
    message = document.get("message")
    if message is None:
        return None
    if not isinstance(message, str) or not message.isprintable() or not 1 <= len(message) <= MOST_MESSAGE:
        raise InvalidMember(field="message", reason=f"it is one line of at most {MOST_MESSAGE} characters")
    return message


def _page(request: Request) -> tuple[str, int]:
    query = request.query_params
    if query.get("state") != "draft":
        raise InvalidParameter(field="state", reason="only drafts are listed: state=draft")
    after, limit = query.get("after", ""), query.get("limit", str(_LISTED))
    if after and DRAFT_ID.fullmatch(after) is None:
        raise InvalidParameter(field="after", reason="it is the id of a draft")
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 6 and 1 <= int(limit) <= MOST_LISTED):
        raise InvalidParameter(field="limit", reason=f"it is a number from 1 to {MOST_LISTED}")
    return after, int(limit)


def _json(body: object, status: HTTPStatus, **headers: str) -> Response:
    return Response(msgspec.json.encode(body), status, {**_NO_STORE, **headers}, JSON)
