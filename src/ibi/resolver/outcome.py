"""How resolutions end: a redirect, or why there is none (R §8.2, E24)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.instant import Instant
from ibi.label import Label, RepositoryName, parse
from ibi.languages import LanguageTag
from ibi.messages.identification import LabelForms
from ibi.messages.requests import Acknowledgment
from ibi.messages.url_list import UrlEntry, UrlList
from ibi.messages.values import IpAddress
from ibi.origin import served_origin
from ibi.persistent_url import PersistentUrl
from ibi.relation import Relation
from ibi.resolver.answers import AnswerSet, Match
from ibi.resolver.authority import ArchiveRef, Word
from ibi.resolver.language import languages_offered
from ibi.resolver.question import Question
from ibi.resolver.trace import Failure, Report, Trace, Verdict
from ibi.vocabulary import ContentType, State


@dataclass(frozen=True, slots=True)
class Silence:
    """The Archives that could not be heard, so that "not found" may not be the last word (E24)."""

    asked: int = 0
    silent: tuple[ArchiveRef, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all Archives that were asked have answered: only then is a negative outcome worth remembering."""
        return not self.silent


_COMPLETE: Final = Silence()


class Redirect(NamedTuple):
    """Where to send the reader, and which `archive` to acknowledge, at its registered address only.

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
    it is not known who the holder was, `silence` tells who might contradict.

    That Archive may be silent by now, or switched off, and have said so before: then `service` is its label (E99), and
    `by` is None while it is switched off."""

    label: Label
    by: ArchiveRef | None
    when: Instant | None
    copies: tuple[ArchiveRef, ...]
    silence: Silence = _COMPLETE
    service: Label | None = None

    @property
    def told_by(self) -> str:
        """The address of the Archive that said so, or else the label of its service."""
        return str(self.service) if self.by is None else self.by.address


class Missing(StrEnum):
    """What an item that exists does not have."""

    FILE = "file"
    TRANSLATION = "translation"
    METADATA = "metadata"
    RELATION = "relation"
    ITEM = "item"
    """What the relation leads to has an IBI, and no Archive has it."""
    ADDRESS = "address"
    """An Archive has the item, and gives no URL for it."""
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
    keepers: tuple[ArchiveRef, ...] = ()
    """The Archives that have said that they have that item."""


@dataclass(frozen=True, slots=True)
class OriginalNotFound:
    """The Original was required; `copies` is who has something else.

    There always is one (R §5.2), so that it is missing only if every Archive that could hold it has answered. `home` is
    who should have it and does not answer, `away` its service if it is switched off.
    """

    label: Label
    copies: tuple[ArchiveRef, ...]
    silence: Silence
    home: ArchiveRef | None = None
    away: LabelForms | None = None
    timed_out: bool = False

    @property
    def is_out_of_reach(self) -> bool:
        """Whether an Archive that could hold it was not heard."""
        return bool(self.silence.silent) or self.away is not None


@dataclass(frozen=True, slots=True)
class OriginalDisputed:
    """Two or more Archives claim the Original: people have to look into it (R §8.2)."""

    label: Label
    claimants: tuple[ArchiveRef, ...]


@dataclass(frozen=True, slots=True)
class LoopDetected:
    """The editions lead in a circle, or further than is followed (E23), along `path`."""

    label: Label
    path: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class NoArchiveAnswered:
    """No Archive could be asked, or not the one known to be the `home` of this item while all others have nothing.

    `label` is of that item, which is another one if pointers led there. `away` is the service of that Archive if it is
    registered and switched off.
    """

    label: Label
    silence: Silence
    home: ArchiveRef | None
    timed_out: bool
    """Whether an Archive took too long."""
    away: LabelForms | None = None
    unreadable: tuple[ArchiveRef, ...] = ()
    """The Archives that have said something which could not be read: what they say may be where it is (E47)."""
    successor: Label | None = None
    """Of the service of an Archive that has ended: that of the one which was named in its place (E91)."""


class UnprovenClaim(NamedTuple):
    """What one Archive claims: a URL, of the `item` that it says is meant; without a `state`, the persistent URL of
    that other item. An Archive that does not offer what was asked for has the persistent URL of the item itself."""

    archive: ArchiveRef
    url: str
    state: State | None
    item: Label | None = None
    is_offered: bool = True
    """Whether the Archive has what was asked for, too."""


