"""Delivery of files to readers: opened, checked, sent in ranges, and counted as use.

Access is decided before: by the reader's address for links, by a token for programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.service.integrity.verified_file import FirstReading, FirstReadingUnderWay, VerifiedFile
from ibi.reading.delivery.file_answer import FileAnswer
from ibi.usage.rules.counting import counted_download, counts_as_download
from ibi.web.request import media_type_in_full, reader_address, values
from ibi.web.sites import ArchiveSite

_CONDITIONS = frozenset({b"if-none-match", b"if-modified-since"})
"""Headers with which a reader who has the file already receives none of it."""

HeadersOf = Callable[[str], Mapping[str, str]]
"""Returns the headers of a file by its media type."""


class FileDelivery:
    def __init__(self, site: ArchiveSite) -> None:
        self._site, self._first_reading = site, FirstReading()

    async def send(
        self,
        item: Item,
        file: File,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: HeadersOf,
        *,
        version: tuple[int, Item] | None = None,
        is_use: bool = True,
    ) -> None:
        """Answer a request for a file that the reader may see.

        The file is in an earlier `version`, given by its number and the item as it was, or in the present one. Without
        `is_use`, the answer is not counted.
        """
        open_file = partial(self._open_file, item, file.path, None if version is None else version[0])
        at_once = scope["method"] == "GET" and not any(name in _CONDITIONS for name, _ in scope["headers"])
        opened, media_type = await asyncio.to_thread(_open, open_file, file, at_once=at_once)
        with opened:
            shown = item if version is None else version[1]
            answer = FileAnswer(shown, opened, scope["method"], scope["headers"])
            await self._check(item, file, opened, answer, open_file)
            if is_use:
                self.count(item, file.path, scope, answer.status, answer.offset)
            await answer.send(receive, send, headers(media_type))

    def _open_file(self, item: Item, path: str, number: int | None) -> VerifiedFile:
        if number is None:
            return self._site.open_file(item, path)
        return self._site.versions.open_file(item, number, path)

    async def _check(
        self, item: Item, file: File, opened: VerifiedFile, answer: FileAnswer, open_again: Callable[[], VerifiedFile]
    ) -> None:
        """Refuse to send bytes that are known to be damaged.

        A reader who has the file already gets no error, because the reader's bytes are right. A part of a large file is
        sent once its blocks are known.
        """
        integrity = self._site.integrity
        if integrity is not None and answer.status != HTTPStatus.NOT_MODIFIED:
            integrity.require_file(str(item.rep), file.path, opened.digest)
        if answer.is_part and not await asyncio.to_thread(opened.knows_blocks):
            try:
                await self._first_reading.learn(opened.digest, open_again)
            except TimeoutError:
                raise FirstReadingUnderWay(name=str(item.rep), path=file.path) from None

    def count(self, item: Item, path: str, scope: Scope, status: int, offset: int = 0) -> None:
        """Count an answer as use, if it is a download. A second one of the same `path` right after it is a double
        click."""
        if not counts_as_download(scope["method"], status, offset):
            return
        site, agent = self._site, " ".join(values(scope["headers"], b"user-agent"))[:500]
        address, robot = reader_address(scope, site.proxies), site.uses.is_robot(agent)
        counted = counted_download(item, path, f"{address} {agent}", site.uses.recent, site.now, robot=robot)
        site.uses.count(counted, " ".join(values(scope["headers"], b"referer")))


def _open(open_file: Callable[[], VerifiedFile], file: File, *, at_once: bool) -> tuple[VerifiedFile, str]:
    """Open the file and return it with its media type. This call blocks.

    A file that lost bytes on the disk is never sent as if it were whole. A small file that will certainly be sent is
    read `at_once`: another trip to a thread would cost more.
    """
    opened = open_file()
    try:
        if opened.digest == file.sha512 and opened.size != file.size:
            raise opened.damage("it has lost or gained bytes")
        if at_once:
            opened.take_in_hand()
        return opened, _media_type(file, opened)
    except BaseException:
        opened.close()
        raise


def _media_type(file: File, opened: VerifiedFile) -> str:
    try:
        return media_type_in_full(file.media_type, opened)
    except ContentDamaged:
        return file.media_type  # noted already; a reader who has the file still gets 304
