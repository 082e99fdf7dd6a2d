"""Sessions of signed-in browsers: the cookie, and the check that a form comes from our own pages."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.types import Receive, Scope

from ibi.accounts.sign_in import SESSION_SECONDS, check_csrf
from ibi.errors import IbiError
from ibi.services.accounts.sign_in import SignedIn, SignIn
from ibi.services.promptness import beside
from ibi.web.http.body import read_body
from ibi.web.http.request import RawHeaders, authority, only_cookie, values
from ibi.web.http.request_errors import MalformedBody, UnsupportedMediaType

COOKIE: Final = "ibi-session"
SECURE_COOKIE: Final = f"__Host-{COOKIE}"
"""The name of the cookie over TLS. Browsers accept it from this host alone: no other host of the domain can plant
one."""
MARK_COOKIE: Final = "ibi-known"
_MARK_SECONDS: Final = 90 * 86_400
_MOST_FIELDS: Final = 50
SIGNED_IN: Final = "ibi.signed_in"
"""The key of a session in the scope of a request, where it was looked up before."""
_WITHOUT_PAGES: Final = ("/api/", "/healthz", "/metrics", "/readyz", "/static/")
"""Beginnings of paths under which only errors are pages: those need no storage."""
_FORM: Final = "application/x-www-form-urlencoded"


class ForeignForm(IbiError):
    """This form is not from a page of this site as it is now: go back, load the page again and repeat it."""

    code = "foreign-form"


class Sessions:
    """The sessions of one site. `public_url` tells whether browsers come over TLS, and which pages are ours."""

    def __init__(self, sign_in: SignIn, public_url: str) -> None:
        self._sign_in = sign_in
        self._secure = public_url.lower().startswith("https://")
        self._name = SECURE_COOKIE if self._secure else COOKIE
        self._mark_name = f"__Host-{MARK_COOKIE}" if self._secure else MARK_COOKIE
        self._authority = authority(public_url)

    def current(self, scope: Scope) -> SignedIn | None:
        """The person who sent a request; None for nearly all requests, at the cost of a look at the headers."""
        if not self._sign_in.is_prompt:
            return self._looked_up(scope)
        text = only_cookie(scope["headers"], self._name)
        return None if text is None else self._sign_in.current(text)

    async def look_up(self, scope: Scope) -> None:
        """Look up the session of a request before a page asks for it, where a page would make the event loop wait.
        Requests to `_WITHOUT_PAGES` have none then."""
        if self._sign_in.is_prompt or scope["type"] != "http" or scope["path"].startswith(_WITHOUT_PAGES):
            return
        text = only_cookie(scope["headers"], self._name)
        if text is None:
            return
        try:
            scope[SIGNED_IN] = await beside(lambda: self._sign_in.current(text))
        except IbiError as error:  # raised when a page asks for it
            scope[SIGNED_IN] = error

    def _looked_up(self, scope: Scope) -> SignedIn | None:
        found: SignedIn | IbiError | None = scope.get(SIGNED_IN)
        if isinstance(found, IbiError):
            raise found
        return found

    def mark(self, scope: Scope) -> str | None:
        """The mark that the browser got at an earlier sign-in."""
        return only_cookie(scope["headers"], self._mark_name)

    def begin(self, answer: Response, signed: SignedIn) -> Response:
        mark = self._sign_in.mark(signed.person.name)
        answer.set_cookie(
            self._mark_name, mark, max_age=_MARK_SECONDS, httponly=True, samesite="strict", secure=self._secure
        )
        answer.set_cookie(
            self._name, signed.text, max_age=SESSION_SECONDS, httponly=True, samesite="lax", secure=self._secure
        )
        return answer

    def end(self, answer: Response) -> Response:
        answer.delete_cookie(self._name, httponly=True, samesite="lax", secure=self._secure)
        return answer

    def check_form(self, scope: Scope, fields: dict[str, str], signed: SignedIn | None) -> None:
        """Raise `ForeignForm` unless one of our own pages sent the form: the browser's headers say so, and a session's
        forms carry a token."""
        if not self._is_from_here(scope["headers"]):
            raise ForeignForm()
        if signed is not None and not check_csrf(signed.text, fields.get("csrf", "")):
            raise ForeignForm()

    def _is_from_here(self, headers: RawHeaders) -> bool:
        """Whether the form comes from this site. Every current browser says so in one header or the other; a program
        sends neither, and has no cookie by accident."""
        sites = values(headers, b"sec-fetch-site")
        if sites:
            return all(site in {"same-origin", "none"} for site in sites)
        # A proxy may use another name for this host than browsers do.
        here = {self._authority, *(host.strip().lower() for host in values(headers, b"host"))} - {None, ""}
        return all(authority(url) in here for name in (b"origin", b"referer") for url in values(headers, name))


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    """Read the fields of a small form; of two with one name, the last counts."""
    headers = scope["headers"]
    if ", ".join(values(headers, b"content-type")).partition(";")[0].strip().lower() != _FORM:
        raise UnsupportedMediaType(field="Content-Type", wanted=_FORM)
    body = await read_body(headers, receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise MalformedBody(reason="it is not a form") from None
