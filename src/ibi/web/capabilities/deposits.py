"""Deposits: drafts, the forms that fill them, and the actions on published items."""

from __future__ import annotations

from ibi.model.account import Role
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.readiness import ReadinessCheck
from ibi.services.sites import ArchiveSite, ItemServices
from ibi.web.opened import Opened, WebContext
from ibi.web.pages.deposit_page import DepositPages
from ibi.web.pages.item_actions import ItemActionPages
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import MenuLink


def serve_deposits(context: WebContext, site: ArchiveSite, services: ItemServices, queue: MintQueue) -> Opened:
    drafts = services.drafts
    room = ReadinessCheck("room", drafts.check_space)
    if context.sessions is None:
        return Opened(jobs=drafts.jobs(), readiness=[room])
    return Opened(
        routes=[*ItemActionPages(site, services).routes(), *DepositPages(site, services, queue).routes()],
        jobs=drafts.jobs(),
        readiness=[room],
        menu=[
            MenuLink("/deposit", message("Deposit"), Role.DEPOSITOR),
            MenuLink("/account/items", message("My items"), Role.DEPOSITOR),
        ],
    )
