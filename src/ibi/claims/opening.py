"""Builds the exchange of claims with other Archives, from the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from typing import Final
from uuid import uuid4

import structlog

from ibi.claims.client import NotificationClient, PageFinder, ResolverPages
from ibi.claims.model import FoundItem, Unreached
from ibi.claims.ports import Notifications
from ibi.claims.rules import Sender
from ibi.claims.service.checking import ClaimChecker, ClaimReconciler
from ibi.claims.service.claim_context import ClaimContext
from ibi.claims.service.courier import Courier
from ibi.claims.service.delivery import NotificationDelivery
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.membership.service.signers import OwnKeys
from ibi.net.address_guard import AddressGuard
from ibi.resolver.rules.outcome import Deleted, Redirect
from ibi.settings import Settings
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.messages.holders import signature_field
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import milliseconds, sign_notification
from ibi.standard.networks import NO_READER, IpNetwork
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.storage_errors import StorageError
from ibi.web.sites import ArchiveSite, NoLabels, ResolverSite

_LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def claim_context(
    notifications: Notifications,
    store: ArchiveStore,
    clocks: Clocks,
    service: LabelForms | None,
    *,
    sandbox: bool = False,
) -> ClaimContext:
    """Return the context for the claims of one Archive, for a server or a command."""
    return ClaimContext(
        store=notifications,
        repository=store,
        deposits=Deposits(store, NoLabels(), clocks, service=service),
        now=clocks.seconds,
        new_id=lambda: f"urn:uuid:{uuid4()}",
        is_sandbox=sandbox,
    )


def claim_courier(
    settings: Settings,
    site: ArchiveSite,
    store: ArchiveStore,
    context: ClaimContext,
    signing: OwnKeys,
    resolver: ResolverSite | None,
    guard: AddressGuard,
) -> Courier | None:
    """Return the courier for the claims of a server's Archive, which signs with its keys in `signing`. None if no
    resolver finds other Archives."""
    find_page = _page_finder(settings, resolver)
    if find_page is None or site.inbox_url is None:
        return None
    networks = _networks(settings, sandbox=context.is_sandbox)
    gateway = NotificationClient(guard, find_page, networks, sign=partial(_sign, site.clocks, signing))
    checker = ClaimChecker(context, gateway, site.persistent_url, lambda item: site.urls.metadata(item, None, None))
    sender = Sender(site.public_url, site.inbox_url, settings.site.name)
    delivery = NotificationDelivery(context, gateway, checker, sender, site.persistent_url)
    return Courier(context, ClaimReconciler(context, store.changes), checker, delivery, store.catalog.recent_version)


def _sign(clocks: Clocks, signing: OwnKeys, to: str, body: bytes) -> Mapping[str, str]:
    """Return the signature by which another Archive's inbox identifies this Archive. Empty if no key can be read."""
    try:
        key = signing.ring().key
    except StorageError as error:
        structlog.get_logger("ibi.claims").error("the key of this Archive cannot be read", reason=str(error))
        return {}
    name, value = signature_field(sign_notification(body, to, milliseconds(clocks.read().wall), key))
    return {name.decode(): value.decode()}


def _networks(settings: Settings, *, sandbox: bool) -> Sequence[IpNetwork]:
    allowed = settings.notify.networks or ()
    return (*allowed, *_LOOPBACK) if sandbox else allowed


def _page_finder(settings: Settings, resolver: ResolverSite | None) -> PageFinder | None:
    if resolver is None:
        return None if settings.resolver is None else ResolverPages(settings.resolver)

    async def find(label: Label) -> str | FoundItem | Unreached:
        # The holder of the Original answers for the item; a Copy may be older, or here.
        url = replace(PersistentUrl.parse(f"/{label.spelling}:"), required_original=True)
        try:
            resolved = await resolver.resolving.resolve(url, (NO_READER,), base=resolver.base)
        except IbiError as error:
            return Unreached(f"the resolver: {error}")
        if isinstance(resolved.outcome, Deleted):
            return FoundItem("", is_deleted=True)
        if isinstance(resolved.outcome, Redirect) and not resolved.to_confirm:
            return resolved.outcome.url
        return Unreached("the resolver does not find it")

    return find
