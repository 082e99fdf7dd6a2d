"""Opens the minters of a server."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from ibi.composition.minter import LocalMinter, frozen_identity, own_address, warn_of_private_name
from ibi.config import Settings
from ibi.services.minting.mint_guard import MintGuard
from ibi.services.minting.mint_queue import MintQueue
from ibi.storage.machine import MachineClocks
from ibi.storage.sqlite.ticks import SqliteTicks


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
