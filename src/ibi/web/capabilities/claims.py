"""Claims between Archives: the inbox, and the courier that checks and answers."""

from __future__ import annotations

from ibi.services.notifications.courier import Courier
from ibi.services.notifications.inbox import NotificationInbox
from ibi.services.sites import ArchiveSite, ItemServices
from ibi.web.api.inbox import inbox_routes
from ibi.web.opened import Opened, WebContext


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
