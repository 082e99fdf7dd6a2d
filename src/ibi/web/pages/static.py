"""`/static/<name>`: style, script and pictures of our pages, at addresses that change with their content."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.web.http.request_errors import PathNotFound

_FOLDER: Final = files("ibi.web.pages") / "static"
_MEDIA: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "txt": "text/plain; charset=utf-8",
}


def static_url(name: str) -> str:
    """The address of a static file, which changes with its content."""
    return f"/static/{name}?v={_digest(name)}"


async def static_file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _names():
        raise PathNotFound()
    # An address with the right digest may be cached for good; one without it may change.
    named = request.query_params.get("v") == _digest(name)
    caching = "public, max-age=31536000, immutable" if named else "public, max-age=300"
    return Response(_content(name), 200, {"cache-control": caching}, _MEDIA[name.rpartition(".")[2]])


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in _FOLDER.iterdir() if each.name.rpartition(".")[2] in _MEDIA)


@lru_cache
def _content(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


@lru_cache
def _digest(name: str) -> str:
    return sha256(_content(name)).hexdigest()[:12]
