"""Administration: the pages under `/admin`, the audit log, and how the pages of the site look."""

from __future__ import annotations

from typing import Final

from ibi.administration.pages.pages import admin_routes
from ibi.jobs.runner import write_later
from ibi.people.model.account import Role
from ibi.people.ports import AuditLog
from ibi.web.admin_shell import Administration
from ibi.web.appearance import Appearance
from ibi.web.opened import Opened
from ibi.web.reader import message
from ibi.web.rendering import MenuLink

_AUDIT_PAUSE: Final = 0.2
"""Longest time in seconds before a line of the audit log is synced to the disk. Deposits need the disk, too."""


def serve_administration(administration: Administration) -> Opened:
    return Opened(
        routes=admin_routes(administration),
        menu=[MenuLink("/admin", message("Administration"), Role.LIBRARIAN)],
    )


def serve_audit(audit: AuditLog) -> Opened:
    return Opened(jobs=[write_later("audit log", _AUDIT_PAUSE, audit.watch, audit.sync)])


def serve_appearance(appearance: Appearance) -> Opened:
    return Opened(routes=appearance.routes())
