"""The language of a page: the one that the reader chose, or else the browser's best among ours."""

from __future__ import annotations

from typing import Final

from starlette.types import Scope

from ibi.language_range import chosen_language, preferences
from ibi.languages import LanguageTag
from ibi.web.http.headers import only_cookie, values

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
