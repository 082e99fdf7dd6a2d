"""The routes of an Archive's items and drafts. This module is above all modules of records, which do not import each
other.

The former place was `/api/records`. Requests there are redirected, with their method and body.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ibi.services.minting.mint_queue import MintQueue
from ibi.services.sites import ArchiveSite
from ibi.web.api.authentication import Authentication, Callers
from ibi.web.api.claims import ItemClaimPages
from ibi.web.api.collections import collection_endpoints
from ibi.web.api.copies import CopyPages, ObjectPages
from ibi.web.api.drafts import DraftPages
from ibi.web.api.item_content import ContentPages
from ibi.web.api.item_search import ItemSearch
from ibi.web.api.record_requests import by_body
from ibi.web.api.records import RecordPages, RelationPages
from ibi.web.api.reviews import ReviewPages
from ibi.web.api.status import StandingPages
from ibi.web.api.transfers import TransferPages
from ibi.web.api.tus import TusPages
from ibi.web.api.uploads import UploadPages
from ibi.web.api.versions import VersionPages
from ibi.web.api.whole_deposits import WholeDepositPages
from ibi.web.http.request import Handler, by_method, raw_path
from ibi.web.http.request_errors import PathNotFound

_OLD: Final = b"/api/records"
_NEW: Final = "/api/items"
_LABEL: Final = "(?P<label>(?:(?!/files/).)*)"


def record_routes(
    site: ArchiveSite, authentication: Authentication, queue: MintQueue, upload_refused: Callable[[str], object] = str
) -> list[Route]:
    """Return the routes. `upload_refused` counts refused uploads by the code of the error.

    Labels and file names have any number of segments, so that routes with a suffix come first.
    """
    callers = Callers(site, authentication)
    drafts, uploads, relations = (
        DraftPages(callers, queue),
        UploadPages(callers, refused=upload_refused),
        RelationPages(callers),
    )
    records, standing, claims = RecordPages(callers, drafts), StandingPages(callers), ItemClaimPages(callers)
    versions, whole = VersionPages(callers), WholeDepositPages(callers, queue)
    tus = TusPages(callers)
    content, objects, copies = ContentPages(callers), ObjectPages(callers, site.giving), CopyPages(callers)
    return [
        _version_route("/files/{path:path}", GET=versions.file),
        _version_route("/restore", POST=versions.restore),
        _version_route("", GET=versions.get),
        _route("/api/items/batch", POST=whole.deposit_many),
        _route("/api/items/import", POST=drafts.read_records),
        _route("/api/items/objects", POST=objects.get_several),
        _route("/api/items/claims", GET=claims.list, POST=claims.answer),
        _route("/api/items/{label:path}/files/{path:path}", GET=content.file, PUT=uploads.put, DELETE=uploads.delete),
        _route("/api/items/{label:path}/uploads", GET=tus.list, POST=tus.create, OPTIONS=tus.options),
        _route(
            "/api/items/{label:path}/uploads/{upload}",
            GET=tus.get,
            PATCH=tus.patch,
            DELETE=tus.delete,
            POST=tus.override,
            OPTIONS=tus.options,
        ),
        # After the files, which may have any name, such as a/versions.
        _route("/api/items/{label:path}/versions", GET=versions.list),
        _route("/api/items/{label:path}/files", GET=records.files),
        _route("/api/items/{label:path}/manifest", GET=content.manifest),
        _route("/api/items/{label:path}/object", GET=objects.get, DELETE=copies.drop),
        *transfer_routes(callers),
        _route("/api/items/{label:path}/usage", GET=records.usage),
        _route("/api/items/{label:path}/owner", PUT=records.give),
        _route(
            "/api/items/{label:path}/relations", GET=relations.get, POST=relations.record, DELETE=relations.withdraw
        ),
        _route(
            "/api/items/{label:path}/draft",
            GET=drafts.of_item,
            POST=drafts.begin_update,
            PUT=drafts.describe_update,
            DELETE=drafts.discard_update,
        ),
        _route("/api/items/{label:path}/publish", POST=drafts.publish),
        _route("/api/items/{label:path}", GET=records.get, PUT=drafts.describe, DELETE=records.delete),
        _route("/api/items", GET=_lists(site, callers, drafts), POST=by_body(whole.deposit, drafts.begin)),
        Route("/api/records", MovedPath()),
        Route("/api/records/{rest:path}", MovedPath()),
        *copies.routes(),
        *ReviewPages(callers).routes(),
        *collection_endpoints(callers),
        _route("/api/usage", GET=standing.usage),
        _route("/api/archive", GET=standing.archive),
    ]


def transfer_routes(callers: Callers) -> list[Route]:
    """Return the routes of an Archive that gives Originals to other Archives, or receives them."""
    if callers.site.transfers is None:
        return []
    transfers = TransferPages(callers, callers.site.transfers)
    return [
        _route("/api/items/{label:path}/provenance", GET=transfers.provenance),
        _route("/api/transfers", GET=transfers.list, POST=transfers.offer),
        _route("/api/transfers/answer", POST=transfers.answer),
    ]


def _lists(site: ArchiveSite, callers: Callers, drafts: DraftPages) -> Handler:
    """Return the handler for published items, which are public, or with `state` for the caller's drafts."""
    if site.search is None:
        return drafts.list
    items = ItemSearch(callers, site.search)

    async def get(request: Request) -> Response:
        return await (drafts.list if "state" in request.query_params else items.get)(request)

    return get


def _route(path: str, **handlers: Handler) -> Route:
    route = Route(path, by_method(**handlers), methods=list(handlers))
    # A name with a line feed must reach the handler, which reports an invalid name rather than 404.
    route.path_regex = re.compile(route.path_regex.pattern, re.DOTALL)
    return route


def _version_route(rest: str, **handlers: Handler) -> Route:
    route = _route(f"/api/items/{{label:path}}/versions/{{number}}{rest}", **handlers)
    # A file of a draft may be called versions/1/restore. No label contains files.
    route.path_regex = re.compile(route.path_regex.pattern.replace("(?P<label>.*)", _LABEL, 1), re.DOTALL)
    return route


class MovedPath:
    """Redirects a request of any method to the same place below `/api/items`, on the same server.

    Clients and caches must not store the answer: another API may stand at the old place later.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, query = raw_path(scope), scope.get("query_string", b"")
        if not path.startswith(_OLD):
            raise PathNotFound()  # percent-encoded letters occur in no address that was given out
        place = _NEW + _as_it_came(path[len(_OLD) :]) + (f"?{_as_it_came(query)}" if query else "")
        headers = {"location": place, "cache-control": "no-store"}
        await Response(None, HTTPStatus.PERMANENT_REDIRECT, headers)(scope, receive, send)


def _as_it_came(raw: bytes) -> str:
    """Return a part of a request's target. Bytes that a header may not contain are encoded."""
    return quote(raw, safe="/%?:@!$&'()*+,;=~-._")
