"""How a resolution ends: one value, with what a page needs to say what happened and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.instant import Instant
from ibi.label import Label, RepositoryName, parse
from ibi.languages import LanguageTag
from ibi.messages.field import IpAddress, State
from ibi.messages.label_forms import LabelForms
from ibi.messages.requests import Acknowledgment
from ibi.messages.url_list import UrlEntry, UrlList
from ibi.relation import Relation
from ibi.resolver.archive_ref import ArchiveRef

__all__ = [
    "Deleted",
    "LoopDetected",
    "Missing",
    "NoArchiveAnswered",
    "NotFound",
    "OriginalDisputed",
    "OriginalNotFound",
    "Outcome",
    "Redirect",
    "RelatedItemMissing",
    "Silence",
    "UnprovenClaim",
    "UnprovenClaims",
    "Unsettled",
    "other_spellings",
]


@dataclass(frozen=True, slots=True)
class Silence:
    """Who could not be heard, so that "not found" may not be the last word (E24)."""

    asked: int = 0
    silent: tuple[ArchiveRef, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everybody who was asked has answered: only then is a negative outcome worth remembering."""
        return not self.silent


_COMPLETE: Final = Silence()


class Redirect(NamedTuple):
    """Where to send the reader, and whom to thank: the `archive` at its registered address, and nobody else.

    `url` has the reader's own pairs, which the acknowledgment has not. There is none for an answer without a key.
    """

    url: str
    archive: ArchiveRef
    answer: UrlList
    entry: UrlEntry
    acknowledgment: Acknowledgment | None

    def for_clients(self, clients: tuple[IpAddress, ...]) -> Redirect:
        """The same for another reader of the same link."""
        url, archive, answer, entry, thanks = self
        return self if thanks is None else Redirect(url, archive, answer, entry, thanks.for_clients(clients))


@dataclass(frozen=True, slots=True)
class NotFound:
    """No Archive that answered has the item."""

    label: Label
    silence: Silence
    suggestions: tuple[Label, ...] = ()
    """The same item as others spell its host: they are different labels, and one may be the one meant (E3)."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The Original was deleted, says the Archive `by` that held it (E20). `copies` are those who still have one; where
    it is not known who the holder was, `silence` tells who might contradict."""

    label: Label
    by: ArchiveRef
    when: Instant | None
    copies: tuple[ArchiveRef, ...]
    silence: Silence = _COMPLETE


class Missing(StrEnum):
    """What an item that exists does not have."""

    FILE = "file"
    TRANSLATION = "translation"
    METADATA = "metadata"
    RELATION = "relation"
    ITEM = "item"
    """What the relation leads to has an IBI, and nobody has it."""
    BELIEVABLE_URL = "believable URL"
    """There were URLs, and each broke a rule (E31)."""


@dataclass(frozen=True, slots=True)
class RelatedItemMissing:
    """The item exists, and what is wanted of it does not.

    The search ended at the item `at`, which is another one if pointers led there, of which `relation` was still wanted;
    `languages` are those that there are.
    """

    label: Label
    at: Label
    relation: Relation
    missing: Missing
    languages: tuple[LanguageTag, ...]
    silence: Silence


@dataclass(frozen=True, slots=True)
class OriginalNotFound:
    """The Original was required; `copies` is who has something else."""

    label: Label
    copies: tuple[ArchiveRef, ...]
    silence: Silence


@dataclass(frozen=True, slots=True)
class OriginalDisputed:
    """Two or more Archives claim the Original: somebody has to look into it (R §8.2)."""

    label: Label
    claimants: tuple[ArchiveRef, ...]


@dataclass(frozen=True, slots=True)
class LoopDetected:
    """The editions lead in a circle, or further than anybody should follow (E23), along `path`."""

    label: Label
    path: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class NoArchiveAnswered:
    """Nobody could be asked, or not the Archive known to be the `home` of this item while all others have nothing.

    `label` is of that item, which is another one if pointers led there. `away` is the service of that Archive if it is
    registered and switched off.
    """

    label: Label
    silence: Silence
    home: ArchiveRef | None
    timed_out: bool
    """Whether somebody took too long."""
    away: LabelForms | None = None


class UnprovenClaim(NamedTuple):
    """What one Archive claims: a URL, or with `item` another item under its persistent URL."""

    archive: ArchiveRef
    url: str
    state: State | None
    item: Label | None = None


class Unsettled(StrEnum):
    """Why claims are shown and not followed."""

    HOME_SILENT = "home silent"
    NOT_OFFERED = "not offered by the home"
    SEVERAL = "several claims"


@dataclass(frozen=True, slots=True)
class UnprovenClaims:
    """Archives claim what is wanted, and nothing proves it: the reader sees who claims what, and decides (E67).

    `label` is of the item that is claimed, which is another one if pointers led there. `home` is who would decide;
    `away` is its service if it cannot be asked at all.
    """

    label: Label
    claims: tuple[UnprovenClaim, ...]
    why: Unsettled
    home: ArchiveRef | None
    silence: Silence
    away: LabelForms | None = None


Outcome = (
    Redirect
    | NotFound
    | Deleted
    | RelatedItemMissing
    | OriginalNotFound
    | OriginalDisputed
    | LoopDetected
    | NoArchiveAnswered
    | UnprovenClaims
)


def other_spellings(label: Label) -> tuple[Label, ...]:
    """What may have been meant: the label as it was generated, if it is spelled otherwise, since an Archive's store may
    be case sensitive; and E3: `host`, `host.80` and `host@80` are three labels, which people mistake for each other."""
    generated = () if label.spelling == str(label) else (parse(str(label)),)
    if not isinstance(label, RepositoryName) or label.port != 80:
        return generated
    host = label.prefix.removesuffix("@80").removesuffix(".80")
    texts = (f"{host}{port}/{label.suffix}" for port in ("", "@80", ".80"))
    return (*generated, *(found for found in map(RepositoryName.parse, texts) if found != label))
