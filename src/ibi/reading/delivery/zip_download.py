"""`/col/<rep>.zip`: all files of an item in one download, which can resume at any byte.

Nothing is written to the disk and nothing is compressed: headers are made during the download, and the bytes between
them are those of the files, checked as in any download. Before the first byte, only the record of the item is needed.
If an earlier version of this software wrote the record, CRC-32s may be missing. Then the files are read through once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from zlib import crc32

from starlette.types import Receive, Scope, Send

from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.rules.zip_layout import CrcUnknown, StoredPart, ZipLayout
from ibi.items.service.integrity.verified_file import PIECE, FirstReadingUnderWay
from ibi.items.service.stored_item import ItemChanging
from ibi.reading.delivery.file_answer import FileAnswer
from ibi.reading.delivery.file_delivery import FileDelivery
from ibi.standard.instant import Instant
from ibi.standard.lru_cache import LruCache
from ibi.web.headers import attachment_headers
from ibi.web.request_middleware import AnswerBroken
from ibi.web.sites import ArchiveSite

ZIP: Final = ".zip"
_MEDIA_TYPE: Final = "application/zip"
_LAYOUTS: Final = 8
"""Number of layouts that a process caches: parts of one download are requested again and again."""
_CRCS: Final = 200_000
"""Number of cached CRC-32s, for files that an earlier version of this software stored."""
_PATIENCE: Final = 20.0
"""Seconds that a reader waits for CRC-32s. Proxies give up after thirty."""
_COUNTED_AS: Final = "*.zip"
"""Replaces the path, which never has an asterisk: a second click is the same download."""


def zip_name(item: Item) -> str:
    """Return the name of the ZIP file without its extension. The only folder in it has the same name."""
    return str(item.rep).replace("/", "-")


class ZipContent:
    """The bytes of the ZIP file of an item, read a piece at a time, in a thread."""

    is_at_hand = False

    def __init__(self, site: ArchiveSite, item: Item, layout: ZipLayout) -> None:
        self._site, self._item, self._layout = site, item, layout
        self.size, self.digest = layout.size, layout.digest

    def pieces(self, offset: int, length: int, by_block: Callable[[], bool]) -> Iterator[bytes]:
        """Yield pieces of a moderate size.

        A thread, and a write to the connection, for each of ten thousand small files would cost more than the files.
        """
        gathered = bytearray()
        for each in self._parts(offset, length, by_block):
            if len(gathered) + len(each) <= PIECE:
                gathered += each
                continue
            if gathered:
                yield bytes(gathered)
                gathered.clear()
            if len(each) < PIECE:
                gathered += each
            else:
                yield each
        if gathered:
            yield bytes(gathered)

    def _parts(self, offset: int, length: int, by_block: Callable[[], bool]) -> Iterator[bytes]:
        for part in self._layout.parts(offset, length):
            if isinstance(part, StoredPart):
                yield from self._pieces_of(part, by_block)
            else:
                yield part

    def _pieces_of(self, part: StoredPart, by_block: Callable[[], bool]) -> Iterator[bytes]:
        with self._site.open_file(self._item, part.file.path) as opened:
            if opened.digest != part.file.sha512:
                raise AnswerBroken  # the item was changed; a reader who asks for the rest learns that from the tag
            if opened.size != part.file.size:
                raise opened.damage("it has lost or gained bytes")
            yield from opened.pieces(part.offset, part.length, by_block)


class ZipAnswer(FileAnswer):
    """An answer without a digest: the digest of the whole is unknown before the whole was read."""

    def _digest_header(self) -> dict[str, str]:
        return {}


class ZipDownload:
    """Answers requests of readers who may have all files of the item. For one event loop."""

    def __init__(self, site: ArchiveSite, delivery: FileDelivery, *, patience: float = _PATIENCE) -> None:
        self._site, self._delivery, self._patience = site, delivery, patience
        self._layouts: LruCache[tuple[str, int, Instant], ZipLayout] = LruCache(_LAYOUTS)
        self._crcs: LruCache[str, str] = LruCache(_CRCS)
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def send(self, item: Item, scope: Scope, receive: Receive, send: Send, caching: Mapping[str, str]) -> None:
        """Send the ZIP file. `caching` are the headers that control caches."""
        content = ZipContent(self._site, item, await self._layout(item))
        answer = ZipAnswer(item, content, scope["method"], scope["headers"])
        if self._site.integrity is not None and answer.sends_bytes:
            self._site.integrity.require_whole(str(item.rep))
        self._delivery.count(item, _COUNTED_AS, scope, answer.status, answer.offset)
        saving = attachment_headers(_MEDIA_TYPE, f"{zip_name(item)}{ZIP}")
        await answer.send(receive, send, {**saving, **caching})

    async def _layout(self, item: Item) -> ZipLayout:
        key = str(item.rep), item.version, item.updated
        found = self._layouts.find(key)
        if found is None:
            try:
                found = await asyncio.to_thread(ZipLayout, zip_name(item), item.files, item.rep.instant)
            except CrcUnknown:
                found = await self._layout_with_crcs(item)
            self._layouts.keep(key, found)
        return found

    async def _layout_with_crcs(self, item: Item) -> ZipLayout:
        """Return the layout of an item with files that an earlier version of this software stored."""
        files, lacking = self._files_with_crc(item)
        if lacking:
            await self._learn(item, lacking)
            files, _ = self._files_with_crc(item)
        return await asyncio.to_thread(ZipLayout, zip_name(item), files, item.rep.instant)

    def _files_with_crc(self, item: Item) -> tuple[list[File], list[File]]:
        """Return the files of the item with the known CRC-32s, and those that lack one."""
        files = [
            file if file.crc32 is not None else replace(file, crc32=self._crcs.find(file.sha512)) for file in item.files
        ]
        return files, [file for file in files if file.crc32 is None]

    async def _learn(self, item: Item, lacking: list[File]) -> None:
        name = str(item.rep)
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.create_task(self._read_through(item, lacking))
            task.add_done_callback(lambda ended: self._end(name, ended))
        try:
            await asyncio.wait_for(asyncio.shield(task), self._patience)
        except TimeoutError:
            raise FirstReadingUnderWay(name=name, path=lacking[0].path) from None

    def _end(self, name: str, task: asyncio.Task[None]) -> None:
        self._under_way.pop(name, None)
        if not task.cancelled():
            task.exception()  # raised where it was awaited, if anywhere

    async def _read_through(self, item: Item, lacking: list[File]) -> None:
        for file in lacking:
            self._crcs.keep(file.sha512, await asyncio.to_thread(self._crc_of, item, file))

    def _crc_of(self, item: Item, file: File) -> str:
        found = 0
        with self._site.open_file(item, file.path) as opened:
            if opened.digest != file.sha512:
                raise ItemChanging(label=str(item.rep))
            for piece in opened.pieces(0, opened.size):
                found = crc32(piece, found)
        return f"{found:08x}"
