"""The ends of a resolution: a redirect, or the reason why there is none (R §8.2, E24)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.membership.rules.authority import ArchiveRef, Word
from ibi.resolver.rules.answers import AnswerSet, Match
from ibi.resolver.rules.language import languages_offered
from ibi.resolver.rules.question import Question
from ibi.resolver.rules.trace import Report, Trace, Verdict
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName, parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import Acknowledgment
from ibi.standard.messages.url_list import UrlEntry, UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.origin import served_origin
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import ContentType, State


@dataclass(frozen=True, slots=True)
class Silence:
    """The Archives that were not heard, so that "not found" may not be final (E24)."""

    asked: int = 0
    silent: tuple[ArchiveRef, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True if all Archives that were asked have answered: only then is a negative outcome worth caching."""
        return not self.silent


_COMPLETE: Final = Silence()


class Redirect(NamedTuple):
    """The URL for the reader, and the `archive` to acknowledge, only at its registered address.

    `url` has the reader's own pairs, which the acknowledgment has not. An answer without a key gets no acknowledgment.
    """

    url: str
    archive: ArchiveRef
    answer: UrlList
    entry: UrlEntry
    acknowledgment: Acknowledgment | None

    def for_clients(self, clients: tuple[IpAddress, ...]) -> Redirect:
        """Return the same redirect for another reader of the same link."""
        url, archive, answer, entry, thanks = self
        return self if thanks is None else Redirect(url, archive, answer, entry, thanks.for_clients(clients))


@dataclass(frozen=True, slots=True)
class NotFound:
    """None of the Archives that answered has the item."""

    label: Label
    silence: Silence
    suggestions: tuple[Label, ...] = ()
    """The same item with other spellings of its host: these are different labels, and one may be meant (E3)."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The Archive `by` that held the Original says that it was deleted (E20).

    `copies` are the Archives that still have a Copy. If the holder was not known, `silence` has the Archives that might
    contradict.

    The Archive may have said so earlier, and be silent or switched off by now. Then `service` is its label (E99), and
    `by` is None while it is switched off.
    """

    label: Label
    by: ArchiveRef | None
    when: Instant | None
    copies: tuple[ArchiveRef, ...]
    silence: Silence = _COMPLETE
    service: Label | None = None

    @property
    def told_by(self) -> str:
        """The address of the Archive that reported the deletion, or else the label of its service."""
        return str(self.service) if self.by is None else self.by.address


class Missing(StrEnum):
    """The part that an existing item lacks."""

    FILE = "file"
    TRANSLATION = "translation"
    METADATA = "metadata"
    RELATION = "relation"
    ITEM = "item"
    """The relation leads to an IBI, and no Archive has that item."""
    ADDRESS = "address"
    """An Archive has the item, but gives no URL for it."""
    BELIEVABLE_URL = "believable URL"
    """There were URLs, but each broke a rule (E31)."""


@dataclass(frozen=True, slots=True)
class RelatedItemMissing:
    """The item exists, but the wanted relation of it does not.

    The search ended at the item `at`, which is another item if pointers led there. There, `relation` was still wanted.
    `languages` are those that exist.
    """

    label: Label
    at: Label
    relation: Relation
    missing: Missing
    languages: tuple[LanguageTag, ...]
    silence: Silence
    keepers: tuple[ArchiveRef, ...] = ()
    """The Archives that say that they have that item."""


@dataclass(frozen=True, slots=True)
class OriginalNotFound:
    """The Original was required; `copies` are the Archives that have something else.

    There always is one Original (R §5.2), so it is missing only if every Archive that could hold it has answered.
    `home` is the Archive that should have it and does not answer. `away` is its service if it is switched off.
    """

    label: Label
    copies: tuple[ArchiveRef, ...]
    silence: Silence
    home: ArchiveRef | None = None
    away: LabelForms | None = None
    timed_out: bool = False

    @property
    def is_out_of_reach(self) -> bool:
        """True if an Archive that could hold it was not heard."""
        return bool(self.silence.silent) or self.away is not None


@dataclass(frozen=True, slots=True)
class OriginalDisputed:
    """Two or more Archives claim the Original: people must look into it (R §8.2)."""

    label: Label
    claimants: tuple[ArchiveRef, ...]


@dataclass(frozen=True, slots=True)
class LoopDetected:
    """The editions lead in a circle, or further than the resolver follows (E23), along `path`."""

    label: Label
    path: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class NoArchiveAnswered:
    """No Archive could be asked; or the known `home` of this item could not, while all others have nothing.

    `label` is of that item, which is another one if pointers led there. `away` is the service of the home if it is
    registered and switched off.
    """

    label: Label
    silence: Silence
    home: ArchiveRef | None
    timed_out: bool
    """True if an Archive took too long."""
    away: LabelForms | None = None
    unreadable: tuple[ArchiveRef, ...] = ()
    """The Archives with an answer that could not be read: the answer may say where the item is (E47)."""
    successor: Label | None = None
    """If the Archive of a service has ended: the label of the Archive named in its place (E91)."""


