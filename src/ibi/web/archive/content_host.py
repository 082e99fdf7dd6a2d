"""Two hosts on one port: depositors' bytes on a host of their own (`content_url`), everything else on the other.

A document that somebody deposited can then act on nothing that readers are signed in to. Which host a request is for
only its Host header tells; it decides what is served, and never what a link says.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.archive_site import ArchiveSite
from ibi.web.http.errors import problem
from ibi.web.http.hosts import Authority, authority_of_url, requested_authority
from ibi.web.http.raw_target import decoded, raw_path, raw_target
from ibi.web.http.request_errors import NotFound

_PLACE: Final = "/col/"


class ContentHost:
    """Where a request should have gone. A host that is neither of the two, as behind a proxy that tells another one,
    gets what it asks for, shut in as on the host of the pages."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site
        self._pages = authority_of_url(site.public_url)
        self._content = authority_of_url(site.content_url or site.public_url)

    def is_asked(self, scope: Scope) -> bool:
        """Whether there is nothing else on the host that this is asked of."""
        return self._site.has_own_content_host and self._is(self._content, self._pages, scope)

    def for_bytes(self, scope: Scope) -> str | None:
        """The URL at which bytes are had that are asked of the host of the pages."""
        if self._site.has_own_content_host and self._is(self._pages, self._content, scope):
            return f"{self._site.content_url}{_target(scope)}"
        return None

    @staticmethod
    def _is(wanted: Authority | None, other: Authority | None, scope: Scope) -> bool:
        """Whether the request is for `wanted`: at any port if the name alone tells it from the `other`, for cookies do
        not tell ports apart."""
        asked = requested_authority(scope)
        if asked is None or wanted is None:
            return False
        return asked == wanted or (asked.host == wanted.host and (other is None or other.host != wanted.host))

    def for_pages(self, scope: Scope) -> str | None:
        """The URL of a page that is asked of the host of the bytes."""
        return f"{self._site.public_url}{_target(scope)}" if self.is_asked(scope) else None


class BytesAlone:
    """Pure ASGI, around everything that has an address: on the host of the bytes there is nothing but the collection,
    so that nobody can sign in there, and no document can ask the API as one of its own origin."""

    def __init__(self, app: ASGIApp, host: ContentHost) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._host.is_asked(scope) and not _is_for_bytes(scope):
            await problem(NotFound())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_for_bytes(scope: Scope) -> bool:
    return decoded(raw_path(scope)).startswith(_PLACE)


def _target(scope: Scope) -> str:
    """Path and query as they came, in ASCII."""
    return re.sub(r"[^!-~]+", lambda strange: quote(strange[0]), raw_target(scope))
