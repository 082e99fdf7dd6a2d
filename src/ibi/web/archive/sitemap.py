"""`/sitemap.xml`: the pages of all items for crawlers, with the date of each (sitemaps.org, protocol 0.9).

It is an index; `?after=N` is one part of it, with the items whose current entry is one of the 10,000 after that number
in the feed of changes. So a part takes two megabytes at most, and a change moves one item from its part to the last
one: crawlers read again what changed, by the dates of the parts. Tombstones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.instant import Instant
from ibi.model.change import ChangeKind, ItemChange
from ibi.ports.changes import ChangeFeed
from ibi.services.promptness import beside
from ibi.services.sites import ArchiveSite
from ibi.web.http.request_errors import InvalidParameter, PathNotFound
from ibi.web.pages.robots_txt import SITEMAP

PART: Final = 10_000
"""Numbers of the feed that belong to one part; the protocol allows 50,000 addresses and 50 MB."""
MOST_PARTS: Final = 50_000
_A_READING: Final = 1_000
_MEDIA_TYPE: Final = "application/xml"
_HEADERS: Final = {"cache-control": "public, max-age=3600"}
_NAMESPACE: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class SitemapPages:
    """The index and its parts."""

    def __init__(self, site: ArchiveSite, feed: ChangeFeed) -> None:
        self._feed, self._base = feed, site.public_url

    def routes(self) -> list[Route]:
        return [Route(SITEMAP, self.get)]

    async def get(self, request: Request) -> Response:
        after = _number(request)
        body = await beside(self._index if after is None else lambda: self._part(after))
        if body is None:
            raise PathNotFound()
        return Response(body, 200, _HEADERS, _MEDIA_TYPE)

    def _index(self) -> bytes | None:
        end = self._feed.since(0, 1).end
        parts = [
            f"<sitemap><loc>{escape(f'{self._base}{SITEMAP}?after={after}')}</loc>"
            f"<lastmod>{self._last_date(min(after + PART, end))}</lastmod></sitemap>\n"
            for after in range(0, min(end, PART * MOST_PARTS), PART)
            if next(self._pages(after), None) is not None
        ]
        return _document("sitemapindex", parts)

    def _last_date(self, number: int) -> Instant:
        """When the entry of that number, the last of its part, was listed."""
        return Instant(self._feed.since(number - 1, 1).changes[0].listed)

    def _part(self, after: int) -> bytes | None:
        parts = [
            f"<url><loc>{escape(f'{self._base}/col/{each.label}/metadata')}</loc>"
            f"<lastmod>{each.at[:19]}Z</lastmod></url>\n"
            for each in self._pages(after)
        ]
        return _document("urlset", parts)

    def _pages(self, after: int) -> Iterator[ItemChange]:
        """The entries of a part whose items have a page."""
        end = after + PART
        while True:
            found = self._feed.current(after, _A_READING).changes
            yield from (each for each in found if each.number <= end and each.kind is ChangeKind.PUT)
            if len(found) < _A_READING or found[-1].number >= end:
                return
            after = found[-1].number


def _document(name: str, parts: list[str]) -> bytes | None:
    """None if there is nothing in it, which the protocol does not allow."""
    if not parts:
        return None
    beginning = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} {_NAMESPACE}>\n'
    return f"{beginning}{''.join(parts)}</{name}>\n".encode()


def _number(request: Request) -> int | None:
    text = request.query_params.get("after")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) % PART == 0):
        raise InvalidParameter(field="after", reason=f"it is 0 or a multiple of {PART}, as the index has it")
    return int(text)
