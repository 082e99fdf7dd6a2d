"""Builds what makes Copies of items of other Archives, from the settings. Commands start with it: it imports little."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from threading import Event

from ibi.archive.copies import CopyRules
from ibi.config import Settings
from ibi.errors import IbiError
from ibi.federation.provenance import Chain, ChainOrder, compare_chains
from ibi.label import Label, RepositoryName
from ibi.model.membership import ArchiveRecord
from ibi.persistent_url import PersistentUrl
from ibi.ports.clocks import Clocks
from ibi.ports.copies import FindSource, NoSource
from ibi.services.copies.copying import Copying
from ibi.services.copies.judging import OWE_NOTHING, IsOwed, owed_by_release
from ibi.services.items.item_repository import ItemRepository
from ibi.storage.copy_parts import CopyParts
from ibi.storage.key_files import KeyFiles
from ibi.storage.sqlite.transfers import SqliteTransferLedger
from ibi.transport.item_source import HttpItemSources
from ibi.transport.resolver_gateway import ResolverClient


def is_sandbox(settings: Settings, record: ArchiveRecord | None) -> bool:
    """Whether this Archive is for trying out. Where the settings have no identity, its own label tells."""
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
    """What makes Copies in this Archive. `own` is where the server listens that works for others; without it, every
    address is asked that is named: for commands. Without `find_source` the resolver of the settings is asked."""
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
        on_chain=partial(_note_chain, settings),
    )


def _note_chain(settings: Settings, rep: RepositoryName, chain: Chain) -> None:
    """Keep the chain of a Copy in the ledger, so that an Archive of the chain that was put back from a backup is told
    of it. What the ledger has is only gone on from: it may be what this Archive signed."""
    with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
        first = chain.first_release
        if first is not None and compare_chains(ledger.chain(rep), chain.texts) is ChainOrder.NEWER:
            ledger.note_chain(rep, chain.texts, (first.giver, *chain.successors))


def _owed_to(record: ArchiveRecord, keys: KeyFiles) -> IsOwed:
    return owed_by_release(record.service, lambda: (keys.signing_key().public, *keys.former()))


def asking_resolver(resolver: str) -> FindSource:
    """Finds the holder of an Original by a resolver elsewhere."""
    client = ResolverClient(resolver)

    def find(label: Label) -> str:
        try:
            found = client.record(PersistentUrl(label, required_original=True))
        except IbiError as error:
            raise NoSource(label=str(label), reason=str(error).rstrip(".")) from error
        return source_in(found, label)

    return find


def source_in(found: object, label: Label) -> str:
    """The address of the Archive in the record of a resolution."""
    url = found.get("archive_url") if isinstance(found, dict) else None
    if not isinstance(url, str):
        raise NoSource(label=str(label), reason="the resolver does not say which Archive has it")
    return url
