"""The language of a page's reader: the reader's choice or the browser's, with its translations.

Templates and code are in English. `locales/<language>/*.po` have the translations; all files of a language form one
catalogue. They are read uncompiled, so that no build step can be forgotten.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from importlib.resources import files
from io import BytesIO
from typing import Final, Protocol
from urllib.parse import parse_qsl, urlencode

from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from ibi.deposits.service.ledger import Depositor
from ibi.jobs.promptness import beside
from ibi.people.model.account import ROLE_SCOPE, Actor, Role, person_account
from ibi.people.rules.errors import RoleTooSmall
from ibi.people.rules.sign_in import SESSION_SECONDS, check_csrf, csrf_of
from ibi.people.service.sign_in import SignedIn, SignIn
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.language_choice import chosen_language, preferences
from ibi.standard.languages import LanguageTag
from ibi.standard.networks import IpNetwork
from ibi.standard.translatable import message as message
from ibi.web.body import read_body
from ibi.web.request import RawHeaders, address_text, authority, only_cookie, values
from ibi.web.request_errors import MalformedBody, PathNotFound, UnsupportedMediaType

PAGE_LANGUAGES: Final = ("en", "pt-BR", "es")
"""The first is the default."""

COOKIE: Final = "ibi-language"

_TAGS: Final = tuple(LanguageTag.parse(each, registered=True) for each in PAGE_LANGUAGES)


def page_language(scope: Scope) -> str:
    """Return the language for a request, one of `PAGE_LANGUAGES`."""
    headers = scope["headers"]
    cookie = only_cookie(headers, COOKIE)
    chosen = None if cookie is None else named_language(cookie)
    if chosen is not None:
        return chosen
    wishes = preferences(", ".join(values(headers, b"accept-language")))
    # A reader of pt-PT prefers pt-BR to English: a single variant of a wanted language is accepted.
    return str(chosen_language(_TAGS, wishes, _TAGS[0]))


def named_language(text: str) -> str | None:
    """Return the one of `PAGE_LANGUAGES` that a text names, in any case."""
    return next((each for each in PAGE_LANGUAGES if each.lower() == text.lower()), None)


_YEAR: Final = 365 * 24 * 3600


async def choose_language(request: Request) -> Response:
    chosen = named_language(request.path_params["tag"])
    if chosen is None:
        raise PathNotFound()
    to = local_target(request.query_params.get("to", "/"))
    answer = see_other(to)
    answer.set_cookie(
        COOKIE, chosen, max_age=_YEAR, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
    return answer


def local_target(text: str) -> str:
    """Return `text` if it is a path on this site, or else the home page.

    A link that looks like ours must not lead to another site.
    """
    ours = (
        text[:1] == "/" and text[1:2] not in {"/", "\\"} and text.isascii() and text.isprintable() and " " not in text
    )
    return text if ours else "/"


LOCALES: Final = files("ibi.web") / "locales"


@lru_cache
def locale_of(language: str) -> Locale:
    """Return the names of languages, months and so on, in one of `PAGE_LANGUAGES`."""
    return Locale.parse(language, sep="-")


def language_name(tag: str, language: str) -> str:
    """Return the name of a language: `pt-BR` is Portuguese (Brazil), or português (Brasil). An unknown tag stays as it
    is."""
    locale = locale_of(language)
    name, _, country = tag.partition("-")
    known = locale.languages.get(name)
    if known is None:
        return tag
    return f"{known} ({locale.territories.get(country, country)})" if country else str(known)


@lru_cache
def translations(language: str) -> NullTranslations:
    """Return `gettext`, `ngettext` and `pgettext` of one of `PAGE_LANGUAGES`."""
    folder = LOCALES / str(locale_of(language))
    if not folder.is_dir():
        return NullTranslations()
    merged: Translations | None = None
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".po"):
            read = _parse_catalogue(file.read_bytes(), language)
            merged = read if merged is None else merged.merge(read)
    return merged or NullTranslations()


def letter_translations(language: str | None) -> NullTranslations:
    """Return the translations for an e-mail, in the recipient's language, or in the first page language by default."""
    return translations((language and named_language(language)) or PAGE_LANGUAGES[0])


