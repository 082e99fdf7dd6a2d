"""The minter of a data directory, put together for a command."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from ibi.config import Settings
from ibi.minting.clock_guard import check_behind, with_accepted_clock
from ibi.minting.identity import settled_identity
from ibi.minting.minter import Decision, Rules, decide
from ibi.model.identity import Identity
from ibi.model.minting import MintRequest, Share, TickState
from ibi.ports.ticks import Remembered
from ibi.storage.machine import MachineClocks, machine_id
from ibi.storage.sqlite.ticks import SqliteTicks

__all__ = ["Acceptance", "LocalMinter", "frozen_identity", "opened_minter", "opened_ticks"]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What an operator vouches for on the command line."""

    clock: bool = False
    copy: bool = False
    identity: bool = False


@dataclass(frozen=True, slots=True)
class LocalMinter:
    """Mints straight from the data directory, beside a running server or without one."""

    ticks: SqliteTicks
    identity: Identity
    rules: Rules
    clocks: MachineClocks

    def mint(self, count: int, who: str, key: str | None) -> Share:
        """Labels that are durable and whose dates have come; raises an `IbiError` if none were minted."""
        request = MintRequest(count, who, key)

        def decision(state: TickState, remembered: Remembered) -> Decision:
            return decide(self.identity, self.rules, state, [request], self.clocks.read(), remembered)

        outcome = self.ticks.advance(decision).outcomes[0]
        if not isinstance(outcome, Share):
            raise outcome
        self._wait_for(outcome)
        return outcome

    def _wait_for(self, share: Share) -> None:
        ready = share.ready
        while (now := self.clocks.read().wall) < ready:
            check_behind(now, ready, self.rules.patience)  # a clock set back meanwhile: the labels stay on record
            time.sleep(float(ready.as_fraction() - now.as_fraction()))


def opened_ticks(settings: Settings, clocks: MachineClocks, *, accept_copy: bool = False) -> SqliteTicks:
    """The clock of the data directory; one that was copied here is opened only if an operator vouches for it."""
    return SqliteTicks(
        settings.data,
        machine=machine_id(),
        lock_directory=settings.lock_dir,
        clocks=clocks,
        confirmed=clocks.read() if accept_copy else None,
    )


def frozen_identity(ticks: SqliteTicks, settings: Settings, *, accept: bool = False) -> Identity:
    """Who mints here, frozen from now on."""
    identity = settled_identity(ticks.identity(), settings.identity(), accept=accept)
    ticks.freeze(identity)
    return identity


@contextmanager
def opened_minter(settings: Settings, accepted: Acceptance) -> Iterator[LocalMinter]:
    """The minter of the data directory in the settings; what is accepted is accepted before anything is minted."""
    clocks = MachineClocks()
    with closing(opened_ticks(settings, clocks, accept_copy=accepted.copy)) as ticks:
        identity = frozen_identity(ticks, settings, accept=accepted.identity)
        if accepted.clock:
            ticks.accept_clock(lambda state, issued: with_accepted_clock(state, clocks.read(), issued))
        yield LocalMinter(ticks, identity, settings.rules(), clocks)
