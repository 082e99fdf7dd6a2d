"""`/language/<tag>?to=<page>`: sets the language of the pages in a cookie, and leads back to a page."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.web.http.request_errors import PathNotFound
from ibi.web.pages.language import COOKIE, named_language

_YEAR: Final = 365 * 24 * 3600


async def choose_language(request: Request) -> Response:
    chosen = named_language(request.path_params["tag"])
    if chosen is None:
        raise PathNotFound()
    to = local_target(request.query_params.get("to", "/"))
    answer = Response(b"", 303, {"location": to, "cache-control": "no-store"})
    answer.set_cookie(
        COOKIE, chosen, max_age=_YEAR, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
    return answer


def local_target(text: str) -> str:
    """`text` if it is a path on this site, or else the home page: a link that looks ours must not lead to another
    site."""
    ours = (
        text[:1] == "/" and text[1:2] not in {"/", "\\"} and text.isascii() and text.isprintable() and " " not in text
    )
    return text if ours else "/"
