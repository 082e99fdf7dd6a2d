"""Reviews of drafts before they are published."""

from __future__ import annotations

from ibi.model.account import Role
from ibi.services.drafts.drafts import Drafts
from ibi.services.minting.mint_queue import MintQueue
from ibi.web.api.authentication import Callers
from ibi.web.api.reviews import ReviewPages
from ibi.web.opened import Opened, WebContext
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import MenuLink
from ibi.web.pages.review_pages import ReviewDesk


def serve_reviews(context: WebContext, callers: Callers, drafts: Drafts | None, queue: MintQueue) -> Opened:
    """Return the reviews of an Archive. Pages exist if it reviews deposits, or did so."""
    routes = ReviewPages(callers).routes()
    if context.sessions is None or drafts is None or drafts.reviews is None:
        return Opened(routes=routes)
    return Opened(
        routes=[*routes, *ReviewDesk(callers.site, drafts, drafts.reviews, queue).routes()],
        menu=[MenuLink("/review", message("Review queue"), Role.LIBRARIAN)],
    )
