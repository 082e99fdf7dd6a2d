"""Builds the minter of a data directory, for a command."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING

import click

from ibi.minting.model import BatchShare, MintRequest, TickState
from ibi.minting.ports import Remembered
from ibi.minting.rules.identity import settled_identity
from ibi.minting.rules.mint_log import reservation_name
from ibi.minting.rules.minter import Decision, Rules, check_behind, decide, with_accepted_clock
from ibi.minting.store.ticks import SqliteTicks
from ibi.settings import Settings
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import DEFAULT_PORTS, Origin
from ibi.storage.machine import MachineClocks, machine_id

if TYPE_CHECKING:
    from ibi.minting.service.guard import OwnAddress


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The risks that an operator accepts on the command line."""

    clock: bool = False
    copy: bool = False
    identity: bool = False
    loss: bool = False


class LocalLabels:
    """Reserves labels with `mint(count, who, key)`. That call blocks until the labels are durable and their dates have
    come."""

    def __init__(self, mint: Callable[[int, str, str | None], BatchShare], who: str) -> None:
        self._mint, self._who = mint, reservation_name(who)

    def reserve(self, key: str | None = None) -> LabelForms:
        return self._mint(1, self._who, key).forms()


@dataclass(frozen=True, slots=True)
class LocalMinter:
    """Mints directly in the data directory, with or without a running server."""

    ticks: SqliteTicks
    identity: Identity
    rules: Rules
    clocks: MachineClocks
    address: Callable[[], OwnAddress | None]
    """Returns the address to check for another instance, while that is in doubt."""

    def mint(self, count: int, who: str, key: str | None) -> BatchShare:
        """Mint labels and return them once they are durable and their dates have passed. Raise an `IbiError` if none
        were minted."""
        self._check_address()
        request = MintRequest(count, who, key)

        def decision(state: TickState, remembered: Remembered) -> Decision:
            return decide(self.identity, self.rules, state, [request], self.clocks.read(), remembered, randbelow)

        outcome = self.ticks.advance(decision).outcomes[0]
        if not isinstance(outcome, BatchShare):
            raise outcome
        self._wait_for(outcome)
        return outcome

    def _check_address(self) -> None:
        if not self.ticks.is_in_doubt():
            return
        address = self.address()
        if address is not None:
            import asyncio

            look = asyncio.run(address.look(self.ticks.epoch))
            # Before a first start, no server of this name answers. That is no problem.
            if look.finding is look.finding.ANOTHER:
                raise address.refusal()
        self.ticks.set_doubt(in_doubt=False)

    def _wait_for(self, share: BatchShare) -> None:
        ready = share.ready
        while (now := self.clocks.read().wall) < ready:
            check_behind(now, ready, self.rules.patience)  # if the clock was set back, the labels stay on record
            time.sleep(float(ready.as_fraction() - now.as_fraction()))


def own_address(settings: Settings, identity: Identity) -> OwnAddress | None:
    """Return the public address of this minter. None for a sandbox without a `public_url`, and for a loopback address,
    which leads each machine to itself."""
    from ibi.minting.client import ask_identity
    from ibi.minting.service.guard import OwnAddress  # rarely needed, and slow to import
    from ibi.net.server_url import is_on_loopback

    if settings.public_url is not None:
        here = is_on_loopback(settings.public_url)
        return None if here else OwnAddress(settings.public_url, identity, ask_identity)
    if identity.sandbox:
        return None
    port = None if identity.host_port == DEFAULT_PORTS["http"] else identity.host_port
    return OwnAddress(str(Origin("http", identity.host.removesuffix("."), port)), identity, ask_identity)


def warn_of_private_name(identity: Identity) -> str | None:
    """Return a warning about an identity that was frozen when its name still counted as global."""
    if identity.sandbox or identity.is_global:
        return None
    return (
        f"{identity.host} is a name for private networks: others may mint the same labels. Minting goes on; take a name"
        " that the whole Internet knows when you can (`ibi mint --accept-identity`)"
    )


def open_ticks(
    settings: Settings, clocks: MachineClocks, *, accept_copy: bool = False, accept_loss: bool = False
) -> SqliteTicks:
    """Open the clock state of the data directory. A copied one is opened only if an operator accepts it."""
    return SqliteTicks(
        settings.data,
        machine=machine_id(),
        lock_directory=settings.lock_dir,
        clocks=clocks,
        confirmed=clocks.read() if accept_copy else None,
        newest_kept=partial(_newest_kept, settings.data),
        accept_loss=accept_loss,
    )


def _newest_kept(data: Path, identity: Identity) -> Instant | None:
    from ibi.items.opening.kept_labels import newest_kept  # rarely needed, and slow to import

    return newest_kept(data, identity)


def frozen_identity(ticks: SqliteTicks, settings: Settings, *, accept: bool = False) -> Identity:
    """Return the identity of the minter, and freeze it."""
    identity = settled_identity(ticks.identity(), settings.identity(), accept=accept)
    ticks.freeze(identity)
    return identity


@contextmanager
def open_minter(settings: Settings, accepted: Acceptance) -> Iterator[LocalMinter]:
    """Open the minter of the data directory in the settings. The `accepted` risks are recorded before anything is
    minted."""
    clocks = MachineClocks()
    with closing(open_ticks(settings, clocks, accept_copy=accepted.copy, accept_loss=accepted.loss)) as ticks:
        identity = frozen_identity(ticks, settings, accept=accepted.identity)
        if accepted.clock:
            ticks.accept_clock(lambda state, issued: with_accepted_clock(state, clocks.read(), issued))
        if (warning := warn_of_private_name(identity)) is not None:
            click.echo(f"ibi: {warning}", err=True)
        yield LocalMinter(ticks, identity, settings.rules(), clocks, partial(own_address, settings, identity))
