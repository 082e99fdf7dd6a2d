"""`/dump.ndjson.gz`: the newest dump of the Archive, which its server writes every day.

Short, because the file is made elsewhere (`ibi.services.items.dumping`), and sent as it is.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ibi.ports.archive_state import DumpFiles
from ibi.services.promptness import beside
from ibi.web.http.request_errors import PathNotFound

DUMP: Final = "/dump.ndjson.gz"


class DumpPage:
    """Sends a file that is never changed once it has its name: one that is being sent stays whole when the next one
    takes its place."""

    def __init__(self, files: DumpFiles) -> None:
        self._files = files

    def routes(self) -> list[Route]:
        return [Route(DUMP, self.get)]

    async def get(self, _: Request) -> Response:
        newest = await beside(self._files.newest)
        if newest is None:  # the first one is being written
            raise PathNotFound()
        return FileResponse(newest, headers={"cache-control": "no-cache"}, media_type="application/gzip")
