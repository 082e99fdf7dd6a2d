"""Outcomes that are kept: what for, and for how long (E32).

An Archive may delete an item, restrict it, or get a later edition at any moment. Where its changes are followed, an
outcome is kept until they say otherwise; else for ten seconds. And whatever any question brings to light of a label,
of all that is kept of it nothing older is believed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ibi.label import Label
from ibi.language_range import Preference
from ibi.lru_cache import LruCache
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.messages.values import IpAddress
from ibi.persistent_url import PersistentUrl
from ibi.relation import Step, Translation
from ibi.resolver.answers import Match, ReceivedAnswer
from ibi.resolver.authority import ArchiveRef, Word
from ibi.resolver.outcome import Deleted, NotFound, OriginalNotFound, Outcome, Redirect, RelatedItemMissing, redirect
from ibi.resolver.trace import Hop, Report, Trace, Verdict
from ibi.vocabulary import State

LONGEST: Final = 3600
"""Seconds beyond which nothing is kept, whatever its Archive allows: its key has to be good still (E32)."""
NEGATIVE_AGE: Final = 5
"""Seconds for which it is believed that there is nothing: long enough for a flood of one wrong link, and no more."""
_MOST: Final = 20_000
_MOST_NEGATIVE: Final = 2_000
_MOST_FORGOTTEN: Final = 4_096
"""Labels of which it is known when they were forgotten; of more, all that is older than the first of them is."""
_ROOM: Final = 64 << 20
"""Bytes, by the estimates below: as much as so many ordinary ones take."""
_ORDINARY: Final = 2_500
"""Bytes that one takes whose texts are short, the redirect of its last link included."""
_ENTRY: Final = 600
_LANGUAGE: Final = 200
_WIDEST: Final = 4
"""Bytes of a character."""
_LONGEST_REMEMBERED: Final = 512
"""Characters: the outcome of a longer link is found anew, so that long links cannot fill the memory."""
_MOST_PREFERENCES: Final = 8
"""Languages that a reader may prefer if the outcome is to be kept: few have more, and each counts in the choice."""


UNFED_AGE: Final = 10
"""Seconds for which an outcome is kept that rests on the word of an Archive whose changes are not followed."""


class ChangeFeeds(Protocol):
    """Which Archives tell this resolver of their changes: the one place that decides whether an outcome lives longer
    than `UNFED_AGE`. Who follows a feed forgets what it names (`Cache.forget_label`)."""

    def is_fresh(self, archive: ArchiveRef) -> bool:
        """Whether all changes that the Archive made until a second ago are known here."""


class _NoFeeds:
    def is_fresh(self, archive: ArchiveRef) -> bool:
        return False


NO_FEEDS: Final[ChangeFeeds] = _NoFeeds()


class OutcomeKey(NamedTuple):
    """All that an outcome depends on. The reader's own pairs are not in it: they go onto the URL afterwards."""

    spelling: str
    """Of the label: another's store may be case sensitive."""
    steps: tuple[Step, ...]
    """Of the relation: mostly none, and a tuple is hashed sooner than a value around it."""
    file_path: str | None
    file_list: bool
    required_original: bool
    languages: str | tuple[Preference, ...] | None

    @classmethod
    def of(cls, url: PersistentUrl, preferences: Sequence[Preference] = ()) -> OutcomeKey:
        """`preferences` count only where a translation is asked for that names no language."""
        languages = (url.language or tuple(preferences)) if url.relation.open_translations else None
        return cls(
            url.label.spelling, url.relation.steps, url.file_path, url.file_list, url.required_original, languages
        )

    @property
    def length(self) -> int:
        """Characters that the client has chosen."""
        length = len(self.spelling) + len(self.file_path or "")
        for step in self.steps:
            length += len(step.parameter or "")
        if isinstance(self.languages, tuple):
            length += sum(len(each.range) for each in self.languages)
        return length

    @property
    def has_many_languages(self) -> bool:
        return isinstance(self.languages, tuple) and len(self.languages) > _MOST_PREFERENCES

    @property
    def is_one_of_many(self) -> bool:
        """Whether the same can be asked for in any number of ways: with other languages that lead to the same text, or
        with capitals here and there."""
        return self.languages is not None or not (self.spelling.islower() or self.spelling.isupper())


