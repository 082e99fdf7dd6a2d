"""The directory of Archives on a register that is slow: read before the event loop asks, and again beside it."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from ibi.membership.model.registration import Registration
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.standard.storage_errors import StoreDamaged
from tests.contract.test_registry import registration
from tests.support.memory.registry import MemoryRegistry
from tests.support.slow_storage import SlowStorage


async def test_a_slow_register_is_read_again_beside_the_event_loop_after_a_change() -> None:
    storage, registry = SlowStorage(0.0), MemoryRegistry()
    registry.add(registration(1))
    directory = await asyncio.to_thread(ArchiveDirectory, storage.slow(registry), None)
    assert directory.homes().count == 1
    storage.hold()
    registry.add(registration(2))
    for _ in range(3):  # what was read before, and one reading for all who ask
        directory.archives()
        assert directory.homes().count == 1
        await asyncio.sleep(0)
    storage.let_go()
    async with asyncio.timeout(30):
        while directory.homes().count != 2:
            await asyncio.sleep(0.001)
            directory.archives()
    assert storage.on_loop == []


async def test_a_register_that_cannot_be_read_leaves_what_was_read_before() -> None:
    class Broken(MemoryRegistry):
        is_broken = False

        def all(self) -> tuple[Registration, ...]:
            if self.is_broken:
                raise StoreDamaged(path="registry.sqlite", reason="it is not a database")
            return super().all()

    storage, registry = SlowStorage(0.0), Broken()
    directory = await asyncio.to_thread(ArchiveDirectory, storage.slow(registry), None)
    registry.is_broken = True
    registry.add(registration(1))
    with capture_logs() as logs:
        directory.archives()
        async with asyncio.timeout(30):
            while not logs:
                await asyncio.sleep(0.001)
                directory.archives()
    assert directory.homes().count == 0
    registry.is_broken = False
    async with asyncio.timeout(30):
        while directory.homes().count != 1:
            directory.archives()
            await asyncio.sleep(0.001)
