"""`/api/items` and `/api/items/<draft>`: begin, describe, list, discard and publish drafts."""

from __future__ import annotations

import asyncio
from hashlib import sha256, sha512
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.rules.profile import encoded_path
from ibi.deposits.model import (
    DRAFT_ID,
    Refused,
    deletion_document,
    description_document,
    read_refused,
    refused_document,
)
from ibi.deposits.resources.drafts import DraftQuotaResource, PublicationResource
from ibi.deposits.rules.drafts import UnknownDraft
from ibi.deposits.service.drafts import Check
from ibi.deposits.service.ledger import DraftView
from ibi.deposits.service.publishing import Published
from ibi.deposits.service.reviews import Submitted
from ibi.importing.rules.imported import MOST_IMPORTED, ImportedRecord
from ibi.importing.rules.reading import read_records
from ibi.items.model.file import File
from ibi.items.model.item import Description, Item
from ibi.items.model.item_json import file_document, forms_document
from ibi.items.model.metadata_json import metadata_document
from ibi.minting.service.queue import MintQueue, QueuedLabels
from ibi.people.model.account import Scope
from ibi.standard.vocabulary import State
from ibi.web.authentication import Callers, name_of
from ibi.web.body import NO_STORE, read_body, short_json
from ibi.web.preconditions import Validators
from ibi.web.record_requests import json_object, parse_description_here, record_target, refusing_members
from ibi.web.request import idempotency_key
from ibi.web.request_errors import (
    InvalidMember,
    InvalidParameter,
    MalformedBody,
    UnknownMember,
    check_parameters,
    number_of,
)
from ibi.web.sites import ArchiveSite


def draft_url(site: ArchiveSite, draft: str) -> str:
    return f"{site.public_url}/api/items/{draft}"


def draft_document(site: ArchiveSite, view: DraftView) -> dict[str, Any]:
    record, base = view.record, draft_url(site, view.record.id)
    document: dict[str, Any] = {
        "id": record.id,
        "state": "draft" if record.publication is None else "published",
        "owner": record.owner.partition(":")[2],
        "created": str(record.created),
        "updated": str(view.changed),
        "size": view.size,
        **description_document(record.description),
        "files": [sent_file(site, record.id, file) for file in view.files],
    }
    if record.deletion is not None:
        document["deletion"] = deletion_document(record.deletion)
    if record.refused:
        document["refused"] = refused_document(record.refused)
    if view.review is not None:
        document["review"] = str(view.review)
    if record.labels is not None:
        document |= {"labels": forms_document(record.labels), "base_version": record.base}
    links = {"self": base, "files": f"{base}/files", "publish": f"{base}/publish"}
    if view.review is not None:
        links["review"] = f"{site.public_url}/api/reviews/{record.id}"
    published = record.labels if record.publication is None else record.publication.labels
    if published is not None:
        links["item"] = _record_url(site, published.labels[0].spelling)
    return {**document, "links": links}


def sent_file(site: ArchiveSite, draft: str, file: File) -> dict[str, Any]:
    place = f"{draft_url(site, draft)}/files/{encoded_path(file.path)}"
    return {**file_document(file), "links": {"self": place}}


def publication_of(site: ArchiveSite, published: Published) -> PublicationResource:
    """Return a publication: the facts that the command prints, and more."""
    item, rep = published.item, published.item.rep.spelling
    return PublicationResource(
        rep=rep,
        ibip=None if item.labels.ibip is None else item.labels.ibip.spelling,
        state=State.DELETED.value if item.state is State.DELETED else UNSET,
        persistent_url=site.persistent_url(item.labels),
        url=item_url(site, item),
        version=published.publication.version,
        removed=list(published.publication.removed),
        warnings=publication_warnings(site, item, is_deletion=published.is_deletion),
        links={"self": _record_url(site, rep), "metadata": site.urls.metadata(item, None, None)},
    )


def publication_warnings(site: ArchiveSite, item: Item, *, is_deletion: bool = False) -> list[str]:
    """Return warnings for the publisher of an item. They do not stop the publication."""
    if is_deletion:
        return []
    if item.tombstone is not None:  # repeated with its key
        when = str(item.tombstone.when)[:10]
        return [f"{item.rep} was deleted on {when}. To deposit this anew, send another Idempotency-Key."]
    warning = None if item.target_url is None else site.warn_of_url(item.target_url)
    return [] if warning is None else [warning]


