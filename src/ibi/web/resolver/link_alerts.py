"""Alerts about links that cannot be followed as they are written, without asking any Archive (E35, E42)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from babel.support import NullTranslations

from ibi.errors import InvalidPersistentUrl
from ibi.persistent_url import PunctuatedLabel
from ibi.web.pages.error_words import title_of
from ibi.web.resolver.alert import Advice, Alert

_LONGEST_SHOWN: Final = 500
"""Characters shown of a link that cannot be read."""


def alert_about_punctuation(error: PunctuatedLabel, words: NullTranslations) -> Alert:
    """The alert about a full stop or comma of the sentence around a link (E35)."""
    _ = words.gettext
    suggestion = str(error.details["suggestion"])
    return Alert(
        error.code,
        HTTPStatus.NOT_FOUND,
        _("The link ends in punctuation"),
        _("What follows the identifier probably belongs to the sentence in which the link stood."),
        {"suggestions": [suggestion]},
        (Advice(_("Perhaps this was meant:"), f"/{suggestion}", suggestion),),
    )


def alert_about_fault(error: InvalidPersistentUrl, target: str, words: NullTranslations) -> Alert:
    """The alert about a link that cannot be read: its fault, and a link to the page that explains it. `target` is how
    it came."""
    _, link = words.gettext, target.removeprefix("/")
    advice = [Advice(_("Compare the identifier with where you have it from: a character may be missing."))]
    if len(link) <= _LONGEST_SHOWN:
        advice.append(Advice(_("See what can be read of it:"), f"/explain?q={quote(link, safe='')}", link))
    title = _(title_of(HTTPStatus.BAD_REQUEST))
    return Alert(error.code, HTTPStatus.BAD_REQUEST, title, error.message(_), {}, tuple(advice))
