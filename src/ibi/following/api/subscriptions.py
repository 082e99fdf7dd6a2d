"""Follows and webhooks in the API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.following.model.subscription import FollowKind
from ibi.following.resources.subscriptions import FollowRequest, Follows, WebhookRequest, Webhooks
from ibi.following.service.subscriptions import Subscriptions
from ibi.people.model.account import Actor, Scope
from ibi.standard.networks import IpNetwork
from ibi.web.authentication import Authentication
from ibi.web.body import read_json, short_json
from ibi.web.request import address_text, by_method
from ibi.web.request_errors import InvalidMember, MemberMissing

_NAMED: Final = ("label", "prefix", "search")


class SubscriptionPages:
    """Endpoints of follows, which need a token of the scope edit, and of webhooks, which need the scope admin."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        authentication: Authentication,
        proxies: Sequence[IpNetwork] = (),
    ) -> None:
        """`proxies` are trusted to name their client."""
        self._follows, self._webhooks = subscriptions.follows, subscriptions.webhooks
        self._authentication, self._proxies = authentication, proxies

    def routes(self) -> list[Route]:
        return [
            Route("/api/follows", by_method(GET=self.list_follows, POST=self.follow), methods=["GET", "POST"]),
            Route("/api/follows/{id}", self.unfollow, methods=["DELETE"]),
            Route("/api/webhooks", by_method(GET=self.list_webhooks, POST=self.add_webhook), methods=["GET", "POST"]),
            Route(
                "/api/webhooks/{id}",
                by_method(DELETE=self.remove_webhook, POST=self.enable_webhook),
                methods=["DELETE", "POST"],
            ),
        ]

    async def list_follows(self, request: Request) -> Response:
        await self._actor(request, Scope.EDIT)
        return short_json(Follows(follows=await asyncio.to_thread(self._follows.list_follows)))

    async def follow(self, request: Request) -> Response:
        actor = await self._actor(request, Scope.EDIT)
        wanted = await read_json(request, FollowRequest)
        kind, text = _target(wanted)
        listed, is_new = await self._follows.acting_as(actor).add(kind, text, wanted.source, wanted.token)
        return short_json(listed, HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    async def unfollow(self, request: Request) -> Response:
        admin = self._follows.acting_as(await self._actor(request, Scope.EDIT))
        return short_json(await asyncio.to_thread(admin.remove_follow, str(request.path_params["id"])))

    async def list_webhooks(self, request: Request) -> Response:
        await self._actor(request, Scope.ADMIN)
        return short_json(Webhooks(webhooks=await asyncio.to_thread(self._webhooks.list_webhooks)))

    async def add_webhook(self, request: Request) -> Response:
        admin = self._webhooks.acting_as(await self._actor(request, Scope.ADMIN))
        wanted = await read_json(request, WebhookRequest)
        added = await asyncio.to_thread(admin.add_webhook, wanted.url, wanted.prefix, wanted.kinds)
        return short_json(added, HTTPStatus.CREATED)

    async def enable_webhook(self, request: Request) -> Response:
        """Enable a disabled webhook again."""
        admin = self._webhooks.acting_as(await self._actor(request, Scope.ADMIN))
        return short_json(await asyncio.to_thread(admin.enable_webhook, str(request.path_params["id"])))

    async def remove_webhook(self, request: Request) -> Response:
        admin = self._webhooks.acting_as(await self._actor(request, Scope.ADMIN))
        return short_json(await asyncio.to_thread(admin.remove_webhook, str(request.path_params["id"])))

    async def _actor(self, request: Request, needed: Scope) -> Actor:
        token = await self._authentication.require(request.scope["headers"], needed)
        return Actor(token.account, token.scope, token.id, address_text(request.scope, self._proxies))


def _target(wanted: FollowRequest) -> tuple[FollowKind, str]:
    """Return the target of a follow: exactly one of the members that name it."""
    named = [(name, text) for name in _NAMED if (text := getattr(wanted, name)) is not None]
    if len(named) + wanted.all > 1:
        raise InvalidMember(field="label", reason=f"one of {', '.join(_NAMED)} and all is given")
    if wanted.all:
        return FollowKind.ALL, ""
    if not named:
        raise MemberMissing(field="label, prefix, search or all")
    name, text = named[0]
    return {"label": FollowKind.ITEM, "prefix": FollowKind.PREFIX, "search": FollowKind.SEARCH}[name], text
