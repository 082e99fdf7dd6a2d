"""The first reading of a large file of which a part is asked for and no digests of blocks are known.

Everything that is taken in now has them. Content of an older store gets them at its first verification, or here: the
file is read through once, however many readers wait for it, and few files at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Final

from ibi.errors import IbiError
from ibi.services.verified_file import VerifiedFile

__all__ = ["FirstReading", "FirstReadingUnderWay"]

_AT_A_TIME: Final = 2
_PATIENCE: Final = 20.0
"""Seconds for which a reader is kept waiting: proxies give up after thirty."""
_RETRY_AFTER: Final = 30


class FirstReadingUnderWay(IbiError):
    """{path} of {name} is being checked before a part of it is given out: try again in {retry_after} seconds."""

    code = "first-reading-under-way"

    def __init__(self, *, name: str, path: str) -> None:
        super().__init__(name=name, path=path, retry_after=_RETRY_AFTER)
        self.retry_after = _RETRY_AFTER


class FirstReading:
    """For one event loop."""

    def __init__(self, *, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._turn = asyncio.Semaphore(_AT_A_TIME)
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def learn(self, digest: str, open_file: Callable[[], VerifiedFile]) -> None:
        """Have the digests of the blocks of that content kept. `ContentDamaged` if it is not right, `TimeoutError` if
        it takes too long: it goes on without the reader then."""
        task = self._under_way.get(digest)
        if task is None:
            task = self._under_way[digest] = asyncio.create_task(self._read(open_file))
            task.add_done_callback(lambda ended: self._end(digest, ended))
        await asyncio.wait_for(asyncio.shield(task), self._patience)

    def _end(self, digest: str, task: asyncio.Task[None]) -> None:
        self._under_way.pop(digest, None)
        if not task.cancelled():
            task.exception()  # told to those who waited, if any still did

    async def _read(self, open_file: Callable[[], VerifiedFile]) -> None:
        def read() -> None:
            with open_file() as file:
                file.learn_blocks()

        async with self._turn:
            await _in_thread(read)


async def _in_thread(work: Callable[[], None]) -> None:
    """In a thread that no end of the process waits for: it may read for minutes, and leaves nothing half done."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where the result is waited for
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, done, failure)

    Thread(target=run, daemon=True, name="first reading").start()
    await done


def _settle(done: asyncio.Future[None], failure: BaseException | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
