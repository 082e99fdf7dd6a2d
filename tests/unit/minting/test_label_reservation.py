"""The port `LabelMinter` over a minter: called directly, and through the queue of a server."""

from __future__ import annotations

import asyncio

from ibi.minting.model import BatchShare, MintRequest
from ibi.minting.opening import LocalLabels
from ibi.minting.ports import LabelMinter
from ibi.minting.service.queue import MintQueue, MintQueueClosed, QueuedLabels
from ibi.standard.identity import Identity
from tests.support.memory.ticks import MemoryTicks
from tests.support.minting_samples import IDENTITY, RULES, START, mint, share
from tests.support.running_jobs import running
from tests.support.set_clocks import SetClocks


def local(identity: Identity = IDENTITY) -> LabelMinter:
    ticks, clocks = MemoryTicks(), SetClocks(START)
    ticks.freeze(identity)

    def minted(count: int, who: str, key: str | None) -> BatchShare:
        return share(mint(ticks, clocks, MintRequest(count, who, key), identity=identity).outcomes[0])

    return LocalLabels(minted, "cli:ana")


def test_both_forms_of_one_instant() -> None:
    forms = local().reserve()
    assert forms.rep is not None
    assert forms.ibip is not None
    assert forms.rep.instant == forms.ibip.instant


def test_a_minter_without_an_address_gives_repository_names() -> None:
    forms = local(Identity("mtc-m18.sid.inpe.br")).reserve()
    assert forms.rep is not None
    assert forms.ibip is None


def test_a_key_gives_the_same_labels() -> None:
    labels = local()
    assert labels.reserve("k") == labels.reserve("k") != labels.reserve()


async def test_a_thread_reserves_through_the_queue() -> None:
    clocks = SetClocks(START)
    ticks = MemoryTicks(clocks)
    ticks.freeze(IDENTITY)
    queue = MintQueue(ticks, IDENTITY, RULES, clocks, sleep=clocks.sleep)
    async with running(*queue.jobs()):
        labels = QueuedLabels(queue, asyncio.get_running_loop(), "server")
        one, same, other = await asyncio.gather(
            asyncio.to_thread(labels.reserve, "k"),
            asyncio.to_thread(labels.reserve, "k"),
            asyncio.to_thread(labels.reserve),
        )
        assert one == same != other
    refused = await asyncio.gather(asyncio.to_thread(labels.reserve), return_exceptions=True)
    assert isinstance(refused[0], MintQueueClosed)