def _parse_catalogue(po: bytes, language: str) -> Translations:
    catalog, compiled = read_po(BytesIO(po), locale=locale_of(language)), BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled)


SESSION_COOKIE: Final = "ibi-session"
SECURE_COOKIE: Final = f"__Host-{SESSION_COOKIE}"
"""The name of the cookie over TLS.

Browsers accept it from this host alone: no other host of the domain can plant one.
"""
MARK_COOKIE: Final = "ibi-known"
ERRAND_COOKIE: Final = "ibi-errand"
_ERRAND_SECONDS: Final = 600
"""Seconds for a sign-in at a provider."""
_MARK_SECONDS: Final = 90 * 86_400
_MOST_FIELDS: Final = 50
SIGNED_IN: Final = "ibi.signed_in"
"""The scope key of a session that was looked up before the request is handled."""
SESSIONS: Final = "ibi.sessions"
"""The scope key of the `Sessions`, present if people can sign in."""
CSRF_HEADER: Final = b"x-csrf-token"
"""The header with the CSRF token of our scripts. They take it from the field `csrf` of a form."""
_WITHOUT_PAGES: Final = ("/api/", "/healthz", "/metrics", "/readyz", "/static/")
"""Prefixes of paths under which only errors are pages. Those need no storage."""
_FORM: Final = "application/x-www-form-urlencoded"


class ForeignForm(IbiError):
    """This form is not from a page of this site as it is now: go back, load the page again and repeat it."""

    code = "foreign-form"
    kind = ErrorKind.FORBIDDEN


