"""Builds the service that copies items of other Archives, from the settings. Commands start with it, so it imports
little."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from threading import Event

from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.ports import FindSource, NoSource
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.copying import Copying
from ibi.copies.service.judging import OWE_NOTHING, IsOwed, owed_by_release
from ibi.copies.store.copy_parts import CopyParts
from ibi.items.rules.provenance import Chain, ChainOrder, compare_chains
from ibi.items.service.item_repository import ItemRepository
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.store.key_files import KeyFiles
from ibi.resolver.client.clients import ResolverClient
from ibi.settings import Settings
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.persistent_url import PersistentUrl
from ibi.transfers.model import OpenItem
from ibi.transfers.store.transfers import SqliteTransferLedger


def is_sandbox(settings: Settings, record: ArchiveRecord | None) -> bool:
    """Return whether this Archive is a sandbox. If the settings have no identity, its own label decides."""
    identity = settings.identity()
    if identity is not None:
        return identity.sandbox
    return record is not None and not all(label.is_global for label in record.service.labels if label.is_dated)


def copy_rules(settings: Settings, record: ArchiveRecord | None) -> CopyRules:
    identity, archive = settings.identity(), settings.archive
    own = () if record is None else (label.prefix for label in record.service.labels if label.is_dated)
    return CopyRules(
        largest=archive.largest_deposit,
        quota=settings.copies.quota,
        reserve=archive.disk_reserve,
        is_sandbox=is_sandbox(settings, record),
        prefixes=frozenset({*own, *(() if identity is None else identity.prefixes)}),
    )


def copying_here(
    settings: Settings,
    store: ItemRepository,
    record: ArchiveRecord | None,
    clocks: Clocks,
    *,
    own: frozenset[tuple[str, int]] | None = None,
    find_source: FindSource | None = None,
    stopping: Event | None = None,
) -> Copying:
    """Return the service that makes Copies in this Archive.

    `own` are the addresses of a server that works for others. Without it, as in commands, every named address may be
    asked. Without `find_source` the resolver of the settings is asked.
    """
    rules = copy_rules(settings, record)
    sources = HttpItemSources(own, settings.copies.networks or (), is_sandbox=rules.is_sandbox)
    if find_source is None and settings.resolver is not None:
        find_source = asking_resolver(settings.resolver)
    return Copying(
        store,
        sources,
        CopyParts(settings.data),
        clocks,
        rules,
        find_source=find_source,
        stopping=stopping,
        is_owed=OWE_NOTHING if record is None else _owed_to(record, KeyFiles(settings.data)),
        on_chain=partial(_note_chain, settings, frozenset() if record is None else frozenset(record.service.labels)),
    )


def _note_chain(settings: Settings, own: frozenset[Label], rep: RepositoryName, chain: Chain) -> None:
    """Store the chain of a Copy in the ledger, so that a restored Archive of the chain can learn it. The chain replaces
    only a chain that it extends, because this Archive may have signed the stored one.

    A chain that gives the Original to this Archive, whose labels are `own`, is compared with the Copy soon: the giver
    sees that the chain is known here, and tells it no more.
    """
    with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
        first, last = chain.first_release, chain.last_release
        if last is not None and last.to in own:
            ledger.change_open(rep, lambda known: known or OpenItem(rep, since=int(time.time())))
        if first is not None and compare_chains(ledger.chain(rep), chain.texts) is ChainOrder.NEWER:
            ledger.note_chain(rep, chain.texts, (first.giver, *chain.successors))


def _owed_to(record: ArchiveRecord, keys: KeyFiles) -> IsOwed:
    return owed_by_release(record.service, lambda: (keys.signing_key().public, *keys.former()))


def asking_resolver(resolver: str) -> FindSource:
    """Return a function that finds the holder of an Original by a resolver elsewhere."""
    client = ResolverClient(resolver)

    def find(label: Label) -> str:
        try:
            found = client.record(PersistentUrl(label, required_original=True))
        except IbiError as error:
            raise NoSource(label=str(label), reason=str(error).rstrip(".")) from error
        return source_in(found, label)

    return find


def source_in(found: object, label: Label) -> str:
    """Return the address of the Archive in the record of a resolution."""
    url = found.get("archive_url") if isinstance(found, dict) else None
    if not isinstance(url, str):
        raise NoSource(label=str(label), reason="the resolver does not say which Archive has it")
    return url
