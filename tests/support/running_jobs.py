"""Jobs as a server runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ibi.jobs.runner import Job, JobRunner


@asynccontextmanager
async def running(*jobs: Job) -> AsyncIterator[JobRunner]:
    runner = JobRunner(chance=lambda: 0.5)
    runner.add(*jobs)
    runner.start()
    try:
        yield runner
    finally:
        await runner.stop()


async def drive(job: Job, sleep: Callable[[float], Awaitable[object]]) -> None:
    """Run a job whose step is asynchronous, in the time of a test."""
    while True:
        wait = None
        if await asyncio.to_thread(job.hold):
            stepping = job.step()
            assert not isinstance(stepping, float)
            assert stepping is not None
            wait = await stepping
        if wait != 0:
            await sleep(job.interval if wait is None else wait)
