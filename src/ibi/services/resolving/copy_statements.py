"""Learns from homes who holds Copies of their items, so that it is known when a home falls silent (E84).

A home announces its statement in its feed of changes. It is read when the home is included, and again when the feed
that is followed announces a later one. What the home signed with its pinned key is kept, byte for byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from ibi.errors import IbiError, InvalidInput
from ibi.messages.copy_holders import read_copies_statement
from ibi.model.change import AnnouncedCopies, FollowedPage
from ibi.ports.registry import Beliefs, Registry
from ibi.resolver.archive_keys import distrust_copies
from ibi.resolver.authority import ArchiveRef

_LOG: Final = structlog.get_logger("ibi.resolver")


class CopiesGateway(Protocol):
    """Reads what Archives elsewhere tell; `ibi.transport.feed_client` implements it. Neither call raises."""

    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None: ...

    async def read_copies(self, archive: ArchiveRef, path: str) -> str | None:
        """The statement at that path of the Archive's server; None if there is none."""


class CopyStatements:
    """The statements of all homes of one resolver. For its event loop, but for `take`."""

    def __init__(self, gateway: CopiesGateway, registry: Registry, beliefs: Beliefs, wall: Callable[[], float]) -> None:
        """`wall` is the time of day in POSIX seconds."""
        self._gateway, self._registry, self._beliefs, self._wall = gateway, registry, beliefs, wall
        self._reading: dict[ArchiveRef, asyncio.Task[None]] = {}
        self._seen: dict[ArchiveRef, int] = {}
        """The last announcement that was looked at of each Archive: one that is not believed is not read again."""

    async def learn(self, archive: ArchiveRef) -> None:
        """Read the statement of an Archive that was included."""
        if archive.feed is None:
            return
        page = await self._gateway.read_feed(archive, None, "", 0)
        if page is not None:
            self._seen.pop(archive, None)
            self.note(archive, page)
            await self.settle()

    def note(self, archive: ArchiveRef, page: FollowedPage) -> None:
        """A page of its feed came: begin to read the statement if it is another one than before."""
        announced = page.copies
        if announced is None or announced.at == self._seen.get(archive) or archive in self._reading:
            return
        self._seen[archive] = announced.at
        task = asyncio.get_running_loop().create_task(self._read(archive, announced))
        self._reading[archive] = task
        task.add_done_callback(lambda _: self._reading.pop(archive, None))

    async def settle(self) -> None:
        """Wait for the statements that are being read."""
        await asyncio.gather(*self._reading.values(), return_exceptions=True)

    async def close(self) -> None:
        tasks = tuple(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, archive: ArchiveRef, announced: AnnouncedCopies) -> None:
        statement = await self._gateway.read_copies(archive, announced.path)
        if statement is None:
            self._seen.pop(archive, None)  # at the next page again
            return
        try:
            reason = await asyncio.to_thread(self.take, archive, statement)
        except IbiError as error:
            reason = str(error)
        if reason is not None:
            _LOG.warning("what an Archive says of its Copies is not believed", archive=archive.address, reason=reason)

    def take(self, archive: ArchiveRef, statement: str) -> str | None:
        """Keep a statement of that home, wherever it came from. Returns why it is not believed; None if it is, or was
        before. Blocks."""
        try:
            said = read_copies_statement(statement)
        except InvalidInput as error:
            return str(error)
        home = archive.service.labels[0]
        registration, known, now = self._registry.find(home), self._beliefs.named_copies(home), self._wall()
        if known.statement == statement:
            return None
        reason = distrust_copies(registration, said, known, int(now * 1000))
        if reason is None:
            self._beliefs.record_signed_copies(home, said, statement, int(now))
            _LOG.info("an Archive says who holds its Copies", archive=str(home), holders=list(map(str, said.holders)))
        return reason
