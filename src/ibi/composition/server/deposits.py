"""Opens the drafts of a server's Archive, with their reviews."""

from __future__ import annotations

from collections.abc import Mapping

from ibi.archive.drafts import DraftQuota, DraftRules
from ibi.composition.integrity_status import integrity_status
from ibi.composition.membership import membership_status
from ibi.composition.server.archive import OpenArchive
from ibi.composition.server.context import ServerContext
from ibi.composition.server.requests import Letters
from ibi.services.correspondence.letters import ReviewLetters
from ibi.services.drafts.drafts import Drafts
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.notifications.claim_context import ClaimContext
from ibi.services.sites import ItemServices
from ibi.storage.draft_files import DraftFiles
from ibi.storage.sqlite.reviews import SqliteReviews
from ibi.web.capabilities.deposits import serve_deposits
from ibi.web.opened import Opened, WebContext
from ibi.web.pages.reader import letter_translations


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