def item_url(site: ArchiveSite, item: Item) -> str:
    """Return the address of the item for a reader who names no file."""
    if item.target_url is not None:
        return item.target_url
    if item.target is None or item.state is State.DELETED:
        return site.urls.metadata(item, None, None)
    return site.urls.file(item, item.target)


def draft_validators(view: DraftView) -> Validators:
    """Return validators with a tag that changes with the draft and with each of its files."""
    said: list[Any] = [
        description_document(view.record.description),
        [file_document(file) for file in view.files],
        view.record.publication is not None,
    ]
    if view.record.deletion is not None:
        said.append(deletion_document(view.record.deletion))
    if view.record.refused:
        said.append(refused_document(view.record.refused))
    return Validators(sha512(msgspec.json.encode(said)).hexdigest(), view.changed.seconds)


def file_validators(file: File) -> Validators:
    """Return validators of a file: its tag alone, because the upload time of a draft's file is not stored."""
    return Validators(file.sha512, 0)


def _record_url(site: ArchiveSite, label: str) -> str:
    return f"{site.public_url}/api/items/{encoded_path(label)}"


MOST_LISTED: Final = 1000
"""Number of drafts in one answer."""
MOST_MESSAGE: Final = 1000
"""Characters of the message about a change."""

_LISTED: Final = 100
_SMALL: Final = 64 * 1024


