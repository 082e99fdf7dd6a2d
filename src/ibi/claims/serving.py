"""Claims between Archives: the inbox, and the courier that checks and answers."""

from __future__ import annotations

from ibi.claims.api.inbox import inbox_routes
from ibi.claims.service.courier import Courier
from ibi.claims.service.inbox import NotificationInbox
from ibi.web.opened import Opened, WebContext
from ibi.web.sites import ArchiveSite, ItemServices


def serve_claims(
    context: WebContext,
    site: ArchiveSite,
    services: ItemServices | None,
    inbox: NotificationInbox | None,
    courier: Courier | None,
) -> Opened:
    """Return the claims of an Archive, and its `inbox`, if it has one. The `courier` is woken after each notification
    and each answer."""
    return Opened(
        routes=inbox_routes(site, services, inbox, context.authentication, courier),
        jobs=() if courier is None else courier.jobs(),
    )
