"""The common parts of the pages under `/admin`: permissions, the menu, and the services that the pages show.

`ibi.items.rules.rights.SITE_TABLE` decides which pages each person may see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from ibi.backup.ports import DataFiles
from ibi.deposits.service.drafts import Drafts
from ibi.following.service.subscriptions import Subscriptions
from ibi.items.rules.rights import SiteAct, may_administer, require_site_right
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.verification import VerificationSchedule
from ibi.jobs.runner import JobRunner
from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
from ibi.membership.service.membership import MembershipService
from ibi.people.model.account import Role, Scope
from ibi.people.ports import AuditTrail
from ibi.people.rules.errors import NotAllowed
from ibi.server.worker_state import ALONE, WorkerShare
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.web.reader import PRIVATE, Visitor, find_visitor, message, page_language, translations
from ibi.web.rendering import render
from ibi.web.sites import ArchiveSite, ResolverSite

ADMIN: Final = "/admin"


class AdminPlace(NamedTuple):
    """A page of the administration: its path, its name, and the permission that it needs."""

    path: str
    name: str
    act: SiteAct


PLACES: Final = (
    AdminPlace(ADMIN, message("Overview"), SiteAct.OVERSEE),
    AdminPlace(f"{ADMIN}/archives", message("Archives and followers"), SiteAct.ADMIT),
    AdminPlace(f"{ADMIN}/fixity", message("Fixity"), SiteAct.VERIFY),
    AdminPlace(f"{ADMIN}/usage", message("Usage"), SiteAct.READ_USAGE),
    AdminPlace(f"{ADMIN}/audit", message("Audit trail"), SiteAct.READ_AUDIT),
    AdminPlace(f"{ADMIN}/storage", message("Storage"), SiteAct.READ_STORAGE),
    AdminPlace(f"{ADMIN}/settings", message("Settings in use"), SiteAct.READ_SETTINGS),
)
PEOPLE: Final = f"{ADMIN}/people"


class ShownSetting(NamedTuple):
    """A setting as an administrator sees it."""

    name: str
    value: str
    """Empty if it has none. A secret shows nothing of its value."""
    is_secret: bool
    source: str
    """`flag`, `environment`, `file` or `default`."""
    place: str
    """The flag, the variable or the file that set it."""
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminParts:
    """Services and facts that only the pages under `/admin` need."""

    settings: Sequence[ShownSetting] = ()
    trail: AuditTrail | None = None
    files: DataFiles | None = None


@dataclass(frozen=True, slots=True)
class Administration:
    """The services that the pages under `/admin` show. A service that this server lacks is None."""

    parts: AdminParts
    archive: ArchiveSite | None = None
    drafts: Drafts | None = None
    copy_holders: CopyHolderAdmin | None = None
    resolver: ResolverSite | None = None
    membership: MembershipService | None = None
    subscriptions: Subscriptions | None = None
    verification: VerificationSchedule | None = None
    share: WorkerShare = ALONE
    jobs: JobRunner | None = None

    @property
    def places(self) -> tuple[AdminPlace, ...]:
        """The pages that this server has."""
        missing = {
            SiteAct.VERIFY: self.integrity is None,
            SiteAct.READ_USAGE: self.archive is None or self.archive.uses.log is None,
            SiteAct.READ_AUDIT: self.parts.trail is None,
            SiteAct.READ_STORAGE: self.archive is None or self.parts.files is None,
        }
        return tuple(place for place in PLACES if not missing.get(place.act, False))

    @property
    def integrity(self) -> Integrity | None:
        return None if self.archive is None else self.archive.integrity


Show = Callable[[Request, Visitor], Awaitable[Response]]


class AdminShell:
    """The frame of every page of the administration: the check of permissions, and the menu."""

    def __init__(self, administration: Administration) -> None:
        self.administration = administration

    def guard(self, act: SiteAct, show: Show) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint for people who may do `act`. Others are redirected to the sign-in page, or refused."""

        async def endpoint(request: Request) -> Response:
            visitor = self._find(request, act)
            return visitor if isinstance(visitor, Response) else await show(request, visitor)

        return endpoint

    def _find(self, request: Request, act: SiteAct) -> Visitor | Response:
        site = self.administration.archive or self.administration.resolver
        if site is None:
            raise NotAllowed(scope=str(Scope.READ), needed=str(Scope.ADMIN))
        visitor = find_visitor(request, site, Role.READER)
        if not isinstance(visitor, Response):
            require_site_right(visitor.actor, act)
        return visitor

    def render(
        self, request: Request, visitor: Visitor, template: str, error: IbiError | None = None, **context: Any
    ) -> Response:
        """Render a page of the administration, also again after an `error` of one of its forms."""
        gettext = translations(page_language(request.scope)).gettext
        places = [place for place in self.administration.places if may_administer(visitor.actor, place.act)]
        is_admin = visitor.actor.scope is Scope.ADMIN
        return render(
            request.scope,
            template,
            status=200 if error is None else error.kind.status,
            headers=PRIVATE,
            places=places,
            here=request.url.path,
            people_page=PEOPLE if is_admin else None,
            csrf=visitor.csrf,
            problem=None if error is None else error.message(gettext),
            instant=Instant,
            **context,
        )