class Unsettled(StrEnum):
    """Why claims are shown and not followed."""

    HOME_SILENT = "home silent"
    NOT_OFFERED = "not offered by the home"
    SEVERAL = "several claims"
    NOT_CERTAIN = "the home has nothing and cannot tell"
    DIFFERENT_ITEMS = "claimed for different items"


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


def redirect(url: PersistentUrl, base: str, clients: tuple[IpAddress, ...], located: Match) -> Redirect:
    """`base` is the address of this resolver, as it stands in `url.persistent` (E26)."""
    heard, entry = located.heard, located.entry
    assert entry.url is not None  # that is what makes it located
    return Redirect(
        url=_with_pairs(entry.url, url) if _takes_pairs(url, located) else entry.url,
        archive=heard.archive,
        answer=heard.answer,
        entry=entry,
        acknowledgment=_acknowledgment(url.as_received(base), clients, located),
    )


def leads_back(location: str, base: str, url: PersistentUrl) -> bool:
    """Whether `location` is the persistent URL itself, at this resolver: a browser would come back for ever."""
    here = served_origin(base)
    if here is None or served_origin(location) != here:
        return False
    links = (url.text(base), url.text(base, keep_spelling=True))
    return _path_and_query(location) in map(_path_and_query, links)


def _path_and_query(url: str) -> str:
    return url.partition("://")[2].partition("/")[2].partition("#")[0]


def _acknowledgment(persistent_url: str, clients: tuple[IpAddress, ...], located: Match) -> Acknowledgment | None:
    """R Table 8.11: the values of the pairs that the relation qualifies, under bare names."""
    entry, key = located.entry, located.heard.answer.url_key
    if key is None:
        return None
    assert entry.url is not None
    assert entry.content_type is not None
    return Acknowledgment(clients, entry.content_type, entry.url, persistent_url, key, entry.state, entry.ibi)


def _takes_pairs(url: PersistentUrl, located: Match) -> bool:
    """E35: the item's own pairs never go onto a file list or metadata."""
    return bool(url.query) and not url.file_list and located.entry.content_type is ContentType.DATA


def _with_pairs(target: str, url: PersistentUrl) -> str:
    """E35: byte for byte, before any `#`."""
    head, hash_, fragment = target.partition("#")
    return f"{head}{'&' if '?' in head else '?'}{url.query_string}{hash_}{fragment}"


def silence_of(question: Question) -> Silence:
    return Silence(len(question.notes), question.silent)


def ending(question: Question, hearing: AnswerSet, label: Label) -> Outcome:
    """The outcome if this question is where the search for `label` ends."""
    gone = find_deletion(question)
    if gone is not None:
        return gone
    if question.word is Word.NO_HOME and question.unreadable:
        return _no_archive(question)
    is_claimed = bool(question.heard) and not question.is_denied
    if not hearing.heard and not (is_claimed and question.word in (Word.NO_HOME, Word.NOT_HERE)):
        return _not_there(question, label)
    return _lacking(question, hearing, label)


def find_deletion(question: Question) -> Deleted | None:
    """E20: who decides is believed, or the known holder where the label has no home; any other only if none has a URL
    that is, and no holder is known."""
    copies = tuple(heard.archive for heard in question.heard if any(map(heard.is_believed, heard.answer.entries)))
    has_home = question.has_home
    deciders = question.deciders if has_home or question.holder is None else (question.holder,)
    believed = [
        (archive, deletion)
        for archive, deletion in question.deletions
        if archive in deciders or not (deciders or has_home or copies)
    ]
    if not believed or (has_home and question.word is not Word.DELETED):
        return None
    archive, deletion = believed[0]
    silence = Silence() if archive in deciders else silence_of(question)
    return Deleted(question.label, archive, deletion.timestamp, copies, silence)


def _not_there(question: Question, label: Label) -> Outcome:
    silence = silence_of(question)
    if question.word in (Word.SILENT, Word.AWAITED):
        return _no_archive(question, question.deciders[0] if question.deciders else None)
    if question.word is not Word.NO_HOME or question.is_early:
        return _unknown(question, label, silence)
    home_is_silent = question.holder in silence.silent
    if len(silence.silent) == silence.asked or home_is_silent:
        return _no_archive(question, question.holder if home_is_silent else None)
    return _unknown(question, label, silence)


def _no_archive(question: Question, home: ArchiveRef | None = None) -> NoArchiveAnswered:
    unreadable = tuple(archive for archive in question.unreadable if home in (None, archive))
    return NoArchiveAnswered(
        question.label,
        silence_of(question),
        home,
        timed_out=not unreadable and _took_too_long(question),
        away=question.unreachable,
        unreadable=unreadable,
    )


