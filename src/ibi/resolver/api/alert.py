"""An alert for a reader who cannot be redirected, in words and as facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from babel.support import NullTranslations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Deleted, Silence, UnprovenClaim
from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.messages.identification import LabelForms
from ibi.standard.persistent_url import PersistentUrl, PunctuatedLabel
from ibi.standard.relation import LastEdition, Metadata, Relation, Translation
from ibi.web.words import title_of

_COMPLETE: Final = Silence()


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggested next step. With a `url` it is a link. `subject`, a label or a URL, follows the words unchanged."""

    words: str
    url: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Archives with something in common. At each, `path` leads to that Archive's version of the item."""

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
        """Return problem details (RFC 9457) with all the facts."""
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


def advise_world_resolver(url: PersistentUrl, base: str, gettext: Callable[[str], str]) -> tuple[Advice, ...]:
    """Return the link to the world resolver, for Archives that the resolver at `base` does not know."""
    world = url.at_world_resolver(base)
    words = gettext("Try the resolver named in the standard, which knows other Archives:")
    return () if world is None else (Advice(words, world, world),)


def advise_tombstone(outcome: Deleted, gettext: Callable[[str], str]) -> Advice:
    """Return the link to the description at the Archive that kept the item. An Archive redirects the link of a deleted
    item to it."""
    by = outcome.by
    if by is None:
        return Advice(gettext("Ask the Archive that kept it: it may know a replacement."))
    words = gettext(
        "See its description, the reason for the deletion and any replacement, at the Archive that kept it:"
    )
    url = f"{by.protocol.scheme}://{by.address}/{outcome.label.spelling}"
    return Advice(words, url, url)


def alert_about_end(label: str, successor: str, gettext: Callable[[str], str]) -> Alert:
    """Return the alert about an Archive that ended, with the one that the resolver's administrator named in its place
    (E91)."""
    said = gettext("{label} was the archive service of an Archive that no longer exists.").format(label=label)
    link = Advice(gettext("Replaced by:"), f"/{successor}", successor)
    facts: dict[str, object] = {"at": label, "successor": successor}
    return Alert("archive-ended", HTTPStatus.GONE, gettext("This Archive no longer exists"), said, facts, (link,))


_LONGEST_SHOWN: Final = 500
"""Largest number of characters shown of an unreadable link."""


def alert_about_punctuation(error: PunctuatedLabel, words: NullTranslations) -> Alert:
    """Return the alert about a full stop or comma of the sentence around a link (E35)."""
    _ = words.gettext
    suggestion = str(error.details["suggestion"])
    return Alert(
        error.code,
        HTTPStatus.NOT_FOUND,
        _("The link ends in punctuation"),
        _("The characters after the identifier probably belong to the sentence around the link."),
        {"suggestions": [suggestion]},
        (Advice(_("Did you mean:"), f"/{suggestion}", suggestion),),
    )


def alert_about_fault(error: InvalidPersistentUrl, target: str, words: NullTranslations) -> Alert:
    """Return the alert about an unreadable link: its fault, and a link to the page that explains it.

    `target` is the link as it came.
    """
    _, link = words.gettext, target.removeprefix("/")
    advice = [Advice(_("Check the identifier against its source: a character may be missing."))]
    if len(link) <= _LONGEST_SHOWN:
        advice.append(Advice(_("Explain it:"), f"/explain?q={quote(link, safe='')}", link))
    title = _(title_of(HTTPStatus.BAD_REQUEST))
    return Alert(error.code, HTTPStatus.BAD_REQUEST, title, error.message(_), {}, tuple(advice))


def claim_record(claim: UnprovenClaim) -> dict[str, object]:
    return {
        "archive": archive_record(claim.archive),
        "url": claim.url,
        "state": None if claim.state is None else claim.state.value,
        "item": None if claim.item is None else claim.item.spelling,
    }


def is_of_metadata(relation: Relation) -> bool:
    """Return whether the text wanted in a language is the metadata rather than the item."""
    kinds = [type(step) for step in relation.steps]
    return Metadata in kinds[: kinds.index(Translation)] if Translation in kinds else False


def without_steps(relation: Relation, kind: type[LastEdition]) -> Relation:
    return Relation(tuple(step for step in relation.steps if not isinstance(step, kind)))