class UnprovenClaim(NamedTuple):
    """The claim of one Archive: a URL, and the `item` that it says is meant.

    Without a `state`, the URL is the persistent URL of that other item. If the Archive does not offer the wanted
    relation, it is the persistent URL of the item itself.
    """

    archive: ArchiveRef
    url: str
    state: State | None
    item: Label | None = None
    is_offered: bool = True
    """True if the Archive also has the wanted relation."""


class Unsettled(StrEnum):
    """The reason to show claims instead of following one."""

    HOME_SILENT = "home silent"
    NOT_OFFERED = "not offered by the home"
    SEVERAL = "several claims"
    NOT_CERTAIN = "the home has nothing and cannot tell"
    DIFFERENT_ITEMS = "claimed for different items"


@dataclass(frozen=True, slots=True)
class UnprovenClaims:
    """Archives claim the wanted item, and nothing proves the claims: the reader sees them all and decides (E67).

    `label` is of the claimed item, which is another one if pointers led there. `home` is the Archive that would decide;
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
    """Return labels that may have been meant.

    They are the label as it was generated, if it is spelled in another way, because an Archive's store may be case
    sensitive. And they are the variants of E3: `host`, `host.80` and `host@80` are three labels that people confuse.
    """
    generated = () if label.spelling == str(label) else (parse(str(label)),)
    if not isinstance(label, RepositoryName) or label.port != 80:
        return generated
    host = label.prefix.removesuffix("@80").removesuffix(".80")
    texts = (f"{host}{port}/{label.suffix}" for port in ("", "@80", ".80"))
    return (*generated, *(found for found in map(RepositoryName.parse, texts) if found != label))


def redirect(url: PersistentUrl, base: str, clients: tuple[IpAddress, ...], located: Match) -> Redirect:
    """Return the redirect for a match. `base` is this resolver's address, as in `url.persistent` (E26)."""
    heard, entry = located.heard, located.entry
    assert entry.url is not None  # located matches have a URL
    return Redirect(
        url=_with_pairs(entry.url, url) if _takes_pairs(url, located) else entry.url,
        archive=heard.archive,
        answer=heard.answer,
        entry=entry,
        acknowledgment=_acknowledgment(url.as_received(base), clients, located),
    )


def leads_back(location: str, base: str, url: PersistentUrl) -> bool:
    """Return whether `location` is the persistent URL itself, at this resolver: a browser would loop."""
    here = served_origin(base)
    if here is None or served_origin(location) != here:
        return False
    links = (url.text(base), url.text(base, keep_spelling=True))
    return _path_and_query(location) in map(_path_and_query, links)


def _path_and_query(url: str) -> str:
    return url.partition("://")[2].partition("/")[2].partition("#")[0]


def _acknowledgment(persistent_url: str, clients: tuple[IpAddress, ...], located: Match) -> Acknowledgment | None:
    """Return the acknowledgment (R Table 8.11): the values of the qualified pairs, under bare names."""
    entry, key = located.entry, located.heard.answer.url_key
    if key is None:
        return None
    assert entry.url is not None
    assert entry.content_type is not None
    return Acknowledgment(clients, entry.content_type, entry.url, persistent_url, key, entry.state, entry.ibi)


def _takes_pairs(url: PersistentUrl, located: Match) -> bool:
    """Return whether the URL takes the item's own pairs: never on a file list or metadata (E35)."""
    return bool(url.query) and not url.file_list and located.entry.content_type is ContentType.DATA


def _with_pairs(target: str, url: PersistentUrl) -> str:
    """Append the pairs byte for byte, before any `#` (E35)."""
    head, hash_, fragment = target.partition("#")
    return f"{head}{'&' if '?' in head else '?'}{url.query_string}{hash_}{fragment}"


def silence_of(question: Question) -> Silence:
    return Silence(len(question.notes), question.silent)


def ending(question: Question, hearing: AnswerSet, label: Label) -> Outcome:
    """Return the outcome if this question is where the search for `label` ends."""
    gone = find_deletion(question)
    if gone is not None:
        return gone
    if question.word is Word.NO_HOME and question.unreadable:
        return _no_archive(question)
    if question.word is Word.NOT_HERE and not hearing.heard and (keeper := _unheard_keeper(question)) is not None:
        return _no_keeper(question, keeper)
    is_claimed = bool(question.heard) and not question.is_denied
    if not hearing.heard and not (is_claimed and question.word in (Word.NO_HOME, Word.NOT_HERE)):
        return _not_there(question, label)
    return _lacking(question, hearing, label)


