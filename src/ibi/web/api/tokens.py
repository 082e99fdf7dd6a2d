"""`/api/tokens`: tokens created, listed and revoked with a token of the scope admin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.model.account import Actor, Scope
from ibi.model.visibility import IpNetwork
from ibi.services.accounts.account_admin import LocalTokenAdmin, TokenAdmin
from ibi.web.api.authentication import Authentication
from ibi.web.http.body import check_json, read_body
from ibi.web.http.request import reader_address
from ibi.web.http.request_errors import MalformedBody

Made = TypeVar("Made")


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    scope: str
    name: str = ""
    expires: str | None = None
    person: str | None = None


_BODY = msgspec.json.Decoder(_Body)


class TokenPages:
    """Endpoints of tokens. Changing tokens waits for the disk, so it runs in a thread."""

    def __init__(
        self, admin: LocalTokenAdmin, authentication: Authentication, proxies: Sequence[IpNetwork] = ()
    ) -> None:
        """`proxies` are trusted to name their client."""
        self._admin, self._authentication, self._proxies = admin, authentication, proxies

    async def create(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        body = await read_body(request.scope["headers"], request.receive)
        check_json(request.scope["headers"])
        try:
            wanted = _BODY.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedBody(reason=_one_line(error)) from None
        made = await _run_in_thread(
            lambda: admin.create_token(wanted.scope, wanted.name, wanted.expires, wanted.person)
        )
        return _answer(made, 201)

    async def list(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        return _answer({"tokens": await _run_in_thread(admin.list_tokens)}, 200)

    async def revoke(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        identity = str(request.path_params["id"])
        return _answer(await _run_in_thread(lambda: admin.revoke_token(identity)), 200)

    async def _admin_of(self, request: Request) -> TokenAdmin:
        """The administration of tokens in the name of a caller who may do that."""
        token = await self._authentication.require(request.scope["headers"], Scope.ADMIN)
        address = reader_address(request.scope, self._proxies)
        where = "unknown" if address is None else str(address)
        return self._admin.acting_as(Actor(token.account, token.scope, token.id, where))


async def _run_in_thread(work: Callable[[], Made]) -> Made:
    return await asyncio.to_thread(work)


def _one_line(error: Exception) -> str:
    """msgspec's message on one line: it names the wrong member and the fault."""
    text = " ".join(str(error).split())
    return text[:1].lower() + text[1:200]


def _answer(body: object, status: int) -> Response:
    return Response(msgspec.json.encode(body), status, {"cache-control": "no-store"}, "application/json")
