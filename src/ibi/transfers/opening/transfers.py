"""Builds the transfers of Originals to and from other Archives, from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from threading import Lock
from time import monotonic, time
from typing import Final

from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.rules.copies import check_sandbox
from ibi.items.rules.provenance import Chain
from ibi.items.service.item_repository import ItemRepository
from ibi.membership.client.register_client import RegisterClient
from ibi.membership.model.registration import Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.signed_register import read_register
from ibi.membership.store.key_files import RESOLVER, KeyFiles, RegisterFiles, ResolverKeyFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.net.server_url import is_on_loopback
from ibi.resolver.ports import Beliefs
from ibi.resolver.service.standby import KeptRegister
from ibi.server.worker_state import ALONE, WorkerShare
from ibi.settings import Settings
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.storage.locks import WorkerLock
from ibi.storage.state import has_state
from ibi.transfers.client import HttpTransferPeers
from ibi.transfers.opening.own_register import OwnRegister, PeersOfResolver, find_resolver_elsewhere
from ibi.transfers.rules.standing import KnownArchives, RegisteredArchive
from ibi.transfers.service.comparison import ChainComparison
from ibi.transfers.service.item_chains import ItemChains
from ibi.transfers.service.receiving import BringsCopies, Receiving
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.service.senders import Senders
from ibi.transfers.service.sending import Sending
from ibi.transfers.service.worker import Tracking, TransferWorker
from ibi.transfers.store.releases import SqliteChainStore
from ibi.transfers.store.transfers import SqliteTransferLedger

_ADDRESS: Final = "served-address"
_LONGEST_URL: Final = 4096
_ASK_AGAIN: Final = 5.0
"""Seconds until the resolver is asked again for its register, after the stored one did not prove a sender. Any server
can send offers."""
_FETCH_WITHIN: Final = 5.0


class NotServed(IbiError):
    """No server of {data} runs, from which another Archive could fetch items: start it first (`ibi up`)."""

    code = "not-served"


def open_transfers(
    settings: Settings,
    repository: ItemRepository,
    service: LabelForms,
    public_url: str,
    clocks: Clocks,
    copies: BringsCopies | None,
    opened: ExitStack,
    *,
    check_source: Callable[[Label, str], None] = lambda _label, _source: None,
    sources: HttpItemSources | None = None,
    allow_plain: bool = False,
    resolves: bool = False,
    lost: bool = False,
    is_new: bool = False,
    share: WorkerShare = ALONE,
) -> TransferWorker:
    """Return the transfers of the Archive of a data directory.

    `resolves` is true if the server at `public_url` is also a resolver, and the settings name no other; then it is told
    of transfers. `lost` and `is_new` are those of `Tracking.begin`. Without `copies`, as in commands, nothing can be
    taken over. `sources` are asked for the chains of offered items.
    """
    ledger = SqliteTransferLedger(settings.data, settings.lock_dir)
    opened.callback(ledger.close)
    elsewhere = find_resolver_elsewhere(settings, public_url)
    own, sources = OwnRegister.find(settings, public_url), sources or HttpItemSources(frozenset())
    if own is None:
        peers = HttpTransferPeers(allow_plain=allow_plain, sources=sources)
        tracking = Tracking(ledger, peers, url=public_url, resolver=elsewhere)
    else:
        peers = PeersOfResolver(own, allow_plain=allow_plain, sources=sources)
        tracking = Tracking(ledger, peers, url=own.url, resolver=own.url, is_alone=lambda: own.is_alone)
    tracking.begin(lost=lost, is_new=is_new)
    chains = ItemChains(
        repository,
        service,
        KeyFiles(settings.data),
        clocks,
        keep_track=tracking.keep_track,
        in_doubt=lambda: tracking.in_doubt,
        resolver_keys=known_resolver_keys(settings, elsewhere),
        remember=lambda rep, chain: comparison.remember(rep, chain),
    )
    step, resolver = repository.step, elsewhere or (public_url if resolves else None)
    comparison = ChainComparison(
        chains,
        ledger,
        peers,
        copies or NoCopies(),
        url=public_url,
        resolver=resolver,
        unheard=lambda: tracking.unheard,
    )
    tracking.comparison = comparison
    sending = Sending(chains, ledger, peers, clocks, url=public_url, on_step=step)
    receiving = Receiving(
        chains,
        ledger,
        peers,
        copies or NoCopies(),
        clocks,
        url=public_url,
        is_key_of=_believe,
        check_source=check_source,
        senders=Senders(RegisterReader(settings, elsewhere)),
        on_step=step,
        offers=share.offers,
        hear_released=comparison.note,
    )
    tracking.ask_own_resolver(chains, receiving)
    hold = WorkerLock(settings.data / "transfers.lock").hold
    return TransferWorker(
        chains,
        ledger,
        sending,
        receiving,
        tracking,
        peers,
        resolver=resolver,
        hold=hold,
    )


class NoCopies:
    """The copying service of commands: it refuses, because the server makes the Copies of a transfer."""

    def bring(self, label: Label, source: str | None = None, token: str | None = None) -> object:
        raise NotServed(data=f"{source or 'this Archive'} for {label}")

    def bring_released(self, label: Label, source: str, chain: Chain) -> object:
        raise NotServed(data=f"{source} for {label}")


def sandbox_check(*, is_sandbox: bool) -> Callable[[Label, str], None]:
    """Return a check that refuses items of sandboxes from other machines, or for an Archive that is no sandbox."""

    def check(label: Label, source: str) -> None:
        is_local = is_on_loopback(source)
        check_sandbox(label, is_sandbox=is_sandbox, is_on_loopback=is_local)

    return check


def open_release_register(
    settings: Settings,
    registry: Registry,
    beliefs: Beliefs,
    own: tuple[LabelForms, Iterable[str]] | None,
    opened: ExitStack,
) -> ReleaseRegister:
    """Return the releases that a resolver believes. `own` is the Archive of the same server, and the prefixes for which
    it is the home."""
    store = SqliteChainStore(settings.data)
    opened.callback(store.close)
    keys = KeyFiles(settings.data)
    prefixes = frozenset() if own is None else frozenset(own[1])

    def is_ours(service: Label) -> bool:
        return own is not None and service in own[0].labels

    def is_key_of(service: Label, key: PublicKey) -> bool:
        if is_ours(service):
            return key in (keys.signing_key().public, *keys.former())
        registration = registry.find(service)
        return registration is not None and registration.key == key

    def is_former_key(service: Label, key: PublicKey) -> bool:
        registration = registry.find(service)
        return registration is not None and key in registration.former_keys

    def is_home(service: Label, prefix: str) -> bool:
        if is_ours(service):
            return prefix in prefixes
        registration = registry.find(service)
        return registration is not None and prefix in registration.home_prefixes

    def lost_to(successor: Label) -> Iterable[Registration]:
        lost = (each for each in registry.all() if each.lost is not None and each.successor is not None)
        return (each for each in lost if each.successor is not None and successor in each.successor.labels)

    signer = KeyFiles(settings.data, RESOLVER)
    return ReleaseRegister(
        store, beliefs, is_key_of, is_home, time, is_former_key=is_former_key, keys=signer, lost_to=lost_to
    )


class RegisterReader:
    """The port `RegisterLookup` of a data directory. It reads the stored register of a resolver elsewhere, or that of
    this server if any Archive is registered there."""

    def __init__(self, settings: Settings, elsewhere: str | None) -> None:
        self._data, self._elsewhere = settings.data, elsewhere
        self._resolver_keys = known_resolver_keys(settings, elsewhere)
        self._asked, self._lock = float("-inf"), Lock()
        self._last: tuple[str, tuple[RegisteredArchive, ...]] | None = None

    def read(self) -> KnownArchives | None:
        found = self._registered_here() if self._elsewhere is None else self._read_kept(self._elsewhere)
        return KnownArchives(found, self._resolver_keys()) if found else None

    def renew(self) -> KnownArchives | None:
        if self._elsewhere is not None and self._lock.acquire(blocking=False):
            try:
                if monotonic() - self._asked >= _ASK_AGAIN:
                    asyncio.run(self._fetch(self._elsewhere))
                    self._asked = monotonic()
            finally:
                self._lock.release()
        return self.read()

    async def _fetch(self, resolver: str) -> None:
        register = KeptRegister(RegisterClient(resolver), RegisterFiles(self._data), resolver)
        register.load()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FETCH_WITHIN):
                await register.fetch()

    def _registered_here(self) -> tuple[RegisteredArchive, ...]:
        if not has_state(self._data):
            return ()
        with closing(SqliteRegistry(self._data)) as registry:
            return tuple(
                RegisteredArchive(each.labels, each.home_prefixes, each.key, each.former_keys)
                for each in registry.all()
            )

    def _read_kept(self, resolver: str) -> tuple[RegisteredArchive, ...]:
        files = RegisterFiles(self._data)
        statement, last = files.read(), self._last
        if statement is None:
            return ()
        if last is not None and last[0] == statement:
            return last[1]
        try:
            register = read_register(statement)
        except InvalidInput:
            return ()
        if register.signer not in (files.resolver_key(resolver), *files.former_keys(resolver)):
            return ()
        listed = register.archives
        found = tuple(
            RegisteredArchive(each.home.service.labels, each.prefixes, each.key, each.former_keys) for each in listed
        )
        self._last = statement, found
        return found


def known_resolver_keys(settings: Settings, elsewhere: str | None) -> Callable[[], tuple[PublicKey, ...]]:
    """Return a function for the present and former keys of the Archive's resolver.

    The keys are pinned, or those of this server if there is no resolver `elsewhere`. They are empty if the present key
    is unknown.
    """
    pinned, own = ResolverKeyFile(settings.data), KeyFiles(settings.data, RESOLVER)

    def find() -> tuple[PublicKey, ...]:
        if elsewhere is None:
            return (own.signing_key().public, *own.former()) if own.is_begun else ()
        key = pinned.find(elsewhere)
        return () if key is None else (key, *pinned.former(elsewhere))

    return find


def _believe(_who: Label, _key: PublicKey) -> bool:
    """Accept every key. Without a register nothing is known of the earlier holders of an Original; with one, `Senders`
    has judged them."""
    return True


def served_url(settings: Settings) -> str:
    """Return the address at which others reach the Archive of a data directory, for a command."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    try:
        found = (settings.data / _ADDRESS).read_bytes()[:_LONGEST_URL].decode()
    except (OSError, ValueError):
        found = ""
    if not found:
        raise NotServed(data=settings.data)
    return found.rstrip("/")
