"""`/api/register`: the register of the resolver as a signed statement, for Archives that resolve without it (E94).

Short: what is in it, and when it is signed anew, is decided by `ibi.services.resolving.register_publication`.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.services.resolving.register_publication import RegisterPublication
from ibi.web.http.preconditions import is_tag_known

PATH: Final = "/api/register"
MEDIA_TYPE: Final = "application/jose"


class RegisterStatementPage:
    def __init__(self, publication: RegisterPublication) -> None:
        self._publication = publication

    def routes(self) -> list[Route]:
        return [Route(PATH, self.get)]

    async def get(self, request: Request) -> Response:
        text, etag = await asyncio.to_thread(self._publication.current)
        headers = {"etag": etag, "cache-control": "no-cache"}
        if is_tag_known(request.headers.raw, etag):
            return Response(None, 304, headers)
        return Response(text, 200, headers, MEDIA_TYPE)
