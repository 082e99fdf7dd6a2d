"""`/api/archives`: the register of a resolver. The list of Archives that it asks is public; the rest is for
administrators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from msgspec import UNSET, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.jobs.promptness import ask, beside
from ibi.membership.model.registration import Registration
from ibi.membership.resources import (
    ArchiveApplication,
    ArchiveChange,
    RegisteredArchiveResource,
    RegisteredArchivesResource,
    ServiceForms,
)
from ibi.membership.rules.membership import RegistrationChange
from ibi.membership.service.registration_admin import Application, RegistrationAdmin
from ibi.people.model.account import Actor, Scope, Token
from ibi.people.rules.errors import NotAllowed
from ibi.resolver.api.register_statement import RegisterStatementPage
from ibi.resolver.pages.records import ClaimPages, DisputePages, RegisterPages
from ibi.resolver.resources import DisputeResource, DisputeRuling, DisputesResource
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.label import Label, parse
from ibi.standard.networks import IpNetwork
from ibi.web.authentication import Authentication, name_of
from ibi.web.body import read_json, short_json
from ibi.web.request import address_text, by_method, percent_decode, raw_path, values
from ibi.web.request_errors import PathNotFound
from ibi.web.sites import ResolverSite

DISPUTES: Final = b"/api/disputes/"


class DisputeEndpoints:
    """Endpoints of claims to an Original beside its known holder. The list is public; administrators settle disputes.

    Labels contain slashes: the path is read as it came.
    """

    def __init__(
        self,
        disputes: Disputes,
        authentication: Authentication,
        resolving: ResolverService,
        proxies: tuple[IpNetwork, ...] = (),
    ) -> None:
        self._disputes, self._authentication, self._resolving = disputes, authentication, resolving
        self._proxies = proxies

    def routes(self) -> list[Route]:
        return [
            Route("/api/disputes", self.list),
            Route("/api/disputes/{label:path}", by_method(GET=self.get, PUT=self.settle), methods=["GET", "PUT"]),
        ]

    async def list(self, request: Request) -> Response:
        settled = request.query_params.get("settled", "") == "yes"
        disputes = await ask(self._disputes, lambda: self._disputes.all(settled=settled))
        return short_json(DisputesResource([DisputeResource.of(each) for each in disputes]))

    async def get(self, request: Request) -> Response:
        """Return the disputes over one item. Its Archives learn here how they were settled."""
        label = _label(request, DISPUTES)
        disputes = await ask(self._disputes, lambda: self._disputes.over(label))
        return short_json(DisputesResource([DisputeResource.of(each) for each in disputes]))

    async def settle(self, request: Request) -> Response:
        """Settle a dispute: name the holder of the Original."""
        token = await self._authentication.require(request.scope["headers"], Scope.ADMIN)
        label, wanted = _label(request, DISPUTES), await read_json(request, DisputeRuling)
        holder = parse(wanted.holder)
        actor = _actor(token, request, self._proxies)
        disputes = await beside(lambda: self._disputes.settle(label, holder, name_of(token), actor))
        self._resolving.forget((label,))
        return short_json(DisputesResource([DisputeResource.of(each) for each in disputes]))


PREFIX: Final = b"/api/archives/"


class ArchivePages:
    """Endpoints of the register. Labels contain slashes: the path is read as it came, `%2F` or not, in either form and
    any case."""

    def __init__(
        self, admin: RegistrationAdmin, authentication: Authentication, proxies: tuple[IpNetwork, ...] = ()
    ) -> None:
        self._admin, self._authentication, self._proxies = admin, authentication, proxies

    def routes(self) -> list[Route]:
        all_archives = by_method(GET=self.list, POST=self.register)
        one = by_method(GET=self.get, PATCH=self.change, DELETE=self.forget)
        return [
            Route("/api/archives", all_archives, methods=["GET", "POST"]),
            Route("/api/archives/{label:path}", one, methods=["GET", "PATCH", "DELETE"]),
        ]

    async def list(self, request: Request) -> Response:
        told = await self._told(request)
        archives = [told(registration) for registration in await asyncio.to_thread(self._admin.all)]
        own = self._admin.own
        return short_json(RegisteredArchivesResource(archives, UNSET if own is None else ServiceForms.of(own)))

    async def get(self, request: Request) -> Response:
        told = await self._told(request)
        return short_json(told(await self._admin.find(_label(request))))

    async def register(self, request: Request) -> Response:
        actor = await self._require_admin(request)
        wanted = await read_json(request, ArchiveApplication)
        registered = await self._admin.register(
            Application.of_request(wanted),
            allow_weak_key=wanted.allow_weak_key,
            replace_key=wanted.replace,
            actor=actor,
        )
        return short_json(registered.resource(), HTTPStatus.OK if wanted.replace else HTTPStatus.CREATED)

    async def change(self, request: Request) -> Response:
        actor = await self._require_admin(request)
        label, wanted = _label(request), await read_json(request, ArchiveChange)
        change = RegistrationChange.of_words(**structs.asdict(wanted))
        return short_json(RegisteredArchiveResource.whole(await self._admin.set(label, change, actor=actor)))

    async def forget(self, request: Request) -> Response:
        actor = await self._require_admin(request)
        return short_json(RegisteredArchiveResource.whole(await self._admin.forget(_label(request), actor=actor)))

    async def _require_admin(self, request: Request) -> Actor:
        token = await self._authentication.require(request.scope["headers"], Scope.ADMIN)
        return _actor(token, request, self._proxies)

    async def _told(self, request: Request) -> Callable[[Registration], RegisteredArchiveResource]:
        """Return the view of a registration that the request may have.

        Without a token of the scope admin it is the public view. An invalid token raises.
        """
        headers = request.scope["headers"]
        if not values(headers, b"authorization"):
            return RegisteredArchiveResource.public
        try:
            await self._authentication.require(headers, Scope.ADMIN)
        except NotAllowed:
            return RegisteredArchiveResource.public
        return RegisteredArchiveResource.whole


def _actor(token: Token, request: Request, proxies: tuple[IpNetwork, ...]) -> Actor:
    """Return the actor who changes the register, for the audit log."""
    return Actor(token.account, token.scope, token.id, address_text(request.scope, proxies))


def _label(request: Request, prefix: bytes = PREFIX) -> Label:
    path = raw_path(request.scope)
    if not path.startswith(prefix):
        raise PathNotFound()
    return parse(percent_decode(path[len(prefix) :]))


def resolver_routes(site: ResolverSite, authentication: Authentication) -> list[Route]:
    """Return the routes of the parts that the resolver has."""
    found: list[Route] = []
    if site.registrations is not None:
        found += ArchivePages(site.registrations, authentication, site.proxies).routes()
    if site.beliefs is not None:
        found += ClaimPages(site.beliefs).routes()
    if site.registrations is not None and site.report is not None:
        found += RegisterPages(site.registrations, site.report, site.disputes).routes()
    if site.disputes is not None:
        found += DisputePages(site.disputes).routes()
        found += DisputeEndpoints(site.disputes, authentication, site.resolving, site.proxies).routes()
    if site.publication is not None:
        found += RegisterStatementPage(site.publication).routes()
    return found
