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

from ibi.claims.api.claims import ItemClaimPages
from ibi.copies.api import CopyPages, ObjectPages
from ibi.copies.service.giving import ObjectGiving
from ibi.deposits.api.drafts import DraftPages
from ibi.deposits.api.tus import TusPages
from ibi.deposits.api.uploads import UploadPages
from ibi.deposits.api.whole_deposits import WholeDepositPages
from ibi.minting.service.queue import MintQueue
from ibi.reading.api.item_content import ContentPages
from ibi.reading.api.item_search import ItemSearch
from ibi.reading.api.records import RecordPages, RelationPages
from ibi.reading.api.versions import VersionPages
from ibi.transfers.api import TransferPages
from ibi.web.authentication import Callers
from ibi.web.record_requests import by_body
from ibi.web.request import Handler, by_method, raw_path
from ibi.web.request_errors import PathNotFound

_OLD: Final = b"/api/records"
_NEW: Final = "/api/items"
_LABEL: Final = "(?P<label>(?:(?!/files/).)*)"


def record_routes(
    callers: Callers,
    queue: MintQueue,
    *,
    search: ItemSearch | None,
    giving: ObjectGiving,
    transfers: TransferPages | None,
    copies: CopyPages,
    upload_refused: Callable[[str], object],
) -> list[Route]:
    """Return the routes. `upload_refused` counts refused uploads by the code of the error.

    Labels and file names have any number of segments, so that routes with a suffix come first.
    """
    drafts, uploads, relations = (
        DraftPages(callers, queue),
        UploadPages(callers, refused=upload_refused),
        RelationPages(callers),
    )
    records, claims = RecordPages(callers, drafts), ItemClaimPages(callers)
    versions, whole = VersionPages(callers), WholeDepositPages(callers, queue)
    tus = TusPages(callers)
    content, objects = ContentPages(callers), ObjectPages(callers, giving)
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
        *([] if transfers is None else [_route("/api/items/{label:path}/provenance", GET=transfers.provenance)]),
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
        _route("/api/items", GET=_lists(drafts, search), POST=by_body(whole.deposit, drafts.begin)),
        Route("/api/records", MovedPath()),
        Route("/api/records/{rest:path}", MovedPath()),
    ]


def _lists(drafts: DraftPages, search: ItemSearch | None) -> Handler:
    """Return the handler for published items, which are public, or with `state` for the caller's drafts."""
    if search is None:
        return drafts.list

    async def get(request: Request) -> Response:
        return await (drafts.list if "state" in request.query_params else search.get)(request)

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