def _unknown(question: Question, label: Label, silence: Silence) -> Outcome:
    if not question.path:
        return NotFound(label, silence, other_spellings(label))
    return RelatedItemMissing(label, question.label, question.wanted.relation, Missing.ITEM, (), silence)


def _took_too_long(question: Question) -> bool:
    """Whether an Archive is still expected to answer, or was given up: each has a time of its own."""
    late = (note.failure is Failure.TIMED_OUT for note in question.notes.values())
    return bool(question.pending) or any(late)


def _lacking(question: Question, hearing: AnswerSet, label: Label) -> RelatedItemMissing:
    counted = question.heard if question.word is Word.NO_HOME or not hearing.heard else hearing.heard
    languages = languages_offered(question.wanted, (heard.answer for heard in counted))
    relation = question.wanted.relation
    missing = _missing(question, hearing)
    keepers = tuple(heard.archive for heard in counted)
    return RelatedItemMissing(label, question.label, relation, missing, languages, silence_of(question), keepers)


def _missing(question: Question, hearing: AnswerSet) -> Missing:
    relation = question.wanted.relation
    if question.refused_url:
        return Missing.BELIEVABLE_URL
    if question.wanted.named_languages or hearing.choice(hearing.heard).undecided:
        return Missing.TRANSLATION
    if question.request.file_path is not None or question.request.file_list:
        return Missing.FILE  # E16
    if relation.is_itself:
        return Missing.ADDRESS
    return Missing.METADATA if relation.asks_metadata else Missing.RELATION


def confirm_not_found(
    outcome: Outcome,
    trace: Trace,
    *,
    expected: Callable[[Label], ArchiveRef | None],
    own: ArchiveRef | None,
) -> Outcome:
    """What is said instead if an item without a home is nowhere, and the Archive that is `expected` to know it could
    not be asked, or only our `own` could: what was asked for, or what it led to. Of an item with a home the resolution
    itself has judged."""
    if isinstance(outcome, NotFound):
        label, silence = outcome.label, outcome.silence
    elif isinstance(outcome, RelatedItemMissing) and outcome.missing in (Missing.ITEM, Missing.ADDRESS):
        label, silence = outcome.at, outcome.silence
    else:
        return outcome
    if silence.is_complete or any(hop.word is not Word.NO_HOME for hop in trace.hops if hop.label == label):
        return outcome
    home = expected(label)
    if home not in silence.silent if home is not None else _was_another_heard(silence, own):
        return outcome
    missed = silence.silent if home is None else (home,)
    reports = [report for hop in trace.hops for report in hop.reports if report.archive in missed]
    return NoArchiveAnswered(label, silence, home, timed_out=any(map(_was_late, reports)))


def _was_another_heard(silence: Silence, own: ArchiveRef | None) -> bool:
    """The Archive of this server can always be asked. That it has nothing is no word on what others may have."""
    if own is None:
        return len(silence.silent) < silence.asked
    others = silence.asked - 1
    return not others or sum(each != own for each in silence.silent) < others


def _was_late(report: Report) -> bool:
    return report.answered_at is None or report.failure is Failure.TIMED_OUT


def judge_originals(question: Question, located: Sequence[Match]) -> Match | OriginalDisputed | OriginalNotFound:
    """One Archive that claims the required Original is believed, two are not."""
    claims = {each.heard.archive.service: each for each in located if each.entry.state is State.ORIGINAL}
    for each in located:
        note = question.notes[each.heard.archive]
        if note.verdict is Verdict.OUTRANKED:
            is_claim = each.entry.state is State.ORIGINAL
            note.verdict = Verdict.DISPUTED if is_claim else Verdict.NOT_THE_ORIGINAL
    if len(claims) == 1:
        return next(iter(claims.values()))
    if claims:
        return OriginalDisputed(question.label, tuple(each.heard.archive for each in claims.values()))
    copies, silence = tuple(each.heard.archive for each in located), silence_of(question)
    holders = question.deciders if question.has_home else (question.holder,)
    return OriginalNotFound(
        question.label,
        copies,
        silence,
        home=next((each for each in holders if each in silence.silent), None),
        away=question.unreachable if question.has_home else question.authority.absent_holder,
        timed_out=_took_too_long(question),
    )
