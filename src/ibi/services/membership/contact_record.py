"""Puts on record which Archives questions do not reach, and why, so that `ibi resolver list` tells it (E73)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.registration import Registration
from ibi.ports.clocks import Clocks
from ibi.ports.registry import Registry
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.membership import after_answer, after_failure, failure_code, failure_words
from ibi.resolver.trace import Failure, Reply

_AGAIN: Final = 600.0
"""Seconds after which one more failure of the same kind is put on record."""
_WRITES_APART: Final = 10.0
"""Seconds between two changes of one registration: an Archive that comes and goes causes no more writes than that."""


class ContactRecord:
    """Listens to the replies of remote Archives on the event loop of a server. Almost all of them change nothing: that
    costs a look into a dictionary."""

    def __init__(
        self,
        registry: Registry,
        clocks: Clocks,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._registry, self._clocks, self._monotonic = registry, clocks, monotonic
        self._log = log or structlog.get_logger("ibi.register")
        self._failed: dict[Label, tuple[str, float]] = {}
        """The failures on record, by the first label of an Archive: of which kind, and when this process noted it."""
        self._written: dict[Label, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self) -> None:
        """Read which failures are on record, so that they can be taken back."""
        now = self._monotonic()
        try:
            found = await asyncio.to_thread(self._registry.all)
        except IbiError as error:
            self._log.error("the register cannot be read", reason=str(error))
            return
        self._failed.update({each.labels[0]: (each.failed.reason, now) for each in found if each.failed is not None})

    def note(self, archive: ArchiveRef, reply: Reply) -> None:
        label = archive.service.labels[0]
        if not isinstance(reply, Failure):
            if label in self._failed and self._may_write(label):
                del self._failed[label]
                self._write(label, after_answer)
                self._log.info("an Archive is reached again", archive=str(label), address=archive.address)
            return
        if not (reply.was_not_reached or reply.is_address):
            return
        code, now = failure_code(reply), self._monotonic()
        before = self._failed.get(label)
        if before is not None and before[0] == code and now - before[1] < _AGAIN:
            return
        if self._may_write(label):
            self._failed[label] = code, now
            self._write(label, partial(after_failure, failure=reply, now=self._clocks.read().wall))
            if before is None or before[0] != code:
                reason = failure_words(code, label)
                self._log.warning(
                    "an Archive is not reached", archive=str(label), address=archive.address, reason=reason
                )

    async def close(self) -> None:
        """Wait for what is being written."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _may_write(self, label: Label) -> bool:
        now = self._monotonic()
        if now - self._written.get(label, float("-inf")) < _WRITES_APART:
            return False
        self._written[label] = now
        return True

    def _write(self, label: Label, make: Callable[[Registration], Registration]) -> None:
        task = asyncio.get_running_loop().create_task(self._change(label, make))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, label: Label, make: Callable[[Registration], Registration]) -> None:
        try:
            await asyncio.to_thread(self._registry.change, label, make)
        except IbiError as error:
            self._log.error("whether an Archive was reached is not kept", archive=str(label), reason=str(error))
