"""A host of its own for deposited bytes, apart from the host of the pages."""

from __future__ import annotations

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.standard.origin import Origin, served_origin
from ibi.standard.pairs import percent_encoded
from ibi.web.errors import problem
from ibi.web.request import link_target, percent_decode, raw_path, requested_origin
from ibi.web.request_errors import PathNotFound
from ibi.web.sites import ArchiveSite

_PLACE: Final = "/col/"


class ContentHost:
    """Tells for which of two hosts on one port a request is: the host of the pages, or `content_url` for deposited
    bytes.

    With a host of its own, a deposited document cannot act on anything that readers are signed in to. Only the Host
    header decides about a request, never a link. A request for a third host, as behind a proxy that sends another name,
    has the restrictions of the pages' host.
    """

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site
        self._pages = served_origin(site.public_url)
        self._content = served_origin(site.content_url or site.public_url)

    def is_asked(self, scope: Scope) -> bool:
        """Return whether the request is for a host that serves only bytes."""
        return self._site.has_own_content_host and self._is(self._content, self._pages, scope)

    def for_bytes(self, scope: Scope) -> str | None:
        """Return the URL of the same bytes on the content host, for a request to the host of the pages."""
        if self._site.has_own_content_host and self._is(self._pages, self._content, scope):
            return f"{self._site.content_url}{_target(scope)}"
        return None

    @staticmethod
    def _is(wanted: Origin | None, other: Origin | None, scope: Scope) -> bool:
        """Return whether the request is for `wanted`.

        If its name differs from the `other`'s, it is so at any port, because cookies ignore ports.
        """
        asked = requested_origin(scope)
        if asked is None or wanted is None:
            return False
        return asked == wanted or (asked.name == wanted.name and (other is None or other.name != wanted.name))

    def for_pages(self, scope: Scope) -> str | None:
        """Return the URL of the same page on its own host, for a request to the content host."""
        return f"{self._site.public_url}{_target(scope)}" if self.is_asked(scope) else None


class BytesAlone:
    """Pure ASGI middleware around the application: the content host serves nothing but the collection.

    So signing in is impossible there, and no document can call the API from its own origin. The content host knows no
    session either: browsers send the cookies of the pages to each port of their host.
    """

    def __init__(self, app: ASGIApp, host: ContentHost) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._host.is_asked(scope):
            await self._app(scope, receive, send)
        elif _is_for_bytes(scope):
            headers = [pair for pair in scope["headers"] if pair[0] != b"cookie"]
            await self._app({**scope, "headers": headers}, receive, send)
        else:
            await problem(PathNotFound())(scope, receive, send)


def _is_for_bytes(scope: Scope) -> bool:
    return percent_decode(raw_path(scope)).startswith(_PLACE)


def _target(scope: Scope) -> str:
    """Return path and query as they came, in ASCII."""
    return re.sub(r"[^!-~]+", lambda strange: percent_encoded(strange[0]), link_target(scope))
