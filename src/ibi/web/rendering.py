"""Render templates to responses, in the reader's language, escaped, and with scripts of this site only.

Templates have `_()`, `ngettext()` and `{% trans %}` for messages; `language`, `target` and `site`; `static('ibi.css')`;
and the filters `date`, `moment`, `month`, `number`, `size`, `language_name`, `kind_name`, `short`, and `said` for
errors. A depositor's text is escaped, shortened to a readable length, and put in `<bdi>`. Every value in a template
closes the changes of writing direction that it opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from types import CodeType
from typing import Any, Final, NamedTuple

from babel.core import UnknownLocaleError
from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal
from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from ibi.items.model.item_types import find_coar_type
from ibi.people.model.account import Role
from ibi.people.rules.sign_in import csrf_of
from ibi.standard.instant import Instant
from ibi.standard.origin import InvalidOrigin, Origin
from ibi.standard.safe_text import close_directions
from ibi.web.reader import PAGE_LANGUAGES, SESSIONS, Sessions, language_name, locale_of, page_language, translations
from ibi.web.request import raw_target
from ibi.web.request_errors import PathNotFound
from ibi.web.words import short

_FOLDER: Final = files("ibi.web") / "static"
_MEDIA: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "txt": "text/plain; charset=utf-8",
}


def static_url(name: str) -> str:
    """Return the address of a static file. It changes with the content of the file."""
    return f"/static/{name}?v={_digest(name)}"


async def static_file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _names():
        raise PathNotFound()
    # A browser may cache an address with the right digest for good. Without the digest, the content may change.
    named = request.query_params.get("v") == _digest(name)
    caching = "public, max-age=31536000, immutable" if named else "public, max-age=300"
    return Response(_content(name), 200, {"cache-control": caching}, _MEDIA[name.rpartition(".")[2]])


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in _FOLDER.iterdir() if each.name.rpartition(".")[2] in _MEDIA)


@lru_cache
def _content(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


@lru_cache
def _digest(name: str) -> str:
    return sha256(_content(name)).hexdigest()[:12]


SITE: Final = "ibi.site"
"""The key of the `SiteFacts` in a scope."""


POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""A page may load content from this host only. A page that shows a depositor's content extends this policy."""

# HTML cannot contain control characters other than white space, nor Unicode's noncharacters. This class lists the
# allowed characters in spans: it is forty times faster than a class of the forbidden ones.
_UNWRITABLE: Final = re.compile(
    "[^\t\n\f\r -~\xa0-\ufdcf\ufdf0-\ufffd"
    + "".join(f"{chr(plane << 16)}-{chr(plane << 16 | 0xFFFD)}" for plane in range(1, 17))
    + "]"
)
_MISSING: Final = "\ufffd"
_MOST_SHOWN: Final = 10**18
"""Larger numbers are shown as "greater than" this one: not every number can be formatted."""
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


class MenuLink(NamedTuple):
    """A link of the menu, shown if its page exists and the reader has at least this role. None: shown to all."""

    path: str
    words: str
    least: Role | None = None


class DocumentLink(NamedTuple):
    """A page that the owner of the site wrote."""

    path: str
    title: str
    name: str


