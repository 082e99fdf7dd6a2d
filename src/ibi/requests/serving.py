"""Requests of readers for files that they may not have."""

from __future__ import annotations

from ibi.people.model.account import Role
from ibi.requests.api import GrantedFiles
from ibi.requests.pages import RequestPages
from ibi.requests.service import ReaderRequests
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import message
from ibi.web.rendering import MenuLink
from ibi.web.sites import ArchiveSite


def serve_requests(context: WebContext, site: ArchiveSite, requests: ReaderRequests) -> Opened:
    if context.sessions is None:
        return Opened(jobs=requests.jobs())
    return Opened(
        routes=[*GrantedFiles(site, requests).routes(), *RequestPages(site, requests).routes()],
        jobs=requests.jobs(),
        menu=[MenuLink("/requests", message("Reader requests"), Role.DEPOSITOR)],
    )
