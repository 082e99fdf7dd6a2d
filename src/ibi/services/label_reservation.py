"""The port `Labels` over the minter of this machine: called directly, or through the queue of a server.

Labels reserved here are marked as such in the mint log: they stay in this Archive, unlike those that are given out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Final

from ibi.label import Ibip, RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.minting.given_out import reservation_name
from ibi.model.minting import Share
from ibi.services.mint_queue import MintQueue, MintQueueClosed

__all__ = ["LocalLabels", "QueuedLabels"]

_GRACE: Final = 60.0
"""Seconds beyond the longest wait for a label: for the disk."""


class LocalLabels:
    """Reserves with `mint(count, who, key)`, which blocks until the labels are durable and their dates have come."""

    def __init__(self, mint: Callable[[int, str, str | None], Share], who: str) -> None:
        self._mint, self._who = mint, reservation_name(who)

    def reserve(self, key: str | None = None) -> LabelForms:
        return _forms(self._mint(1, self._who, key))


class QueuedLabels:
    """Reserves through a queue that lives on an event loop, for threads outside of that loop."""

    def __init__(self, queue: MintQueue, loop: asyncio.AbstractEventLoop, who: str) -> None:
        self._queue, self._loop, self._who = queue, loop, reservation_name(who)

    def reserve(self, key: str | None = None) -> LabelForms:
        minting = asyncio.run_coroutine_threadsafe(self._queue.mint(1, self._who, key), self._loop)
        try:
            return _forms(minting.result(float(self._queue.longest_wait()) + _GRACE))
        except (TimeoutError, CancelledError):
            # The loop has ended meanwhile: a thread that waits for it would keep the process alive for ever.
            raise MintQueueClosed() from None


def _forms(share: Share) -> LabelForms:
    (minted,) = share.labels()
    return LabelForms(RepositoryName.parse(minted.rep), None if minted.ibip is None else Ibip.parse(minted.ibip))