class Remembered:
    """What was found, to be made a redirect for another reader; or the outcome if it was nothing."""

    __slots__ = ("_base", "_made", "_url", "found", "kept_at", "labels", "until")

    def __init__(
        self, found: Match | Outcome, until: float, labels: Sequence[Label] = (), kept_at: float = 0.0
    ) -> None:
        """`labels` are those of the items that it depends on."""
        self.found, self.until, self.labels, self.kept_at = found, until, labels, kept_at
        self._url: PersistentUrl | None = None
        self._base = ""
        self._made: Redirect | None = None
        """The redirect of the last link by which it was asked for, which `_url` is."""

    def outcome(self, url: PersistentUrl, base: str, clients: tuple[IpAddress, ...]) -> Outcome:
        """What a reader gets. Most readers of an item follow the very same link, which is read once: only their
        addresses are new."""
        found = self.found
        if not isinstance(found, Match):
            return found
        if self._made is not None and url is self._url and base == self._base:
            return self._made.for_clients(clients)
        made = redirect(url, base, clients, found)
        thanks = made.acknowledgment
        # Pairs are not remembered: a few hundred characters can be a hundred of them, which take far more.
        if thanks is not None and not url.query and len(thanks.persistent_url) <= _LONGEST_REMEMBERED:
            self._url, self._base, self._made = url, base, made
        return made

    def seconds_left(self, now: float) -> int:
        return max(0, int(self.until - now))