def find_deletion(question: Question) -> Deleted | None:
    """Return the deletion to believe (E20); None if there is none.

    The Archives that decide are believed, or the known holder if the label has no home. Any other Archive is believed
    only if no answer has a believed URL, and no holder is known.
    """
    copies = tuple(heard.archive for heard in question.heard if any(map(heard.is_believed, heard.answer.entries)))
    has_home, deciders = question.has_home, _deciders_of_deletion(question)
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


def _deciders_of_deletion(question: Question) -> tuple[ArchiveRef, ...]:
    return question.deciders if question.has_home or question.holder is None else (question.holder,)


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


def _unheard_keeper(question: Question) -> LabelForms | None:
    """Return the service of a home, or of a successor, that was not heard; None if all were, or if there is no
    successor.

    If the last successor has nothing, one of the others may have the Original again.
    """
    if not question.successors:
        return None
    homes = (*(home.service for home in question.authority.homes), *question.authority.away)
    heard = {
        each for archive in question.notes if not question.may_know_more(archive) for each in archive.service.labels
    }
    services = (*homes, *map(LabelForms.of, question.successors))
    return next((each for each in services if heard.isdisjoint(each.labels)), None)


def _no_keeper(question: Question, keeper: LabelForms) -> NoArchiveAnswered:
    """Return the outcome if the last successor has nothing, and another Archive of the chain could not be asked."""
    home = next(
        (archive for archive in question.notes if not set(keeper.labels).isdisjoint(archive.service.labels)), None
    )
    found = _no_archive(question, home)
    return found if home is not None else replace(found, away=keeper)


def _unknown(question: Question, label: Label, silence: Silence) -> Outcome:
    if not question.path:
        return NotFound(label, silence, other_spellings(label))
    return RelatedItemMissing(label, question.label, question.wanted.relation, Missing.ITEM, (), silence)


def _took_too_long(question: Question) -> bool:
    """Return whether an Archive is still expected to answer, or timed out. Each has its own timeout."""
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
    """Return the outcome, or `NoArchiveAnswered` for an item without a home that a silent Archive may have.

    That is so if the Archive that is `expected` to know the item could not be asked, or if only our `own` Archive
    could. The item is the one that was asked for, or the one to which it led. For an item with a home, the resolution
    itself has decided.
    """
    label = _unfound_label(outcome)
    if label is None or not isinstance(outcome, NotFound | RelatedItemMissing):
        return outcome
    silence = outcome.silence
    if silence.is_complete or any(hop.word is not Word.NO_HOME for hop in trace.hops if hop.label == label):
        return outcome
    home = expected(label)
    if home not in silence.silent if home is not None else _was_another_heard(silence, own):
        return outcome
    missed = silence.silent if home is None else (home,)
    reports = [report for hop in trace.hops for report in hop.reports if report.archive in missed]
    return NoArchiveAnswered(label, silence, home, timed_out=any(map(_was_late, reports)))


def _unfound_label(outcome: Outcome) -> Label | None:
    """Return the label that no Archive knows: the one that was asked for, or the one to which it led."""
    if isinstance(outcome, NotFound):
        return outcome.label
    if isinstance(outcome, RelatedItemMissing) and outcome.missing in (Missing.ITEM, Missing.ADDRESS):
        return outcome.at
    return None


def _was_another_heard(silence: Silence, own: ArchiveRef | None) -> bool:
    """Return whether an Archive other than the server's own was heard, or there is no other.

    The own Archive can always be asked. If it has nothing, that says nothing about the others.
    """
    if own is None:
        return len(silence.silent) < silence.asked
    others = silence.asked - 1
    return not others or sum(each != own for each in silence.silent) < others


def _was_late(report: Report) -> bool:
    return report.answered_at is None or report.failure is Failure.TIMED_OUT


def judge_originals(question: Question, located: Sequence[Match]) -> Match | OriginalDisputed | OriginalNotFound:
    """Return the Original if exactly one Archive claims it. Two claims are a dispute."""
    claims = {each.heard.archive.service: each for each in located if each.entry.state is State.ORIGINAL}
    _note_verdicts(question, located)
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


def _note_verdicts(question: Question, located: Sequence[Match]) -> None:
    for each in located:
        note = question.notes[each.heard.archive]
        if note.verdict is Verdict.OUTRANKED:
            is_claim = each.entry.state is State.ORIGINAL
            note.verdict = Verdict.DISPUTED if is_claim else Verdict.NOT_THE_ORIGINAL
