"""`/admin/fixity`: the results of verifications, the schedule for all content, and a form to verify one item soon."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi import __version__
from ibi.administration.pages.audit import TrailPage
from ibi.backup.ports import DataFiles
from ibi.deposits.service.drafts import Drafts
from ibi.items.model.content import HeldTotal, Verification
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.rights import SITE_TABLE, SiteAct, may_administer
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.verification import VerificationSchedule
from ibi.membership.model.membership import Phase
from ibi.resolver.pages.archives import ArchivesPage
from ibi.standard.errors import IbiError
from ibi.standard.label import RepositoryName, parse
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import State
from ibi.usage.pages import UsagePage
from ibi.web.admin_shell import ADMIN, Administration, AdminShell
from ibi.web.reader import ForeignForm, Visitor, message, see_other
from ibi.web.request_errors import PathNotFound
from ibi.web.sites import ArchiveSite
from ibi.web.words import KINDS, shown_title

FIXITY: Final = f"{ADMIN}/fixity"
SHOWN: Final = 50
"""Number of verifications, and of requested ones, on the page."""
_MOST_DAMAGED: Final = 200
_LONGEST: Final = 500


class FixityPage:
    def __init__(self, shell: AdminShell, site: ArchiveSite, integrity: Integrity) -> None:
        self._shell, self._site, self._integrity = shell, site, integrity
        self._schedule: VerificationSchedule | None = shell.administration.verification

    def routes(self) -> list[Route]:
        return [Route(FIXITY, self._shell.guard(SiteAct.VERIFY, self.handle), methods=["GET", "POST"])]

    async def handle(self, request: Request, visitor: Visitor) -> Response:
        if request.method != "POST":
            return await self._show(request, visitor)
        fields = await visitor.read_form(request)
        typed = fields.get("label", "")[:_LONGEST].strip()
        try:
            await self._begin(typed)
        except ForeignForm:
            raise
        except IbiError as error:
            if not error.kind.is_told:
                raise
            return await self._show(request, visitor, error, typed)
        return see_other(f"{FIXITY}?begun=1")

    async def _begin(self, text: str) -> None:
        """Schedule the verification of an item. An item with an unreadable record is found by its name alone."""
        if self._schedule is None:
            raise PathNotFound()
        label, damaged = parse(text), self._integrity.ledger.damaged_items()
        item = None if str(label) in damaged else await self._site.find(label)
        if item is None and str(label) not in damaged:
            raise UnknownItem(label=str(label))
        name = str(label) if item is None else str(item.rep)
        await asyncio.to_thread(self._schedule.verify_soon, name)

    async def _show(
        self, request: Request, visitor: Visitor, error: IbiError | None = None, typed: str = ""
    ) -> Response:
        return self._shell.render(
            request,
            visitor,
            "admin_fixity.html",
            error,
            typed=typed,
            begun=error is None and request.query_params.get("begun") == "1",
            **await asyncio.to_thread(self._gather),
        )

    def _gather(self) -> dict[str, Any]:
        ledger, schedule = self._integrity.ledger, self._schedule
        summary, damaged = self._integrity.summary(), ledger.damaged_items()
        holdings = self._site.catalog.holdings().values()
        total = sum((each.size for each in holdings), HeldTotal().size)
        rate = 0 if schedule is None else schedule.rate
        shown = sorted(damaged.values(), key=_since, reverse=True)
        return {
            "summary": summary.among(holdings),
            "damaged": shown[:_MOST_DAMAGED],
            "more_damaged": max(0, len(shown) - _MOST_DAMAGED),
            "latest": ledger.latest(SHOWN),
            "wanted": ledger.wanted()[:SHOWN],
            "days": None if schedule is None else schedule.days,
            "rate": rate,
            "total": total,
            "hours": -(-total // rate // 3600) if rate else None,
        }


def _since(found: Verification) -> tuple[int, str]:
    return found.damaged_since or 0, found.name


_SLOW_BEAT: Final = 5.0
"""Seconds of silence after which a worker is shown as not answering."""

PHASES: Final = {
    Phase.OFF: message("not a member of a resolver"),
    Phase.INCLUDING: message("inclusion requested"),
    Phase.INCLUDED: message("included in its resolver"),
    Phase.EXCLUDING: message("exclusion requested"),
}
STATES: Final = {
    State.ORIGINAL: message("Originals"),
    State.COPY: message("Copies"),
    State.DELETED: message("Deleted items"),
}


class _Worker(NamedTuple):
    number: int
    is_answering: bool


class _ShownJob(NamedTuple):
    name: str
    failing_since: float | None
    reason: str
    last_success: float | None
    is_elsewhere: bool
    """True if another process does this work."""


class OverviewPage:
    def __init__(self, shell: AdminShell) -> None:
        self._shell, self._administration = shell, shell.administration

    def routes(self) -> list[Route]:
        return [Route(ADMIN, self._shell.guard(SiteAct.OVERSEE, self.show))]

    async def show(self, request: Request, visitor: Visitor) -> Response:
        acts = {act.name: may_administer(visitor.actor, act) for act in SITE_TABLE}
        return self._shell.render(
            request,
            visitor,
            "admin_overview.html",
            **await asyncio.to_thread(self._gather),
            may=acts,
            phases=PHASES,
            states=STATES,
            version=__version__,
            workers=self._workers(),
            doubt=None if self._administration.archive is None else self._administration.archive.find_doubt(),
            pages={place.path for place in self._administration.places},
        )

    def _workers(self) -> list[_Worker]:
        state = self._administration.share.state
        if state is None:
            return [_Worker(0, True)]
        return [_Worker(slot, state.silence(slot) < _SLOW_BEAT) for slot in state.used() if state.is_live(slot)]

    def _gather(self) -> dict[str, Any]:
        site, administration = self._administration.archive, self._administration
        drafts = administration.drafts
        return {
            "holdings": None if site is None else _holdings(site.catalog.holdings()),
            "position": None if site is None or site.feed is None else site.feed.position(),
            "drafts": None if drafts is None else _draft_facts(drafts),
            "membership": None if administration.membership is None else administration.membership.read(),
            "resolver_url": None if site is None else site.resolver,
            "trail_check": None if administration.parts.trail is None else administration.parts.trail.last_check(),
            **_integrity_facts(administration.integrity, {} if site is None else site.catalog.holdings()),
            **self._register_facts(),
            "jobs": self._jobs(),
        }

    def _jobs(self) -> list[_ShownJob]:
        """Return the jobs of this process, and those that other processes of the data directory report. Failing ones
        come first."""
        runner = self._administration.jobs
        if runner is None:
            return []
        try:
            failing = {each.name: each for each in runner.failing()}
        except StorageError:  # show at least the jobs of this process
            failing = {}
        found = []
        for job in runner.health():
            told = None if job.is_ours else failing.get(job.name)
            since = job.failing_since if told is None else told.since
            reason = job.reason if told is None else told.reason
            found.append(_ShownJob(job.name, since, reason, job.last_success, not job.is_ours))
        return sorted(found, key=lambda each: (each.failing_since is None, each.name))

    def _register_facts(self) -> dict[str, Any]:
        resolver, subscriptions = self._administration.resolver, self._administration.subscriptions
        register = None
        if resolver is not None and resolver.registrations is not None:
            known = resolver.registrations.all()
            included = [each for each in known if each.inclusion is not None]
            register = {
                "known": len(known),
                "included": len(included),
                "failing": sum(1 for each in included if each.failed is not None),
                "disputed": resolver.disputes is not None and resolver.disputes.are_open,
            }
        follows = [] if subscriptions is None else subscriptions.follows.list_follows()
        failing = sum(1 for each in follows if each.failing_since is not None)
        return {"register": register, "follows": None if subscriptions is None else (len(follows), failing)}


def _holdings(found: Mapping[State, HeldTotal]) -> list[tuple[State, HeldTotal]]:
    return [(state, found.get(state, HeldTotal())) for state in State]


def _draft_facts(drafts: Drafts) -> dict[str, Any]:
    held = drafts.total()
    try:
        drafts.check_space()
        refused = None
    except IbiError as error:
        refused = error
    return {
        "number": held.drafts,
        "size": held.size,
        "free": drafts.free_space(),
        "reserve": drafts.rules.quota.reserve,
        "refused": refused,
    }


def _integrity_facts(integrity: Integrity | None, holdings: Mapping[State, HeldTotal]) -> dict[str, Any]:
    if integrity is None:
        return {"integrity": None}
    try:
        return {"integrity": integrity.summary().among(holdings.values())}
    except StorageError as error:
        return {"integrity": None, "integrity_problem": error}


SOURCES: Final = {
    "flag": message("command-line option"),
    "environment": message("environment variable"),
    "file": message("configuration file"),
    "default": message("default value"),
}


class SettingsPage:
    def __init__(self, shell: AdminShell) -> None:
        self._shell = shell

    def routes(self) -> list[Route]:
        return [Route(f"{ADMIN}/settings", self._shell.guard(SiteAct.READ_SETTINGS, self.show))]

    async def show(self, request: Request, visitor: Visitor) -> Response:
        settings = self._shell.administration.parts.settings
        return self._shell.render(request, visitor, "admin_settings.html", settings=settings, sources=SOURCES)


_LARGEST: Final = 20
"""Number of items in the list of the largest."""


class StoragePage:
    def __init__(self, shell: AdminShell, site: ArchiveSite, files: DataFiles) -> None:
        self._shell, self._site, self._files = shell, site, files

    def routes(self) -> list[Route]:
        return [Route(f"{ADMIN}/storage", self._shell.guard(SiteAct.READ_STORAGE, self.show))]

    async def show(self, request: Request, visitor: Visitor) -> Response:
        facts = await asyncio.to_thread(self._gather)
        return self._shell.render(request, visitor, "admin_storage.html", **facts, kinds=KINDS, states=STATES)

    def _gather(self) -> dict[str, Any]:
        site, files = self._site, self._files
        drafts, by_type = self._shell.administration.drafts, site.catalog.holdings_by_type()
        return {
            "disk": files.disk(),
            "databases": files.files(),
            "backup": files.last_backup(),
            "holdings": _holdings(site.catalog.holdings()),
            "by_type": sorted(by_type.items(), key=lambda each: (-each[1].size, str(each[0]))),
            "largest": [(rep, total, self._title(rep)) for rep, total in site.catalog.largest(_LARGEST)],
            "drafts": None if drafts is None else drafts.total(),
        }

    def _title(self, rep: RepositoryName) -> str:
        try:
            item = self._site.catalog.find(rep)
        except ContentDamaged:
            item = None
        return str(rep) if item is None else shown_title(item)


def admin_routes(administration: Administration) -> list[Route]:
    """Return the routes under `/admin` that this server has."""
    shell, site, integrity = AdminShell(administration), administration.archive, administration.integrity
    parts = administration.parts
    found = [*OverviewPage(shell).routes(), *ArchivesPage(shell).routes(), *SettingsPage(shell).routes()]
    if site is not None and integrity is not None:
        found += FixityPage(shell, site, integrity).routes()
    if site is not None and site.uses.log is not None:
        found += UsagePage(shell, site, site.uses.log).routes()
    if site is not None and parts.files is not None:
        found += StoragePage(shell, site, parts.files).routes()
    if parts.trail is not None:
        found += TrailPage(shell, parts.trail).routes()
    return found
