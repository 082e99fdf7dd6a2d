"""An Archive's membership in its resolver, kept up while a server runs (R §7.2)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.promptness import ask
from ibi.jobs.runner import Job
from ibi.membership.model.membership import Membership, Outcome, Phase, exclusion_of
from ibi.membership.ports.archive_state import MembershipState
from ibi.standard.messages.answers import InclusionStatus, ServiceSubject
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.signing import PublicKey
from ibi.standard.storage_errors import StorageError

T = TypeVar("T")

_LOOK: Final = 1.0
"""Seconds between two checks of the switch."""
_HINTS_APART: Final = 30.0
"""Seconds between two requests that a call back causes."""
_BUDGET: Final = 3.0
"""Seconds that a stop may take to tell the resolver."""


class MembershipGateway(Protocol):
    """Sends requests to the resolver; `ibi.membership.client.resolver_gateway` implements it."""

    async def send(self, request: InclusionRequest | ExclusionRequest, *, within: float | None = None) -> Outcome: ...


def _ignore() -> None:
    """Do nothing: by default no part of the server waits for an inclusion."""


class MembershipService:
    """Keeps up the membership in one resolver from the event loop of a server, which it neither delays nor stops by an
    error.

    Of several processes on one data directory one is active; when it ends, another takes over.
    """

    def __init__(
        self,
        resolver: MembershipGateway,
        request: InclusionRequest,
        files: MembershipState,
        *,
        key: Callable[[], object] | None = None,
        audience: Callable[[], PublicKey | None] = lambda: None,
        log: FilteringBoundLogger | None = None,
        chance: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`key` returns the key that signs requests, and everything else that the resolver reads at an inclusion.
        `audience` returns the resolver's known key. Both may block. When one has changed, the resolver is asked
        again."""
        self._resolver, self._files = resolver, files
        self._key = key
        self._told: object = None
        """The key that signed the last request."""
        self._audience = audience
        self._told_to: PublicKey | None = None
        """The key of the resolver for which the last request was signed; None if it was not known."""
        self._requests: dict[ServiceSubject, InclusionRequest | ExclusionRequest] = {
            each.subject: each for each in (request, exclusion_of(request))
        }
        self._log = log or structlog.get_logger("ibi.membership")
        self._chance, self._monotonic = chance, monotonic
        self._membership, self._due, self._holds, self._asking = Membership(), 0.0, False, False
        self._may_hold = self._leaves = True
        self._renews = False
        self._hinted = float("-inf")
        """The time at which a call back last caused a request."""
        self._job = Job("membership", self._step, _LOOK, hold=self._hold)
        self.on_included: Callable[[], object] = _ignore
        """Called on the event loop when the resolver has included this Archive: the resolver may be a new one."""

    @property
    def membership(self) -> Membership:
        return self._membership

    def read(self) -> Membership:
        """Return the membership as the active process noted it last. Blocks."""
        return self._membership if self._holds else self._files.read()

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    def cease(self) -> None:
        """Take no other process's place from now on: the server begins to stop, and that process may have stopped
        already."""
        self._may_hold = False

    def hand_over(self) -> None:
        """Leave the Archive included when this process stops: another process of this server takes its place."""
        self._may_hold = self._leaves = False

    async def stop(self) -> None:
        """Tell the resolver, within the budget, that this Archive goes, if it may be included. Called when its job has
        ended."""
        if self._holds:
            if self._leaves:
                await self._leave()
            await self._call(self._files.release)
            self._holds = False

    async def _leave(self) -> None:
        if not (self._membership.known or self._asking):
            await self._write(Membership())  # this Archive is not included, or no longer
            return
        self._membership = Membership(Phase.EXCLUDING, known=True)
        outcome = await self._resolver.send(self._requests[ServiceSubject.EXCLUSION_REQUEST], within=_BUDGET)
        await self._turn_to(self._membership.after(outcome), outcome)

    def note_call_back(self) -> None:
        """Note that a resolver called this Archive back to confirm its inclusion. If this Archive does not know of an
        inclusion, it may just have been registered: it asks at once, without waiting for its turn (E74). Strangers can
        call, too: they make it ask somewhat sooner, twice a minute at most."""
        now = self._monotonic()
        if self._membership.phase is Phase.INCLUDING and not self._asking and now - self._hinted >= _HINTS_APART:
            self._hinted = self._due = now
            self._job.wake()

    def renew(self) -> None:
        """Ask for inclusion again: the register of the resolver lacks this Archive, although it took itself for
        included."""
        if self._membership.phase is Phase.INCLUDED and not self._asking:
            self._renews = True
            self._job.wake()

    async def _step(self) -> float:
        membership = self._membership
        renews, self._renews = self._renews, False
        is_told_otherwise = membership.phase is not Phase.OFF and await self._is_told_otherwise()
        if membership.phase is Phase.INCLUDED and (renews or is_told_otherwise):
            membership = Membership(Phase.INCLUDING, known=membership.known)
        switched = membership.after_switch(on=await self._call(lambda: self._files.switched_on))
        if switched != self._membership:
            self._membership, self._due = switched, self._monotonic()
            await self._write(switched)
        left = self._due - self._monotonic()
        # A changed key ends every wait after failures: perhaps the resolver is trusted anew.
        if self._membership.request is None or (left > 0 and not is_told_otherwise):
            return _LOOK if self._membership.request is None else min(_LOOK, left)
        await self._ask(self._membership.request)
        return 0.0

    def _hold(self) -> bool:
        """Take or keep the lease. Blocks."""
        if not self._holds and self._may_hold and self._files.hold():
            # An Archive that was included when its server crashed still is, whatever the switch says now.
            self._membership = Membership(known=self._files.read().known)
            self._holds = True
        return self._holds

    async def _ask(self, subject: ServiceSubject) -> None:
        self._told, self._told_to = await self._read_key(), await self._read_audience()
        self._asking = True  # stays set if this is cancelled: then nobody knows what the resolver did
        outcome = await self._resolver.send(self._requests[subject])
        self._asking = False
        await self._turn_to(self._membership.after(outcome), outcome)
        self._due = self._monotonic() + self._membership.wait(self._chance())

    async def _is_told_otherwise(self) -> bool:
        """Return whether the key of this Archive or of the resolver has changed since the last request."""
        if await self._read_key() != self._told:
            return True
        audience, known = await self._read_audience(), self._told_to
        self._told_to = known or audience  # the answer to the first request gives the key
        return known is not None and audience != known

    async def _read_audience(self) -> PublicKey | None:
        try:
            return await asyncio.to_thread(self._audience)
        except StorageError:
            return self._told_to

    async def _read_key(self) -> object:
        """Return the key. An unreadable key counts as unchanged."""
        try:
            return None if self._key is None else await asyncio.to_thread(self._key)
        except StorageError:
            return self._told

    async def _turn_to(self, membership: Membership, outcome: Outcome) -> None:
        before, self._membership = self._membership, membership
        await self._write(membership)
        self._tell(before, outcome)

    async def _write(self, membership: Membership) -> None:
        try:
            await self._call(lambda: self._files.write(membership))
        except StorageError as error:
            self._log.warning("the state of the membership is not kept", reason=str(error))

    async def _call(self, call: Callable[[], T]) -> T:
        return await ask(self._files, call)

    def _tell(self, before: Membership, outcome: Outcome) -> None:
        now, log = self._membership, self._log.bind(resolver=str(self._resolver))
        if now.phase is Phase.INCLUDED and now.confirmed:
            log.info("the resolver has included this Archive")
            self.on_included()
        elif isinstance(outcome, InclusionStatus):
            if before.phase is not Phase.INCLUDED or before.reason != now.reason:  # once, not at every attempt
                reason = now.reason or "the resolver does not say why"
                log.warning("the resolver has included this Archive, but could not reach it", reason=reason)
        elif now.reason is None:
            log.info("the resolver has excluded this Archive")
        elif now.reason != before.reason:  # once, not at every attempt
            log.warning(f"the resolver is not done {before.phase.value} this Archive", reason=now.reason)
