"""Browsers that are signed in: the cookie, and forms that only our own pages can send."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.responses import Response
from starlette.types import Receive, Scope

from ibi.accounts.sign_in import SESSION_SECONDS, check_csrf
from ibi.errors import IbiError
from ibi.services.sign_in import SignedIn, SignIn
from ibi.web.body import read_body
from ibi.web.headers import RawHeaders, values
from ibi.web.refusals import MalformedBody, UnsupportedMediaType

__all__ = ["COOKIE", "ForeignForm", "Sessions", "read_form"]

COOKIE: Final = "ibi-session"
_LONGEST: Final = 4096
_MOST_FIELDS: Final = 50
_FORM: Final = "application/x-www-form-urlencoded"


class ForeignForm(IbiError):
    """This form is not from a page of this site as it is now: go back, load the page again and repeat it."""

    code = "foreign-form"


class Sessions:
    """Of one site. `public_url` tells whether browsers come over TLS, and what our own pages are."""

    def __init__(self, sign_in: SignIn, public_url: str) -> None:
        self._sign_in = sign_in
        self._secure = public_url.startswith("https://")

    def current(self, scope: Scope) -> SignedIn | None:
        """Who sent a request; None for nearly everybody, at the cost of a look at the headers."""
        text = _cookie(scope["headers"])
        return None if text is None else self._sign_in.current(text)

    def begin(self, answer: Response, signed: SignedIn) -> Response:
        answer.set_cookie(
            COOKIE, signed.text, max_age=SESSION_SECONDS, httponly=True, samesite="lax", secure=self._secure
        )
        return answer

    def end(self, answer: Response) -> Response:
        answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=self._secure)
        return answer

    @staticmethod
    def check_form(scope: Scope, fields: dict[str, str], signed: SignedIn | None) -> None:
        """`ForeignForm` unless one of our own pages sent it: browsers say whence, and a session's forms prove it."""
        if not _is_from_here(scope):
            raise ForeignForm()
        if signed is not None and not check_csrf(signed.text, fields.get("csrf", "")):
            raise ForeignForm()


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    """The fields of a small form; the last of two of one name."""
    headers = scope["headers"]
    if ", ".join(values(headers, b"content-type")).partition(";")[0].strip().lower() != _FORM:
        raise UnsupportedMediaType(field="Content-Type", wanted=_FORM)
    body = await read_body(headers, receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise MalformedBody(reason="it is not a form") from None


def _cookie(headers: RawHeaders) -> str | None:
    text = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    if COOKIE not in text or len(text) > _LONGEST:
        return None
    try:
        morsel = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return None
    return None if morsel is None else morsel.value


def _is_from_here(scope: Scope) -> bool:
    """Every browser of today says from where a form comes, in one header or the other; a program says neither, and
    holds no cookie by accident."""
    headers = scope["headers"]
    sites = values(headers, b"sec-fetch-site")
    if sites:
        return all(site in {"same-origin", "none"} for site in sites)
    hosts = values(headers, b"host")
    return all(urlsplit(origin).netloc in hosts for origin in values(headers, b"origin"))
