"""`/sign-in`, `/sign-out`, `/account`: pages to sign in and out and to change a password."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.errors import BadSignIn, WeakPassword
from ibi.accounts.sign_in import SHORTEST_PASSWORD, csrf_of
from ibi.instant import Instant
from ibi.model.account import Role
from ibi.model.visibility import IpNetwork
from ibi.ports.errors import StorageError
from ibi.services.accounts.sign_in import SignedIn, SignIn, TooManyGuesses
from ibi.services.integrity.integrity import Integrity
from ibi.web.http.errors import answer_to
from ibi.web.http.request import reader_address, truncate_address
from ibi.web.pages.language import local_target
from ibi.web.pages.rendering import render
from ibi.web.pages.sessions import ForeignForm, Sessions, read_form

_MOST_DAMAGED: Final = 100
"""Damaged items that the page of an administrator names."""
_PRIVATE: Final = {"cache-control": "no-store"}


class SignInPages:
    """Pages of accounts. `proxies` are the networks that are trusted to name their client."""

    def __init__(
        self,
        sign_in: SignIn,
        sessions: Sessions,
        proxies: tuple[IpNetwork, ...] = (),
        integrity: Integrity | None = None,
        *,
        has_claims: bool = False,
        has_jobs: bool = False,
        has_transfers: bool = False,
    ) -> None:
        """With `integrity`, the page of administrators shows whether the store is whole. `has_claims`: there is a page
        of claims. If there are pages of jobs and of transfers, that of librarians leads there."""
        self._has_claims, self._has_transfers = has_claims, has_transfers
        self._sign_in, self._sessions, self._proxies = sign_in, sessions, proxies
        self._integrity, self._has_jobs = integrity, has_jobs

    def routes(self) -> list[Route]:
        return [
            Route("/sign-in", self.sign_in, methods=["GET", "POST"]),
            Route("/sign-in/{secret}", self.link, methods=["GET", "POST"]),
            Route("/sign-out", self.leave, methods=["POST"]),
            Route("/account", self.account, methods=["GET", "POST"]),
        ]

    async def sign_in(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        if self._sessions.current(request.scope) is not None:
            return _see("/account")
        return self._form(request, to=local_target(request.query_params.get("to", "/")))

    async def _enter(self, request: Request) -> Response:
        fields = await read_form(request.scope, request.receive)
        name, to = fields.get("name", ""), local_target(fields.get("to", "/"))
        try:
            # Not checked against a session: a person who signs in may still be signed in from before.
            self._sessions.check_form(request.scope, fields, None)
            password, mark = fields.get("password", ""), self._sessions.mark(request.scope)
            signed = await self._sign_in.with_password(name, password, self._network(request), mark=mark)
        except (BadSignIn, TooManyGuesses, ForeignForm) as error:
            return self._form(request, to=to, name=name[:100], error=error)
        return await self._start_session(request, signed, to)

    async def link(self, request: Request) -> Response:
        """A page that asks for confirmation. A link alone changes nothing: programs that scan mail follow links, and a
        page of another site could sign a reader in under another account than they think."""
        secret = request.path_params["secret"]
        try:
            if request.method != "POST":
                person = await self._sign_in.of_link(secret)
                return render(request.scope, "sign_in_link.html", headers=_PRIVATE, person=person, secret=secret)
            self._sessions.check_form(request.scope, await read_form(request.scope, request.receive), None)
            signed = await self._sign_in.with_link(secret)
        except (BadSignIn, ForeignForm) as error:
            return self._form(request, to="/", error=error)
        return await self._start_session(request, signed, "/")

    async def leave(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is not None:
            self._sessions.check_form(request.scope, await read_form(request.scope, request.receive), signed)
            await self._sign_in.sign_out(signed)
        return self._sessions.end(_see("/"))

    async def account(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is None:
            return _see("/sign-in?to=/account")
        if request.method == "POST":
            return await self._change(request, signed)
        return self._account(request, signed, **await self._wholeness(signed))

    async def _wholeness(self, signed: SignedIn) -> dict[str, Any]:
        """The state of the store, for administrators; empty if it is not known."""
        if self._integrity is None or signed.person.role is not Role.ADMIN:
            return {}
        try:
            summary = await asyncio.to_thread(self._integrity.summary)
        except StorageError:
            return {}
        damaged = sorted(self._integrity.ledger.damaged_items().values(), key=lambda each: each.name)
        newest = None if summary.newest is None else Instant(summary.newest)
        return {"integrity": summary, "damaged": damaged[:_MOST_DAMAGED], "newest": newest}

    async def _change(self, request: Request, signed: SignedIn) -> Response:
        fields = await read_form(request.scope, request.receive)
        current, new = fields.get("current", ""), fields.get("new", "")
        try:
            self._sessions.check_form(request.scope, fields, signed)
            anew = await self._sign_in.change_password(signed, current, new)
        except (BadSignIn, TooManyGuesses, WeakPassword, ForeignForm) as error:
            return self._account(request, signed, error=error)
        return self._sessions.begin(_see("/account?changed=1"), anew)

    async def _start_session(self, request: Request, signed: SignedIn, to: str) -> Response:
        before = self._sessions.current(request.scope)
        if before is not None:
            await self._sign_in.sign_out(before)
        return self._sessions.begin(_see(to), signed)

    def _form(
        self,
        request: Request,
        *,
        to: str,
        name: str = "",
        error: BadSignIn | TooManyGuesses | ForeignForm | None = None,
    ) -> Response:
        status = HTTPStatus.OK if error is None else answer_to(error).status
        return render(
            request.scope, "sign_in.html", status=status, headers=_PRIVATE, to=to, name=name, problem=_problem(error)
        )

    def _account(
        self,
        request: Request,
        signed: SignedIn,
        error: BadSignIn | TooManyGuesses | WeakPassword | ForeignForm | None = None,
        **shown: Any,
    ) -> Response:
        return render(
            request.scope,
            "account.html",
            status=HTTPStatus.OK if error is None else answer_to(error).status,
            headers=_PRIVATE,
            person=signed.person,
            csrf=csrf_of(signed.text),
            problem=_problem(error),
            shortest=SHORTEST_PASSWORD,
            changed="changed" in request.query_params,
            has_claims=self._has_claims,
            has_jobs=self._has_jobs and signed.person.role >= Role.LIBRARIAN,
            has_transfers=self._has_transfers and signed.person.role >= Role.LIBRARIAN,
            **shown,
        )

    def _network(self, request: Request) -> str:
        """The reader's network, as it is logged and counted: a whole address would be too much personal data, and one
        client may have many."""
        address = reader_address(request.scope, self._proxies)
        return "unknown" if address is None else truncate_address(str(address))


def _problem(error: BadSignIn | TooManyGuesses | WeakPassword | ForeignForm | None) -> str:
    return "" if error is None else error.code


def _see(place: str) -> Response:
    return Response(b"", HTTPStatus.SEE_OTHER, {"location": place, **_PRIVATE})
