"""`/items.atom`: all items in the order of their changes, as a feed that goes back to the first (RFC 5005 §4).

A part has the items whose current entry is one of a hundred numbers of the feed of changes. Those numbers never change
within an epoch: a reader that has a part need not ask for it again, because an item that changes later is in a later
part. The address without parameters has what came after the last whole part, and that part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import IbiError
from ibi.model.change import ChangeKind, ChangePage
from ibi.model.item import Item
from ibi.ports.changes import ChangeFeed
from ibi.services.promptness import beside
from ibi.services.sites import ArchiveSite
from ibi.web.http.request_errors import InvalidParameter, PathNotFound
from ibi.web.pages.atom import MEDIA_TYPE, Feed, atom
from ibi.web.pages.rendering import SITE, SiteFacts

ITEMS_FEED: Final = "/items.atom"
PART: Final = 100
"""Numbers of the feed of changes in one part."""


class _Part(NamedTuple):
    """The items of a part in the order of their entries, after which number it begins, and where the feed stands."""

    items: Sequence[Item]
    after: int
    epoch: str
    end: int

    @property
    def whole_parts(self) -> int:
        """The number at which the last whole part ends."""
        return self.end // PART * PART


class ItemsFeed:
    def __init__(self, site: ArchiveSite, feed: ChangeFeed) -> None:
        self._site, self._feed = site, feed
        self._place = f"{site.public_url}{ITEMS_FEED}"

    def routes(self) -> list[Route]:
        return [Route(ITEMS_FEED, self.get)]

    async def get(self, request: Request) -> Response:
        after, epoch = _number(request), request.query_params.get("epoch")
        part = await beside(self._newest if after is None else lambda: self._part(after))
        if after is not None and (epoch != part.epoch or after + PART > part.end):
            raise PathNotFound()  # of another epoch, or not whole yet: readers begin again with the newest
        facts, site = request.scope.get(SITE, SiteFacts()), self._site
        body = atom(
            self._facts(facts.name, part, is_archive=after is not None),
            part.items[::-1],
            site.now,
            lambda item: site.persistent_url(item.labels),
            lambda item: site.urls.metadata(item, None, None),
        )
        return Response(body, 200, {"cache-control": "public, max-age=300"}, MEDIA_TYPE)

    def _facts(self, name: str, part: _Part, *, is_archive: bool) -> Feed:
        links = []
        if is_archive:
            links.append(("current", self._place))
            if part.after >= PART:
                links.append(("prev-archive", self._address(part.epoch, part.after - PART)))
            if part.after + PART < part.whole_parts:
                links.append(("next-archive", self._address(part.epoch, part.after + PART)))
        elif part.whole_parts:
            links.append(("prev-archive", self._address(part.epoch, part.whole_parts - PART)))
        return Feed(
            title=name,
            own_url=self._address(part.epoch, part.after) if is_archive else self._place,
            id_url=self._place,
            page_url=f"{self._site.public_url}/search",
            author=name,
            is_archive=is_archive,
            archive_urls=tuple(links),
        )

    def _address(self, epoch: str, after: int) -> str:
        return f"{self._place}?epoch={epoch}&after={after}"

    def _newest(self) -> _Part:
        whole = self._feed.since(0, 1).end // PART * PART
        return self._read(max(0, whole - PART), 2 * PART)

    def _part(self, after: int) -> _Part:
        return self._read(after, PART)

    def _read(self, after: int, numbers: int) -> _Part:
        page = self._feed.current(after, numbers)
        return _Part(tuple(self._items(page, after + numbers)), after, page.epoch, page.end)

    def _items(self, page: ChangePage, last: int) -> Iterator[Item]:
        for change in page.changes:
            if change.number > last or change.kind is not ChangeKind.PUT:
                continue
            try:
                item = self._site.catalog.find(change.rep)
            except IbiError:  # the others are shown all the same
                continue
            if item is not None:
                yield item


def _number(request: Request) -> int | None:
    text = request.query_params.get("after")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) % PART == 0):
        raise InvalidParameter(field="after", reason=f"it is 0 or a multiple of {PART}, as the links have it")
    return int(text)
