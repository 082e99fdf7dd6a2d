"""`GET /api/changes`: the feed of changes.

It is public, like the labels in it. It tells which items changed and when, and nothing of their content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import Final

import structlog
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.following.resources.feed import ChangeResource, ChangesResource, CopiesPlace, FeedLinks
from ibi.items.model.change import ChangeKind, ChangePage, ItemChange
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.ports.catalog import Catalog
from ibi.items.service.feed_readers import LONGEST_WAIT, FeedReaders
from ibi.jobs.promptness import beside
from ibi.membership.service.copy_holder_admin import CopyOffers
from ibi.membership.service.named_copy_holders import NamedCopyHolders
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.messages.holders import FOLLOWER
from ibi.standard.messages.membership import COPIES_PATH
from ibi.standard.storage_errors import StorageError
from ibi.web.body import short_json
from ibi.web.preconditions import is_tag_known
from ibi.web.request_errors import PathNotFound, check_parameters, number_of

MOST_CHANGES: Final = 1_000
"""Number of entries in one answer."""
_HIGHEST: Final = 1 << 62
_LOG: Final = structlog.get_logger("ibi.copies")
_KNOWN: Final = ("after", "epoch", "most", "wait")


class EpochEnded(IbiError):
    """That is not of the present feed of changes, whose epoch is {epoch} and which ends at {end}: it was begun again,
    or put back from a backup. Read it from the beginning, with after=0."""

    code = "epoch-ended"
    kind = ErrorKind.GONE


class ChangePages:
    def __init__(
        self,
        readers: FeedReaders,
        public_url: str,
        archive: str,
        catalog: Catalog,
        copies: NamedCopyHolders | None = None,
        offers: CopyOffers | None = None,
    ) -> None:
        """`archive` is the name of the Archive's own item. `copies` knows the holders of Copies, which a page
        announces. `offers` is told of followers."""
        self._offers = offers
        self._readers, self._public_url, self._archive, self._copies = readers, public_url, archive, copies
        self._catalog = catalog
        self._place = f"{public_url}/api/changes"

    def routes(self) -> list[Route]:
        return [Route("/api/changes", self.get), Route(COPIES_PATH, self.copies)]

    async def copies(self, _: Request) -> Response:
        if self._copies is None:
            raise PathNotFound()
        return short_json(await beside(self._copies.resource), headers={"cache-control": "no-cache"})

    async def get(self, request: Request) -> Response:
        given = request.query_params
        check_parameters(given, _KNOWN)
        after, most = number_of(given, "after", 0, 0, _HIGHEST), number_of(given, "most", MOST_CHANGES, 1, MOST_CHANGES)
        asked = given.get("epoch")
        await self._note_follower(request)
        page = await self._readers.page(after, most, number_of(given, "wait", 0, 0, LONGEST_WAIT))
        if (asked is not None and asked != page.epoch) or after > page.end:
            raise EpochEnded(epoch=page.epoch, end=page.end)
        said = await self._announced()
        headers = _headers(page, after, most, said)
        if is_tag_known(request.headers.raw, headers["etag"]):
            return Response(None, HTTPStatus.NOT_MODIFIED, headers)
        deleted = [change for change in page.changes if change.kind is ChangeKind.DELETED]
        ibips = dict(await beside(lambda: list(self._ibips(deleted)))) if deleted else {}
        return short_json(self._body(page, after, said, ibips), headers=headers)

    async def _announced(self) -> int | None:
        """Return when the Archive last announced the holders of Copies.

        An unreadable store of holders does not end the feed: resolvers continue with the earlier announcement.
        """
        if self._copies is None:
            return None
        try:
            return (await beside(self._copies.word)).at
        except StorageError as error:
            _LOG.error("it cannot be said who holds Copies", reason=str(error))
            return None

    async def _note_follower(self, request: Request) -> None:
        offers, follower = self._offers, request.headers.get(FOLLOWER.decode())
        if offers is None or follower is None:
            return
        try:
            await beside(lambda: offers.note(follower))
        except StorageError as error:
            _LOG.error("a follower is not offered as a holder of Copies", reason=str(error))

    def _ibips(self, deleted: Sequence[ItemChange]) -> Iterator[tuple[str, str]]:
        """Yield the other label of each deleted item.

        A resolver that learns of both labels can answer for both while this Archive is silent.
        """
        for change in deleted:
            with suppress(ContentDamaged):
                item = self._catalog.find(change.rep)
                if item is not None and item.labels.ibip is not None:
                    yield change.label, item.labels.ibip.spelling

    def _body(self, page: ChangePage, after: int, said: int | None, ibips: Mapping[str, str]) -> ChangesResource:
        following = page.changes[-1].number if page.changes else after
        return ChangesResource(
            archive=self._archive,
            epoch=page.epoch,
            changes=[
                ChangeResource(
                    number,
                    label,
                    kind,
                    at,
                    head,
                    _time(listed),
                    related,
                    ibips.get(label, UNSET) if kind is ChangeKind.DELETED else UNSET,
                )
                for number, label, kind, at, head, listed, related in page.changes
            ],
            after=following,
            end=page.end,
            links=FeedLinks(
                f"{self._place}?epoch={page.epoch}&after={after}",
                f"{self._place}?epoch={page.epoch}&after={following}",
                UNSET if said is None else f"{self._public_url}{COPIES_PATH}",
            ),
            copies=UNSET if said is None else CopiesPlace(said, COPIES_PATH),
        )


@lru_cache(maxsize=1024)
def _time(second: int) -> str:
    return str(Instant(second))


def _headers(page: ChangePage, after: int, most: int, said: int | None) -> dict[str, str]:
    """Return the headers. The changes of a full page are fixed within its epoch. A shorter page may still grow."""
    is_full = len(page.changes) == most
    end = page.changes[-1].number if page.changes else after
    return {
        "etag": f'"{page.epoch}-{after}-{end}-{0 if is_full else page.end}{"" if said is None else f"-{said}"}"',
        "cache-control": "public, max-age=60" if is_full else "no-cache",
    }
