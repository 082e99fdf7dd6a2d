"""Settles disputes by what Archives have signed: both that claim an Original are asked for the chain of its releases
(E88, E93).

A chain that is believed names the holder, whichever of the two told it; then the claim of the other is over, and no
administrator has to decide. Without one, or where one Archive has signed two releases, the dispute stays open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import structlog

from ibi.errors import IbiError
from ibi.federation.provenance import ChainOrder, compare_chains
from ibi.label import Label
from ibi.model.belief import Dispute
from ibi.ports.registry import Beliefs
from ibi.resolver.authority import ArchiveRef

_LOG: Final = structlog.get_logger("ibi.resolver")
_AGAIN: Final = 3600.0
"""Seconds after which those who told nothing are asked again."""
_MOST: Final = 100
"""Disputes that are looked at in one round."""


class ProvenanceGateway(Protocol):
    """Asks Archives; `ibi.transport.feed_client` implements it. It does not raise."""

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        """The chain of an item, unchecked; empty if the Archive has none, None if it does not answer."""


class BelievedReleases(Protocol):
    """`ibi.services.transfers.release_register` is one. Calls block."""

    def hear(self, texts: tuple[str, ...]) -> Label: ...

    def chain(self, label: Label) -> tuple[str, ...]: ...


class ClaimProofs:
    """For the event loop of a resolver."""

    def __init__(
        self,
        beliefs: Beliefs,
        releases: BelievedReleases,
        gateway: ProvenanceGateway,
        archives: Callable[[], tuple[ArchiveRef, ...]],
        wall: Callable[[], float],
    ) -> None:
        """`archives` are those that can be asked."""
        self._beliefs, self._releases, self._gateway = beliefs, releases, gateway
        self._archives, self._wall = archives, wall
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def note(self, _claim: object = None) -> None:
        """There is a claim that was not known. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name="claim-proofs")

    async def stop(self) -> None:
        task, self._task, self._loop = self._task, None, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - the server goes on, and the next round tries again
                _LOG.error("disputes were not looked at", exc_info=True)
            # Not `wait_for`, which loses a cancellation that comes together with what it waits for.
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN):
                    await self._wake.wait()
            self._wake.clear()

    async def look(self) -> None:
        """Ask about every dispute that is open."""
        for dispute in await asyncio.to_thread(self._beliefs.disputes, _MOST, settled=False):
            await self.check(dispute)

    async def check(self, dispute: Dispute) -> None:
        """Ask who claims the item and who is believed to hold it, and believe what is proved."""
        claim, told = dispute.claim, dict[Label, tuple[str, ...]]()
        for party in dict.fromkeys((claim.claimant, dispute.holder, claim.home)):
            archive = next((each for each in self._archives() if party in each.service.labels), None)
            texts = None if archive is None else await self._gateway.read_provenance(archive, claim.label)
            if texts is not None:
                told[party] = texts
        if claim.claimant in told:  # else it may know more than the others
            await asyncio.to_thread(self._judge, dispute, told)

    def _judge(self, dispute: Dispute, told: dict[Label, tuple[str, ...]]) -> None:
        claim = dispute.claim
        for party, texts in told.items():
            try:
                if texts:
                    self._releases.hear(texts)
            except IbiError as error:
                reason = str(error)
                _LOG.warning("a release is not believed", label=str(claim.label), archive=str(party), reason=reason)
        known, succession = self._releases.chain(claim.label), self._beliefs.succession(claim.label)
        if any(compare_chains(known, texts) is ChainOrder.FORKED for texts in told.values()):
            return  # two releases of one Original: people have to decide
        if succession.is_signed and known:
            holder = succession.chain[-1] if succession.chain else claim.home
            _LOG.info("a dispute is settled by signed releases", label=str(claim.label), holder=str(holder))
            if holder != claim.claimant:
                self._beliefs.record_proof(claim.label, claim.claimant, int(self._wall()))
