"""The routes of an Archive's records.

Short: it is above all modules of records, which do not know each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.routing import Route

from ibi.services.minting.mint_queue import MintQueue
from ibi.services.sites import ArchiveSite
from ibi.web.api.authentication import Authentication, Callers
from ibi.web.api.drafts import DraftPages
from ibi.web.api.records import RecordPages, RelationPages
from ibi.web.api.status import StandingPages
from ibi.web.api.uploads import UploadPages
from ibi.web.http.request import Handler, by_method


def record_routes(
    site: ArchiveSite, authentication: Authentication, queue: MintQueue, upload_refused: Callable[[str], object] = str
) -> list[Route]:
    """Labels and names of files have any number of segments, so routes with something after them come first.
    `upload_refused` counts refused uploads by the code of the error."""
    callers = Callers(site, authentication)
    drafts, uploads, relations = (
        DraftPages(callers, queue),
        UploadPages(callers, refused=upload_refused),
        RelationPages(callers),
    )
    records, standing = RecordPages(callers, drafts), StandingPages(callers)
    return [
        _route("/api/records/{label:path}/files/{path:path}", PUT=uploads.put, DELETE=uploads.delete),
        _route("/api/records/{label:path}/files", GET=records.files),
        _route("/api/records/{label:path}/usage", GET=records.usage),
        _route(
            "/api/records/{label:path}/relations", GET=relations.get, POST=relations.record, DELETE=relations.withdraw
        ),
        _route(
            "/api/records/{label:path}/draft",
            GET=drafts.of_item,
            POST=drafts.begin_update,
            PUT=drafts.describe_update,
            DELETE=drafts.discard_update,
        ),
        _route("/api/records/{label:path}/publish", POST=drafts.publish),
        _route("/api/records/{label:path}", GET=records.get, PUT=drafts.describe, DELETE=records.delete),
        _route("/api/records", GET=drafts.list, POST=drafts.begin),
        _route("/api/usage", GET=standing.usage),
        _route("/api/archive", GET=standing.archive),
    ]


def _route(path: str, **handlers: Handler) -> Route:
    route = Route(path, by_method(**handlers), methods=list(handlers))
    # A name with a line feed in it has to reach the handler, which reports an invalid name rather than 404.
    route.path_regex = re.compile(route.path_regex.pattern, re.DOTALL)
    return route
