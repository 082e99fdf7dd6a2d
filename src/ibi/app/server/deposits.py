"""Opens the drafts of a server's Archive, with their reviews."""

from __future__ import annotations

from collections.abc import Mapping

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.requests import Letters
from ibi.claims.service.claim_context import ClaimContext
from ibi.deposits.rules.drafts import DraftQuota, DraftRules
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.letters import ReviewLetters
from ibi.deposits.serving.deposits import serve_deposits
from ibi.deposits.store.draft_files import DraftFiles
from ibi.deposits.store.reviews import SqliteReviews
from ibi.items.opening.integrity_status import integrity_status
from ibi.membership.opening.membership import membership_status
from ibi.minting.service.queue import MintQueue
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import letter_translations
from ibi.web.sites import ItemServices


def open_deposits(
    server: ServerContext,
    web: WebContext,
    archive: OpenArchive,
    queue: MintQueue,
    letters: Letters,
    exchange: ClaimContext | None,
) -> tuple[ItemServices, Opened]:
    """Return the services that take deposits. Abandoned drafts are removed now, and later by a job."""
    settings, store, clocks, service = server.settings, archive.store, server.clocks, archive.record.service
    wanted = settings.archive
    quota = DraftQuota(wanted.most_drafts, wanted.most_draft_bytes, wanted.disk_reserve, wanted.draft_share)
    drafts = Drafts(
        DraftFiles(settings.data, clocks),
        store,
        clocks,
        DraftRules(wanted.largest_deposit, wanted.draft_days, quota),
        service=service,
        reviews=_open_reviews(server),
        is_reviewed=wanted.review,
        news=ReviewLetters(letters.box, letters.book, server.public_url, settings.resolver, letter_translations),
        hold=server.hold("drafts.lock"),
    )
    drafts.sweep()
    unreadable = [name for name, _ in store.swept.unreadable]

    def read_standing() -> Mapping[str, object]:
        return {**dict(membership_status(settings)), "unreadable": unreadable, **dict(integrity_status(store))}

    services = ItemServices(store, drafts, clocks, service, standing=read_standing, exchange=exchange)
    return services, serve_deposits(web, archive.site, services, queue)


def _open_reviews(server: ServerContext) -> SqliteReviews | None:
    """Open the reviews. None if reviews are switched off and no draft still waits."""
    reviews = SqliteReviews(server.settings.data)
    server.opened.callback(reviews.close)
    return reviews if server.settings.archive.review or reviews.has_any() else None
