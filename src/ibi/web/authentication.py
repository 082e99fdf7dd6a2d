"""Authentication of API requests: bearer tokens (RFC 6750), in the Authorization header only. A token in a URL would
end up in logs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.deposits.service.ledger import Depositor
from ibi.jobs.promptness import ask
from ibi.people.model.account import Actor, Person, Scope, Token
from ibi.people.ports import People, Tokens
from ibi.people.resources import TokenRequest, TokensResource
from ibi.people.rules.errors import NotAuthenticated
from ibi.people.rules.sign_in import as_person_may, authenticate, recognise, require
from ibi.people.service.account_admin import LocalTokenAdmin, TokenAdmin, find_account
from ibi.standard.clock_reading import Clocks
from ibi.standard.networks import IpNetwork
from ibi.web.body import read_json, short_json
from ibi.web.request import RawHeaders, by_method, only_value, reader_address, values
from ibi.web.request_errors import ReadOnlyArchive
from ibi.web.sites import ArchiveSite, ItemServices


class Authentication:
    """Recognises the tokens of one data directory."""

    def __init__(self, tokens: Tokens, clocks: Clocks, people: People | None = None) -> None:
        """Without `people`, the tokens of persons are invalid."""
        self._tokens, self._clocks, self._people = tokens, clocks, people

    async def require(self, headers: RawHeaders, needed: Scope) -> Token:
        """Return the token of a request if it has the `needed` scope. Raise an error otherwise."""
        try:
            scheme, _, text = (only_value(headers, b"authorization") or "").partition(" ")
        except ValueError:
            raise NotAuthenticated() from None
        if scheme.lower() != "bearer":
            raise NotAuthenticated()
        token = await ask(
            self._tokens, lambda: authenticate(text.strip(" "), self._tokens.find, self._clocks.read().wall)
        )
        if token.person is not None:
            token = as_person_may(token, await self._find_person(token.person))
        require(token, needed)
        return token

    async def identify(self, headers: RawHeaders) -> Actor | None:
        """Return the owner of the token of a request, valid or not. Use it for the audit log only."""
        text = next(iter(values(headers, b"authorization")), "").partition(" ")[2].strip(" ")
        token = await ask(self._tokens, lambda: recognise(text, self._tokens.find))
        return None if token is None else Actor(token.account, token.scope, token.id)

    def find_account(self, text: str) -> str | None:
        """Return the account of a person or a token name. This call blocks."""
        return find_account(text, self._people, self._tokens)

    async def _find_person(self, name: str) -> Person | None:
        people = self._people
        return None if people is None else await ask(people, lambda: people.find(name))


def name_of(token: Token) -> str:
    """Return the permanent identifier of a token, for the mint log and the idempotency records.

    It does not depend on the token's name.
    """
    return f"token:{token.id}"


Made = TypeVar("Made")

_SHORT_WORKS: Final = 16
"""Number of changes that run at the same time. Most of them wait for the disk or for each other."""
_BULK_WORKS: Final = 2
"""Number of upload pieces that are hashed and written at the same time.

