"""`/account`: a person's own account: display name, password, second factor, tokens for programs, and sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.service.integrity.integrity import Integrity
from ibi.people.model.account import ROLE_SCOPES, Role, Scope, SecondFactor
from ibi.people.pages.administration import ROLES
from ibi.people.pages.sign_in import LINKING
from ibi.people.rules.errors import (
    BadSignIn,
    BeyondRole,
    InvalidPersonName,
    InvalidScope,
    InvalidTokenName,
    ProviderAway,
    ProviderBusy,
    ProviderRefused,
    WeakPassword,
)
from ibi.people.rules.names import MOST_SHOWN, SHORTEST_PASSWORD
from ibi.people.rules.sign_in import MAX_NAME, enrolment_uri, spell_secret
from ibi.people.service.account_admin import LocalTokenAdmin, TooManyTokens, TooManyTokensMade
from ibi.people.service.provider_sign_in import ProviderSignIn
from ibi.people.service.recovery import AccountRecovery, SecondFactors
from ibi.people.service.sign_in import SignIn, TooManyGuesses
from ibi.reading.pages.persistent_links import qr_code
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.networks import IpNetwork
from ibi.standard.storage_errors import StorageError
from ibi.web.reader import (
    PRIVATE,
    ForeignForm,
    Sessions,
    Visitor,
    find_visitor,
    message,
    named_language,
    page_language,
    see_other,
    translations,
)
from ibi.web.rendering import SITE, SiteFacts, render
from ibi.web.request_errors import InvalidMember

ACCOUNT: Final = "/account"
_MOST_DAMAGED: Final = 100
"""Largest number of damaged items on the page of an administrator."""
_DAY: Final = 86_400
LIFETIMES: Final = {
    "30": message("30 days"),
    "90": message("90 days"),
    "365": message("one year"),
    "": message("until it is revoked"),
}
SCOPES: Final = {
    Scope.READ: message("read: complete records, with their owners"),
    Scope.DEPOSIT: message("deposit: new items, and changes to your own"),
    Scope.EDIT: message("edit: changes to the items of all depositors"),
    Scope.ADMIN: message("admin: everything"),
    Scope.COPY: message("copy: reads restricted files, changes nothing"),
}
_REFUSED: Final = (
    *(BadSignIn, TooManyGuesses, WeakPassword, ForeignForm),
    *(BeyondRole, InvalidScope, InvalidTokenName, InvalidPersonName, TooManyTokens, TooManyTokensMade),
    *(ProviderAway, ProviderBusy, ProviderRefused),
)
"""Errors that the page shows at its forms."""

Fields: TypeAlias = Mapping[str, str]
_Act: TypeAlias = Callable[[Request, Visitor, Fields], Awaitable[Response]]
"""What a button of the page does."""


class AccountPage:
    """The account page. `proxies` are the networks that are trusted to name their client."""

    def __init__(
        self,
        sign_in: SignIn,
        sessions: Sessions,
        recovery: AccountRecovery,
        tokens: LocalTokenAdmin,
        proxies: tuple[IpNetwork, ...] = (),
        integrity: Integrity | None = None,
        provider: ProviderSignIn | None = None,
    ) -> None:
        """`integrity` makes the page show administrators the state of the store."""
        self._provider, self._factors = provider, SecondFactors(sign_in, recovery.admin)
        self._sign_in, self._sessions, self._admin, self._tokens = sign_in, sessions, recovery.admin, tokens
        self.proxies, self._integrity = proxies, integrity
        self._acts: dict[str, _Act] = {
            "password": self._change_password,
            "shown": self._change_shown_name,
            "language": self._choose_language,
            "token": self._create_token,
            "revoke": self._revoke_token,
            "end": self._end_sessions,
            "factor-begin": self._begin_factor,
            "factor-confirm": self._confirm_factor,
            "factor-end": self._end_factor,
        }
        if provider is not None:
            self._acts["link"] = partial(self._go_to_provider, provider)
            self._acts["unlink"] = partial(self._unlink, provider)

    def routes(self) -> list[Route]:
        return [Route(ACCOUNT, self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        visitor = find_visitor(request, self)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor)
        act = ""
        try:
            fields = await visitor.read_form(request)
            act = fields.get("act", "password")
            if act not in self._acts:
                raise InvalidMember(field="act", reason="there is no such act")
            return await self._acts[act](request, visitor, fields)
        except _REFUSED as error:
            return await self._show(request, visitor, error=error, act=act)

    async def _change_shown_name(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        admin, name = self._admin.acting_as(visitor.actor), visitor.signed.person.name
        await asyncio.to_thread(lambda: admin.describe(name, shown=fields.get("shown", "")))
        return see_other(f"{ACCOUNT}?done=shown")

    async def _choose_language(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        chosen = named_language(fields.get("language", ""))
        if chosen is None:
            raise InvalidMember(field="language", reason="there are no pages in it")
        admin, name = self._admin.acting_as(visitor.actor), visitor.signed.person.name
        await asyncio.to_thread(lambda: admin.describe(name, language=chosen))
        return see_other(f"{ACCOUNT}?done=language")

    async def _revoke_token(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        tokens, name = self._tokens.acting_as(visitor.actor), visitor.signed.person.name
        await asyncio.to_thread(tokens.revoke_token_of, name, fields.get("token", ""))
        return see_other(f"{ACCOUNT}?done=revoked#tokens")

    async def _end_sessions(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        identity, admin = fields.get("session") or None, self._admin.acting_as(visitor.actor)
        if await self._sign_in.end_sessions(visitor.signed, identity):
            await asyncio.to_thread(admin.record, "end sessions", visitor.signed.person, identity or "all others")
        return see_other(f"{ACCOUNT}?done=ended#sessions")

    async def _begin_factor(self, _: Request, visitor: Visitor, __: Fields) -> Response:
        await self._factors.begin(visitor.signed)
        return see_other(f"{ACCOUNT}#factor")

    async def _confirm_factor(self, request: Request, visitor: Visitor, fields: Fields) -> Response:
        codes = await self._factors.confirm(visitor.signed, fields.get("code", ""), visitor.actor)
        # Not after a redirect: only this answer shows the codes.
        return await self._show(request, visitor, codes=codes)

    async def _end_factor(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        await self._factors.end(visitor.signed, fields.get("code", ""), visitor.actor)
        return see_other(f"{ACCOUNT}?done=factor-ended")

    async def _unlink(self, provider: ProviderSignIn, _: Request, visitor: Visitor, __: Fields) -> Response:
        await provider.unlink(visitor.signed, visitor.actor)
        return see_other(f"{ACCOUNT}?done=unlinked")

    async def _go_to_provider(
        self, provider: ProviderSignIn, request: Request, visitor: Visitor, _: Fields
    ) -> Response:
        """Render a page with a link to the provider.

        It is a link, because browsers follow no form from here to another site. The request came by a form, because
        only a form is proven to be from this site.
        """
        secret, url = await provider.begin()
        answer = render(request.scope, "sign_in_continue.html", headers=PRIVATE, url=url, provider=provider.name)
        return self._sessions.begin_errand(answer, secret, f"{LINKING}{visitor.signed.session.id}")

    async def _change_password(self, _: Request, visitor: Visitor, fields: Fields) -> Response:
        admin = self._admin.acting_as(visitor.actor)
        anew = await self._sign_in.change_password(visitor.signed, fields.get("current", ""), fields.get("new", ""))
        await asyncio.to_thread(admin.record, "change own password", visitor.signed.person)
        return self._sessions.begin(see_other(f"{ACCOUNT}?changed=1"), anew)

    async def _create_token(self, request: Request, visitor: Visitor, fields: Fields) -> Response:
        days, name = fields.get("days", "90"), fields.get("name", "").strip()
        if days not in LIFETIMES:
            raise InvalidMember(field="days", reason="it is 30, 90, 365 or empty")
        until = Instant(self._sign_in.clocks.read().wall.seconds + int(days) * _DAY) if days else None
        tokens, person = self._tokens.acting_as(visitor.actor), visitor.signed.person.name

        expires = None if until is None else str(until)
        made = await asyncio.to_thread(tokens.create_own_token, fields.get("scope", ""), name, expires, person)
        # Not after a redirect: only this answer shows the text.
        return await self._show(request, visitor, made=made)

    async def _show(
        self, request: Request, visitor: Visitor, *, error: IbiError | None = None, act: str = "", **shown: Any
    ) -> Response:
        person = visitor.signed.person
        now = self._sign_in.clocks.read().wall
        factor = await self._factors.find(visitor.signed)
        return render(
            request.scope,
            "account.html",
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=PRIVATE,
            person=person,
            csrf=visitor.csrf,
            problem="" if error is None else error.code,
            act=act,
            shortest=SHORTEST_PASSWORD,
            most_shown=MOST_SHOWN,
            most_token_name=MAX_NAME,
            roles=ROLES,
            scopes={scope: words for scope, words in SCOPES.items() if scope in ROLE_SCOPES[person.role]},
            lifetimes=LIFETIMES,
            tokens=await asyncio.to_thread(self._tokens.tokens_of, person.name),
            now=now,
            sessions=await self._sign_in.ask(lambda: self._sign_in.sessions_of(visitor.signed)),
            current=visitor.signed.session.id,
            changed="changed" in request.query_params,
            done=request.query_params.get("done", ""),
            welcome="welcome" in request.query_params,
            is_librarian=person.role >= Role.LIBRARIAN,
            is_admin=person.role is Role.ADMIN,
            provider=None if self._provider is None else self._provider.name,
            is_linked=self._provider is not None and await asyncio.to_thread(self._provider.is_linked, person),
            has_factors=self._sign_in.means is not None,
            factor=factor,
            **_enrolment(request, person.name, factor),
            **{"made": None, "codes": (), **await self._wholeness(person.role), **shown},
        )

    async def _wholeness(self, role: Role) -> dict[str, Any]:
        """Return the state of the store, for administrators; empty if it is unknown."""
        if self._integrity is None or role is not Role.ADMIN:
            return {}
        try:
            summary = await asyncio.to_thread(self._integrity.summary)
        except StorageError:
            return {}
        damaged = sorted(self._integrity.ledger.damaged_items().values(), key=lambda each: each.name)
        newest = None if summary.newest is None else Instant(summary.newest)
        return {"integrity": summary, "damaged": damaged[:_MOST_DAMAGED], "newest": newest}


def _enrolment(request: Request, person: str, factor: SecondFactor | None) -> dict[str, Any]:
    """Return the QR code and the spelled secret for a device, until its first code is confirmed."""
    if factor is None or factor.confirmed is not None:
        return {"qr": None, "spelled": ""}
    facts: SiteFacts = request.scope.get(SITE, SiteFacts())
    words = translations(page_language(request.scope)).gettext("Secret for your authenticator app")
    # Bypass the cache of codes: the secret must not stay there.
    drawn = qr_code.__wrapped__(enrolment_uri(factor.secret, person, facts.name), words)
    return {"qr": drawn, "spelled": spell_secret(factor.secret)}
