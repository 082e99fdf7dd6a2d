"""The language of a page: that of the reader, or the one that they chose, and translations into it.

Templates and code are in English; `locales/<language>/*.po` has the others, and all files of a language are one
catalogue. They are read uncompiled, so that no step can be forgotten.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Final

from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.language_range import chosen_language, preferences
from ibi.languages import LanguageTag
from ibi.web.http.request import only_cookie, values
from ibi.web.http.request_errors import PathNotFound

PAGE_LANGUAGES: Final = ("en", "pt-BR", "es")
"""The first is for readers of none of them."""

COOKIE: Final = "ibi-language"

_TAGS: Final = tuple(LanguageTag.parse(each, registered=True) for each in PAGE_LANGUAGES)


def page_language(scope: Scope) -> str:
    """One of `PAGE_LANGUAGES`."""
    headers = scope["headers"]
    cookie = only_cookie(headers, COOKIE)
    chosen = None if cookie is None else named_language(cookie)
    if chosen is not None:
        return chosen
    wishes = preferences(", ".join(values(headers, b"accept-language")))
    # A reader of pt-PT reads pt-BR sooner than English: a single variant of a wanted language will do.
    return str(chosen_language(_TAGS, wishes, _TAGS[0]))


def named_language(text: str) -> str | None:
    """The one of `PAGE_LANGUAGES` that a text names, in any case."""
    return next((each for each in PAGE_LANGUAGES if each.lower() == text.lower()), None)


_YEAR: Final = 365 * 24 * 3600


async def choose_language(request: Request) -> Response:
    chosen = named_language(request.path_params["tag"])
    if chosen is None:
        raise PathNotFound()
    to = local_target(request.query_params.get("to", "/"))
    answer = Response(b"", 303, {"location": to, "cache-control": "no-store"})
    answer.set_cookie(
        COOKIE, chosen, max_age=_YEAR, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
    return answer


def local_target(text: str) -> str:
    """`text` if it is a path on this site, or else the home page: a link that looks ours must not lead to another
    site."""
    ours = (
        text[:1] == "/" and text[1:2] not in {"/", "\\"} and text.isascii() and text.isprintable() and " " not in text
    )
    return text if ours else "/"


LOCALES: Final = files("ibi.web.pages") / "locales"


def message(words: str) -> str:
    """Mark `words` for translation where they are shown: for tables that are made before the language is known."""
    return words


@lru_cache
def locale_of(language: str) -> Locale:
    """Names of languages, months and so on in one of `PAGE_LANGUAGES`."""
    return Locale.parse(language, sep="-")


@lru_cache
def translations(language: str) -> NullTranslations:
    """`gettext`, `ngettext` and `pgettext` of one of `PAGE_LANGUAGES`."""
    folder = LOCALES / str(locale_of(language))
    if not folder.is_dir():
        return NullTranslations()
    merged: Translations | None = None
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".po"):
            read = _parse_catalogue(file.read_bytes(), language)
            merged = read if merged is None else merged.merge(read)
    return merged or NullTranslations()


def _parse_catalogue(po: bytes, language: str) -> Translations:
    catalog, compiled = read_po(BytesIO(po), locale=locale_of(language)), BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled)