class Cache:
    """Outcomes that were found under one `state` of the world: an Archive that joins, leaves or changes may answer
    otherwise.

    It is bounded by their number and by their bytes: `room` for most of them, a fifth and an eighth of it beside that
    for the rest.
    """

    def __init__(self, most: int = _MOST, most_negative: int = _MOST_NEGATIVE, room: int = _ROOM) -> None:
        self._found: LruCache[OutcomeKey, Remembered] = LruCache(most, room)
        # Apart: a flood of links that lead nowhere, or all to one place, drives nothing out that is of use.
        self._varied: LruCache[OutcomeKey, Remembered] = LruCache(-(-most // 5), room // 5)
        self._nothing: LruCache[OutcomeKey, Remembered] = LruCache(most_negative, room // 8)
        self._state: Hashable = None
        self._forgotten: OrderedDict[Label, float] = OrderedDict()
        """When all that was kept of a label was forgotten."""
        self._all_forgotten = float("-inf")
        """The same for every label that is no longer in `_forgotten`."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._found.size + self._varied.size + self._nothing.size

    def enter(self, state: Hashable) -> None:
        """Forget everything if this is not the state of before."""
        if state != self._state:
            self._found.clear()
            self._varied.clear()
            self._nothing.clear()
        self._state = state  # also an equal one: that the next is the very same is seen at once

    def is_in(self, state: Hashable) -> bool:
        """Whether this is still the state: what was found under another may not be true any more."""
        return state == self._state

    def find(self, wish: OutcomeKey, now: float) -> Remembered | None:
        for kept in (self._found, self._varied, self._nothing):
            remembered = kept.find(wish)
            if remembered is not None:
                if now < remembered.until and not self._is_forgotten(remembered):
                    return remembered
                kept.forget(wish)
        return None

    def forget_label(self, label: Label, now: float) -> None:
        """Forget every outcome that depends on the item with this label."""
        self._forgotten.pop(label, None)
        if len(self._forgotten) >= _MOST_FORGOTTEN:
            _, self._all_forgotten = self._forgotten.popitem(last=False)
        self._forgotten[label] = now

    def _is_forgotten(self, remembered: Remembered) -> bool:
        since = remembered.kept_at
        if since < self._all_forgotten:
            return True
        forgotten = self._forgotten
        return bool(forgotten) and any(forgotten.get(label, since) > since for label in remembered.labels)

    def keep(self, wish: OutcomeKey, outcome: Outcome, max_age: int, now: float, labels: Sequence[Label] = ()) -> int:
        """Keep the outcome if that is allowed; `max_age` is what its answers say, `labels` are of the items that it
        depends on. Return for how many seconds it may be cached, even if it is not kept here."""
        if isinstance(outcome, Redirect):
            age = min(max_age, LONGEST)
            if age > 0 and _is_worth_keeping(wish):
                self._keep_found(wish, outcome, age, now, labels)
            return max(0, age)
        if not _is_final(outcome):
            return 0
        if _is_worth_keeping(wish):
            nothing = Remembered(outcome, now + NEGATIVE_AGE, labels, now)
            self._nothing.keep(wish, nothing, _size_of_nothing(wish, outcome))
            self._found.forget(wish)
            self._varied.forget(wish)
        return NEGATIVE_AGE

    def _keep_found(self, wish: OutcomeKey, found: Redirect, age: int, now: float, labels: Sequence[Label]) -> None:
        located = Match(ReceivedAnswer(found.archive, _abridge(found.answer, wish)), found.entry)
        kept = self._varied if wish.is_one_of_many else self._found
        kept.keep(wish, Remembered(located, now + age, labels, now), _size_of_found(wish, located))
        self._nothing.forget(wish)

    def __len__(self) -> int:
        return len(self._found) + len(self._varied) + len(self._nothing)


def _is_worth_keeping(wish: OutcomeKey) -> bool:
    return wish.length <= _LONGEST_REMEMBERED and not wish.has_many_languages


def _abridge(answer: UrlList, wish: OutcomeKey) -> UrlList:
    """What of an answer is told beside the entry that was chosen: the item, the next edition, the key; and where a
    translation is wanted, which there are. An answer may speak of hundreds of relations."""
    if len(answer.entries) == 1:
        return answer
    by_language = any(isinstance(step, Translation) for step in wish.steps)
    told = (each for each in answer.entries if each.relation.is_itself or (by_language and _is_translated(each)))
    return replace(
        answer, entries=tuple(each if each.ibi is None else UrlEntry(each.relation, each.ibi) for each in told)
    )


def _is_translated(entry: UrlEntry) -> bool:
    return any(isinstance(step, Translation) for step in entry.relation.steps)


def _size_of_found(wish: OutcomeKey, located: Match) -> int:
    (_, answer, _), chosen = located
    size = _ORDINARY + _WIDEST * wish.length + len(chosen.url or "")
    for entry in answer.entries:
        size += _ENTRY + (0 if entry is chosen else len(entry.url or ""))
    return size


def _size_of_nothing(wish: OutcomeKey, outcome: Outcome) -> int:
    languages = outcome.languages if isinstance(outcome, RelatedItemMissing) else ()
    return _ORDINARY + _WIDEST * wish.length + _LANGUAGE * len(languages)


def _is_final(outcome: Outcome) -> bool:
    """Whether all Archives were heard: silence is not kept (E24)."""
    if isinstance(outcome, NotFound | RelatedItemMissing | OriginalNotFound | Deleted):
        return outcome.silence.is_complete
    return False


DOUBTFUL_AGE: Final = 5
"""Seconds for which an outcome is kept while an Archive that may know better did not answer: it may be an old Copy."""
CLAIMED_AGE: Final = 60
"""The same for an Original that an Archive of higher rank may claim."""


class HeardFacts:
    """What was last heard of items, so that news of them is noticed: that one was deleted, has another next edition, or
    another access. Bounded; what is pushed out is merely not compared."""

    def __init__(self, most: int = _MOST) -> None:
        self._facts: LruCache[Hashable, Hashable] = LruCache(most)

    def news(self, trace: Trace, outcome: Outcome, *, is_lasting: bool) -> frozenset[Label]:
        """The labels of items of which this resolution heard otherwise than an earlier one. `is_lasting` tells whether
        the answers may be kept: those that depend on the reader may not."""
        found = set()
        for hop in trace.hops:
            found |= {label for report in hop.reports for label in _deleted(report)}
            if hop.relation.begins_with_last_edition and self._is_new((hop.label, "!"), _next_edition(hop)):
                found.add(hop.label)
        if isinstance(outcome, Redirect) and trace.hops:
            last = trace.hops[-1]
            # What depends on the reader's address differs from reader to reader, which is no news.
            access = (outcome.entry.state, outcome.entry.url if is_lasting else None)
            if self._is_new((last.label, outcome.archive.service, outcome.entry.relation), access):
                found.add(last.label)
        return frozenset(found)

    def _is_new(self, key: Hashable, fact: Hashable) -> bool:
        before = self._facts.find(key)
        self._facts.keep(key, (fact,))
        return before is not None and before != (fact,)


def _deleted(report: Report) -> tuple[Label, ...]:
    """Whoever says it: what is kept is then asked for again, and nothing worse."""
    is_deletion = isinstance(report.said, Deletion) and report.verdict is not Verdict.DISBELIEVED
    return report.said.ibi.labels if is_deletion and report.said is not None else ()


def _next_edition(hop: Hop) -> LabelForms | None:
    said = (report.said for report in hop.leading)
    return next((each.next_edition for each in said if isinstance(each, UrlList)), None)


def labels_on_the_way(trace: Trace) -> tuple[Label, ...]:
    """The items that an outcome depends on."""
    return tuple(dict.fromkeys(hop.label for hop in trace.hops))


def longest_followed(trace: Trace, is_followed: Callable[[ArchiveRef], bool]) -> int:
    """Upper bound on how long an outcome may be cached by whose word it rests on: that of Archives whose changes are
    followed, or of another."""
    led = {report.archive for hop in trace.hops for report in hop.leading}
    return LONGEST if all(map(is_followed, led)) else UNFED_AGE


def max_ttl(
    trace: Trace, chosen: Redirect, archives: Sequence[ArchiveRef], holder: Callable[[Label], ArchiveRef | None]
) -> int:
    """Upper bound in seconds on how long what was `chosen` may be cached. It is lower if one of the `archives` did not
    answer that may know of a later edition or a translation, have the Original of what is a Copy, or claim it with a
    higher rank; not where the `holder` led on. Where a label has a home, its word may be cached, a trusted Archive's
    for a moment, and nothing else."""
    return min(_longest(hop, chosen, archives, holder(hop.label)) for hop in trace.hops)


def _longest(hop: Hop, chosen: Redirect, archives: Sequence[ArchiveRef], holder: ArchiveRef | None) -> int:
    if hop.word is not Word.NO_HOME:
        return _longest_with_home(hop)
    if all(report.archive == holder for report in hop.leading):
        return LONGEST
    unheard = hop.unheard_among(archives)
    if unheard and _may_be_bettered(hop, chosen):
        return DOUBTFUL_AGE
    return CLAIMED_AGE if any(each.registered < chosen.archive.registered for each in unheard) else LONGEST


def _longest_with_home(hop: Hop) -> int:
    if hop.word is Word.GIVEN:
        decided = all(report.archive in hop.deciders for report in hop.leading)
        return LONGEST if decided else DOUBTFUL_AGE
    return DOUBTFUL_AGE if hop.word in (Word.SILENT, Word.AWAITED, Word.DELETED) else 0


def _may_be_bettered(hop: Hop, chosen: Redirect) -> bool:
    if hop.relation.begins_with_last_edition or hop.relation.open_translations:
        return True
    is_last = any(report.verdict is Verdict.CHOSEN for report in hop.reports)
    return is_last and chosen.entry.state is not State.ORIGINAL