class DraftPages:
    """Endpoints of drafts. The scope deposit opens the depositor's own drafts, the scope admin all drafts."""

    def __init__(self, callers: Callers, queue: MintQueue) -> None:
        self._callers, self._queue = callers, queue
        self._site = callers.site

    async def begin(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        description = await parse_description_here(self._site, await json_object(request) or {})
        return self._answer(
            await self._callers.run_short(lambda: services.drafts.begin(who, description)), HTTPStatus.CREATED
        )

    async def read_records(self, request: Request) -> Response:
        """Return descriptions from records of another system, for new drafts. Nothing is stored."""
        await self._callers.depositor(request)
        body = await read_body(request.scope["headers"], request.receive, MOST_IMPORTED)
        try:
            text = body.decode()
        except UnicodeDecodeError:
            raise MalformedBody(reason="it is not text in UTF-8") from None
        found = await self._callers.run_short(lambda: read_records(text))
        return short_json({"records": [_imported_document(each) for each in found]})

    async def list(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        after, most = _page(request)
        found = await self._callers.run_short(lambda: services.drafts.list(who, after, most + 1))
        held = await self._callers.run_short(lambda: services.drafts.holding(who))
        links = {"self": f"{self._site.public_url}/api/items?state=draft"}
        if len(found) > most:
            links["next"] = f"{links['self']}&limit={most}&after={found[most - 1].record.id}"
        drafts = [draft_document(self._site, view) for view in found[:most]]
        quota = DraftQuotaResource.of(services.drafts.rules.quota, held)
        return short_json({"drafts": drafts, "quota": quota, "links": links})

    async def get(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        return self._answer(await self._callers.run_short(lambda: services.drafts.find(who, draft)), HTTPStatus.OK)

    async def files(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        view = await self._callers.run_short(lambda: services.drafts.find(who, draft))
        document = draft_document(self._site, view)
        return short_json({"files": document["files"], "target": document.get("target")})

    async def describe(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        draft = record_target(request.scope, "").required_draft
        description, kept = await self._parse_change(request)
        check = _with_refused(kept, _conditions(request))
        return self._answer(
            await self._callers.run_short(lambda: services.drafts.describe(who, draft, description, check, keep=kept)),
            HTTPStatus.OK,
        )

    async def _parse_change(self, request: Request) -> tuple[Description, Refused | None]:
        """Read the new description of a draft, and the refused values to keep; None keeps all of them."""
        document = dict(await json_object(request) or {})
        with refusing_members():
            said = document.pop("refused", None)
            kept = None if said is None else read_refused(said, "body.refused")
        return await parse_description_here(self._site, document), kept

    async def discard(self, request: Request, draft: str) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        await self._callers.run_short(lambda: services.drafts.discard(who, draft, _conditions(request)))
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=NO_STORE)

    async def of_item(self, request: Request) -> Response:
        return self._answer(await self._find_draft(request), HTTPStatus.OK)

    async def begin_update(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/draft").required_label
        document = await json_object(request)
        description = None if document is None else await parse_description_here(self._site, document)
        begun = await self._callers.run_short(lambda: services.drafts.begin_update(who, label, description))
        return self._answer(begun, HTTPStatus.CREATED)

    async def describe_update(self, request: Request) -> Response:
        """Describe the existing draft of an item, or else a new one."""
        who, services = await self._callers.depositor(request), self._callers.item_services
        label = record_target(request.scope, "/draft").required_label
        description, kept = await self._parse_change(request)
        check = _with_refused(kept, _conditions(request))

        def change() -> tuple[DraftView, HTTPStatus]:
            found = services.drafts.of_item(who, label)
            if found is None and not services.drafts.may_update(who, label):
                raise UnknownDraft(draft=f"of {label}", is_denied=True)  # as GET answers, with or without a draft
            if found is None:
                _check_refused(kept or {}, {})
                return services.drafts.begin_update(who, label, description), HTTPStatus.CREATED
            return services.drafts.describe(who, found.record.id, description, check, keep=kept), HTTPStatus.OK

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

    async def publish(self, request: Request) -> Response:
        """Publish a draft, and answer when everything is on the disk.

        A client without an answer may repeat the request: it becomes one item. Where deposits are reviewed, a
        depositor's draft waits for a librarian (202).
        """
        token, services = await self._callers.token(request, Scope.DEPOSIT), self._callers.item_services
        who, draft = self._callers.depositor_of(token, request), record_target(request.scope, "/publish").required_draft
        key, check = idempotency_key(request.scope["headers"]), _conditions(request)
        message = read_message(await json_object(request, most=_SMALL) or {})
        labels = QueuedLabels(self._queue, asyncio.get_running_loop(), name_of(token))
        published = await self._callers.run_long(
            lambda: services.drafts.publish_or_submit(
                who, draft, labels, key=None if key is None else own_key(key), message=message, check=check
            )
        )
        if isinstance(published, Submitted):
            return short_json(draft_document(self._site, published.view), HTTPStatus.ACCEPTED)
        published_item = publication_of(self._site, published)
        if published.is_deletion:
            return short_json(published_item)
        headers = {**NO_STORE, "location": published_item.links["self"]}
        return short_json(published_item, HTTPStatus.CREATED, headers)

    def _answer(self, view: DraftView, status: HTTPStatus) -> Response:
        headers = {"etag": draft_validators(view).etag}
        if status is HTTPStatus.CREATED:
            headers["location"] = draft_url(self._site, view.record.id)
        return short_json(draft_document(self._site, view), status, {**NO_STORE, **headers})


def _conditions(request: Request) -> Check:
    headers = request.scope["headers"]
    return lambda view: draft_validators(view).check(headers)


def _with_refused(kept: Refused | None, check: Check) -> Check:
    def check_both(view: DraftView) -> None:
        check(view)
        _check_refused(kept or {}, view.record.refused)

    return check_both


def _check_refused(kept: Refused, recorded: Refused) -> None:
    """Raise `InvalidMember` if a refused value is not in the draft: only its form writes them."""
    for name, each in kept.items():
        if recorded.get(name) != each:
            raise InvalidMember(
                field=f"refused.{name[:40]}",
                reason="the draft has no such value: repeat one as it is to keep it, or leave it out to withdraw it",
            )


def own_key(key: str) -> str:
    """Return an idempotency key that is distinct from those of `POST /api/labels`, which the minter remembers too."""
    return f"publish:{sha256(key.encode('ascii')).hexdigest()}"


def read_message(document: dict[str, Any]) -> str | None:
    """Return the reason for a change, if the request gives one."""
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
    check_parameters(query, ("state", "after", "limit"))
    if query.get("state") != "draft":
        raise InvalidParameter(field="state", reason="only drafts are listed: state=draft")
    after = query.get("after", "")
    if after and DRAFT_ID.fullmatch(after) is None:
        raise InvalidParameter(field="after", reason="it is the id of a draft")
    return after, number_of(query, "limit", _LISTED, 1, MOST_LISTED)


def _imported_document(found: ImportedRecord) -> dict[str, Any]:
    language = {} if found.language is None else {"language": str(found.language)}
    described = {"metadata": metadata_document(found.metadata), **language}
    return {"format": found.format.value, "description": described, "passed_over": found.passed_over}
