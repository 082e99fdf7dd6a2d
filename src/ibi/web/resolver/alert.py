"""An alert for a reader who cannot be redirected, in words and as facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from babel.support import NullTranslations

from ibi.errors import InvalidPersistentUrl
from ibi.messages.label_forms import LabelForms
from ibi.persistent_url import PunctuatedLabel
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.outcome import Silence, UnprovenClaim
from ibi.web.pages.words import title_of

_COMPLETE: Final = Silence()


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggested next step; with a `url` it is a link. `subject`, a label or a URL, is shown after the words as it
    is."""

    words: str
    url: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Archives with something in common. At each, `path` leads to the item as that Archive has it."""

    words: str
    archives: tuple[ArchiveRef, ...]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """`title`, `said` and the words of advice are in the reader's language; `facts` are for programs."""

    code: str
    status: int
    title: str
    said: str
    facts: Mapping[str, object] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()
    groups: tuple[Group, ...] = ()
    silence: Silence = _COMPLETE
    retry_after: int | None = None

    def record(self) -> dict[str, object]:
        """Problem details (RFC 9457), with all the facts."""
        advised = [
            {"words": each.words if each.subject is None else f"{each.words} {each.subject}", "url": each.url}
            for each in self.advice
        ]
        told = {"title": self.title, "status": self.status, "detail": self.said}
        return {"type": f"urn:ibi:problem:{self.code}", **told, **self.facts, "next": advised}


def forms_record(forms: LabelForms) -> dict[str, str | None]:
    rep, ibip = forms.rep, forms.ibip
    return {"rep": None if rep is None else rep.spelling, "ibip": None if ibip is None else ibip.spelling}


def archive_record(archive: ArchiveRef) -> dict[str, object]:
    return {"address": archive.address, "ibi": forms_record(archive.service)}


def archive_records(archives: Iterable[ArchiveRef]) -> list[dict[str, object]]:
    return [archive_record(archive) for archive in archives]


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


def claim_record(claim: UnprovenClaim) -> dict[str, object]:
    return {
        "archive": archive_record(claim.archive),
        "url": claim.url,
        "state": None if claim.state is None else claim.state.value,
        "item": None if claim.item is None else claim.item.spelling,
    }
