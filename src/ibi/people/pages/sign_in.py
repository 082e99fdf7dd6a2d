"""`/sign-in` and the paths below it, and `/sign-out`: sign in by password, link or provider, accept an invitation,
choose a new password, and sign out. `/account` is in `ibi.people.pages.account`."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.people.model.account import ROLE_SCOPE, Actor, person_account
from ibi.people.pages.administration import ROLES, password_letter
from ibi.people.rules.errors import (
    BadInvitation,
    BadSignIn,
    CodeNeeded,
    IdentityTaken,
    InvalidPersonName,
    MailTaken,
    PersonExists,
    ProviderAway,
    ProviderBusy,
    ProviderRefused,
    UnknownIdentity,
    WeakPassword,
)
from ibi.people.rules.names import MOST_NAME, SHORTEST_PASSWORD
from ibi.people.service.provider_sign_in import CALLBACK, ProviderSignIn
from ibi.people.service.recovery import AccountRecovery
from ibi.people.service.sign_in import Device, SignedIn, SignIn, TooManyGuesses
from ibi.standard.errors import IbiError
from ibi.standard.networks import IpNetwork
from ibi.web.errors import retry_header
from ibi.web.reader import PRIVATE, ForeignForm, Sessions, local_target, page_language, read_form, see_other
from ibi.web.rendering import SITE, SiteFacts, render
from ibi.web.request import reader_address, truncate_address, values

_REFUSED: Final = (BadSignIn, TooManyGuesses, ForeignForm, WeakPassword, InvalidPersonName, PersonExists, MailTaken)
"""Errors that the page shows above its form."""
_NOT_BY_PROVIDER: Final = (
    *(BadSignIn, TooManyGuesses, UnknownIdentity, IdentityTaken),
    *(ProviderAway, ProviderBusy, ProviderRefused),
)
LINKING: Final = "link:"
"""Prefix of the destination of an errand that links an account at the provider. The id of the session follows."""
_BROWSERS: Final = (
    *(("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome")),
    *(("Chromium/", "Chromium"), ("Chrome/", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl")),
)
_SYSTEMS: Final = (
    *(("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Windows", "Windows"), ("Mac OS X", "macOS")),
    *(("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


def device_of(request: Request, proxies: tuple[IpNetwork, ...]) -> Device:
    """Return the client of a request, as it is logged, counted and shown.

    A network replaces the address: a whole address would be too much personal data, and one client may have many.
    """
    address = reader_address(request.scope, proxies)
    network = "unknown" if address is None else truncate_address(str(address))
    agent = " ".join(values(request.scope["headers"], b"user-agent"))[:1000]
    found = (next((name for sign, name in table if sign in agent), "") for table in (_BROWSERS, _SYSTEMS))
    return Device(network, ", ".join(filter(None, found)))


class SignInPages:
    """Pages to sign in and out. `proxies` are the networks that are trusted to name their client."""

    def __init__(
        self,
        sign_in: SignIn,
        sessions: Sessions,
        recovery: AccountRecovery | None = None,
        proxies: tuple[IpNetwork, ...] = (),
        provider: ProviderSignIn | None = None,
    ) -> None:
        """`provider` is another way to sign in, if it is given."""
        self._sign_in, self._sessions, self._proxies, self._provider = sign_in, sessions, proxies, provider
        self._recovery = recovery or AccountRecovery(sign_in)
        self._admin = self._recovery.admin

    def routes(self) -> list[Route]:
        both = ["GET", "POST"]
        return [
            Route("/sign-in", self.sign_in, methods=both),
            Route("/sign-in/forgotten", self.forgotten, methods=both),
            Route("/sign-in/code", self.code, methods=["POST"]),
            Route("/sign-in/invitation/{secret}", self.invitation, methods=both),
            Route("/sign-in/password/{secret}", self.password, methods=both),
            *([] if self._provider is None else self._provider_routes()),
            Route("/sign-in/{secret}", self.link, methods=both),
            Route("/sign-out", self.leave, methods=["POST"]),
        ]

    async def sign_in(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        if self._sessions.current(request.scope) is not None:
            return see_other("/account")
        return self._form(request, to=local_target(request.query_params.get("to", "/")))

    async def _enter(self, request: Request) -> Response:
        fields = await read_form(request.scope, request.receive)
        name, to, device = fields.get("name", ""), local_target(fields.get("to", "/")), self._device(request)
        try:
            # Not checked against a session: the person may still be signed in from before.
            self._sessions.check_form(request.scope, fields, None)
            password, mark = fields.get("password", ""), self._sessions.mark(request.scope)
            signed = await self._sign_in.with_password(
                name, password, device.network, mark=mark, browser=device.browser
            )
        except CodeNeeded as needed:
            return self._code(request, needed.secret, to)
        except _REFUSED as error:
            return self._form(request, to=to, name=name[:100], error=error)
        return await self._start_session(request, signed, to)

    async def code(self, request: Request) -> Response:
        """Take a code of the second factor. The password was right already."""
        fields = await read_form(request.scope, request.receive)
        secret, to = fields.get("secret", ""), local_target(fields.get("to", "/"))
        try:
            self._sessions.check_form(request.scope, fields, None)
            signed = await self._sign_in.with_code(secret, fields.get("code", ""), self._device(request))
        except _REFUSED as error:
            return self._code(request, secret, to, error)
        return await self._start_session(request, signed, to)

    def _code(self, request: Request, secret: str, to: str, error: IbiError | None = None) -> Response:
        status = HTTPStatus.OK if error is None else error.kind.status
        shown = {"secret": secret[:100], "to": to, "problem": _problem(error)}
        return render(request.scope, "sign_in_code.html", status=status, headers=_headers(error), **shown)

    async def link(self, request: Request) -> Response:
        """Ask for confirmation, or sign in.

        A link alone changes nothing. Programs that scan mail follow links, and a page of another site could sign a
        reader in under another account than expected.
        """
        secret = request.path_params["secret"]
        try:
            if request.method != "POST":
                person = await self._sign_in.of_link(secret)
                return render(request.scope, "sign_in_link.html", headers=PRIVATE, person=person, secret=secret)
            self._sessions.check_form(request.scope, await read_form(request.scope, request.receive), None)
            signed = await self._sign_in.with_link(secret, self._device(request))
        except CodeNeeded as needed:
            return self._code(request, needed.secret, "/")
        except _REFUSED as error:
            return self._form(request, to="/", error=error)
        return await self._start_session(request, signed, "/")

    async def leave(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        fields = {} if signed is None else await read_form(request.scope, request.receive)
        # Checked without a session too: browsers send no cookie with a form of another site, and the answer would
        # delete the cookie.
        self._sessions.check_form(request.scope, fields, signed)
        if signed is not None:
            await self._sign_in.sign_out(signed)
        return self._sessions.end(see_other("/"))

    async def forgotten(self, request: Request) -> Response:
        """Ask for a link to choose a new password. The answer does not tell whether the account exists."""
        if request.method != "POST":
            return self._render_forgotten(request)
        fields = await read_form(request.scope, request.receive)
        name, language = fields.get("name", "").strip()[:200], page_language(request.scope)
        site = request.scope.get(SITE, SiteFacts()).name
        try:
            self._sessions.check_form(request.scope, fields, None)
            self._recovery.ask_for_password(
                name,
                self._device(request),
                self._address(request),
                lambda person, secret: password_letter(language, person, secret, self._recovery.public_url, site),
            )
        except _REFUSED as error:
            return self._render_forgotten(request, name=name, error=error)
        return self._render_forgotten(request, is_asked=True)

    def _render_forgotten(
        self, request: Request, *, name: str = "", is_asked: bool = False, error: IbiError | None = None
    ) -> Response:
        return render(
            request.scope,
            "sign_in_forgotten.html",
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=_headers(error),
            name=name,
            is_asked=is_asked,
            sends_mail=self._recovery.sends_mail,
            problem=_problem(error),
        )

    async def password(self, request: Request) -> Response:
        """Choose a new password by a link. A link alone changes nothing."""
        secret = request.path_params["secret"]
        try:
            person = await self._recovery.of_link(secret)
        except BadSignIn as error:
            return self._form(request, to="/", error=error)
        if request.method != "POST":
            return self._choose(request, secret, person=person)
        fields = await read_form(request.scope, request.receive)
        try:
            self._sessions.check_form(request.scope, fields, None)
            signed = await self._recovery.choose_password(
                secret, fields.get("new", ""), self._device(request), self._address(request)
            )
        except CodeNeeded as needed:
            return self._code(request, needed.secret, "/account?changed=1")
        except BadSignIn as error:
            return self._form(request, to="/", error=error)
        except _REFUSED as error:
            return self._choose(request, secret, person=person, error=error)
        return await self._start_session(request, signed, "/account?changed=1")

    def _choose(self, request: Request, secret: str, *, error: IbiError | None = None, **shown: Any) -> Response:
        """Render the page on which a person chooses a password, by a link or with an invitation."""
        return render(
            request.scope,
            "sign_in_choose.html",
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=_headers(error),
            secret=secret,
            shortest=SHORTEST_PASSWORD,
            most_name=MOST_NAME,
            roles=ROLES,
            problem=_problem(error),
            **{"person": None, "invitation": None, "name": "", **shown},
        )

    async def invitation(self, request: Request) -> Response:
        """Accept an invitation: choose a name and a password."""
        secret = request.path_params["secret"]
        try:
            invitation = await asyncio.to_thread(self._admin.find_invitation, secret)
        except BadInvitation as error:
            return self._form(request, to="/", error=error)
        if request.method != "POST":
            return self._choose(request, secret, invitation=invitation, name=invitation.shown)
        fields = await read_form(request.scope, request.receive)
        name = " ".join(fields.get("name", "").split())
        try:
            self._sessions.check_form(request.scope, fields, None)
            signed = await self._recovery.accept(
                secret, name, fields.get("new", ""), self._device(request), self._address(request)
            )
        except BadInvitation as error:
            return self._form(request, to="/", error=error)
        except _REFUSED as error:
            return self._choose(request, secret, invitation=invitation, name=name[:200], error=error)
        return await self._start_session(request, signed, "/account?welcome=1")

    def _provider_routes(self) -> list[Route]:
        return [Route("/sign-in/provider", self.go_to_provider), Route(CALLBACK, self.come_back)]

    async def go_to_provider(self, request: Request) -> Response:
        """Send the browser to the provider.

        It is a link, because browsers follow no form from here to another site. A request from another site gets the
        page with the link instead; otherwise that site could sign a reader in unasked.
        """
        assert self._provider is not None
        to = local_target(request.query_params.get("to", "/"))
        if set(values(request.scope["headers"], b"sec-fetch-site")) - {"same-origin", "none"}:
            return self._form(request, to=to)
        try:
            secret, url = await self._provider.begin()
        except _NOT_BY_PROVIDER as error:
            return self._form(request, to=to, error=error)
        answer = Response(b"", HTTPStatus.SEE_OTHER, {"location": url, **PRIVATE})
        return self._sessions.begin_errand(answer, secret, to)

    async def come_back(self, request: Request) -> Response:
        """Receive the browser from the provider: sign the person in, or link the two accounts."""
        assert self._provider is not None
        secret, to = self._sessions.errand(request.scope)
        pairs = request.query_params.multi_items()
        answer = dict(pairs)
        if len(answer) != len(pairs):
            answer = {}  # of two parameters with one name, neither counts
        try:
            if to.startswith(LINKING):
                return await self._link(request, secret, to.removeprefix(LINKING), answer)
            signed = await self._provider.sign_in(secret, answer, self._device(request), self._address(request))
        except CodeNeeded as needed:
            return self._sessions.end_errand(self._code(request, needed.secret, local_target(to)))
        except _NOT_BY_PROVIDER as error:
            return self._sessions.end_errand(self._form(request, to="/", error=error))
        return self._sessions.end_errand(await self._start_session(request, signed, local_target(to)))

    async def _link(self, request: Request, secret: str, session: str, answer: dict[str, str]) -> Response:
        signed = self._sessions.current(request.scope)
        if self._provider is None or signed is None or signed.session.id != session:
            raise BadSignIn()
        actor = Actor(person_account(signed.person.name), ROLE_SCOPE[signed.person.role], None, self._address(request))
        await self._provider.link(secret, answer, signed, actor)
        return self._sessions.end_errand(see_other("/account?done=linked"))

    async def _start_session(self, request: Request, signed: SignedIn, to: str) -> Response:
        before = self._sessions.current(request.scope)
        if before is not None:
            await self._sign_in.sign_out(before)
        await self._sign_in.note_language(signed.person, page_language(request.scope))
        return self._sessions.begin(see_other(to), signed)

    def _form(self, request: Request, *, to: str, name: str = "", error: IbiError | None = None) -> Response:
        status = HTTPStatus.OK if error is None else error.kind.status
        shown: dict[str, Any] = {"to": to, "name": name, "problem": _problem(error)}
        shown["provider"] = None if self._provider is None else self._provider.name
        return render(request.scope, "sign_in.html", status=status, headers=_headers(error), **shown)

    def _device(self, request: Request) -> Device:
        return device_of(request, self._proxies)

    def _address(self, request: Request) -> str:
        address = reader_address(request.scope, self._proxies)
        return "unknown" if address is None else str(address)


def _problem(error: IbiError | None) -> str:
    return "" if error is None else error.code


def _headers(error: IbiError | None) -> dict[str, str]:
    return {**PRIVATE, **({} if error is None else retry_header(error))}
