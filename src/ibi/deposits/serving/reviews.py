"""Reviews of drafts before they are published."""

from __future__ import annotations

from ibi.deposits.api.reviews import ReviewPages
from ibi.deposits.pages.review import ReviewDesk
from ibi.deposits.service.drafts import Drafts
from ibi.minting.service.queue import MintQueue
from ibi.people.model.account import Role
from ibi.web.authentication import Callers
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import message
from ibi.web.rendering import MenuLink


def serve_reviews(context: WebContext, callers: Callers, drafts: Drafts | None, queue: MintQueue) -> Opened:
    """Return the reviews of an Archive. Pages exist if it reviews deposits, or did so."""
    routes = ReviewPages(callers).routes()
    if context.sessions is None or drafts is None or drafts.reviews is None:
        return Opened(routes=routes)
    return Opened(
        routes=[*routes, *ReviewDesk(callers.site, drafts, drafts.reviews, queue).routes()],
        menu=[MenuLink("/review", message("Review queue"), Role.LIBRARIAN)],
    )
