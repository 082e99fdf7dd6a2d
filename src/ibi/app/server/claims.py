"""Opens the claims between a server's Archive and others: the inbox, and the courier that checks and answers."""

from __future__ import annotations

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.membership import registered_senders
from ibi.claims.opening import claim_context, claim_courier
from ibi.claims.service.claim_context import ClaimContext
from ibi.claims.service.inbox import ArrivalRate, NotificationInbox, RegisteredRate
from ibi.claims.serving import serve_claims
from ibi.claims.store import SqliteNotifications
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ItemServices, ResolverSite


def open_exchange(server: ServerContext, archive: OpenArchive) -> ClaimContext | None:
    """Return the exchange of claims with other Archives; None if the settings want none."""
    if not server.settings.notify.inbox:
        return None
    notifications = SqliteNotifications(server.settings.data)
    server.opened.callback(notifications.close)
    service = archive.record.service
    return claim_context(notifications, archive.store, server.clocks, service, sandbox=server.is_sandbox)


def open_claims(
    server: ServerContext,
    web: WebContext,
    archive: OpenArchive,
    services: ItemServices,
    resolver: ResolverSite | None,
) -> Opened:
    """Return the claims of a server's Archive. The courier finds the Archives of others through the `resolver`."""
    context, share, courier, inbox = services.exchange, server.share, None, None
    if context is not None:
        inbox = NotificationInbox(
            context,
            ArrivalRate(rows=share.notifications),
            senders=registered_senders(server),
            registered_rate=RegisteredRate(rows=share.signed_notifications),
        )
        courier = claim_courier(
            server.settings, archive.site, archive.store, context, archive.signing, resolver, server.guard()
        )
    return serve_claims(web, archive.site, services, inbox, courier)
