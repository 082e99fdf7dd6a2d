"""The doubt about a possibly restored data directory, as a command knows it without asking others.

A server asks the witnesses (`ibi.transfers.service.worker`). A command uses the server's note. If no server has run
since, it uses the mark in the machine's lock directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from ibi.membership.store.archive_state import ServedAddress
from ibi.settings import Settings
from ibi.storage.state import has_state
from ibi.transfers.opening.own_register import OwnRegister, find_resolver_elsewhere
from ibi.transfers.rules.doubt import Doubt
from ibi.transfers.service.worker import ItemInDoubt
from ibi.transfers.store.transfers import SqliteTransferLedger


@dataclass(frozen=True, slots=True)
class KnownDoubt:
    """A directory may have been restored from a backup, and these witnesses have not answered yet."""

    is_grave: bool
    """True if no item may be called Original or be changed. Otherwise only transfers wait."""
    unheard: tuple[str, ...]


def read_doubt(settings: Settings) -> KnownDoubt | None:
    """Return the doubt of a data directory, as a command knows it. None if there is none, or if no server has run in
    the directory, so that it has no ledger of transfers."""
    if not has_state(settings.data):
        return None
    url = (settings.public_url or ServedAddress(settings.data).read_url() or settings.own_url).rstrip("/")
    with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
        if not ledger.is_begun() or not ledger.has_lost_track():
            return None
        own, others = OwnRegister.find(settings, url), ledger.peers()
        if own is not None:
            others |= set(own.archives().values())
        resolver = find_resolver_elsewhere(settings, url) if own is None or own.is_alone else own.url
        doubt = Doubt(resolver, others - {url})
        if not doubt.witnesses:
            return None
        return KnownDoubt(not ledger.were_asked(), tuple(sorted(ledger.unheard() or doubt.unheard)))


def doubt_status(doubt: KnownDoubt | None) -> Iterator[tuple[str, object]]:
    """Yield the doubt for the status of an Archive."""
    kind = "items" if doubt is not None and doubt.is_grave else "transfers"
    yield "in_doubt", None if doubt is None else kind
    yield "unheard", [] if doubt is None else list(doubt.unheard)


def refuse_in_doubt(settings: Settings, name: str) -> None:
    """Raise `ItemInDoubt` if a command may not change an item."""
    doubt = read_doubt(settings)
    if doubt is not None and doubt.is_grave:
        raise ItemInDoubt(label=name, witnesses=", ".join(doubt.unheard)[:300])