class Sessions:
    """The sessions of one site. `public_url` tells whether browsers use TLS, and which pages are ours."""

    def __init__(self, sign_in: SignIn, public_url: str) -> None:
        self._sign_in, self.is_prompt = sign_in, sign_in.is_prompt
        self._secure = public_url.lower().startswith("https://")
        self._name = SECURE_COOKIE if self._secure else SESSION_COOKIE
        self._mark_name = f"__Host-{MARK_COOKIE}" if self._secure else MARK_COOKIE
        self._errand_name = f"__Host-{ERRAND_COOKIE}" if self._secure else ERRAND_COOKIE
        self._authority = authority(public_url)

    def current(self, scope: Scope) -> SignedIn | None:
        """Return the session of the sender of a request.

        Nearly all requests have none, and cost only a look at the headers.
        """
        if not self.is_prompt:
            return self._looked_up(scope)
        text = only_cookie(scope["headers"], self._name)
        return None if text is None else self._sign_in.current(text)

    def full_name(self, account: str | None, name: str) -> str:
        """Return the display name of the person with that account, or else `name`. This call blocks."""
        person = self._sign_in.people.find(name) if account == person_account(name) else None
        return name if person is None else person.full_name

    async def look_up(self, scope: Scope) -> None:
        """Look up the session of a request before a page asks for it, unless `is_prompt`.

        Otherwise the page would block the event loop. Requests to `_WITHOUT_PAGES` get no session, except those of our
        scripts.
        """
        if scope["type"] != "http":
            return
        if scope["path"].startswith(_WITHOUT_PAGES) and not values(scope["headers"], CSRF_HEADER):
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
        """Return the mark that the browser got at an earlier sign-in."""
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

    def begin_errand(self, answer: Response, secret: str, to: str) -> Response:
        """Set a cookie for the way back from a provider, with the secret and the page to open then."""
        kept = f"{secret}.{urlsafe_b64encode(to.encode()).decode().rstrip('=')}"
        answer.set_cookie(
            self._errand_name, kept, max_age=_ERRAND_SECONDS, httponly=True, samesite="lax", secure=self._secure
        )
        return answer

    def errand(self, scope: Scope) -> tuple[str, str]:
        """Return the secret that a browser brings back, and its destination. The secret is empty if there is none."""
        secret, _, to = (only_cookie(scope["headers"], self._errand_name) or "").partition(".")
        try:
            return secret, urlsafe_b64decode(f"{to}==").decode()
        except ValueError:
            return "", "/"

    def end_errand(self, answer: Response) -> Response:
        answer.delete_cookie(self._errand_name, httponly=True, samesite="lax", secure=self._secure)
        return answer

    def check_form(self, scope: Scope, fields: dict[str, str], signed: SignedIn | None) -> None:
        """Raise `ForeignForm` unless a page of this site sent the form.

        The browser's headers tell this, and the forms of a session carry a token.
        """
        if not self._is_from_here(scope["headers"]):
            raise ForeignForm()
        if signed is not None and not check_csrf(signed.text, fields.get("csrf", "")):
            raise ForeignForm()

    def _is_from_here(self, headers: RawHeaders) -> bool:
        """Return whether the form comes from this site.

        Every current browser sends one of these headers. A program sends neither, and has no cookie by accident.
        """
        sites = values(headers, b"sec-fetch-site")
        if sites:
            return all(site in {"same-origin", "none"} for site in sites)
        # A proxy may use another name for this host than browsers do.
        here = {self._authority, *(host.strip().lower() for host in values(headers, b"host"))} - {None, ""}
        return all(authority(url) in here for name in (b"origin", b"referer") for url in values(headers, name))


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    """Read the fields of a small form. If two have the same name, the last counts."""
    headers = scope["headers"]
    if ", ".join(values(headers, b"content-type")).partition(";")[0].strip().lower() != _FORM:
        raise UnsupportedMediaType(field="Content-Type", wanted=_FORM)
    body = await read_body(headers, receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise MalformedBody(reason="it is not a form") from None


PRIVATE: Final = {"cache-control": "no-store"}
"""Headers of answers for one person."""


def see_other(place: str) -> Response:
    """Return a redirect to another page: after a form, or to sign in."""
    return Response(b"", HTTPStatus.SEE_OTHER, {"location": place, **PRIVATE})


def require_librarian(signed: SignedIn) -> None:
    if signed.person.role < Role.LIBRARIAN:
        raise RoleTooSmall(role=signed.person.role, needed=Role.LIBRARIAN)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in person, for pages that change something."""

    signed: SignedIn
    sessions: Sessions
    address: str
    """The client's address, for the audit log."""

    @property
    def name(self) -> str:
        return self.signed.person.name

    @property
    def actor(self) -> Actor:
        """The actor for `ibi.items.rules.rights`: the person's account, with the scope of the role."""
        person = self.signed.person
        return Actor(person_account(person.name), ROLE_SCOPE[person.role], None, self.address)

    @property
    def depositor(self) -> Depositor:
        """The depositor for this person's drafts, as with a token of the same person."""
        return Depositor(person_account(self.name), self.name, self.actor.scope, None, self.address)

    @property
    def csrf(self) -> str:
        """The token in every form of this session."""
        return csrf_of(self.signed.text)

    async def read_form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form of this visitor. Raise `ForeignForm` if another site sent it."""
        fields = await read_form(request.scope, request.receive)
        self.sessions.check_form(request.scope, fields, self.signed)
        return fields


class BehindProxies(Protocol):
    """A site or a set of pages that knows which networks may name their client."""

    @property
    def proxies(self) -> tuple[IpNetwork, ...]: ...


def find_visitor(request: Request, site: BehindProxies, least: Role = Role.READER) -> Visitor | Response:
    """Return the signed-in person, or a redirect to the sign-in page, which leads back here.

    Raise `RoleTooSmall` if the role is less than `least`.
    """
    sessions = request.scope.get(SESSIONS)
    signed = sessions.current(request.scope) if isinstance(sessions, Sessions) else None
    if signed is None or not isinstance(sessions, Sessions):
        return see_other(f"/sign-in?{urlencode({'to': local_target(request.url.path)}, safe='/')}")
    if signed.person.role < least:
        raise RoleTooSmall(role=signed.person.role, needed=least)
    return Visitor(signed, sessions, address_text(request.scope, site.proxies))