Two keep the processors busy. With more threads, the event loop would wait for a processor and for the interpreter's
lock at each of its steps.
"""
_LONG_WORKS: Final = 4
"""Number of publications that run at the same time. Each reads every byte that it publishes, and readers must not wait
for that."""


class Callers:
    """Recognises callers by their tokens and runs their changes in thread pools."""

    def __init__(self, site: ArchiveSite, services: ItemServices | None, authentication: Authentication) -> None:
        """Without `services`, which take changes, the Archive is read-only."""
        self.site, self._services, self._authentication = site, services, authentication
        self._short_works = ThreadPoolExecutor(_SHORT_WORKS, thread_name_prefix="ibi-draft")
        self._bulk_works = ThreadPoolExecutor(_BULK_WORKS, thread_name_prefix="ibi-upload")
        self._long_works = ThreadPoolExecutor(_LONG_WORKS, thread_name_prefix="ibi-deposit")

    async def token(self, request: Request, needed: Scope) -> Token:
        return await self._authentication.require(request.scope["headers"], needed)

    async def depositor(self, request: Request) -> Depositor:
        return self.depositor_of(await self.token(request, Scope.DEPOSIT), request)

    def depositor_of(self, token: Token, request: Request) -> Depositor:
        """Return the depositor behind a token.

        Drafts and items belong to the token's account, so that a new token of the same account finds them.
        """
        name = token.person or token.name or name_of(token)
        return Depositor(token.account, name, token.scope, token.id, self._address(request))

    async def actor(self, request: Request, needed: Scope) -> Actor:
        token = await self.token(request, needed)
        return Actor(token.account, token.scope, token.id, self._address(request))

    def _address(self, request: Request) -> str:
        address = reader_address(request.scope, self.site.proxies)
        return "unknown" if address is None else str(address)

    async def account(self, text: str) -> str | None:
        """Return the account of that name; None, the Archive, for an empty text. Raise `UnknownAccount` if there is
        none."""
        return await self.run_short(lambda: self._authentication.find_account(text))

    async def is_known(self, request: Request) -> bool:
        """Return whether a token came. Raise if it is invalid or does not allow reading."""
        if not values(request.scope["headers"], b"authorization"):
            return False
        await self.token(request, Scope.READ)
        return True

    @property
    def item_services(self) -> ItemServices:
        if self._services is None:
            raise ReadOnlyArchive()
        return self._services

    async def run_short(self, work: Callable[[], Made]) -> Made:
        """Run short work that waits for the disk or for a draft's lock, in a thread.

        Requests that only read use another pool, so that a hundred changes of one draft keep no reader waiting.
        """
        return await asyncio.get_running_loop().run_in_executor(self._short_works, work)

    async def run_bulk(self, work: Callable[[], Made]) -> Made:
        """Hash and write the received bytes, in a thread and in the order of arrival."""
        return await asyncio.get_running_loop().run_in_executor(self._bulk_works, work)

    async def run_long(self, work: Callable[[], Made]) -> Made:
        """Run long work in threads of its own, so that short work does not wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._long_works, work)


class TokenPages:
    """Endpoints of tokens. Changes of tokens wait for the disk, and run in a thread."""

    def __init__(
        self, admin: LocalTokenAdmin, authentication: Authentication, proxies: Sequence[IpNetwork] = ()
    ) -> None:
        """`proxies` are trusted to name their client."""
        self._admin, self._authentication, self._proxies = admin, authentication, proxies

    def routes(self) -> Sequence[Route]:
        return [
            Route("/api/tokens", by_method(GET=self.list, POST=self.create), methods=["GET", "POST"]),
            Route("/api/tokens/{id}", self.revoke, methods=["DELETE"]),
        ]

    async def create(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        wanted = await read_json(request, TokenRequest)
        made = await _run_in_thread(
            lambda: admin.create_token(wanted.scope, wanted.name, wanted.expires, wanted.person)
        )
        return short_json(made, HTTPStatus.CREATED)

    async def list(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        return short_json(TokensResource(tokens=await _run_in_thread(admin.list_tokens)))

    async def revoke(self, request: Request) -> Response:
        admin = await self._admin_of(request)
        identity = str(request.path_params["id"])
        return short_json(await _run_in_thread(lambda: admin.revoke_token(identity)))

    async def _admin_of(self, request: Request) -> TokenAdmin:
        """Return the administration of tokens on behalf of the caller, who needs the scope admin."""
        token = await self._authentication.require(request.scope["headers"], Scope.ADMIN)
        address = reader_address(request.scope, self._proxies)
        where = "unknown" if address is None else str(address)
        return self._admin.acting_as(Actor(token.account, token.scope, token.id, where))


async def _run_in_thread(work: Callable[[], Made]) -> Made:
    return await asyncio.to_thread(work)
