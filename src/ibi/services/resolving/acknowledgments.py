"""Thanks to Archives whose URL was chosen, in the background: no reader waits for them (resolution step 5).

One in the same process is thanked at once: that takes less than to have it done later.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.messages.requests import Acknowledgment
from ibi.resolver.archive_ref import ArchiveRef

_AT_ONCE: Final = 16
"""Acknowledgments under way at a time: an Archive that is slow to hear thanks holds up those of few others."""
_MOST_WAITING: Final = 10_000
"""Beyond it the newest are dropped: an Archive then counts a resolution less, which is all that is lost."""
_MOST_CHARACTERS: Final = 8 << 20
"""Of the URLs in those that wait, which may have thousands each."""
_IN_ONE_GO: Final = 8
"""Acknowledgments that one sender may send without letting others have the processor."""
_GRACE: Final = 3.0
"""Seconds that a stop may take for those that are waiting."""


class Gateway(Protocol):
    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool: ...


def _nobody_is_here(_: ArchiveRef, __: Acknowledgment) -> None:
    """For a resolver without an Archive in its process."""


class Acknowledgments:
    """Sends each once, and does not insist: what is not received is not counted."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        at_once: Callable[[ArchiveRef, Acknowledgment], bool | None] = _nobody_is_here,
        watch: Callable[[str], None] | None = None,
        log: FilteringBoundLogger | None = None,
        grace: float = _GRACE,
    ) -> None:
        """`watch` is told `received`, `lost` or `dropped`, once for each.

        `at_once` tells an Archive for which nobody has to wait, and gives whether it was received; if it is not one, it
        tells nobody and gives None.
        """
        self._gateway, self._at_once, self._grace = gateway, at_once, grace
        self._watch = watch or (lambda _: None)
        self._log = log or structlog.get_logger("ibi.resolver")
        self._waiting: deque[tuple[ArchiveRef, Acknowledgment]] = deque()
        self._characters = 0
        """Of the URLs in those that are waiting."""
        self._senders: set[asyncio.Task[None]] = set()
        self._is_starting = False
        """Whether there is a sender that has not begun: whatever comes until then is for it too."""

    def watch(self, watch: Callable[[str], None]) -> None:
        self._watch = watch

    def send(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> None:
        """Returns at once. Called from the event loop, when the reader has his answer."""
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
        """Have one more sender, unless there are enough or one is about to begin."""
        if self._is_starting or len(self._senders) >= _AT_ONCE:
            return
        self._is_starting = True
        sender = asyncio.get_running_loop().create_task(self._send_all())
        self._senders.add(sender)
        sender.add_done_callback(self._ended)

    async def _send_all(self) -> None:
        """An Archive in the same process hears all that are waiting from one sender; while another is waited for, the
        next sender goes on."""
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

    def _ended(self, sender: asyncio.Task[None]) -> None:
        """One that failed unforeseen must not keep the others from being sent."""
        self._senders.discard(sender)
        if sender.cancelled():
            self._is_starting = False  # it may never have begun
        error = None if sender.cancelled() else sender.exception()
        if error is not None:
            self._log.error("an acknowledgment could not be sent", exc_info=error)
            self._watch("lost")
            self._start()

    async def drain(self) -> None:
        """Let those go out that are waiting, for a moment; the rest is lost."""
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
