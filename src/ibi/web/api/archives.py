"""`/api/archives`: the resolver's register of Archives. Which Archives it asks is public; the rest is for
administrators."""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.errors import NotAllowed
from ibi.label import Label, parse
from ibi.model.account import Scope
from ibi.resolver.membership import RegistrationChange
from ibi.services.membership.registration_admin import (
    Application,
    RegistrationAdmin,
    all_facts,
    public_facts,
    registered_facts,
)
from ibi.web.api.authentication import Authentication
from ibi.web.http.body import check_json, read_body
from ibi.web.http.request import by_method, percent_decode, raw_path, values
from ibi.web.http.request_errors import MalformedBody, PathNotFound

PREFIX: Final = b"/api/archives/"

Body = TypeVar("Body", bound=msgspec.Struct)


class _Application(msgspec.Struct, forbid_unknown_fields=True):
    labels: list[str]
    key: str
    admin_mail: str | None = None
    hosts: list[str] = []
    networks: list[str] = []
    prefixes: list[str] = []
    shared: bool = False
    archive_key: str | None = None
    allow_weak_key: bool = False
    replace: bool = False


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    allow: list[str] = []
    disallow: list[str] = []
    label: str | None = None
    add_prefixes: list[str] = []
    remove_prefixes: list[str] = []
    shared: bool | None = None
    vouched: bool | None = None
    successor: str | None = None
    no_successor: bool = False
    add_hosts: list[str] = []
    remove_hosts: list[str] = []
    admin_mail: str | None = None
    archive_key: str | None = None
    forget_archive_key: bool = False


class ArchivePages:
    """Endpoints of the register. Labels hold slashes: the path is read as it came, `%2F` or not, in either form and any
    case."""

    def __init__(self, admin: RegistrationAdmin, authentication: Authentication) -> None:
        self._admin, self._authentication = admin, authentication

    def routes(self) -> list[Route]:
        all_archives = by_method(GET=self.list, POST=self.register)
        one = by_method(GET=self.get, PATCH=self.change, DELETE=self.forget)
        return [
            Route("/api/archives", all_archives, methods=["GET", "POST"]),
            Route("/api/archives/{label:path}", one, methods=["GET", "PATCH", "DELETE"]),
        ]

    async def list(self, request: Request) -> Response:
        facts = all_facts if await self._is_admin(request) else public_facts
        found = await asyncio.to_thread(self._admin.all)
        return _answer({"archives": [facts(registration) for registration in found]})

    async def get(self, request: Request) -> Response:
        facts = all_facts if await self._is_admin(request) else public_facts
        return _answer(facts(await self._admin.find(_label(request))))

    async def register(self, request: Request) -> Response:
        await self._require_admin(request)
        wanted = await read_json(request, _Application)
        registered = await self._admin.register(
            Application.of_words(
                wanted.labels,
                wanted.key,
                wanted.admin_mail,
                wanted.hosts,
                wanted.networks,
                wanted.prefixes,
                shared=wanted.shared,
                archive_key=wanted.archive_key,
            ),
            allow_weak_key=wanted.allow_weak_key,
            replace_key=wanted.replace,
        )
        return _answer(registered_facts(registered), 200 if wanted.replace else 201)

    async def change(self, request: Request) -> Response:
        await self._require_admin(request)
        label, wanted = _label(request), await read_json(request, _Change)
        change = RegistrationChange.of_words(**msgspec.structs.asdict(wanted))
        return _answer(all_facts(await self._admin.set(label, change)))

    async def forget(self, request: Request) -> Response:
        await self._require_admin(request)
        return _answer(all_facts(await self._admin.forget(_label(request))))

    async def _require_admin(self, request: Request) -> None:
        await self._authentication.require(request.scope["headers"], Scope.ADMIN)

    async def _is_admin(self, request: Request) -> bool:
        """Whether the request has an admin token. No token or a lesser scope means the public view; an invalid token
        raises."""
        headers = request.scope["headers"]
        if not values(headers, b"authorization"):
            return False
        try:
            await self._authentication.require(headers, Scope.ADMIN)
        except NotAllowed:
            return False
        return True


def _label(request: Request) -> Label:
    path = raw_path(request.scope)
    if not path.startswith(PREFIX):
        raise PathNotFound()
    return parse(percent_decode(path[len(PREFIX) :]))


async def read_json(request: Request, kind: type[Body]) -> Body:
    """The body of a request, which is to be of this kind; `MalformedBody` if it is not."""
    body = await read_body(request.scope["headers"], request.receive)
    check_json(request.scope["headers"])
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        # msgspec's message names the wrong member and the fault without quoting the value.
        text = " ".join(str(error).split())
        raise MalformedBody(reason=text[:1].lower() + text[1:200]) from None


def _answer(body: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, {"cache-control": "no-store"}, "application/json")
