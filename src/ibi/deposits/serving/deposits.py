"""Deposits: drafts, the forms that fill them, and the actions on published items."""

from __future__ import annotations

from ibi.deposits.pages.item_actions import ItemActionPages
from ibi.deposits.pages.page import DepositPages
from ibi.minting.service.queue import MintQueue
from ibi.people.model.account import Role
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import message
from ibi.web.readiness import ReadinessCheck
from ibi.web.rendering import MenuLink
from ibi.web.sites import ArchiveSite, ItemServices


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
