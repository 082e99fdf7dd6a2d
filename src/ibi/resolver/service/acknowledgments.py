"""Acknowledgments to the Archives of chosen URLs, sent in the background: no reader waits for them (resolution step 5).

An Archive in the same process gets them at once, which costs less than a task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.messages.requests import Acknowledgment

_AT_ONCE: Final = 16
"""Acknowledgments under way at a time: a slow Archive delays few of the others."""
_MOST_WAITING: Final = 10_000
"""Acknowledgments that wait. Further ones are dropped, and an Archive then only counts fewer resolutions."""
_MOST_CHARACTERS: Final = 8 << 20
"""Characters of the waiting URLs, which may have thousands each."""
_IN_ONE_GO: Final = 8
"""Acknowledgments that one sender sends before it yields to the event loop."""
_GRACE: Final = 3.0
"""Seconds that a stop may take for waiting acknowledgments."""


class AcknowledgmentGateway(Protocol):
    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool: ...


def _not_here(_: ArchiveRef, __: Acknowledgment) -> None:
    """Do nothing: the default of a resolver without an Archive in its process."""


class Acknowledgments:
    """Sends each acknowledgment once, without retries: a lost one is not counted."""

    def __init__(
        self,
        gateway: AcknowledgmentGateway,
        *,
        at_once: Callable[[ArchiveRef, Acknowledgment], bool | None] = _not_here,
        watch: Callable[[str], None] | None = None,
        log: FilteringBoundLogger | None = None,
        grace: float = _GRACE,
    ) -> None:
        """`watch` is called with `received`, `lost` or `dropped`, once for each.

        `at_once` delivers to an Archive in the same process, and returns whether it was received; None for any other
        Archive.
        """
        self._gateway, self._at_once, self._grace = gateway, at_once, grace
        self._watch = watch or (lambda _: None)
        self._log = log or structlog.get_logger("ibi.resolver")
        self._waiting: deque[tuple[ArchiveRef, Acknowledgment]] = deque()
        self._characters = 0
        """Characters of the URLs that are waiting."""
        self._senders: set[asyncio.Task[None]] = set()
        self._is_starting = False
        """True if a sender is about to begin. It will also send acknowledgments that arrive until then."""

    def watch(self, watch: Callable[[str], None]) -> None:
        self._watch = watch

    def send(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> None:
        """Send in the background; returns at once. Called from the event loop, when the reader has the answer."""
        received = self._at_once(archive, acknowledgment)
        if received is not None:
            self._watch("received" if received else "lost")
            return
        characters = self._characters + _characters(acknowledgment)
        if len(self._waiting) >= _MOST_WAITING or characters > _MOST_CHARACTERS:
            self._watch("dropped")
            return
        self._waiting.append((archive, acknowledgment))
        self._characters = characters
        self._start()

    def _start(self) -> None:
        """Start one more sender, unless there are enough or one is about to begin."""
        if self._is_starting or len(self._senders) >= _AT_ONCE:
            return
        self._is_starting = True
        sender = asyncio.get_running_loop().create_task(self._send_all())
        self._senders.add(sender)
        sender.add_done_callback(self._note_end)

    async def _send_all(self) -> None:
        """Send the waiting acknowledgments. One sender serves the Archive in the same process; while one waits for a
        remote Archive, the next sender goes on."""
        self._is_starting = False
        for sent in count(1):
            if not self._waiting:
                return
            archive, acknowledgment = self._waiting.popleft()
            self._characters -= _characters(acknowledgment)
            if self._waiting:
                self._start()
            received = await self._gateway.acknowledge(archive, acknowledgment)
            self._watch("received" if received else "lost")
            if sent % _IN_ONE_GO == 0:
                await asyncio.sleep(0)

    def _note_end(self, sender: asyncio.Task[None]) -> None:
        """Log an unexpected failure of a sender, and go on with the others."""
        self._senders.discard(sender)
        if sender.cancelled():
            self._is_starting = False  # it may have failed before it began
        error = None if sender.cancelled() else sender.exception()
        if error is not None:
            self._log.error("an acknowledgment could not be sent", exc_info=error)
            self._watch("lost")
            self._start()

    async def drain(self) -> None:
        """Send waiting acknowledgments, for a moment; the rest is lost."""
        deadline = asyncio.get_running_loop().time() + self._grace
        while self._senders and (left := deadline - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(set(self._senders), timeout=left)
        late = set(self._senders)
        for sender in late:
            sender.cancel()
        if late:
            await asyncio.wait(late)


def _characters(acknowledgment: Acknowledgment) -> int:
    return len(acknowledgment.url) + len(acknowledgment.persistent_url)
