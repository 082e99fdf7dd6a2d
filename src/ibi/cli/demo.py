"""`ibi up --demo`: the demonstration, put into the Archive of a data directory before it is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibi.services.demo.filling import fill
from ibi.services.deposits import Deposits
from ibi.services.mint_queue import LocalLabels

if TYPE_CHECKING:
    from ibi.cli.minter import LocalMinter
    from ibi.config import Settings
    from ibi.services.archive_store import ArchiveStore

__all__ = ["fill_with_demo"]


def fill_with_demo(settings: Settings, public_url: str, minter: LocalMinter, store: ArchiveStore) -> None:
    deposits = Deposits(store, LocalLabels(minter.mint, "demonstration"), minter.clocks)
    fill(deposits, settings.data, public_url)
