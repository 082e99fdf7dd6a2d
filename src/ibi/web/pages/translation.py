"""Translations of our pages: gettext catalogues, one per language and part of the product.

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
