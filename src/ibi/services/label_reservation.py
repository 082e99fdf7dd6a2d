"""The port `Labels` over the minter of this machine: called directly, or through the queue of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ibi.label import Ibip, RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.model.minting import Share
from ibi.services.mint_queue import MintQueue

__all__ = ["LocalLabels", "QueuedLabels"]


class LocalLabels:
    """Reserves with `mint(count, who, key)`, which blocks until the labels are durable and their dates have come."""

    def __init__(self, mint: Callable[[int, str, str | None], Share], who: str) -> None:
        self._mint, self._who = mint, who

    def reserve(self, key: str | None = None) -> LabelForms:
        return _forms(self._mint(1, self._who, key))


class QueuedLabels:
    """Reserves through a queue that lives on an event loop, for threads outside of that loop."""

    def __init__(self, queue: MintQueue, loop: asyncio.AbstractEventLoop, who: str) -> None:
        self._queue, self._loop, self._who = queue, loop, who

    def reserve(self, key: str | None = None) -> LabelForms:
        minting = self._queue.mint(1, self._who, key)
        return _forms(asyncio.run_coroutine_threadsafe(minting, self._loop).result())


def _forms(share: Share) -> LabelForms:
    (minted,) = share.labels()
    return LabelForms(RepositoryName.parse(minted.rep), None if minted.ibip is None else Ibip.parse(minted.ibip))
