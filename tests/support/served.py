"""The web application of the services that a test has. `ibi.app.server` makes that of a data directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import structlog
from starlette.applications import Starlette
from structlog.typing import FilteringBoundLogger

from ibi.administration.serving import serve_administration, serve_appearance, serve_audit
from ibi.app.front import Front, find_no_doubt, open_links
from ibi.app.web import create_app
from ibi.archive.serving import serve_archive, serve_keys, serve_membership
from ibi.claims.serving import serve_claims
from ibi.collections.serving import serve_collections
from ibi.copies.service.giving import ObjectGiving
from ibi.copies.serving import serve_copies
from ibi.deposits.serving.deposits import serve_deposits
from ibi.deposits.serving.reviews import serve_reviews
from ibi.following.service.subscriptions import Subscriptions
from ibi.following.serving import serve_subscriptions
from ibi.harvesting.serving import serve_changes, serve_harvesting
from ibi.items.service.verification import VerificationSchedule
from ibi.jobs.runner import JobRunner
from ibi.membership.service.membership import MembershipService
from ibi.minting.ports import Ticks
from ibi.minting.service.queue import MintQueue
from ibi.minting.serving import serve_minting
from ibi.people.ports import AuditLog, People, Tokens
from ibi.people.service.account_admin import LocalTokenAdmin
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.people.service.sign_in import SignIn
from ibi.people.serving import serve_people, serve_tokens
from ibi.reading.api.item_search import ItemSearch
from ibi.reading.delivery.content_host import ContentHost
from ibi.reading.serving.explaining import serve_explanations
from ibi.reading.serving.items import serve_items, serve_verification
from ibi.reading.serving.searching import serve_search
from ibi.requests.serving import serve_requests
from ibi.resolver.serving import serve_kept_register, serve_resolver, serve_standby
from ibi.server.connection_bounds import ConnectionBound
from ibi.server.worker_state import ALONE, WorkerShare
from ibi.standard.clock_reading import Clocks
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.serving import serve_releases, serve_transfers
from ibi.usage.serving import serve_usage
from ibi.web.admin_shell import Administration, AdminParts
from ibi.web.appearance import Appearance
from ibi.web.authentication import Authentication, Callers
from ibi.web.opened import Opened, WebContext
from ibi.web.reader import Sessions
from ibi.web.readiness import Readiness
from ibi.web.rendering import SiteFacts
from ibi.web.request import ServedHosts
from ibi.web.request_middleware import Metrics
from ibi.web.sites import ArchiveSite, ItemOffers, ResolverSite, StandbySite
from tests.support.sites import ArchiveParts


@dataclass(frozen=True, kw_only=True)
class Served:
    """The services of a server. A capability without its service is left out."""

    queue: MintQueue
    ticks: Ticks
    tokens: Tokens
    clocks: Clocks
    log: FilteringBoundLogger | None = None
    archive: ArchiveSite | None = None
    parts: ArchiveParts = field(default_factory=ArchiveParts)
    membership: MembershipService | None = None
    resolver: ResolverSite | None = None
    releases: ReleaseRegister | None = None
    standby: StandbySite | None = None
    facts: SiteFacts | None = None
    sign_in: SignIn | None = None
    people: People | None = None
    audit: AuditLog | None = None
    recovery: AccountRecovery | None = None
    provider: ProviderSignIn | None = None
    bound: ConnectionBound | None = None
    hosts: ServedHosts | None = None
    verification: VerificationSchedule | None = None
    subscriptions: Subscriptions | None = None
    checks: Sequence[Callable[[], None]] = ()
    share: WorkerShare = ALONE
    appearance: Appearance | None = None
    admin: AdminParts | None = None
    jobs: JobRunner | None = None

    def app(self) -> Starlette:
        context, site, parts = self.context(), self.archive, self.parts
        offers = ItemOffers(
            parts.services, parts.collections, parts.previews, takes_requests=parts.requests is not None
        )
        front = Front(
            public_url=context.facts.public_url or ("" if site is None else site.public_url),
            links=open_links(context.log, site, offers, self.resolver, self.standby),
            content_host=ContentHost(site) if site is not None and site.has_own_content_host else None,
            is_switched_on=None if site is None else parts.is_switched_on,
            find_doubt=find_no_doubt if site is None else site.find_doubt,
            hosts=self.hosts,
            bound=self.bound,
            appearance=self.appearance,
        )
        return create_app(context, [*self._opened(context)], front)

    def context(self) -> WebContext:
        archive, log = self.archive, self.log or structlog.get_logger("ibi.web")
        is_prompt = self.ticks.prompt and self.tokens.prompt and (archive is None or archive.catalog.prompt)
        facts = self.facts or SiteFacts(sandbox=self.queue.identity.sandbox)
        return WebContext(
            clocks=self.clocks,
            log=log,
            metrics=Metrics(),
            jobs=self.jobs or JobRunner(),
            readiness=Readiness(self.queue, self.ticks, self.clocks, checks=self.checks, is_prompt=is_prompt, log=log),
            authentication=Authentication(self.tokens, self.clocks, self.people),
            sessions=None if self.sign_in is None else Sessions(self.sign_in, facts.public_url),
            audit=self.audit,
            proxies=() if archive is None else archive.proxies,
            facts=facts,
            share=self.share,
        )

    def _opened(self, context: WebContext) -> Iterator[Opened]:
        archive, resolver = self.archive, self.resolver
        yield serve_minting(context, self.queue)
        yield serve_keys(context, None, resolver)
        kept = self.standby or resolver
        yield serve_kept_register(None if kept is None else kept.register, None)
        if resolver is not None:
            yield serve_resolver(context, resolver)
        if self.standby is not None:
            yield serve_standby(context, self.standby)
        yield serve_releases(context, self.parts.transfers, self.releases)
        if archive is not None:
            yield from self._archive(context, archive)
        if self.appearance is not None:
            yield serve_appearance(self.appearance)
        yield serve_explanations(archive, resolver)
        yield from self._people(context)

    def _archive(self, context: WebContext, archive: ArchiveSite) -> Iterator[Opened]:
        parts = self.parts
        callers = Callers(archive, parts.services, context.authentication)
        drafts = None if parts.services is None else parts.services.drafts
        yield serve_archive(context, callers, parts.services, self.membership)
        if self.membership is not None:
            yield serve_membership(self.membership)
        if archive.feed is not None:
            if parts.changes is not None:
                yield serve_changes(archive, archive.feed, parts.changes, None, None)
            yield serve_harvesting(
                archive,
                archive.feed,
                collections=parts.collections,
                admin_email=parts.admin_email,
                dumps=parts.dumps,
                schedule=None,
            )
        yield serve_claims(context, archive, parts.services, parts.inbox, None)
        if parts.search is not None:
            yield serve_search(archive, parts.search, parts.texts)
        yield serve_items(
            context,
            callers,
            self.queue,
            search=None if parts.search is None else ItemSearch(callers, parts.search, parts.texts),
            giving=ObjectGiving(
                archive.catalog,
                archive.content,
                archive.profile.service,
                integrity=archive.integrity,
                is_sandbox=parts.is_sandbox,
                require_sure=archive.require_sure,
            ),
            transfers=parts.transfers,
            copies=parts.copy_work,
        )
        if self.verification is not None:
            yield serve_verification(self.verification)
        yield serve_usage(callers, archive.uses.log)
        if parts.collections is not None:
            yield serve_collections(callers, parts.collections)
        if parts.services is not None:
            yield serve_deposits(context, archive, parts.services, self.queue)
        if parts.requests is not None:
            yield serve_requests(context, archive, parts.requests)
        yield serve_reviews(context, callers, drafts, self.queue)
        yield serve_copies(context, callers, parts.copy_work)
        if parts.transfers is not None:
            yield serve_transfers(context, callers, parts.transfers)

    def _people(self, context: WebContext) -> Iterator[Opened]:
        tokens = LocalTokenAdmin(self.tokens, self.clocks, self.people, audit=self.audit)
        yield serve_tokens(context, tokens)
        if self.audit is not None:
            yield serve_audit(self.audit)
        if self.subscriptions is not None:
            yield serve_subscriptions(context, self.subscriptions)
        if self.sign_in is None or context.sessions is None:
            return
        administration = None
        if self.admin is not None:
            administration = Administration(
                self.admin,
                archive=self.archive,
                drafts=None if self.parts.services is None else self.parts.services.drafts,
                copy_holders=self.parts.copy_holders,
                resolver=self.resolver,
                membership=self.membership,
                subscriptions=self.subscriptions,
                verification=self.verification,
                share=self.share,
                jobs=context.jobs,
            )
            yield serve_administration(administration)
        yield serve_people(
            context,
            context.sessions,
            self.recovery or AccountRecovery(self.sign_in, audit=self.audit),
            tokens,
            provider=self.provider,
            integrity=None if self.archive is None else self.archive.integrity,
            places=() if administration is None else administration.places,
        )