@dataclass(frozen=True, slots=True)
class SiteLook:
    """The look of a site (`ibi.web.appearance`).

    It has the addresses of the logo and the style sheet, the theme colour for browsers, and the owner's pages in each
    language.
    """

    logo: str | None = None
    logo_type: str | None = None
    style: str | None = None
    theme: str | None = None
    documents: Mapping[str, tuple[DocumentLink, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """Facts for every page.

    `person` and `role` are those of the signed-in person; `csrf` is the token in the forms of that session. `paths` are
    the paths of the existing routes: no page links to a missing one. `menu` has the links of all capabilities.
    `description` and `contact` come from the settings.
    """

    name: str = "ibi"
    public_url: str = ""
    sandbox: bool = False
    person: str | None = None
    csrf: str | None = None
    role: Role | None = None
    paths: frozenset[str] = frozenset()
    menu: tuple[MenuLink, ...] = ()
    description: str | None = None
    contact: str | None = None
    look: SiteLook = field(default_factory=SiteLook)
    data: str | None = None
    """The data directory as a command line names it; None if it is the default of commands."""

    @property
    def data_option(self) -> str:
        """The option that points a command at this server's data directory.

        Only administrators, and readers on the machine itself, see where the directory is.
        """
        if self.data is None:
            return ""
        return f" --data {self.data if self.is_admin or _is_on_loopback(self.public_url) else '…'}"

    @property
    def contact_url(self) -> str | None:
        is_page = self.contact is not None and self.contact.startswith("http")
        return self.contact if self.contact is None or is_page else f"mailto:{self.contact}"

    def served_with(self, routes: Iterable[Route], menu: Iterable[MenuLink]) -> SiteFacts:
        return replace(self, paths=frozenset(route.path for route in routes), menu=tuple(menu))

    @property
    def main_links(self) -> tuple[MenuLink, ...]:
        return self._select_offered(each for each in self.menu if each.least is None)

    @property
    def desk_links(self) -> tuple[MenuLink, ...]:
        """The work pages of signed-in people. Each page checks the permissions itself."""
        return self._select_offered(each for each in self.menu if each.least is not None)

    @property
    def is_admin(self) -> bool:
        return self._has_role(Role.ADMIN)

    def may_visit(self, path: str) -> bool:
        """Return whether this page exists and the signed-in person may open it."""
        least = next((each.least for each in self.menu if each.least and path.startswith(each.path)), None)
        return path in self.paths and self._has_role(least)

    def _select_offered(self, links: Iterable[MenuLink]) -> tuple[MenuLink, ...]:
        return tuple(each for each in links if each.path in self.paths and self._has_role(each.least))

    def _has_role(self, least: Role | None) -> bool:
        return least is None or (self.role is not None and self.role >= least)


def _is_on_loopback(url: str) -> bool:
    try:
        origin = Origin.of_url(url)
    except InvalidOrigin:
        return False
    return origin.name == "localhost" or (origin.address is not None and origin.address.is_loopback)


_NO_FACTS = SiteFacts()


def render(
    scope: Scope,
    template: str,
    *,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> Response:
    """Render the page for the sender of a request.

    `headers` replace default headers of the same name, but `Vary` always contains the cookie.
    """
    language = page_language(scope)
    body = render_text(template, language, site=_site(scope), target=raw_target(scope), **context)
    ours = {
        "content-security-policy": POLICY,
        "content-language": language,
        # Without a referrer for this site, browsers would not prove that a form is from this site.
        "referrer-policy": "same-origin",
        "vary": "Accept, Accept-Language, Cookie",
        "cache-control": "no-cache, private",
    }
    sent = {**ours, **(headers or {})}
    if "Cookie" not in sent["vary"]:  # every page shows the signed-in person
        sent["vary"] += ", Cookie"
    return Response(body.encode(), status, sent, "text/html; charset=utf-8")


def _site(scope: Scope) -> SiteFacts:
    facts: SiteFacts = scope.get(SITE, _NO_FACTS)
    sessions: Sessions | None = scope.get(SESSIONS)
    signed = None if sessions is None else sessions.current(scope)
    if signed is None:
        return facts
    person = signed.person
    return replace(facts, person=person.full_name, role=person.role, csrf=csrf_of(signed.text))


def render_text(template: str, language: str, **context: Any) -> str:
    """Render a document. Replace characters that HTML cannot contain."""
    written = _environment(language).get_template(template).render(language=language, **context)
    return _UNWRITABLE.sub(_MISSING, written)


def shown_text(text: str) -> str:
    """Return a text as a page shows it, and as a browser sends it back from a field of several lines."""
    return _UNWRITABLE.sub(_MISSING, close_directions(text)).replace("\r\n", "\n").replace("\r", "\n")


class _Compiled(BytecodeCache):
    """Caches compiled templates for all languages: messages are translated when a page is made."""

    def __init__(self) -> None:
        self._kept: dict[str, CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get(bucket.key)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._kept[bucket.key] = bucket.code


_COMPILED: Final = _Compiled()


@lru_cache
def _environment(language: str) -> Environment:
    made = Environment(
        loader=PackageLoader("ibi.web"),
        bytecode_cache=_COMPILED,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_finish,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]
    made.globals |= {"static": static_url, "page_languages": PAGE_LANGUAGES, "native_name": _native_name}
    made.filters |= {
        "date": lambda instant: _date(instant, language),
        "moment": lambda instant: _moment(instant, language),
        "month": lambda instant: format_date(_datetime(instant), "MMMM y", locale=locale_of(language)),
        "number": lambda number: _number(number, language),
        "size": lambda size: _size(size, language),
        "language_name": lambda tag: language_name(str(tag), language),
        "kind_name": lambda text: None if (known := find_coar_type(text)) is None else known.label(language),
        "short": short,
        "said": lambda error: error.message(translations(language).gettext),
    }
    return made


def _finish(value: Any) -> Any:
    """Return a value as it is written into a page."""
    if not isinstance(value, str):
        return value
    closed = close_directions(value)
    return Markup(closed) if isinstance(value, Markup) else closed  # noqa: S704 - it was one before


def _date(instant: Instant, language: str) -> str:
    return str(format_date(_datetime(instant), "long", locale=locale_of(language)))


def _moment(instant: Instant, language: str) -> str:
    """Return a date with its time in UTC: the reader's time zone is unknown."""
    return f"{format_datetime(_datetime(instant), 'medium', locale=locale_of(language))} UTC"


def _datetime(instant: Instant) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(instant.seconds, UTC)


def _number(number: int, language: str) -> str:
    """Format a number with the thousands separators of the language.

    A number from another Archive may be huge. It is cut at `_MOST_SHOWN`.
    """
    bounded = max(-_MOST_SHOWN, min(number, _MOST_SHOWN))
    sign = "" if bounded == number else "> " if number > 0 else "< "
    return f"{sign}{format_decimal(bounded, locale=locale_of(language))}"


def _size(size: int, language: str) -> str:
    """Format a file size in decimal units, with one digit after the point where it is significant."""
    amount, unit = float(min(size, _MOST_SHOWN)), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    pattern = "#,##0.#" if unit and amount < 10 else "#,##0"
    return f"{format_decimal(amount, pattern, locale=locale_of(language))} {_UNITS[unit]}"


def _native_name(tag: str) -> str:
    try:
        return language_name(tag, tag)
    except UnknownLocaleError:
        return tag
