"""Opens the minters of a server."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from ibi.minting.opening import LocalMinter, frozen_identity, own_address, warn_of_private_name
from ibi.minting.service.guard import MintGuard
from ibi.minting.service.queue import MintQueue
from ibi.minting.store.ticks import SqliteTicks
from ibi.settings import Settings
from ibi.storage.machine import MachineClocks


class Minting(NamedTuple):
    """The minters of a server: one for itself, which mints at once, and a queue for clients."""

    ticks: SqliteTicks
    minter: LocalMinter
    queue: MintQueue


def open_minting(settings: Settings, ticks: SqliteTicks, clocks: MachineClocks) -> Minting:
    """Return the minters, and freeze their identity."""
    identity, rules = frozen_identity(ticks, settings), settings.rules()
    address = own_address(settings, identity)
    if (warning := warn_of_private_name(identity)) is not None:
        structlog.get_logger("ibi.minting").warning(warning)
    return Minting(
        ticks,
        LocalMinter(ticks, identity, rules, clocks, lambda: address),
        MintQueue(ticks, identity, rules, clocks, guard=MintGuard(ticks, address)),
    )
