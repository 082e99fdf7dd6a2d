"""Requests of readers for files that they may not have."""

from __future__ import annotations

from ibi.model.account import Role
from ibi.services.correspondence.reader_requests import ReaderRequests
from ibi.services.sites import ArchiveSite
from ibi.web.archive.granted_files import GrantedFiles
from ibi.web.opened import Opened, WebContext
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import MenuLink
from ibi.web.pages.request_copy import RequestPages


def serve_requests(context: WebContext, site: ArchiveSite, requests: ReaderRequests) -> Opened:
    if context.sessions is None:
        return Opened(jobs=requests.jobs())
    return Opened(
        routes=[*GrantedFiles(site, requests).routes(), *RequestPages(site, requests).routes()],
        jobs=requests.jobs(),
        menu=[MenuLink("/requests", message("Reader requests"), Role.DEPOSITOR)],
    )
