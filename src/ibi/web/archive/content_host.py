"""Two hosts on one port: depositors' bytes on a host of their own (`content_url`), everything else on the other.

A deposited document then cannot act on anything that readers are signed in to. Only the Host header tells which host a
request is for; it decides what is served, and never what a link says.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.origin import Origin, served_origin
from ibi.services.sites import ArchiveSite
from ibi.web.http.errors import problem
from ibi.web.http.request import percent_decode, raw_path, raw_target, requested_origin
from ibi.web.http.request_errors import PathNotFound

_PLACE: Final = "/col/"


class ContentHost:
    """Tells which of the two hosts a request should have gone to. A request for a third host, as behind a proxy that
    sends another name, is served with the restrictions of the pages' host."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site
        self._pages = served_origin(site.public_url)
        self._content = served_origin(site.content_url or site.public_url)

    def is_asked(self, scope: Scope) -> bool:
        """Whether the request is for a host that serves bytes alone."""
        return self._site.has_own_content_host and self._is(self._content, self._pages, scope)

    def for_bytes(self, scope: Scope) -> str | None:
        """The URL of the same bytes on the content host, for a request to the host of the pages."""
        if self._site.has_own_content_host and self._is(self._pages, self._content, scope):
            return f"{self._site.content_url}{_target(scope)}"
        return None

    @staticmethod
    def _is(wanted: Origin | None, other: Origin | None, scope: Scope) -> bool:
        """Whether the request is for `wanted`: at any port if its name differs from the `other`'s, since cookies ignore
        ports."""
        asked = requested_origin(scope)
        if asked is None or wanted is None:
            return False
        return asked == wanted or (asked.name == wanted.name and (other is None or other.name != wanted.name))

    def for_pages(self, scope: Scope) -> str | None:
        """The URL of the same page on its own host, for a request to the content host."""
        return f"{self._site.public_url}{_target(scope)}" if self.is_asked(scope) else None


class BytesAlone:
    """Pure ASGI around the whole application: the content host serves nothing but the collection, so that signing in is
    impossible there, and no document can call the API from its own origin."""

    def __init__(self, app: ASGIApp, host: ContentHost) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._host.is_asked(scope) and not _is_for_bytes(scope):
            await problem(PathNotFound())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_for_bytes(scope: Scope) -> bool:
    return percent_decode(raw_path(scope)).startswith(_PLACE)


def _target(scope: Scope) -> str:
    """Path and query as they came, in ASCII."""
    return re.sub(r"[^!-~]+", lambda strange: quote(strange[0]), raw_target(scope))
