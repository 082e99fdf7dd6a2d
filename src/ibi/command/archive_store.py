"""Opens the Archive of a data directory for a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from ibi.command.acting_user import user_name
from ibi.command.options import settings_from
from ibi.items.opening.archive_store import CATALOGUE, STORE, is_read_only, open_read_only, open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_claims import ItemClaims
from ibi.items.service.relating import Relating
from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.minting.opening import Acceptance, LocalLabels, open_minter
from ibi.people.model.account import COMMAND
from ibi.settings import Settings
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State
from ibi.storage.machine import MachineClocks

if TYPE_CHECKING:
    from ibi.claims.service.answering import RemoteClaims
    from ibi.items.model.item import Item
    from ibi.transfers.service.worker import TransferWorker


class _MintWhenAsked:
    """Mints labels in the data directory. It opens the clock state only when a label is needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def reserve(self, key: str | None = None) -> LabelForms:
        with open_minter(self._settings, Acceptance()) as minter:
            return LocalLabels(minter.mint, f"cli:{user_name()}").reserve(key)


@dataclass(frozen=True, slots=True)
class Archive:
    """The services with which a command works on items."""

    settings: Settings
    store: ArchiveStore
    deposits: Deposits
    relating: Relating
    claims: ItemClaims
    record: ArchiveRecord | None


def local_settings(flags: Mapping[str, str | None], read: Callable[..., Settings] = settings_from) -> Settings:
    """Return the settings of a command that works only on a data directory."""
    settings = read(**flags)
    if settings.is_remote:
        raise click.UsageError("this is done on the data directory (--data), on the machine that has it")
    return settings


@contextmanager
def opened_store(settings: Settings, *, begin: bool = False, changing: bool = False) -> Iterator[ArchiveStore]:
    """Open the store of the data directory, repair it after a crash, and report failed repairs.

    A command that is not `changing` anything also works on a read-only directory. Only a command that deposits may
    `begin` a store: for others, a missing store means a wrong directory.
    """
    # A catalogue without a store means that the store was lost: opening it reports that.
    if not begin and not any((settings.data / name).exists() for name in (STORE, CATALOGUE)):
        raise click.ClickException(f"nothing was deposited in {settings.data} yet")
    is_copy = not (changing or begin) and is_read_only(settings.data)
    open_it = open_read_only if is_copy else open_store
    with open_it(settings.data, on_rebuild=_tell_of_rebuild) as store:
        for name, error in store.swept.unreadable:
            click.echo(f"ibi: {name}: {error}", err=True)
        yield store


def _tell_of_rebuild(_: int | None) -> None:
    click.echo("ibi: the catalogue does not agree with the store and is made anew; this may take long", err=True)


def _refuse_in_doubt(settings: Settings, name: str) -> None:
    from ibi.transfers.opening.doubt import refuse_in_doubt

    refuse_in_doubt(settings, name)


def is_unconfirmed(settings: Settings, item: Item) -> bool:
    """Return whether an Original of a possibly restored data directory may have been given away since the backup. A
    read-only copy does not tell."""
    from ibi.transfers.opening.doubt import read_doubt

    if item.state is not State.ORIGINAL or is_read_only(settings.data):
        return False
    record = ArchiveRecordFile(settings.data).read()
    if record is not None and item.rep in record.service.labels:
        return False
    doubt = read_doubt(settings)
    return doubt is not None and doubt.is_grave


@contextmanager
def opened_archive(settings: Settings, *, begin: bool = False) -> Iterator[Archive]:
    with opened_store(settings, begin=begin, changing=True) as store:
        record = ArchiveRecordFile(settings.data).read()
        service = None if record is None else record.service
        store.guard_changes(partial(_refuse_in_doubt, settings), service)
        deposits = Deposits(store, _MintWhenAsked(settings), MachineClocks(), service=service)
        claims = ItemClaims(store, deposits, COMMAND)
        yield Archive(settings, store, deposits, Relating(store, deposits), claims, record)


@contextmanager
def opened_remote_claims(archive: Archive) -> Iterator[RemoteClaims]:
    """Open the claims between the Archive and others. The server of the data directory sends the answers when it
    runs."""
    from ibi.claims.opening import claim_context
    from ibi.claims.service.answering import RemoteClaims
    from ibi.claims.store import SqliteNotifications

    service = None if archive.record is None else archive.record.service
    with closing(SqliteNotifications(archive.settings.data)) as notifications:
        yield RemoteClaims(claim_context(notifications, archive.store, MachineClocks(), service), archive.deposits)


@contextmanager
def opened_transfers(
    settings: Settings, *, is_served: bool = True, resolves: bool = False
) -> Iterator[tuple[Archive, TransferWorker]]:
    """Open the Archive and its transfers; see `transfers_of`."""
    with ExitStack() as opened:
        archive = opened.enter_context(opened_archive(settings))
        yield archive, transfers_of(archive, opened, is_served=is_served, resolves=resolves)


def transfers_of(
    archive: Archive, opened: ExitStack, *, allow_plain: bool = False, is_served: bool = True, resolves: bool = False
) -> TransferWorker:
    """Open the transfers of an Archive that a command has opened. `is_served` means that others have to reach it.
    `resolves` means that its server is also the resolver, unless the settings name another."""
    from ibi.transfers.opening.transfers import open_transfers, served_url

    if archive.record is None:
        raise click.ClickException("this Archive has no item of its own yet: start its server once (`ibi up`)")
    url = served_url(archive.settings) if is_served else archive.settings.public_url or ""
    return open_transfers(
        archive.settings,
        archive.store,
        archive.record.service,
        url,
        MachineClocks(),
        None,
        opened,
        lost=archive.store.is_rebuilt,
        allow_plain=allow_plain,
        resolves=resolves,
    )


def account_named(settings: Settings, text: str | None) -> str | None:
    """Return the account that `--owner` names; without it, the Archive itself."""
    if not text:
        return None
    from ibi.people.service.account_admin import find_account
    from ibi.people.store.people import SqlitePeople
    from ibi.people.store.tokens import SqliteTokens

    with closing(SqlitePeople(settings.data)) as people, closing(SqliteTokens(settings.data)) as tokens:
        return find_account(text, people, tokens)


def who() -> str:
    """Return the author of a change, for the versions of an object."""
    return user_name()
